//! Starts processes that end with this one, at once.
//!
//! Linux sends the *parent-death signal* of a process when the thread ends that started it. Threads of a runtime come and
//! go, so one thread starts all processes, and lasts as long as this process does.
use crate::{confine::Plan, marks, supervisor};
use rustix::process::{Pid, Resource};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, mpsc},
    thread,
};
use tokio::{
    process::{Child, Command},
    runtime::Handle,
};

/// Starts `command` in a session of its own: with a process group and without a terminal, so that what asks `/dev/tty`
/// for a password fails at once instead of waiting for ever. It is killed when this process ends, however it does.
/// Whatever `plan` says is done in it, before its program begins.
pub(crate) fn spawn(mut command: Command, plan: Option<Plan>) -> io::Result<Child> {
    let runtime = Handle::try_current().map_err(io::Error::other)?;
    let thread = lasting_thread();
    prepare(&mut command, thread.is_some(), plan);
    // Where no thread can be had, it lives until somebody looks for it.
    let Some(thread) = thread else { return command.spawn() };
    let (answer, started) = mpsc::channel();
    let start: Job = Box::new(move || {
        let _entered = runtime.enter();
        let _nobody_waits = answer.send(command.spawn());
        // Afterwards, so that nobody waits for it.
        supervisor::start();
    });
    thread.send(start).map_err(|_| no_answer())?;
    started.recv().map_err(|_| no_answer())?
}

type Job = Box<dyn FnOnce() + Send>;

fn no_answer() -> io::Error {
    io::Error::other("the runtime cannot start processes")
}

/// Made when it is first needed. Of a fork of this process it is not a thread.
fn lasting_thread() -> Option<mpsc::Sender<Job>> {
    static THREAD: Mutex<Option<(u32, mpsc::Sender<Job>)>> = Mutex::new(None);
    let mut known = THREAD.lock().ok()?;
    let ours = std::process::id();
    if let Some((process, thread)) = &*known
        && *process == ours
    {
        return Some(thread.clone());
    }
    let (sender, jobs) = mpsc::channel::<Job>();
    // All that it started would end with it.
    let work = move || jobs.into_iter().for_each(|job| drop(catch_unwind(AssertUnwindSafe(job))));
    thread::Builder::new().name("haft-spawn".into()).spawn(work).ok()?;
    *known = Some((ours, sender.clone()));
    Some(sender)
}

#[expect(
    unsafe_code,
    reason = "the standard library has no stable, safe way to call setsid(2) and prctl(2) in a child"
)]
fn prepare(command: &mut Command, ends_with_us: bool, plan: Option<Plan>) {
    let parent = Pid::from_raw(std::process::id().cast_signed());
    let number = marks::numbered();
    let begin = move || {
        rustix::process::setsid()?;
        if let Some(number) = number {
            // Some systems do not know it.
            let _it_has_none = rustix::process::setrlimit(Resource::Rttime, number);
        }
        if ends_with_us {
            end_with(parent)?;
        }
        keep_files();
        plan.as_ref().map_or(Ok(()), Plan::enter)
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are one system call each, and an
    // error is a number that is turned into an `io::Error` without allocating. `Plan::enter` keeps to that.
    unsafe {
        command.pre_exec(begin);
    }
}

/// Whatever was open in whoever started this process is not for the program: it gets the three standard streams.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "close_range(2) has no safe form that does no more than mark")]
fn keep_files() {
    // SAFETY: marks descriptors to be closed when the program begins; all of this process stay open until then. An older
    // system does not know it.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

#[cfg(not(target_os = "linux"))]
fn keep_files() {}

/// Asks the system to kill this process, which was just forked, when `parent` ends. It may have ended before that.
#[cfg(target_os = "linux")]
fn end_with(parent: Option<Pid>) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    match rustix::process::getppid() == parent {
        true => Ok(()),
        false => Err(rustix::io::Errno::SRCH.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn end_with(_: Option<Pid>) -> io::Result<()> {
    Ok(())
}
