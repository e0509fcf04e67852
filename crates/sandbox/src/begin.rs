//! A new process, from its first moment to its program.
//!
//! It has the memory of this one until then, as after vfork(2): to copy that takes longer than all else that a command
//! needs. So it has a stack of its own, does one system call after the other, allocates nothing and takes no lock, and no
//! handler of a signal runs in it.
use crate::{launch::Launch, signals, told::Told};
use rustix::{
    io::retry_on_intr,
    process::{Pid, Resource, Rlimit, WaitOptions, waitpid},
};
use std::{
    convert::Infallible,
    ffi::{c_int, c_void},
    io::{self, Read},
    mem::MaybeUninit,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::atomic::AtomicI32,
};

/// What a process needs for its beginning.
pub(crate) struct Beginning {
    pub(crate) launch: Launch,
    /// Its standard input, output and error.
    pub(crate) streams: [OwnedFd; 3],
    /// What it is known by, see [`crate::marks`].
    pub(crate) number: Option<Rlimit>,
    /// The process with which it ends; else it ends with nobody.
    pub(crate) ends_with: Option<Pid>,
}

/// A process whose program runs.
pub(crate) struct Begun {
    pub(crate) pid: Pid,
    /// Of a confined command: `pid` waits for it, and tells here how it ended.
    pub(crate) told: Option<Told>,
}

impl Beginning {
    /// Returns once the program runs; an error says why it does not.
    pub(crate) fn begin(&self) -> io::Result<Begun> {
        let Some(plan) = &self.launch.plan else {
            let pid = self.begin_on(&mut Stack::<STACK>::uninit(), AS_VFORK, &AtomicI32::new(0))?;
            return Ok(Begun { pid, told: None });
        };
        let mut told = Told::new()?;
        let (stack, ended) = told.parts();
        let pid = self.begin_on(stack, plan.memory(), ended)?;
        Ok(Begun { pid, told: Some(told) })
    }

    /// All that the new process is given is there until its program runs, or it has ended.
    fn begin_on<const BYTES: usize>(
        &self,
        stack: &mut Stack<BYTES>,
        memory: c_int,
        ended: &AtomicI32,
    ) -> io::Result<Pid> {
        let (mut unable, pipe) = io::pipe()?;
        let first = First { beginning: self, teller: Teller(pipe.as_raw_fd()), ended };
        let held = signals::hold();
        let begun = start(memory, stack, first_moment, &first);
        drop((held, pipe));
        let pid = begun?;
        let mut number = [0; size_of::<c_int>()];
        match unable.read_exact(&mut number) {
            Ok(()) => {
                let _it_has_ended = retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
                Err(io::Error::from_raw_os_error(c_int::from_ne_bytes(number)))
            }
            // A program has begun: nobody can say any more why it has not.
            Err(_) => Ok(pid),
        }
    }

    /// In the new process. Returns where something fails.
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
        match &self.launch.plan {
            Some(plan) => plan.run(&self.launch, teller, ended),
            None => self.launch.run_program(),
        }
    }
}

/// As vfork(2): the new process has our memory, and we wait until its program begins.
pub(crate) const AS_VFORK: c_int = libc::CLONE_VM | libc::CLONE_VFORK;

struct First<'a> {
    beginning: &'a Beginning,
    teller: Teller,
    ended: &'a AtomicI32,
}

#[expect(unsafe_code, reason = "the start of a process has the form that clone(2) wants")]
extern "C" fn first_moment(first: *mut c_void) -> c_int {
    // SAFETY: `Beginning::begin` gives it, and does not return before the program has begun.
    let First { beginning, teller, ended } = unsafe { &*first.cast::<First<'_>>() };
    teller.end(beginning.go_on(*teller, ended))
}
/// Says why a program could not begin, in the processes before it.
#[derive(Clone, Copy)]
pub(crate) struct Teller(RawFd);

impl Teller {
    /// Ends this process, which could not go on.
    #[expect(unsafe_code, reason = "write(2) and _exit(2) in a process without memory of its own")]
    pub(crate) fn end(self, failed: io::Result<Infallible>) -> ! {
        let Err(error) = failed;
        let number = error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes();
        // SAFETY: the bytes outlive the call; `_exit` runs nothing of the program that this process was made from.
        unsafe {
            libc::write(self.0, number.as_ptr().cast(), number.len());
            libc::_exit(127)
        }
    }
}

/// Where a process with the memory of another one keeps what it works with.
pub(crate) type Stack<const BYTES: usize> = MaybeUninit<[u8; BYTES]>;

/// So many bytes are enough for a process that starts no other one.
pub(crate) const STACK: usize = 64 << 10;

/// What a process does from its first moment on, with what it is given. It never returns.
pub(crate) type FirstMoment = extern "C" fn(*mut c_void) -> c_int;

/// A process that begins with `first` on `stack`, and with `flags` of clone(2). Neither `fork(3)`, which runs what
/// libraries have asked for, nor that memory is copied where the flags say so: `stack` and `given` must outlive it then.
#[expect(unsafe_code, reason = "clone(2) has no safe form")]
pub(crate) fn start<const BYTES: usize, T>(
    flags: c_int,
    stack: &mut Stack<BYTES>,
    first: FirstMoment,
    given: &T,
) -> io::Result<Pid> {
    let given = (&raw const *given).cast_mut().cast();
    // SAFETY: stacks grow downwards, and the system's library aligns their beginning; `first` takes what it is given as what
    // it is, and never returns.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(1);
        libc::clone(first, top.cast(), flags | libc::SIGCHLD, given)
    };
    Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
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

/// Whatever was open in whoever started this process is not for the program: it gets the three standard streams.
#[expect(unsafe_code, reason = "close_range(2) has no safe form that does no more than mark")]
fn keep_files() {
    // SAFETY: marks descriptors to be closed when the program begins; all of this process stay open until then. An older
    // system does not know it.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Asks the system to kill this process when `parent` ends, which may have ended before that.
fn end_with(parent: Option<Pid>) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    match rustix::process::getppid() == parent {
        true => Ok(()),
        false => Err(rustix::io::Errno::SRCH.into()),
    }
}
