//! The two processes between us and a confined command.
//!
//! A process cannot put itself into a new namespace of processes, only its children: so the one that we start waits for
//! the first of the namespace, its *init*. Whatever that one leaves behind ends with it. It is not the command itself: an
//! init gets no signal that it does not ask for, and has to wait for orphans.
//!
//! Only the first of the three has a copy of our memory. The others have the same as that one: it does nothing but wait,
//! init sleeps until the command has its program, and none of our handlers runs in them.
use super::{Plan, step::done};
use crate::{
    begin::{AS_VFORK, STACK, Stack, Teller, start},
    launch::Launch,
    signals,
};
use rustix::process::Pid;
use std::{
    convert::Infallible,
    ffi::{c_int, c_uint, c_void},
    io, ptr,
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};

/// After the command's end, those that it left may go on for so many moments of 10 ms each.
const LAST_MOMENTS: u32 = 100;

/// No status of a process.
const NOTHING: c_int = -1;

/// What the three processes have in common.
struct Common<'a> {
    plan: &'a Plan,
    launch: &'a Launch,
    teller: Teller,
    /// How the command ended, as init tells it: an init cannot be killed by a signal of its own, so its end cannot say it.
    ended: AtomicI32,
}

/// Starts init, and with it the command; waits for both, and ends as the command did. Returns where it could not start.
pub(super) fn run(plan: &Plan, launch: &Launch, teller: Teller) -> io::Result<Infallible> {
    let common = Common { plan, launch, teller, ended: AtomicI32::new(NOTHING) };
    // It is used until init has ended, and in it lies that of the command.
    let mut stack = Stack::<{ 2 * STACK }>::uninit();
    let init = start(libc::CLONE_VM, &mut stack, init, &common)?;
    close_files();
    let ended = wait_for(init);
    match common.ended.load(Relaxed) {
        NOTHING => end_as(ended),
        command => end_as(command),
    }
}

#[expect(unsafe_code, reason = "the start of a process has the form that clone(2) wants")]
extern "C" fn init(common: *mut c_void) -> c_int {
    // SAFETY: `run` gives it, and waits until this process has ended.
    let common = unsafe { &*common.cast::<Common<'_>>() };
    let mut stack = Stack::<STACK>::uninit();
    let begun = die_with_parent().and_then(|()| start(AS_VFORK, &mut stack, command, common));
    match begun {
        Ok(command) => {
            close_files();
            last_of(command.as_raw_nonzero().get(), &common.ended);
            end_as(0)
        }
        Err(error) => common.teller.end(Err(error)),
    }
}

#[expect(unsafe_code, reason = "as above")]
extern "C" fn command(common: *mut c_void) -> c_int {
    // SAFETY: `init` gives it, and sleeps until this process has its program or has ended.
    let Common { plan, launch, teller, .. } = unsafe { &*common.cast::<Common<'_>>() };
    let confined = die_with_parent().and_then(|()| plan.confine());
    teller.end(confined.and_then(|()| launch.run_program()))
}

#[expect(unsafe_code, reason = "prctl(2) has no safe form for this that we have")]
fn die_with_parent() -> io::Result<()> {
    // SAFETY: takes a number and nothing else.
    done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }.into())
}

/// Nobody may wait for a pipe that only these processes hold.
#[expect(unsafe_code, reason = "close_range(2) on descriptors of our own")]
fn close_files() {
    // SAFETY: nothing in this process uses a descriptor any more.
    unsafe { libc::syscall(libc::SYS_close_range, 0, c_uint::MAX, 0) };
}

/// The status of `child`, once it has ended.
fn wait_for(child: Pid) -> c_int {
    loop {
        if let Some((_, status)) = wait(child.as_raw_nonzero().get(), 0) {
            return status;
        }
    }
}

/// Waits for everybody, and tells how `command` ended.
fn last_of(command: libc::pid_t, ended: &AtomicI32) {
    loop {
        match wait(-1, 0) {
            Some((child, status)) if child == command => break ended.store(status, Relaxed),
            Some(_) | None => {}
        }
    }
    for _ in 0..LAST_MOMENTS {
        match wait(-1, libc::WNOHANG) {
            None => break,
            Some((0, _)) => pause(),
            Some(_) => {}
        }
    }
}

/// Who ended, and how; 0 where nobody has. `None` where nobody is left.
#[expect(unsafe_code, reason = "waitpid(2) without memory of its own")]
fn wait(child: libc::pid_t, flags: c_int) -> Option<(libc::pid_t, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the status outlives the call.
        let ended = unsafe { libc::waitpid(child, &raw mut status, flags) };
        match ended {
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            -1 => return None,
            ended => return Some((ended, status)),
        }
    }
}

#[expect(unsafe_code, reason = "nanosleep(2) without memory of its own")]
fn pause() {
    let moment = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    // SAFETY: the time outlives the call.
    unsafe { libc::nanosleep(&raw const moment, ptr::null_mut()) };
}

/// Ends as the process with this status did.
#[expect(
    unsafe_code,
    reason = "ends this process without running anything of the program that it was made from"
)]
fn end_as(status: c_int) -> ! {
    // SAFETY: system calls on this process alone.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::kill(libc::getpid(), signal);
            // It was held until now, as all are.
            signals::take_one(signal);
            // A signal that does not end a process.
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
