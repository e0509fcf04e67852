//! What the process that waits for a confined command shares with this one: its stack, and how the command ended.
//!
//! It is memory that stays shared where everything else is copied, see [`crate::confine::Plan::memory`].
use crate::clone::{STACK, Stack};
use std::{
    ffi::c_int,
    io,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    ptr::{self, NonNull},
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};

/// No status of a process.
pub(crate) const NOTHING: c_int = -1;

/// Enough for that process, for init, and for the beginning of the command: each lies in the one before.
const ALL: usize = 4 * STACK;

/// Dropped, it is given back: only once nobody uses it any more.
#[derive(Debug)]
pub(crate) struct Told(NonNull<Shared>);

#[repr(C)]
struct Shared {
    stack: Stack<ALL>,
    ended: AtomicI32,
}

#[expect(unsafe_code, reason = "memory that is not this thread's alone")]
// SAFETY: whoever has it has all of it but `ended`, which is atomic.
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
        unsafe { told.0.as_ref() }.ended.store(NOTHING, Relaxed);
        Ok(told)
    }

    #[expect(unsafe_code, reason = "memory of our own making")]
    pub(crate) fn parts(&mut self) -> (&mut Stack<ALL>, &AtomicI32) {
        // SAFETY: it is there until this is dropped, and nobody else has it.
        let Shared { stack, ended } = unsafe { self.0.as_mut() };
        (stack, ended)
    }

    /// How the command ended, once who waited for it has ended by itself.
    #[expect(unsafe_code, reason = "as above")]
    pub(crate) fn status(self) -> Option<ExitStatus> {
        // SAFETY: as above; the others have ended.
        let ended = unsafe { self.0.as_ref() }.ended.load(Relaxed);
        (ended != NOTHING).then(|| ExitStatus::from_raw(ended))
    }
}

impl Drop for Told {
    #[expect(unsafe_code, reason = "munmap(2) has no safe form")]
    fn drop(&mut self) {
        // SAFETY: made by `new`, and nobody uses it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Shared>()) };
    }
}
