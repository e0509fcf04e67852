//! [`McpServer`], [`OAuth`] and [`McpSettings`]: the configuration of servers.
use reqwest::header::AUTHORIZATION;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A server that the user has configured. It may contain keys, so its `Debug` output shows only its name.
#[derive(Clone)]
pub struct McpServer {
    /// The user's name of the server, which is part of its tools' names.
    pub name: String,
    /// How to reach the server.
    pub transport: Transport,
    /// How Haft logs in to the server; `None` if it does not support logins. Ignored for programs.
    pub oauth: Option<OAuth>,
    /// The server's own names of the tools that may be called; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Whether to trust the server's hint that a tool only reads. Such a call needs no approval.
    pub trust_hints: bool,
    /// The folders for the server if it requests roots.
    pub roots: ServerRoots,
    /// Whether the server may request answers of the session's model. The user is asked each time.
    pub sampling: bool,
    /// Timeout for the server to start and to list its tools.
    pub start_timeout: Duration,
    /// Maximum time without progress of a call: each message about its progress restarts the timeout.
    pub call_timeout: Duration,
}

impl McpServer {
    /// Whether the configuration sets the header with the credentials.
    pub(super) fn has_token(&self) -> bool {
        let Transport::Url { headers, .. } = &self.transport else { return false };
        headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION.as_str()))
    }

    /// Advice for the user if the server requires a login.
    pub(super) fn login_advice(&self) -> String {
        match (&self.oauth, self.has_token()) {
            (_, true) => "put another token into its `headers`".to_owned(),
            (Some(_), false) => format!("run `haft mcp login {}`", self.name),
            (None, false) => "put a token into its `headers`".to_owned(),
        }
    }

    /// The folders for the server if it requests roots and is started in `workspace`; `None` if it is not offered any.
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

    /// Whether one of the arguments is an existing folder, written as a path: from the root, from `~`, which many
    /// servers expand themselves, or from the folder in which the server is started. A single word may be anything.
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

/// The folders for a server that requests roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerRoots {
    /// The workspace. A program with a folder among its arguments is offered none: many servers replace their own
    /// folders by those of the client.
    #[default]
    Automatic,
    /// The workspace, whatever the arguments are.
    Workspace,
    /// No folders: the capability is not offered.
    Nothing,
    /// These folders, as absolute paths.
    Folders(Vec<PathBuf>),
}

/// How to reach a server.
#[derive(Clone)]
pub enum Transport {
    /// A program that communicates over its standard streams.
    Program {
        /// A path, or a name that is looked up in `PATH`.
        program: String,
        /// Arguments of the program.
        arguments: Vec<String>,
        /// Environment variables, in addition to those of all processes.
        environment: Vec<(String, String)>,
    },
    /// A service that speaks Streamable HTTP.
    Url {
        /// Address of the endpoint.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

/// How Haft logs in to a server, and where it stores the login. It may contain a secret, so its `Debug` output shows
/// only `client_id`.
#[derive(Clone)]
pub struct OAuth {
    /// The file of all logins, as JSON, which only the user may read.
    pub file: PathBuf,
    /// The ID of a client that is registered at the authorization server, or the HTTPS address of a client ID metadata
    /// document. Without it, Haft registers itself.
    pub client_id: Option<String>,
    /// The secret of `client_id`.
    pub client_secret: Option<String>,
    /// Scopes to request; if empty, those that the server names.
    pub scopes: Vec<String>,
    /// The port on this machine for the browser's redirect; any free one if `None`.
    pub callback_port: Option<u16>,
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// The parameters of [`crate::client::Mcp`].
pub struct McpSettings {
    /// The servers, in the order in which models see their tools.
    pub servers: Vec<McpServer>,
    /// The folder in which programs start, and which servers get as root.
    pub workspace: PathBuf,
    /// The environment of every program.
    pub environment: Arc<[(String, String)]>,
    /// Maximum tokens for definitions. If they take more, tools of the servers with the most tokens are found by
    /// search.
    pub budget: usize,
    /// Receives notes for the user, for example that a server does not start.
    pub on_note: Arc<dyn Fn(String) + Send + Sync>,
}
