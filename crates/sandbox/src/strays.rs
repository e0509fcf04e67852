//! Processes of a command that left its group: daemons, `setsid`. They are known by a mark in their environment.
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread::sleep,
    time::Duration,
};

/// The variable that carries the mark.
pub(crate) const VARIABLE: &str = "HAFT_CALL";

/// Who is killed may have started another one a moment before, and so may that one; but not for ever.
const PASSES: usize = 5;

/// Between two passes: a signal arrives, a program takes the place of another.
const PAUSE: Duration = Duration::from_millis(10);

/// A text that no other command of this machine carries.
pub(crate) fn new_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Kills every process with `mark` in the environment that it was started with. Without `/proc` there is none to
/// be found, and one that cleaned its environment is out of reach. Blocks while there is one, for 40 ms at most.
pub(crate) fn kill(mark: &str) {
    let wanted = format!("{VARIABLE}={mark}");
    for _ in 1..PASSES {
        if !kill_once(wanted.as_bytes()) {
            return;
        }
        sleep(PAUSE);
    }
    kill_once(wanted.as_bytes());
}

/// Whether there was one, or one that may turn out to be one.
fn kill_once(wanted: &[u8]) -> bool {
    let mut found = false;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let Some(pid) = pid else { continue };
        match environment_of(&process.path()) {
            Some(variables) if variables.split(|byte| *byte == 0).any(|variable| variable == wanted) => {
                let _already_gone = kill_process(pid, Signal::KILL);
                found = true;
            }
            Some(_) => {}
            None => found = true,
        }
    }
    found
}

/// `None` where there is none yet.
fn environment_of(process: &Path) -> Option<Vec<u8>> {
    let environment = || fs::read(process.join("environ")).unwrap_or_default();
    let found = environment();
    if found.is_empty() {
        // Else it may have come through a moment ago.
        return (!is_between_programs(process)).then(environment);
    }
    Some(found)
}

/// In the middle of `execve` a process has a program, and no place for an environment yet. Threads of the kernel and
/// zombies have neither, and a process that was started without a variable has an empty place.
fn is_between_programs(process: &Path) -> bool {
    let told = fs::read_to_string(process.join("stat")).unwrap_or_default();
    // `env_end` of proc_pid_stat(5), counted from behind the name, which may hold anything.
    let end_of_environment = told.rsplit(')').next().and_then(|told| told.split_ascii_whitespace().nth(48));
    end_of_environment == Some("0") && fs::read_link(process.join("exe")).is_ok()
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
        sleep.kill().unwrap();
        assert_eq!(environment_of(Path::new(&process)), Some(Vec::new()), "it has ended");
        sleep.wait().unwrap();
    }
}
