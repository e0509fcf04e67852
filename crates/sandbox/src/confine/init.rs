//! [`fork_command`]: forks the two processes between this program and a confined command.
//!
//! A process cannot move itself into a new PID namespace, only its children. So the started process, the *waiter*,
//! forks the first process of the namespace, its *init*, which forks the command. Init is not the command itself,
//! because an init receives only signals that it handles, and must wait for orphans. Remaining processes of the command
//! end with init.
//!
//! The waiter ends with the status of the command, so that its parent can wait for it like for the command.
use rustix::{
    io::{Errno, read, retry_on_intr, write},
    process::{
        DumpableBehavior, Pid, Signal, WaitOptions, set_dumpable_behavior, set_parent_process_death_signal,
        wait, waitpid,
    },
    thread::{Timespec, nanosleep},
};
use std::{
    ffi::{c_int, c_uint},
    io::{self, PipeReader, PipeWriter},
    mem::MaybeUninit,
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process::ExitStatus,
    ptr,
};

/// Maximum checks of init for remaining processes of the command, which may continue for a moment after its end.
const MAX_LAST_POLLS: u32 = 100;
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Returns in the process of the command, in the new namespace of processes, with all signals blocked. This process,
/// and init, do not return unless something fails. Allocates nothing.
pub(super) fn fork_command() -> io::Result<()> {
    // Both processes have a copy of this program's memory, which may contain keys, and would dump it when they end with
    // the signal of the command.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    block_signals(libc::sigfillset);
    let (status, report) = io::pipe()?;
    if let Some(init) = fork()? {
        end_as_command(init, &status);
    }
    end_with_parent()?;
    if let Some(command) = fork()? {
        be_init(command, &report);
    }
    end_with_parent()
}

/// Unblocks all signals for the program that begins next.
pub(super) fn unblock_signals() {
    block_signals(libc::sigemptyset);
}

/// The waiter: waits for init, and ends with the status of the command.
fn end_as_command(init: Pid, status: &PipeReader) -> ! {
    keep_only(status);
    let mut number = [0; size_of::<c_int>()];
    let reported = retry_on_intr(|| read(rustix::stdio::stdin(), &mut number));
    let ended = wait_for(init);
    // Init was killed before it could report anything.
    let ended = if reported == Ok(number.len()) { c_int::from_ne_bytes(number) } else { ended };
    end_as(ExitStatus::from_raw(ended))
}

/// Init: waits for all processes of the namespace, and reports how `command` ended.
fn be_init(command: Pid, report: &PipeWriter) -> ! {
    keep_only(report);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((child, status))) if child == command => {
                let _the_waiter_was_killed = write(rustix::stdio::stdin(), &status.as_raw().to_ne_bytes());
                break;
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    for _ in 0..MAX_LAST_POLLS {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => drop(nanosleep(&POLL_INTERVAL)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    exit(0)
}

/// Forks this process. Returns `None` in the new process.
#[expect(unsafe_code, reason = "fork(2) has no safe form")]
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread, and the new one calls nothing that takes a lock.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Closes all descriptors but `pipe`, which becomes standard input: otherwise readers would wait for pipes that only
/// this process has open.
#[expect(unsafe_code, reason = "close_range(2) on descriptors of our own")]
fn keep_only(pipe: impl AsFd) {
    let _it_is_open = rustix::stdio::dup2_stdin(pipe);
    // SAFETY: this process uses none of them any more, and drops no owner of one.
    unsafe { libc::syscall(libc::SYS_close_range, 1, c_uint::MAX, 0) };
}

/// Waits for `child` and returns its status.
fn wait_for(child: Pid) -> c_int {
    match retry_on_intr(|| waitpid(Some(child), WaitOptions::empty())) {
        Ok(Some((_, status))) => status.as_raw(),
        Ok(None) | Err(_) => libc::SIGKILL,
    }
}

/// `sigfillset` or `sigemptyset`.
type Fill = unsafe extern "C" fn(*mut libc::sigset_t) -> c_int;

#[expect(unsafe_code, reason = "sigfillset(3) and pthread_sigmask(3) have no safe form")]
fn block_signals(fill: Fill) {
    let mut signals = MaybeUninit::uninit();
    // SAFETY: `fill` writes the whole set, which outlives the calls.
    unsafe {
        fill(signals.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, signals.as_ptr(), ptr::null_mut());
    }
}

/// Ends this process with the same exit code or signal.
#[expect(unsafe_code, reason = "kill(2) on this process, with a signal that has no name")]
fn end_as(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // SAFETY: numbers. Our handler for it, which is a copy, does not run.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            unblock_signals();
            libc::kill(libc::getpid(), signal);
        }
    }
    exit(status.code().unwrap_or(1))
}

#[expect(
    unsafe_code,
    reason = "_exit(2) in a process that shall not run the guards of the program it was forked from"
)]
pub(crate) fn exit(code: c_int) -> ! {
    // SAFETY: takes a number.
    unsafe { libc::_exit(code) }
}
