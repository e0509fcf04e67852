//! [`Effect`]: what a call declares that it would access.
#[cfg(doc)]
use crate::Access;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// An effect that a call declares. Paths are absolute, or relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads a file or a folder.
    Read(PathBuf),
    /// Creates, changes or removes a file.
    Write(PathBuf),
    /// Runs this command, which may do anything.
    Execute(Execution),
    /// Talks to this host or URL.
    Network(String),
}

impl Effect {
    /// Returns the effect of running `command` in the workspace's root.
    pub fn execute(command: impl Into<String>) -> Self {
        Self::execute_in(command, "")
    }

    /// Returns the effect of running `command` in `folder`.
    pub fn execute_in(command: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        let (command, folder) = (command.into(), folder.into());
        Self::Execute(Execution { command, folder, ..Execution::default() })
    }

    /// Returns the same effect, in a process that is started with [`Access::confinement`].
    pub fn confined(self) -> Self {
        match self {
            Self::Execute(execution) => Self::Execute(Execution { confined: true, ..execution }),
            other => other,
        }
    }

    /// Returns the same effect confined, but with the network of this machine.
    pub fn with_network(self) -> Self {
        match self.confined() {
            Self::Execute(execution) => Self::Execute(Execution { network: true, ..execution }),
            other => other,
        }
    }

    /// Returns the same effect, of a command that is trusted to change nothing.
    pub fn read_only(self) -> Self {
        match self {
            Self::Execute(execution) => Self::Execute(Execution { read_only: true, ..execution }),
            other => other,
        }
    }

    /// Returns the same effect, of a process that continues after its call.
    pub fn lasting(self) -> Self {
        match self {
            Self::Execute(execution) => Self::Execute(Execution { lasting: true, ..execution }),
            other => other,
        }
    }

    /// Returns the same effect with its path mapped by `place`.
    pub fn placed(self, place: impl FnOnce(&Path) -> PathBuf) -> Self {
        match self {
            Self::Read(path) => Self::Read(place(&path)),
            Self::Write(path) => Self::Write(place(&path)),
            other @ (Self::Execute(_) | Self::Network(_)) => other,
        }
    }
}

impl fmt::Display for Effect {
    /// Writes the effect like a policy rule: `write:src/main.rs`, `execute@crates/core:cargo test`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read:{}", path.display()),
            Self::Write(path) => write!(f, "write:{}", path.display()),
            Self::Execute(Execution { command, folder, .. }) if is_root(folder) => {
                write!(f, "execute:{command}")
            }
            Self::Execute(Execution { command, folder, .. }) => {
                write!(f, "execute@{}:{command}", folder.display())
            }
            Self::Network(target) => write!(f, "network:{target}"),
        }
    }
}

/// A command line and the folder in which it starts.
///
/// As JSON, a text if the folder is the workspace's root and all other fields have their defaults, otherwise
/// `{"command":…,"folder":…,"confined":…,"network":…,"lasting":…,"read_only":…}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "ExecutionForm", into = "ExecutionForm")]
pub struct Execution {
    /// The command line.
    pub command: String,
    /// Absolute, or relative to the workspace; empty for the workspace's root. If it is the path of a file, the folder
    /// of that file is used. The engine makes it relative if it is inside the workspace.
    pub folder: PathBuf,
    /// Whether its process is started with [`Access::confinement`], so that it is limited to that.
    pub confined: bool,
    /// For a confined command, whether it has the network of this machine.
    pub network: bool,
    /// Whether it continues after its call has ended. If it is not confined, it works in the real workspace, with
    /// whatever the system supports of [`Access::confinement`].
    pub lasting: bool,
    /// Whether the user trusts it to change nothing: the tool of an MCP server with `trust_hints` that says so.
    pub read_only: bool,
}

impl Execution {
    /// Whether its command line runs only programs that are known to change no file.
    pub fn only_reads(&self) -> bool {
        self.read_only || haft_shell::Runs::of(&self.command).only_reads
    }

    /// Whether it can change only its view of the workspace.
    pub fn stays_inside(&self) -> bool {
        self.read_only || self.confined && !self.network
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ExecutionForm {
    AtRoot(String),
    In {
        command: String,
        #[serde(default, skip_serializing_if = "is_root")]
        folder: PathBuf,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confined: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        network: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lasting: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        read_only: bool,
    },
}

fn is_root(folder: &Path) -> bool {
    folder.as_os_str().is_empty()
}

impl From<ExecutionForm> for Execution {
    fn from(form: ExecutionForm) -> Self {
        match form {
            ExecutionForm::AtRoot(command) => Self { command, ..Self::default() },
            ExecutionForm::In { command, folder, confined, network, lasting, read_only } => {
                Self { command, folder, confined, network, lasting, read_only }
            }
        }
    }
}

impl From<Execution> for ExecutionForm {
    fn from(execution: Execution) -> Self {
        let Execution { command, folder, confined, network, lasting, read_only } = execution;
        match is_root(&folder) && !confined && !network && !lasting && !read_only {
            true => Self::AtRoot(command),
            false => Self::In { command, folder, confined, network, lasting, read_only },
        }
    }
}
