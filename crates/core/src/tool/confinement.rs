//! What a process of a call sees and reaches, as data: whoever starts processes makes it so.
use std::path::PathBuf;

/// A process sees the file system of this machine, read-only, but for what is said here. It has processes, shared
/// memory and, where [`Confinement::network`] does not say otherwise, a network of its own; and no rights beyond those
/// of its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// The one folder of the person's that it may change.
    pub workspace: Overlay,
    /// What it sees as `/tmp`. The folder exists.
    pub tmp: PathBuf,
    /// Other folders that it may change. What it does there is real at once.
    pub writable: Vec<PathBuf>,
    /// Files and folders that look empty to it.
    pub hidden: Vec<PathBuf>,
    /// Whether it has the network of this machine.
    pub network: bool,
}

/// A folder as a process sees it at the folder's own path: what it changes lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// Absolute, links followed. Nothing is changed in it.
    pub folder: PathBuf,
    /// What is changed, as overlayfs of Linux keeps it. The folder exists.
    pub upper: PathBuf,
    /// What overlayfs needs besides, on the same file system. The folder exists and is empty.
    pub work: PathBuf,
}
