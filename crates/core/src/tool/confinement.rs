//! [`Confinement`]: what a process of a call sees and reaches, as data that `haft-sandbox` enforces.
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
    /// All values, from the widest to the strictest.
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

/// A process sees the file system of this machine, read-only, except as the fields specify. It has processes, shared
/// memory and, where [`Confinement::reach`] does not say otherwise, a network of its own; and no rights beyond those of
/// its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The one folder of the person's that it may change. Absolute, links followed.
    pub workspace: PathBuf,
    /// How the process sees the workspace.
    pub finds: WorkspaceMount,
    /// What it sees as `/tmp`. The folder exists.
    pub tmp: PathBuf,
    /// How the process sees that folder.
    pub finds_tmp: WorkspaceMount,
    /// How it sees the rest of the machine.
    pub outside: Outside,
    /// Other folders that it may change. What it does there is real at once.
    pub writable: Vec<PathBuf>,
    /// Folders that it finds as they are and may write to; what it writes lies elsewhere.
    pub caches: Vec<CacheMount>,
    /// Files and folders that look empty to it.
    pub hidden: Vec<PathBuf>,
    /// What it reaches over the network.
    pub reach: Reach,
    /// Whether hosts that it may reach by name may be in private networks.
    pub private_hosts: bool,
    /// What it may use of the machine.
    pub limits: ProcessLimits,
}

/// What one confined process, and those below it, may use of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Processes and threads at a time.
    pub processes: u32,
    /// Bytes of a file that they write.
    pub file_bytes: Option<u64>,
    /// Bytes of memory that each process has for itself.
    pub memory_bytes: Option<u64>,
}

impl Default for ProcessLimits {
    /// 4,096 processes, files as long as the disk takes, as much memory as there is.
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

/// What a process finds at the path of its workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceMount {
    /// The workspace: what it changes is real at once.
    Itself,
    /// The workspace, as it is at any time; nothing can be changed there.
    ReadOnly,
    /// The workspace below an overlay: what it changes lies elsewhere.
    Overlay(Overlay),
    /// A copy of the workspace, which is here.
    Copy(PathBuf),
}

/// A folder below an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMount {
    /// Where the folder lies. Absolute, links followed.
    pub place: PathBuf,
    /// Where what is written lies.
    pub overlay: Overlay,
}

/// The folders of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// What is changed, as overlayfs of Linux keeps it. The folder exists.
    pub upper: PathBuf,
    /// Where to make the folders that overlayfs needs additionally, on the same file system; see [`Overlay::work_of`].
    pub work: PathBuf,
}

impl Overlay {
    /// The folder of one mount, counted from 0: `work`, `work-1`, `work-2` … Each mount takes the first name that is free,
    /// since what one has used no other may.
    pub fn work_of(&self, mount: usize) -> PathBuf {
        let mut work = self.work.clone().into_os_string();
        if mount > 0 {
            work.push(format!("-{mount}"));
        }
        work.into()
    }
}
