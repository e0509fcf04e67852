//! [`end_previous_run`]: ends processes left running by a process that was killed or had no time to end them. If the
//! supervisor was killed as well, this alone guarantees that no process of the killed run is alive when its session
//! continues.
use crate::{
    escaped::{Process, kill_all},
    proc::{FLAGS, PENDING_SIGNALS, STARTED, Stat},
    process_tags::{has_number, instance, is_of, words},
};
use std::{
    fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// How long killing is retried: a process that waits for a disk cannot be killed before the disk has answered.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a process that is about to end is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Identifies a process that starts others: it writes this down, and the process that continues its work reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner(String);

impl Owner {
    /// This process.
    pub fn this() -> Self {
        let own = Stat::read(Path::new("/proc/self"));
        let started = own.field(STARTED).unwrap_or("-");
        Self(format!("{} {} {started} {}", instance(), std::process::id(), namespace()))
    }

    /// Reads what [`Owner::text`] returns.
    pub fn read(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text that identifies it, in one line.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether the process has ended, or is about to. A process that is not visible to this one counts as alive.
    pub fn has_ended(&self) -> bool {
        matches!(self.fate(), Some((_, Fate::Ended | Fate::Ending)))
    }

    /// The instance of the previous run, if it has ended; waits for one that is about to end.
    fn dead_instance(&self) -> Option<&str> {
        let end = Instant::now() + KILL_TIMEOUT;
        loop {
            match self.fate()? {
                (instance, Fate::Ended) => return Some(instance),
                // A process closes its files, including locks, shortly before it has ended.
                (_, Fate::Ending) if Instant::now() < end => sleep(POLL_INTERVAL),
                (_, Fate::Ending | Fate::Lives) => return None,
            }
        }
    }

    fn fate(&self) -> Option<(&str, Fate)> {
        let mut parts = self.0.split(' ');
        let (instance, pid) = (parts.next()?, parts.next()?.parse::<u32>().ok()?);
        let (started, seen_from) = (parts.next()?, parts.next()?);
        if seen_from != namespace() || seen_from.is_empty() {
            return None;
        }
        let process = PathBuf::from(format!("/proc/{pid}"));
        let fate = if !is_same(&process, started) || has_no_thread(&process) {
            Fate::Ended
        } else if is_ending(&process) {
            Fate::Ending
        } else {
            Fate::Lives
        };
        Some((instance, fate))
    }
}

enum Fate {
    Lives,
    Ending,
    Ended,
}

/// Kills running processes of `sessions`, which have the session names in the variable `HAFT_CALL`, and all processes
/// that `owner` had started, if that process has ended. Does not kill processes started by this process. Blocks until
/// they have ended; returns how many could not be killed.
pub fn end_previous_run(sessions: &[String], owner: Option<&Owner>) -> usize {
    let dead = owner.and_then(Owner::dead_instance).filter(|dead| *dead != instance());
    let is_wanted = |process: &Process| match words(&process.environment) {
        Some(words) => {
            !words.iter().any(|word| is_of(word, instance()))
                && words.iter().any(|word| {
                    sessions.iter().any(|session| session == word)
                        || dead.is_some_and(|dead| is_of(word, dead))
                })
        }
        None => dead.is_some_and(|dead| has_left(process, dead)),
    };
    kill_all(is_wanted, KILL_TIMEOUT)
}

/// Whether a process without our variable was started by `instance`, and is alive.
pub(crate) fn has_left(process: &Process, instance: &str) -> bool {
    has_number(&process.folder, instance) && !Stat::read(&process.folder).has_ended()
}

/// `PF_EXITING` in `linux/sched.h`.
const EXITING_FLAG: u64 = 0x4;

/// The bit of SIGKILL among signals.
const SIGKILL_BIT: u64 = 1 << 8;

fn is_same(process: &Path, started: &str) -> bool {
    Stat::read(process).field(STARTED) == Some(started)
}

fn threads(process: &Path) -> Vec<Stat> {
    let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    threads.map(|thread| Stat::read(&thread.path())).collect()
}

fn has_no_thread(process: &Path) -> bool {
    threads(process).iter().all(Stat::has_ended)
}

/// Whether the process was killed, or one of its threads is ending. A moment later it is known whether all threads end.
fn is_ending(process: &Path) -> bool {
    let is_ending =
        |thread: &Stat| thread.has(FLAGS, EXITING_FLAG) || thread.has(PENDING_SIGNALS, SIGKILL_BIT);
    threads(process).iter().any(is_ending)
}

/// The PID namespace: process IDs are comparable only within the same namespace.
fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().replace(' ', "")
}
