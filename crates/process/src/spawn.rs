//! [`spawn`]: starts processes that end as soon as this one ends, even without a supervisor.
//!
//! Linux sends the *parent-death signal* to a process when the thread that started it ends. Threads of a runtime may
//! end at any time, so one thread, which runs as long as this process, starts all processes.
use crate::{process_tags, supervisor};
use haft_sandbox::Plan;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit, setsid,
};
use std::{
    io,
    os::unix::process::CommandExt,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Stdio},
    sync::{OnceLock, mpsc},
    thread,
};
use tokio::{process::Child, runtime::Handle};

/// Starts a process in a session of its own: with a process group and without a terminal, so that a program that asks
/// `/dev/tty` for a password fails at once instead of waiting forever. It is killed when this process ends, for
/// whatever reason. It is confined as `plan` says. `takes_input`: whether it gets a standard input. Needs a tokio
/// runtime.
pub(crate) fn spawn(mut command: Command, plan: Option<Plan>, takes_input: bool) -> io::Result<Child> {
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let thread = lasting_thread();
    // Without a thread, the process may outlive this one until `end_previous_run` finds it.
    let first_steps =
        FirstSteps { number: process_tags::numbered(), ends_with: thread.is_some().then(getpid), plan };
    command.stdin(if takes_input { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    before_program(&mut command, move || first_steps.take());
    let start = move || {
        let _entered = runtime.enter();
        tokio::process::Command::from(command).spawn()
    };
    match thread {
        Some(thread) => start_in(thread, start),
        None => start(),
    }
}

#[expect(unsafe_code, reason = "what runs between fork(2) and execve(2) must do system calls only")]
fn before_program(command: &mut Command, steps: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: the steps make one system call after the other; they allocate nothing and take no lock.
    unsafe { command.pre_exec(steps) };
}

/// What a process does before its program begins.
struct FirstSteps {
    /// The limit that tags the process as ours, see [`crate::process_tags`].
    number: Option<Rlimit>,
    /// The process with which it ends; `None` if its end is not tied to another process.
    ends_with: Option<Pid>,
    /// What the process sees and reaches; `None` if it is not confined.
    plan: Option<Plan>,
}

impl FirstSteps {
    fn take(&self) -> io::Result<()> {
        setsid()?;
        if let Some(number) = self.number {
            // Some systems do not support this limit.
            let _it_has_none = setrlimit(Resource::Rttime, number);
        }
        if self.ends_with.is_some() {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended already.
            if getppid() != self.ends_with {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        keep_files();
        self.plan.as_ref().map_or(Ok(()), Plan::enter)
    }
}

/// Keeps descriptors of this process, and of the process that started it, from the program: it gets only the three
/// standard streams.
#[expect(unsafe_code, reason = "close_range(2) has no safe form that does no more than mark")]
fn keep_files() {
    // SAFETY: marks descriptors to be closed when the program begins; all of this process stay open until then. An
    // older system does not support the call.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

type Job = Box<dyn FnOnce() + Send>;

fn start_in(
    thread: &mpsc::Sender<Job>,
    start: impl FnOnce() -> io::Result<Child> + Send + 'static,
) -> io::Result<Child> {
    let (answer, started) = mpsc::channel();
    let job: Job = Box::new(move || {
        let _the_caller_is_gone = answer.send(start());
        // Started afterwards, so that no caller waits for the supervisor.
        supervisor::start();
    });
    let no_answer = || io::Error::other("the runtime cannot start processes");
    thread.send(job).map_err(|_| no_answer())?;
    started.recv().map_err(|_| no_answer())?
}

/// The thread that starts processes, made on first use.
fn lasting_thread() -> Option<&'static mpsc::Sender<Job>> {
    static THREAD: OnceLock<Option<mpsc::Sender<Job>>> = OnceLock::new();
    let begin = || {
        let (sender, jobs) = mpsc::channel::<Job>();
        // A panic must not end this thread, because all processes that it started would end, too.
        let work = move || jobs.into_iter().for_each(|job| drop(catch_unwind(AssertUnwindSafe(job))));
        thread::Builder::new().name("haft-spawn".into()).spawn(work).ok()?;
        Some(sender)
    };
    THREAD.get_or_init(begin).as_ref()
}
