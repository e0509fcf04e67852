//! [`McpServer`] and [`McpSettings`]: the configured servers.
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
    /// The server's own names of the tools that may be called; none for all.
    pub tools: Option<Vec<String>>,
    /// Whether the server is believed where it says of a tool that it only reads. Such a call needs no approval.
    pub trust_hints: bool,
    /// How long it may take to start and to tell its tools.
    pub start_timeout: Duration,
    /// How long a call may be silent: each word of its progress counts anew.
    pub call_timeout: Duration,
}

impl McpServer {
    /// Whether one of the arguments is a folder that is there, written as a path: from the root, from `~`, which
    /// many servers read themselves, or from the folder in which the server is started. A word alone may be anything.
    pub(super) fn has_own_folders(&self, started_in: &Path, environment: &[(String, String)]) -> bool {
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

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A program that talks over its standard streams.
    Program {
        /// Looked up in the `PATH`, or a path.
        program: String,
        /// One by one.
        arguments: Vec<String>,
        /// Beside what all processes get.
        environment: Vec<(String, String)>,
    },
    /// A service that talks Streamable HTTP.
    Url {
        /// Its endpoint.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
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
