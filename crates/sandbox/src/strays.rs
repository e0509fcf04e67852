//! Processes of a command that left its group: daemons, `setsid`. They are known by a mark in their environment.
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

/// The variable that carries the mark.
pub(crate) const VARIABLE: &str = "HAFT_CALL";

/// A text that no other command of this machine carries.
pub(crate) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Kills every process with `mark` in the environment that it was started with. Without `/proc` there is none to
/// be found, and one that cleaned its environment is out of reach.
pub(crate) fn kill(mark: &str) {
    let wanted = format!("{VARIABLE}={mark}");
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid
            && carries(&process.path(), wanted.as_bytes())
        {
            let _already_gone = kill_process(pid, Signal::KILL);
        }
    }
}

fn carries(process: &Path, wanted: &[u8]) -> bool {
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
}
