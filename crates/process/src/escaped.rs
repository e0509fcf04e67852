//! [`kill`]: kills processes that left the group they were started in (daemons, `setsid`), found by their tags. While
//! this process continues, this alone ends them with their command.
use crate::{
    proc::{ENVIRONMENT_END, Stat, others, read},
    process_tags::words,
};
use rustix::{
    io::Errno,
    process::{Signal, kill_process},
};
use std::{
    fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// Maximum passes: a killed process may have started another one a moment before, and so may that one, but not forever.
const MAX_PASSES: usize = 5;

/// How long to wait between two passes: signals must arrive, and `execve` must complete.
const PASS_DELAY: Duration = Duration::from_millis(10);

/// Kills every process that carries `start` in the environment that it was started with. Finds none without `/proc`, and
/// cannot reach a process that cleaned its environment. Blocks while there is one, at most 40 ms.
pub(crate) fn kill(start: &str) {
    let is_wanted =
        |process: &Process| words(&process.environment).is_some_and(|words| words.contains(&start));
    for _ in 1..MAX_PASSES {
        if kill_once(is_wanted) == 0 {
            return;
        }
        sleep(PASS_DELAY);
    }
    kill_once(is_wanted);
}

/// Kills every wanted process until none is left. Blocks meanwhile, at most for `patience`: a process that waits for a
/// disk cannot be killed. Returns how many are left.
pub(crate) fn kill_all(is_wanted: impl Fn(&Process) -> bool, patience: Duration) -> usize {
    let end = Instant::now() + patience;
    loop {
        let found = kill_once(&is_wanted);
        if found == 0 || Instant::now() >= end {
            return found;
        }
        sleep(PASS_DELAY);
    }
}

/// A process that lives.
pub(crate) struct Process {
    /// The process's folder in `/proc`.
    pub(crate) folder: PathBuf,
    /// The environment that it was started with; empty if this process may not read it.
    pub(crate) environment: Vec<u8>,
}

/// Kills every wanted process once. Returns how many there were, including processes that may turn out to be wanted.
fn kill_once(is_wanted: impl Fn(&Process) -> bool) -> usize {
    let mut found = 0;
    for (pid, folder) in others() {
        let Some(environment) = environment_of(&folder) else {
            found += 1;
            continue;
        };
        if is_wanted(&Process { folder, environment }) {
            let _already_gone = kill_process(pid, Signal::KILL);
            found += 1;
        }
    }
    found
}

/// The environment of a process; `None` if it has none yet. Kernel threads and zombies never have one, and are most of
/// the processes.
fn environment_of(process: &Path) -> Option<Vec<u8>> {
    let environment = || read(&process.join("environ"));
    match environment() {
        Ok(found) if !found.is_empty() => Some(found),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Some(Vec::new()),
        // Read again, because the environment may have changed a moment ago.
        _ => (!is_between_programs(process)).then(|| environment().unwrap_or_default()),
    }
}

/// Whether the process is in the middle of `execve`: it has a program, but no memory for an environment yet. A process
/// that was started without variables has an empty memory area for them.
fn is_between_programs(process: &Path) -> bool {
    Stat::read(process).field(ENVIRONMENT_END) == Some("0") && fs::read_link(process.join("exe")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[cfg(target_os = "linux")]
    fn who_has_no_environment_is_not_between_programs() {
        let mut sleep = Command::new("sleep").arg("1000").env_clear().spawn().unwrap();
        let process = format!("/proc/{}", sleep.id());
        let is_sleep = || fs::read(format!("{process}/cmdline")).unwrap() == b"sleep\x001000\0";
        while !is_sleep() {
            std::thread::yield_now();
        }
        assert_eq!(environment_of(Path::new(&process)), Some(Vec::new()));
        assert!(!Stat::read(Path::new(&process)).has_ended());
        sleep.kill().unwrap();
        assert_eq!(environment_of(Path::new(&process)), Some(Vec::new()), "it has ended");
        sleep.wait().unwrap();
        assert!(Stat::read(Path::new(&process)).has_ended());
    }
}
