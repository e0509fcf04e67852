//! [`Confinement`]: what a process of a call can see, change and reach, as data that `haft-sandbox` enforces.
use crate::Reach;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Whether commands are confined. Ordered: the stricter one is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Commands run like the user's own, and need an approval first.
    Off,
    /// Commands are confined if the system supports it.
    #[default]
    Auto,
    /// Commands are confined, or do not start.
    Require,
}

impl Sandbox {
    /// All values, from the most permissive to the strictest.
    pub const ALL: [Self; 3] = [Self::Off, Self::Auto, Self::Require];

    /// The value as configuration files and options write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Require => "require",
        }
    }
}

/// A process sees the file system of this machine, read-only, except as the fields specify. It has its own processes,
/// shared memory and, unless [`Confinement::reach`] specifies otherwise, network, and no rights beyond those of its
/// user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The only folder of the user that it may change. Absolute, links followed.
    pub workspace: PathBuf,
    /// How the process sees the workspace.
    pub finds: WorkspaceMount,
    /// The folder that it sees as `/tmp`. The folder exists.
    pub tmp: PathBuf,
    /// How the process sees that folder.
    pub finds_tmp: WorkspaceMount,
    /// How it sees the rest of the machine.
    pub outside: Outside,
    /// Other folders that it may change. Its changes there take effect at once.
    pub writable: Vec<PathBuf>,
    /// Folders that it sees unchanged and may write to; its changes are stored in an overlay.
    pub caches: Vec<CacheMount>,
    /// Files and folders that appear empty to it.
    pub hidden: Vec<PathBuf>,
    /// Its network access.
    pub reach: Reach,
    /// Whether hosts that it may reach by name may be in private networks.
    pub private_hosts: bool,
    /// Its resource limits.
    pub limits: ProcessLimits,
}

/// Resource limits of a confined process and its child processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Maximum processes and threads at a time.
    pub processes: u32,
    /// Maximum bytes of a file that they write.
    pub file_bytes: Option<u64>,
    /// Maximum bytes of private memory of each process.
    pub memory_bytes: Option<u64>,
}

impl Default for ProcessLimits {
    /// 4,096 processes; file size and memory are not limited.
    fn default() -> Self {
        Self { processes: 4_096, file_bytes: None, memory_bytes: None }
    }
}

/// How a process sees the file systems of the machine, apart from what it may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Through overlays: it cannot connect to the Unix sockets of other programs.
    Overlays,
    /// The folders themselves, for systems that refuse such overlays: the command cannot create Unix sockets, except
    /// connected pairs.
    Bound,
}

/// What a process sees at the path of its workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceMount {
    /// The workspace: its changes take effect at once.
    Itself,
    /// The current workspace, read-only.
    ReadOnly,
    /// The workspace below an overlay, which stores its changes.
    Overlay(Overlay),
    /// A copy of the workspace, in this folder.
    Copy(PathBuf),
}

/// A folder below an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMount {
    /// The path of the folder. Absolute, links followed.
    pub place: PathBuf,
    /// The overlay that stores what is written.
    pub overlay: Overlay,
}

/// The folders of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// The changes, in the format of Linux's overlayfs. The folder exists.
    pub upper: PathBuf,
    /// Where to create the work folders of overlayfs, on the same file system; see [`Overlay::work_of`].
    pub work: PathBuf,
}

impl Overlay {
    /// The work folder of one mount, counted from 0: `work`, `work-1`, `work-2` … Each mount takes the first free name,
    /// since mounts cannot share a work folder.
    pub fn work_of(&self, mount: usize) -> PathBuf {
        let mut work = self.work.clone().into_os_string();
        if mount > 0 {
            work.push(format!("-{mount}"));
        }
        work.into()
    }
}
