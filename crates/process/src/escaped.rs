//! [`kill`]: kills processes that left the group they were started in (daemons, `setsid`), found by their tags. It alone ends
//! them with their command, while this process goes on.
use crate::process_tags::words;
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// Maximum passes: a killed process may have started another one a moment before, and so may that one, but not forever.
const MAX_PASSES: usize = 5;

/// Most environments have at most this many bytes.
const USUAL_SIZE: usize = 16 << 10;

/// How long to wait between two passes: a signal arrives, a program takes the place of another.
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
    /// Its folder in `/proc`.
    pub(crate) folder: PathBuf,
    /// The environment that it was started with; empty if this process may not read it.
    pub(crate) environment: Vec<u8>,
}

/// How many there were, those counted that may turn out to be one.
fn kill_once(is_wanted: impl Fn(&Process) -> bool) -> usize {
    let ours = i32::try_from(std::process::id()).ok();
    let mut found = 0;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid: Option<i32> = process.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = pid.filter(|pid| Some(*pid) != ours).and_then(Pid::from_raw) else { continue };
        let folder = process.path();
        match environment_of(&folder) {
            Some(environment) => {
                if is_wanted(&Process { folder, environment }) {
                    let _already_gone = kill_process(pid, Signal::KILL);
                    found += 1;
                }
            }
            None => found += 1,
        }
    }
    found
}

/// `None` if it has no environment yet. Kernel threads and zombies cannot have one, and they are most of the processes.
fn environment_of(process: &Path) -> Option<Vec<u8>> {
    let environment = || whole(&process.join("environ"));
    match environment() {
        Ok(found) if !found.is_empty() => Some(found),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Some(Vec::new()),
        // Otherwise it may have changed a moment ago.
        _ => (!is_between_programs(process)).then(|| environment().unwrap_or_default()),
    }
}

/// Reads a file of `/proc`, whose size is unknown, in as few steps as possible.
fn whole(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(USUAL_SIZE);
    File::open(file)?.take(u64::MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// In the middle of `execve` a process has a program, and no place for an environment yet. A process that was started
/// without a variable has an empty place.
fn is_between_programs(process: &Path) -> bool {
    // `env_end` of proc_pid_stat(5).
    stat(process).get(48).is_some_and(|end| end == "0") && fs::read_link(process.join("exe")).is_ok()
}

/// The fields of `/proc/PID/stat` from the third one on: those after the name, which may hold anything. Empty if there
/// is no such process.
pub(crate) fn stat(process: &Path) -> Vec<String> {
    let told = whole(&process.join("stat")).unwrap_or_default();
    let told = String::from_utf8_lossy(&told);
    let told = told.rsplit_once(')').map_or("", |(_, told)| told);
    told.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Whether the fields are those of a process, or thread, that no longer runs a program.
pub(crate) fn has_ended(stat: &[String]) -> bool {
    stat.first().is_none_or(|state| state == "Z" || state == "X")
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
        assert!(!has_ended(&stat(Path::new(&process))));
        sleep.kill().unwrap();
        assert_eq!(environment_of(Path::new(&process)), Some(Vec::new()), "it has ended");
        sleep.wait().unwrap();
        assert!(has_ended(&stat(Path::new(&process))));
    }
}
