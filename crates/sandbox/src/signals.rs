//! [`hold`] and [`forget_handlers`]: keep our signal handlers from running in a process that is starting.
use std::{mem::MaybeUninit, ptr};

/// Holds back all signals that can be held from this thread, and from what it starts, until the result is dropped.
pub(crate) fn hold() -> Held {
    Held(replace(&filled(libc::sigfillset)))
}

pub(crate) struct Held(libc::sigset_t);

impl Drop for Held {
    fn drop(&mut self) {
        replace(&self.0);
    }
}

/// From here on this process gets every signal, including those that were held.
pub(crate) fn take_all() {
    replace(&filled(libc::sigemptyset));
}

/// Removes all signal handlers, as the start of a program does. An ignored signal stays ignored, except that of a
/// broken pipe, which programs expect.
#[expect(unsafe_code, reason = "sigaction(2) has no safe form")]
pub(crate) fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: zeros are a valid action, the default one; both outlive the calls. A number without a signal is refused.
        unsafe {
            let known = libc::sigaction(signal, ptr::null(), now.as_mut_ptr()) == 0;
            let is_ignored = now.assume_init_ref().sa_sigaction == libc::SIG_IGN && signal != libc::SIGPIPE;
            if known && now.assume_init_ref().sa_sigaction != libc::SIG_DFL && !is_ignored {
                libc::sigaction(signal, MaybeUninit::zeroed().as_ptr(), ptr::null_mut());
            }
        }
    }
}

/// `sigfillset` or `sigemptyset`.
type Fill = unsafe extern "C" fn(*mut libc::sigset_t) -> libc::c_int;

#[expect(unsafe_code, reason = "sigfillset(3) and sigemptyset(3) have no safe form")]
fn filled(fill: Fill) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: either writes the whole set.
    unsafe {
        fill(set.as_mut_ptr());
        set.assume_init()
    }
}

/// The signals that were held before.
#[expect(unsafe_code, reason = "pthread_sigmask(3) has no safe form")]
fn replace(held: &libc::sigset_t) -> libc::sigset_t {
    let mut before = filled(libc::sigemptyset);
    // SAFETY: both sets outlive the call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, held, &raw mut before) };
    before
}
