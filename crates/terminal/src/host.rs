//! [`Surroundings`]: what a conversation at a terminal gets from the program.
use crate::{
    Editor, Links, Pictures, bindings::Keys, notifications::Notifications, paint::look::Themes,
    status_line::StatusLine,
};
use futures::future::LocalBoxFuture;
use haft_present::host::{Conversation, Host, OpenRequest, Problem, SavedPrompt};
use std::{path::PathBuf, sync::Arc};

/// The host, the settings and the paths of a conversation.
#[derive(Clone)]
pub struct Surroundings {
    /// Opens sessions, and lists the models and agents to choose from.
    pub host: Arc<dyn Host>,
    /// The directory to work in.
    pub workspace: PathBuf,
    /// Prompts that are saved in files.
    pub prompts: Vec<SavedPrompt>,
    /// How pictures are shown on the screen.
    pub pictures: Pictures,
    /// Which texts become links on the screen.
    pub links: Links,
    /// The history file of typed lines.
    pub history: Option<PathBuf>,
    /// The editor for longer texts.
    pub editor: Option<Editor>,
    /// The environment of programs that the screen starts.
    pub environment: Arc<[(String, String)]>,
    /// The keys of the screen.
    pub keys: Keys,
    /// What the last line of the screen shows.
    pub status_line: StatusLine,
    /// The themes that the user may choose.
    pub themes: Themes,
    /// How the user is notified while the terminal is not focused.
    pub notifications: Notifications,
    /// Whether text is edited with the keys of vi.
    pub is_vim: bool,
    /// The configuration files, lowest precedence first.
    pub config_files: Vec<PathBuf>,
    /// Asks for a provider's API key and saves it; `None` if that is not possible here.
    pub login: Option<LogIn>,
}

/// Asks at the terminal for the API key of a provider (`None`: the user chooses one). Returns whether a key was saved;
/// the error says why not.
pub type LogIn = Arc<dyn Fn(Option<String>) -> LocalBoxFuture<'static, Result<bool, String>> + Send + Sync>;

/// The paths of the configuration files, for the user.
pub(crate) fn config_lines(files: &[PathBuf]) -> Vec<String> {
    let file =
        |file: &PathBuf| format!("{}{}", file.display(), if file.exists() { "" } else { "  (missing)" });
    let end = "`haft config show` lists what is in effect, `haft config set KEY VALUE` changes it";
    files.iter().map(file).chain([end.to_owned()]).collect()
}

/// The hint how to choose an agent and a model in a conversation.
const CHOOSE_HINT: &str = "choose them with `/agent` and `/model`, or use `haft run`";

impl Surroundings {
    /// Expands a line that begins with `/`; the error says why it cannot be expanded.
    pub(crate) fn expand(&self, line: &str) -> Result<String, String> {
        let expanded = self.host.expand(&self.workspace, line, "/help");
        expanded.and_then(|expanded| expanded.in_session(line, CHOOSE_HINT)).map_err(on_lines)
    }

    /// Opens a session; an error says why it cannot be opened.
    pub(crate) async fn open(&self, request: OpenRequest) -> Result<Conversation, String> {
        self.host.open(request).await.map_err(on_lines)
    }
}

/// Formats a problem for standard error, with the hint on a separate line.
fn on_lines(Problem { message, suggestion, .. }: Problem) -> String {
    let hint = suggestion.map(|suggestion| format!("\nhint: {suggestion}")).unwrap_or_default();
    message + &hint
}
