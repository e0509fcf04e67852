//! A command and all its children, to be ended together.
use crate::strays;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{io, process::ExitStatus};
use tokio::{
    process::{Child, Command},
    task::spawn_blocking,
};

/// A process, its group, and whoever left it. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct Group {
    child: Child,
    /// Until the group is killed. Later, another one may have the number.
    leader: Option<Pid>,
    mark: String,
}

impl Group {
    /// Starts `command` in a session of its own. A session has its own process group and no terminal, so what asks
    /// `/dev/tty` for a password fails at once instead of waiting for ever.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let mark = strays::new_mark();
        in_own_session(command.env(strays::VARIABLE, &mark));
        let child = command.kill_on_drop(true).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { child, leader, mark })
    }

    /// The process that was started.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How the process ended, if it has. Its children are killed then: without them nothing keeps the group's number
    /// from being given to others.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let ended = self.child.try_wait()?;
        if ended.is_some() {
            self.kill_group();
        }
        Ok(ended)
    }

    /// Asks all members to end.
    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all members, and those who left.
    pub(crate) async fn kill(mut self) {
        self.kill_group();
        // To look for them takes a moment.
        let _done = spawn_blocking(move || drop(self)).await;
    }

    fn kill_group(&mut self) {
        self.signal(Signal::KILL);
        self.leader = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _nobody_left = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill_group();
        strays::kill(&self.mark);
    }
}

#[expect(unsafe_code, reason = "the standard library has no stable, safe way to call setsid(2) in a child")]
fn in_own_session(command: &mut Command) {
    let leave = || {
        rustix::process::setsid()?;
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. `setsid` is one system call, and
    // its error is a number that is turned into an `io::Error` without allocating.
    unsafe {
        command.pre_exec(leave);
    }
}
