//! [`Beginning`]: starts a process and takes it up to its program.
//!
//! A process that is not confined shares the memory of this one until then, as after vfork(2), since copying it takes
//! longer than everything else that a command needs. A confined process has a copy. Both have a stack of their own,
//! make one system call after the other, allocate nothing and take no lock, and no signal handler runs in them.
use crate::{
    clone::{AS_VFORK, STACK_SIZE, Stack, Teller, start},
    confine::Plan,
    launch::Launch,
    signals,
    told::Told,
};
use rustix::{
    io::{read, retry_on_intr},
    process::{Pid, Resource, Rlimit, WaitOptions, waitpid},
};
use std::{
    convert::Infallible,
    ffi::{c_int, c_void},
    io,
    mem::ManuallyDrop,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::atomic::AtomicI32,
};

/// What a process needs to start.
pub(crate) struct Beginning {
    pub(crate) launch: Launch,
    /// What the process sees and reaches; `None` if it is not confined.
    pub(crate) plan: Option<Plan>,
    /// Its standard input, output and error.
    pub(crate) streams: [OwnedFd; 3],
    /// What marks the process as ours, see [`crate::marks`].
    pub(crate) number: Option<Rlimit>,
    /// The process with which it ends; `None` if its end is not tied to another process.
    pub(crate) ends_with: Option<Pid>,
}

/// A process whose program runs.
pub(crate) struct Begun {
    pub(crate) pid: Pid,
    /// Of a confined command: `pid` waits for the command and records here how it ended.
    pub(crate) told: Option<Told>,
}

impl Beginning {
    /// Returns once the program runs; an error says why it does not.
    pub(crate) fn begin(&self) -> io::Result<Begun> {
        if self.plan.is_none() {
            let pid = self.begin_on(&mut Stack::<STACK_SIZE>::uninit(), AS_VFORK, &AtomicI32::new(0))?;
            return Ok(Begun { pid, told: None });
        }
        // On failure it is not given back: a process killed meanwhile may have left others that still use it.
        let mut told = ManuallyDrop::new(Told::new()?);
        let (stack, ended) = told.parts();
        // With a copy of our memory: what shares it with a process that the command sees could be changed through that one,
        // such as `oom_score_adj`.
        let pid = self.begin_on(stack, 0, ended)?;
        Ok(Begun { pid, told: Some(ManuallyDrop::into_inner(told)) })
    }

    /// Everything that the new process is given stays alive until its program runs or the process has ended.
    fn begin_on<const BYTES: usize>(
        &self,
        stack: &mut Stack<BYTES>,
        memory: c_int,
        ended: &AtomicI32,
    ) -> io::Result<Pid> {
        let (unable, pipe) = io::pipe()?;
        let first = First { beginning: self, teller: Teller::new(pipe.as_raw_fd()), ended };
        // Until the program has begun: no signal may end the waiting before.
        let _held = signals::hold();
        let begun = start(memory, stack, first_moment, &first);
        drop(pipe);
        let pid = begun?;
        let mut number = [0; size_of::<c_int>()];
        // Not with a call that looks at `errno`, which the new processes may set meanwhile.
        match retry_on_intr(|| read(&unable, &mut number))? {
            // A program has begun, so no process is left that could report why it has not.
            0 => Ok(pid),
            _ => {
                let _it_has_ended = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
                Err(io::Error::from_raw_os_error(c_int::from_ne_bytes(number)))
            }
        }
    }

    /// Runs in the new process. Returns only on failure.
    fn go_on(&self, teller: Teller, ended: &AtomicI32) -> io::Result<Infallible> {
        signals::forget_handlers();
        for (number, stream) in self.streams.iter().enumerate() {
            become_stream(stream.as_raw_fd(), number as c_int)?;
        }
        rustix::process::chdir(self.launch.folder.as_c_str())?;
        rustix::process::setsid()?;
        if let Some(number) = self.number {
            // Some systems do not know it.
            let _it_has_none = rustix::process::setrlimit(Resource::Rttime, number);
        }
        if self.ends_with.is_some() {
            end_with(self.ends_with)?;
        }
        keep_files();
        match &self.plan {
            Some(plan) => plan.run(&self.launch, teller, ended),
            None => self.launch.run_program(),
        }
    }
}

/// What the new process is given to start.
struct First<'a> {
    beginning: &'a Beginning,
    teller: Teller,
    ended: &'a AtomicI32,
}

#[expect(unsafe_code, reason = "the start of a process has the form that clone(2) wants")]
extern "C" fn first_moment(first: *mut c_void) -> c_int {
    // SAFETY: `Beginning::begin_on` gives it, and does not return before the program has begun.
    let First { beginning, teller, ended } = unsafe { &*first.cast::<First<'_>>() };
    teller.end(beginning.go_on(*teller, ended))
}

/// The same file, as one of the three that a program finds.
#[expect(unsafe_code, reason = "dup2(2) onto a number that something else has")]
fn become_stream(file: RawFd, number: c_int) -> io::Result<()> {
    // SAFETY: what had the number is of this process alone, and nothing here uses it.
    match unsafe { libc::dup2(file, number) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Keeps descriptors of this process, and of the process that started it, from the program: it gets only the three
/// standard streams.
#[expect(unsafe_code, reason = "close_range(2) has no safe form that does no more than mark")]
fn keep_files() {
    // SAFETY: marks descriptors to be closed when the program begins; all of this process stay open until then. An older
    // system does not know it.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Asks the system to kill this process when `parent` ends, which may already have ended.
fn end_with(parent: Option<Pid>) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    match rustix::process::getppid() == parent {
        true => Ok(()),
        false => Err(rustix::io::Errno::SRCH.into()),
    }
}
