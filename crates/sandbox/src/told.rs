//! [`Told`]: what the process that waits for a confined command shares with this one: its stack, and how the command
//! ended.
//!
//! It is memory that stays shared where everything else is copied, see [`crate::confine::Plan::memory`].
use crate::clone::{STACK_SIZE, Stack};
use std::{
    ffi::c_int,
    io,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    ptr::{self, NonNull},
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};

/// A value that is not the status of any process.
pub(crate) const NO_STATUS: c_int = -1;

/// Enough for that process, for init, and for the start of the command: each stack lies in the one before.
const SHARED_STACK_SIZE: usize = 4 * STACK_SIZE;

/// Memory shared between processes. Freed on drop, so it must be dropped only after the last use.
#[derive(Debug)]
pub(crate) struct Told(NonNull<Shared>);

#[repr(C)]
struct Shared {
    stack: Stack<SHARED_STACK_SIZE>,
    ended: AtomicI32,
}

#[expect(unsafe_code, reason = "memory that is not this thread's alone")]
// SAFETY: the owner has exclusive access to all of it but `ended`, which is atomic.
unsafe impl Send for Told {}

impl Told {
    #[expect(unsafe_code, reason = "mmap(2) has no safe form")]
    pub(crate) fn new() -> io::Result<Self> {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: new memory, at a place of the kernel's choice, aligned to a page and full of zeros.
        let memory = unsafe { libc::mmap(ptr::null_mut(), size_of::<Shared>(), protection, flags, -1, 0) };
        let memory = NonNull::new(memory.cast::<Shared>()).filter(|_| memory != libc::MAP_FAILED);
        let told = Self(memory.ok_or_else(io::Error::last_os_error)?);
        // SAFETY: as above.
        unsafe { told.0.as_ref() }.ended.store(NO_STATUS, Relaxed);
        Ok(told)
    }

    #[expect(unsafe_code, reason = "memory of our own making")]
    pub(crate) fn parts(&mut self) -> (&mut Stack<SHARED_STACK_SIZE>, &AtomicI32) {
        // SAFETY: the memory exists until this is dropped, and no other code uses it.
        let Shared { stack, ended } = unsafe { self.0.as_mut() };
        (stack, ended)
    }

    /// How the command ended, once the process that waited for it has ended by itself.
    #[expect(unsafe_code, reason = "as above")]
    pub(crate) fn status(self) -> Option<ExitStatus> {
        // SAFETY: as above; the others have ended.
        let ended = unsafe { self.0.as_ref() }.ended.load(Relaxed);
        (ended != NO_STATUS).then(|| ExitStatus::from_raw(ended))
    }
}

impl Drop for Told {
    #[expect(unsafe_code, reason = "munmap(2) has no safe form")]
    fn drop(&mut self) {
        // SAFETY: made by `new`, and no longer used.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Shared>()) };
    }
}
