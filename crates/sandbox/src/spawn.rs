//! [`spawn`]: starts processes that end at once when this one does.
//!
//! Linux sends the *parent-death signal* of a process when the thread ends that started it. Threads of a runtime come and
//! go, so one thread starts all processes, and lasts as long as this process does.
use crate::{
    begin::{Beginning, Begun},
    child::{Child, Streams},
    confine::Plan,
    launch::Launch,
    marks, supervisor,
};
use rustix::process::{Pid, getpid};
use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, mpsc},
    thread,
};
use tokio::runtime::Handle;

/// Starts a process in a session of its own: with a process group and without a terminal, so that a program that asks
/// `/dev/tty` for a password fails at once instead of waiting forever. It is killed when this process ends, for
/// whatever reason. It is confined as `plan` says. `takes_input`: whether it gets a standard input. Needs a tokio
/// runtime.
pub(crate) fn spawn(launch: Launch, plan: Option<Plan>, takes_input: bool) -> io::Result<Child> {
    Handle::try_current().map_err(io::Error::other)?;
    let thread = lasting_thread();
    // Without a thread, the process may outlive this one until `end_left_over` finds it.
    let (beginning, streams) = prepared(launch, plan, takes_input, thread.is_some().then(getpid))?;
    let begun = match thread {
        Some(thread) => begin_in(&thread, beginning)?,
        None => beginning.begin()?,
    };
    Child::new(begun, streams)
}

fn begin_in(thread: &mpsc::Sender<Job>, beginning: Beginning) -> io::Result<Begun> {
    let (answer, started) = mpsc::channel();
    let start: Job = Box::new(move || {
        let begun = beginning.begin();
        // The reader of its output sees the end only if no other process could still print.
        drop(beginning);
        let _nobody_waits = answer.send(begun);
        // Afterwards, so that no caller waits for it.
        supervisor::start();
    });
    thread.send(start).map_err(|_| no_answer())?;
    started.recv().map_err(|_| no_answer())?
}

/// Both ends of the process's streams.
fn prepared(
    launch: Launch,
    plan: Option<Plan>,
    takes_input: bool,
    ends_with: Option<Pid>,
) -> io::Result<(Beginning, Streams)> {
    let (stdin, input): (OwnedFd, Option<OwnedFd>) = match takes_input {
        true => io::pipe().map(|(stdin, input)| (stdin.into(), Some(input.into())))?,
        false => (File::open("/dev/null")?.into(), None),
    };
    let ((output, stdout), (errors, stderr)) = (io::pipe()?, io::pipe()?);
    let streams = [stdin, stdout.into(), stderr.into()];
    let beginning = Beginning { launch, plan, streams, number: marks::numbered(), ends_with };
    Ok((beginning, Streams { stdin: input, stdout: output.into(), stderr: errors.into() }))
}

type Job = Box<dyn FnOnce() + Send>;

fn no_answer() -> io::Error {
    io::Error::other("the runtime cannot start processes")
}

/// The thread that starts processes, made on first use. A fork of this process does not have it.
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
