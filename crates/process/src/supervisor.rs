//! [`supervise`]: runs the supervisor, a process that outlives this one and then ends processes that it left running.
//! It alone guarantees that a killed program leaves no process alive: the parent-death signal reaches only direct
//! children of this process.
use crate::{
    escaped::{Process, kill_all},
    previous_run::has_left,
    process_tags::{VARIABLE, instance, is_of, words},
};
use std::{
    ffi::OsString,
    io::{self, Read, Write, stdin},
    os::unix::process::{CommandExt, parent_id},
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

/// Prefix of the instance name in the only argument of the supervisor.
const ARGUMENT_PREFIX: &str = "--end-what-is-left-of=";

/// Sent to the supervisor if nothing is left to end.
const DISMISSAL: &[u8] = b"q";

/// How long the supervisor retries processes that cannot be killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(60);

static SUPERVISOR: Mutex<Supervisor> = Mutex::new(Supervisor::None);

/// See [`reader_program`].
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

enum Supervisor {
    /// No program is named, or it was dismissed.
    None,
    /// Not started yet. `belongs_to`: the variable of this process.
    Named { program: PathBuf, belongs_to: Option<String> },
    /// The supervisor runs. It ends remaining processes when this pipe is closed.
    Runs(ChildStdin),
}

/// Names the program that supervises this process: one whose `main` begins with [`supervise`]. It is started with the
/// first process that this one starts. If no program is named, there is only the parent-death signal. `belongs_to`: the
/// variable `HAFT_CALL` of this process, if set.
pub fn supervise_by(program: PathBuf, belongs_to: Option<String>) {
    let _named_before = PROGRAM.set(program.clone());
    let mut supervisor = lock();
    if matches!(*supervisor, Supervisor::None) {
        *supervisor = Supervisor::Named { program, belongs_to };
    }
}

/// The program that [`supervise_by`] named. Its `main` also reads untrusted files for others, in processes of their own.
pub fn reader_program() -> Option<PathBuf> {
    PROGRAM.get().cloned()
}

/// Runs the supervisor, if the first argument of this process says that it is one: waits for the end of the process
/// that started it, and ends what is left. Returns whether it was one.
pub fn supervise(argument: Option<OsString>) -> bool {
    let instance = argument.as_ref().and_then(|argument| argument.to_str()?.strip_prefix(ARGUMENT_PREFIX));
    let Some(instance) = instance else { return false };
    let parent = parent_id();
    let mut told = Vec::new();
    let _closed_is_closed = stdin().read_to_end(&mut told);
    if told == DISMISSAL {
        return true;
    }
    // The process closes its files before its children are killed.
    let end = Instant::now() + KILL_TIMEOUT;
    while parent_id() == parent && Instant::now() < end {
        sleep(Duration::from_millis(1));
    }
    let is_left = |process: &Process| match words(&process.environment) {
        Some(words) => words.iter().any(|word| is_of(word, instance)),
        None => has_left(process, instance),
    };
    let _they_wait_for_a_disk = kill_all(is_left, KILL_TIMEOUT);
    true
}

/// Dismisses the supervisor: this process ends by itself, and has ended what it started.
pub fn dismiss_supervisor() {
    if let Supervisor::Runs(mut supervisor) = std::mem::replace(&mut *lock(), Supervisor::None) {
        let _it_is_gone = supervisor.write_all(DISMISSAL);
    }
}

/// Starts the supervisor, if one was named and none runs. Commands work without it as well.
pub(crate) fn start() {
    let mut supervisor = lock();
    if let Supervisor::Named { program, belongs_to } = &*supervisor {
        // If it cannot be started, the next command tries again.
        if let Ok(input) = begin(program, belongs_to.as_deref()) {
            *supervisor = Supervisor::Runs(input);
        }
    }
}

fn lock() -> MutexGuard<'static, Supervisor> {
    SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the supervisor in a group of its own, so that signals of a terminal do not reach it, and with only one
/// variable of our environment: the one that tags this process itself.
fn begin(program: &Path, belongs_to: Option<&str>) -> io::Result<ChildStdin> {
    let mut command = Command::new(program);
    command.arg(format!("{ARGUMENT_PREFIX}{}", instance())).current_dir("/").env_clear().process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.envs(belongs_to.map(|words| (VARIABLE, words)));
    let mut child = command.spawn()?;
    child.stdin.take().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
}
