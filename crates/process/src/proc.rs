//! [`others`] and [`Stat`]: what `/proc` says of processes. Empty on systems without it.
use rustix::process::{Pid, getpid};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Most files of a process have at most this many bytes.
const USUAL_SIZE: usize = 16 << 10;

/// All processes but this one, with their folders.
pub(crate) fn others() -> impl Iterator<Item = (Pid, PathBuf)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        Some((pid, entry.path()))
    });
    processes.filter(|(pid, _)| *pid != getpid())
}

/// Reads a file of `/proc`, whose size is unknown, in as few steps as possible.
pub(crate) fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(USUAL_SIZE);
    File::open(file)?.take(u64::MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// The fields of `/proc/PID/stat` from the third one on: those after the name, which may hold anything. Empty if there
/// is no such process.
pub(crate) struct Stat(Vec<String>);

impl Stat {
    /// Reads the status of the process or thread with this folder.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = read(&folder.join("stat")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
        Self(fields.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// The field with this number, counted as in proc_pid_stat(5).
    pub(crate) fn field(&self, number: usize) -> Option<&str> {
        self.0.get(number - 3).map(String::as_str)
    }

    /// Whether any of `bits` is set in the field.
    pub(crate) fn has(&self, number: usize, bits: u64) -> bool {
        self.field(number).and_then(|field| field.parse::<u64>().ok()).is_some_and(|field| field & bits != 0)
    }

    /// Whether it no longer runs a program.
    pub(crate) fn has_ended(&self) -> bool {
        self.field(STATE).is_none_or(|state| state == "Z" || state == "X")
    }
}

const STATE: usize = 3;
pub(crate) const PARENT: usize = 4;
pub(crate) const SESSION: usize = 6;
pub(crate) const FLAGS: usize = 9;
pub(crate) const STARTED: usize = 22;
pub(crate) const PENDING_SIGNALS: usize = 31;
pub(crate) const ENVIRONMENT_END: usize = 51;
