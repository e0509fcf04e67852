//! [`Host`]: what an interactive front-end needs from the program around it.
use crate::Pictures;
use futures::future::BoxFuture;
use haft_core::Entry;
use haft_engine::{Engine, Session};
use std::{path::PathBuf, sync::Arc};

/// Opens engines and sessions, and knows what people may choose.
#[derive(Clone)]
pub struct Host {
    /// Opens what is wished for.
    pub open: Open,
    /// Models that can be asked, as `VENDOR/MODEL`, with a few words about each.
    pub models: Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>,
    /// The levels of reasoning effort that a model takes, from the least to the most; empty if it takes none.
    pub efforts: Efforts,
    /// As `models`, with all models of vendors that have a key and of servers on this machine, once they have said.
    pub live_models: Ask<(String, String)>,
    /// Asks each MCP server for its tools: its name, and the names of its tools or why it has none.
    pub servers: Ask<Server>,
    /// A session as Markdown.
    pub export: Export,
    /// Prompts that lie in files: name and description.
    pub prompts: Vec<(String, String)>,
    /// What a line stands for that begins with `/`; an error says why it stands for nothing.
    pub expand: Expand,
    /// How pictures are shown on the screen.
    pub pictures: Pictures,
    /// Where is kept what people type.
    pub history: Option<PathBuf>,
    /// The command that edits a file, as `VISUAL` and `EDITOR` name it; a shell reads it.
    pub editor: Option<String>,
    /// A folder of the person's own for files that last a moment.
    pub scratch: PathBuf,
}

/// An MCP server by its name, and the names of its tools or why it has none.
pub type Server = (String, Result<Vec<String>, String>);

/// Asks others, and gives what they say.
pub type Ask<T> = Arc<dyn Fn() -> BoxFuture<'static, Vec<T>> + Send + Sync>;
/// See [`Host::efforts`].
pub type Efforts = Arc<dyn Fn(&str) -> Vec<&'static str> + Send + Sync>;
/// See [`Host::export`].
pub type Export = Arc<dyn Fn(&[Arc<Entry>]) -> String + Send + Sync>;
/// See [`Host::open`].
pub type Open = Arc<dyn Fn(Wish) -> BoxFuture<'static, Result<Opened, String>> + Send + Sync>;
/// See [`Host::expand`].
pub type Expand = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// A request for a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// An old one by its name; else a new one.
    pub session: Option<String>,
    /// The model; else the one that the program was started with.
    pub model: Option<String>,
    /// How hard the model thinks; else as the program was started.
    pub effort: Option<String>,
    /// Model and effort are kept for new sessions, too.
    pub is_kept: bool,
    /// The agent; else the one that the program was started with.
    pub agent: Option<String>,
}

impl Wish {
    /// The same with the model that was `said`, and the effort behind it: `openai/gpt-5 high`.
    pub(crate) fn asking(self, said: &str) -> Self {
        let (model, effort) =
            said.split_once(' ').map_or((said, None), |(model, effort)| (model, Some(effort.trim())));
        Self { model: Some(model.to_owned()), effort: effort.map(str::to_owned), ..self }
    }
}

/// A session that was opened, with the engine that it lives in.
pub struct Opened {
    /// Holds the session; shut it down before another one opens the session again.
    pub engine: Engine,
    /// Ready for commands.
    pub session: Session,
    /// The reasoning effort, if one was chosen and the model takes it.
    pub effort: Option<String>,
    /// To tell the person: how the model was chosen, what of a journal was damaged.
    pub notices: Vec<String>,
}
