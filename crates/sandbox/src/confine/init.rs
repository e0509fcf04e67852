//! [`run`]: the two processes between this one and a confined command.
//!
//! A process cannot put itself into a new namespace of processes, only its children: so the one that we start waits for
//! the first of the namespace, its *init*. Whatever that one leaves behind ends with it. It is not the command itself: an
//! init gets no signal that it does not ask for, and has to wait for orphans.
//!
//! They all have the memory of the first one, until the command has its program: init sleeps until then, and the first one
//! only waits. None of our handlers runs in them.
use super::{Plan, step::done};
use crate::{
    clone::{AS_VFORK, STACK_SIZE, Stack, Teller, start},
    launch::Launch,
    told::NO_STATUS,
};
use rustix::{
    io::Errno,
    process::{Pid, WaitOptions, wait, waitpid},
    thread::{Timespec, nanosleep},
};
use std::{
    convert::Infallible,
    ffi::{c_int, c_uint, c_void},
    io,
    sync::atomic::{AtomicI32, Ordering::Relaxed},
};

/// How many moments the processes that a command left may go on after its end.
const MAX_LAST_MOMENTS: u32 = 100;
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// What the three processes have in common.
struct Common<'a> {
    plan: &'a Plan,
    launch: &'a Launch,
    teller: Teller,
    /// How the command ended. No process exits with the same signal: the others that share its memory would die, too,
    /// if it dumps core.
    ended: &'a AtomicI32,
}

/// Starts init, and with it the command; waits for both, and records how the command ended. Returns only if it could
/// not start.
pub(super) fn run(plan: &Plan, launch: &Launch, teller: Teller, ended: &AtomicI32) -> io::Result<Infallible> {
    let common = Common { plan, launch, teller, ended };
    // It is used until init has ended, and in it lies that of the command.
    let mut stack = Stack::<{ 2 * STACK_SIZE }>::uninit();
    let init = start(libc::CLONE_VM, &mut stack, init, &common)?;
    close_files();
    let init = wait_for(init);
    // It was killed before it could report anything.
    let _said_already = ended.compare_exchange(NO_STATUS, init, Relaxed, Relaxed);
    end()
}

#[expect(unsafe_code, reason = "the start of a process has the form that clone(2) wants")]
extern "C" fn init(common: *mut c_void) -> c_int {
    // SAFETY: `run` gives it, and waits until this process has ended.
    let common = unsafe { &*common.cast::<Common<'_>>() };
    let mut stack = Stack::<STACK_SIZE>::uninit();
    let begun = die_with_parent().and_then(|()| start(AS_VFORK, &mut stack, command, common));
    match begun {
        Ok(command) => {
            close_files();
            last_of(command, common.ended);
            end()
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

/// Closes all descriptors, so that no other process waits for a pipe that only these processes hold.
#[expect(unsafe_code, reason = "close_range(2) on descriptors of our own")]
fn close_files() {
    // SAFETY: nothing in this process uses a descriptor any more.
    unsafe { libc::syscall(libc::SYS_close_range, 0, c_uint::MAX, 0) };
}

/// Waits for `child` and returns its status.
fn wait_for(child: Pid) -> c_int {
    loop {
        if let Ok(Some((_, status))) = waitpid(Some(child), WaitOptions::empty()) {
            return status.as_raw();
        }
    }
}

/// Waits for all processes, and records how `command` ended. Uses calls that set no `errno`, which these processes
/// share with one of our threads.
fn last_of(command: Pid, ended: &AtomicI32) {
    loop {
        if let Ok(Some((child, status))) = wait(WaitOptions::empty())
            && child == command
        {
            break ended.store(status.as_raw(), Relaxed);
        }
    }
    for _ in 0..MAX_LAST_MOMENTS {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => drop(nanosleep(&MOMENT)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
}

#[expect(unsafe_code, reason = "_exit(2) in a process without memory of its own")]
fn end() -> ! {
    // SAFETY: runs nothing of the program that this process was made from.
    unsafe { libc::_exit(0) }
}
