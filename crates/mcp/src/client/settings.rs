//! [`McpServer`], [`OAuth`] and [`McpSettings`]: the configured servers.
use reqwest::header::AUTHORIZATION;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A server that a person has set up. It may hold keys, so it prints nothing of itself but its name.
#[derive(Clone)]
pub struct McpServer {
    /// How the person calls it: part of its tools' names.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How Haft logs in to the server; `None` if it takes no logins. Ignored for programs.
    pub oauth: Option<OAuth>,
    /// The server's own names of the tools that may be called; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Whether the server is believed where it says of a tool that it only reads. Such a call needs no approval.
    pub trust_hints: bool,
    /// Which folders it is told of if it asks for roots.
    pub roots: ServerRoots,
    /// Whether it may ask for answers of the session's model. The person is asked each time.
    pub sampling: bool,
    /// How long it may take to start and to tell its tools.
    pub start_timeout: Duration,
    /// How long a call may be silent: each word of its progress counts anew.
    pub call_timeout: Duration,
}

impl McpServer {
    /// Whether the configuration says what proves who asks.
    pub(super) fn has_token(&self) -> bool {
        let Transport::Url { headers, .. } = &self.transport else { return false };
        headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION.as_str()))
    }

    /// What to do if it wants to know who asks.
    pub(super) fn login_advice(&self) -> String {
        match (&self.oauth, self.has_token()) {
            (_, true) => "put another token into its `headers`".to_owned(),
            (Some(_), false) => format!("run `haft mcp login {}`", self.name),
            (None, false) => "put a token into its `headers`".to_owned(),
        }
    }

    /// The folders that it is told of if it asks, when it is started in `workspace`; `None` if it is not offered any.
    pub(super) fn root_folders(
        &self,
        workspace: &Path,
        environment: &[(String, String)],
    ) -> Option<Vec<PathBuf>> {
        match &self.roots {
            ServerRoots::Automatic if self.has_own_folders(workspace, environment) => None,
            ServerRoots::Automatic | ServerRoots::Workspace => Some(vec![workspace.to_owned()]),
            ServerRoots::Nothing => None,
            ServerRoots::Folders(folders) => Some(folders.clone()),
        }
    }

    /// Whether one of the arguments is a folder that is there, written as a path: from the root, from `~`, which
    /// many servers read themselves, or from the folder in which the server is started. A word alone may be anything.
    fn has_own_folders(&self, started_in: &Path, environment: &[(String, String)]) -> bool {
        let Transport::Program { arguments, environment: own, .. } = &self.transport else { return false };
        let home = environment.iter().chain(own).rfind(|(name, _)| name == "HOME").map(|(_, home)| home);
        let is_folder = |text: &str| match (text.strip_prefix('~'), home) {
            (Some(rest), Some(home)) => Path::new(&format!("{home}{rest}")).is_dir(),
            _ => (text.contains('/') || [".", ".."].contains(&text)) && started_in.join(text).is_dir(),
        };
        arguments.iter().any(|argument| is_folder(argument.rsplit('=').next().unwrap_or(argument)))
    }
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServer").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The folders that a server is told of if it asks for roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerRoots {
    /// The workspace. A program with a folder among its arguments is offered none: many servers give up folders of their own
    /// for those of the client.
    #[default]
    Automatic,
    /// The workspace, whatever the arguments are.
    Workspace,
    /// No folders: the capability is not offered.
    Nothing,
    /// These, as absolute paths.
    Folders(Vec<PathBuf>),
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A program that talks over its standard streams.
    Program {
        /// Looked up in the `PATH`, or a path.
        program: String,
        /// Arguments of the program.
        arguments: Vec<String>,
        /// Variables in addition to those that all processes get.
        environment: Vec<(String, String)>,
    },
    /// A service that talks Streamable HTTP.
    Url {
        /// Address of the endpoint.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
}

/// How Haft logs in to a server, and where it keeps the login. It may hold a secret, so it prints nothing of itself.
#[derive(Clone)]
pub struct OAuth {
    /// The file of all logins, which only the user may read; JSON.
    pub file: PathBuf,
    /// The ID of a client that was registered at the authorization server before, or the HTTPS address of a client ID
    /// metadata document. Without it, Haft registers itself.
    pub client_id: Option<String>,
    /// The secret that belongs to `client_id`.
    pub client_secret: Option<String>,
    /// Scopes to ask for; those that the server names if empty.
    pub scopes: Vec<String>,
    /// The port of this machine that the authorization server sends the browser back to; any free one if left out.
    pub callback_port: Option<u16>,
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// All that [`crate::client::Mcp`] is made of.
pub struct McpSettings {
    /// In the order in which models are told of their tools.
    pub servers: Vec<McpServer>,
    /// Where programs start, and what servers are told to work in.
    pub workspace: PathBuf,
    /// What every program gets.
    pub environment: Arc<[(String, String)]>,
    /// Maximum tokens for definitions. Beyond it, tools of the servers with the most tokens are found by search.
    pub budget: usize,
    /// Hears what a person should know: a server that does not start.
    pub on_note: Arc<dyn Fn(String) + Send + Sync>,
}
