//! [`start`]: starts a process that begins with a function, on a stack of its own.
use rustix::process::Pid;
use std::{
    convert::Infallible,
    ffi::{c_int, c_void},
    io,
    mem::MaybeUninit,
    os::fd::RawFd,
};

/// As vfork(2): the new process has our memory, and we wait until its program begins.
pub(crate) const AS_VFORK: c_int = libc::CLONE_VM | libc::CLONE_VFORK;

/// Reports why a program could not begin, from one of the processes before it.
#[derive(Clone, Copy)]
pub(crate) struct Teller(RawFd);

impl Teller {
    /// Writes to this pipe.
    pub(crate) fn new(pipe: RawFd) -> Self {
        Self(pipe)
    }

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

/// The stack of a process that shares the memory of another one.
pub(crate) type Stack<const BYTES: usize> = MaybeUninit<[u8; BYTES]>;

/// Size in bytes; enough for a process that starts no other one.
pub(crate) const STACK_SIZE: usize = 64 << 10;

/// What a process does from its first moment on. It never returns.
pub(crate) type FirstMoment = extern "C" fn(*mut c_void) -> c_int;

/// A process that begins with `first` on `stack`, made as `flags` of clone(2) say. Where they share the memory, `stack` and
/// `given` must be there for as long as it uses them.
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
    match pid {
        -1 => Err(io::Error::last_os_error()),
        // Zero is the new process, which does not come here.
        pid => Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::Other.into()),
    }
}
