//! [`Surroundings`]: what a conversation at a terminal needs from the program around it.
use crate::{
    Editor, Links, Pictures, bindings::Keys, notifications::Notifications, paint::look::Themes,
    status_line::StatusLine,
};
use futures::future::LocalBoxFuture;
use haft_present::host::{Conversation, Host, OpenRequest, Problem, SavedPrompt};
use std::{path::PathBuf, sync::Arc};

/// Opens sessions, and knows where things lie.
#[derive(Clone)]
pub struct Surroundings {
    /// Opens sessions, and knows what people may choose.
    pub host: Arc<dyn Host>,
    /// The directory to work in.
    pub workspace: PathBuf,
    /// Prompts that are kept in files.
    pub prompts: Vec<SavedPrompt>,
    /// How pictures are shown on the screen.
    pub pictures: Pictures,
    /// What becomes a link on the screen.
    pub links: Links,
    /// The file that keeps what people type.
    pub history: Option<PathBuf>,
    /// What edits longer texts.
    pub editor: Option<Editor>,
    /// The environment of programs that the screen starts.
    pub environment: Arc<[(String, String)]>,
    /// The keys of the screen.
    pub keys: Keys,
    /// What the last line of the screen shows.
    pub status_line: StatusLine,
    /// The themes that the user may choose.
    pub themes: Themes,
    /// How the user is told of something while the terminal is not focused.
    pub notifications: Notifications,
    /// Whether text is typed with the keys of vi.
    pub is_vim: bool,
    /// The files of the configuration, the weakest first.
    pub config_files: Vec<PathBuf>,
    /// Asks for the key of a provider and saves it; `None` if that cannot be done here.
    pub login: Option<LogIn>,
}

/// Asks at the terminal for the key of a provider (`None`: one that the user chooses), and says whether one was saved. An
/// error says why not.
pub type LogIn = Arc<dyn Fn(Option<String>) -> LocalBoxFuture<'static, Result<bool, String>> + Send + Sync>;

/// Where the configuration is, for people.
pub(crate) fn config_lines(files: &[PathBuf]) -> Vec<String> {
    let file =
        |file: &PathBuf| format!("{}{}", file.display(), if file.exists() { "" } else { "  (missing)" });
    let end = "`haft config show` lists what is in effect, `haft config set KEY VALUE` changes it";
    files.iter().map(file).chain([end.to_owned()]).collect()
}

/// How an agent and a model are chosen in a conversation.
const CHOOSE_HINT: &str = "choose them with `/agent` and `/model`, or use `haft run`";

impl Surroundings {
    /// What a line stands for that begins with `/`; an error says why it stands for nothing.
    pub(crate) fn expand(&self, line: &str) -> Result<String, String> {
        let expanded = self.host.expand(&self.workspace, line, "/help");
        expanded.and_then(|expanded| expanded.in_session(line, CHOOSE_HINT)).map_err(on_lines)
    }

    /// Opens a session; an error says why it cannot be opened.
    pub(crate) async fn open(&self, request: OpenRequest) -> Result<Conversation, String> {
        self.host.open(request).await.map_err(on_lines)
    }
}

/// The form of standard error: a hint is on a line of its own.
fn on_lines(Problem { message, suggestion, .. }: Problem) -> String {
    let hint = suggestion.map(|suggestion| format!("\nhint: {suggestion}")).unwrap_or_default();
    message + &hint
}
