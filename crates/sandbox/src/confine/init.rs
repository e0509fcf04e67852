//! The two processes between us and a confined command.
//!
//! A process cannot put itself into a new namespace of processes, only its children: so the one that we start waits for
//! the first of the namespace, its *init*. Whatever that one leaves behind ends with it. It is not the command itself: an
//! init gets no signal that it does not ask for, and has to wait for orphans.
use super::{Plan, step::done};
use std::{io, os::unix::process::CommandExt, process::Command, ptr, sync::Arc};

/// After the command's end, those that it left may go on for so many moments of 10 ms each.
const LAST_MOMENTS: u32 = 100;

/// Forks twice; returns in the command's own process.
pub(super) fn become_child_of_init() -> io::Result<()> {
    let told = Told::new()?;
    let init = fork()?;
    if init > 0 {
        close_files();
        ignore_requests();
        let ended = wait_for(init);
        end_as(told.status().unwrap_or(ended));
    }
    die_with_parent()?;
    let command = fork()?;
    if command > 0 {
        close_files();
        last_of(command, &told);
        end_as(0);
    }
    die_with_parent()
}

/// How the command ended, as init tells it: an init cannot be killed by a signal of its own, so its end cannot say it.
struct Told(*mut libc::c_int);

/// No status of a process.
const NOTHING: libc::c_int = -1;

impl Told {
    #[expect(unsafe_code, reason = "mmap(2): memory that both processes share")]
    fn new() -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, at a place of the kernel's choice.
        let memory =
            unsafe { libc::mmap(ptr::null_mut(), size_of::<libc::c_int>(), protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let told = Self(memory.cast());
        told.tell(NOTHING);
        Ok(told)
    }

    #[expect(unsafe_code, reason = "the memory is shared with another process")]
    fn tell(&self, status: libc::c_int) {
        // SAFETY: the memory is there for as long as this process is, and aligned to a page.
        unsafe { self.0.write_volatile(status) };
    }

    #[expect(unsafe_code, reason = "the memory is shared with another process")]
    fn status(&self) -> Option<libc::c_int> {
        // SAFETY: as above; whoever wrote it has ended.
        Some(unsafe { self.0.read_volatile() }).filter(|status| *status != NOTHING)
    }
}

/// A command that ends as soon as it is confined, with 0; and with the number of the error where it cannot be.
#[expect(unsafe_code, reason = "the standard library has no safe way to run something in a child")]
pub(super) fn confine_and_end(command: &mut Command, plan: Arc<Plan>) {
    let begin = move || -> io::Result<()> {
        let code = match plan.enter() {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().unwrap_or(libc::EINVAL),
        };
        // SAFETY: ends this process without running anything of the program that it was forked from.
        unsafe { libc::_exit(code) }
    };
    // SAFETY: `Plan::enter` allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(begin);
    }
}

/// Not `fork(3)`, which runs what libraries have asked for.
#[expect(unsafe_code, reason = "clone(2) has no safe form")]
fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: this process has one thread, and the new one goes on at the same place with memory of its own.
    let forked = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    done(forked).map(|()| forked as libc::pid_t)
}

#[expect(unsafe_code, reason = "prctl(2) has no safe form for this that we have")]
fn die_with_parent() -> io::Result<()> {
    // SAFETY: takes a number and nothing else.
    done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }.into())
}

/// Nobody may wait for a pipe that only these processes hold.
#[expect(unsafe_code, reason = "close_range(2) and dup2(2) on descriptors of our own")]
fn close_files() {
    // SAFETY: nothing in this process uses a descriptor any more.
    unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) };
}

/// They are for the command, which is in the same group.
#[expect(unsafe_code, reason = "signal(2) with a constant of the system")]
fn ignore_requests() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: no handler of ours is set.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The status of `child`, once it has ended.
fn wait_for(child: libc::pid_t) -> libc::c_int {
    loop {
        if let Some((_, status)) = wait(child, 0) {
            return status;
        }
    }
}

/// Waits for everybody, and tells how `command` ended.
fn last_of(command: libc::pid_t, told: &Told) {
    loop {
        match wait(-1, 0) {
            Some((child, status)) if child == command => break told.tell(status),
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
fn wait(child: libc::pid_t, flags: libc::c_int) -> Option<(libc::pid_t, libc::c_int)> {
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
    reason = "ends this process without running anything of the program that it was forked from"
)]
fn end_as(status: libc::c_int) -> ! {
    // SAFETY: system calls on this process alone.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            // A signal that does not end a process, or that is blocked.
            libc::_exit(128 + signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
