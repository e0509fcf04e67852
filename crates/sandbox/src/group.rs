//! A command and all its children, to be ended together.
use crate::strays;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use tokio::process::{Child, Command};

/// A process group, and whoever left it. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Option<Pid>,
    mark: String,
}

impl Group {
    /// Starts `command` in a session of its own. A session has its own process group and no terminal, so what asks
    /// `/dev/tty` for a password fails at once instead of waiting for ever.
    pub(crate) fn start(command: &mut Command) -> io::Result<(Self, Child)> {
        let mark = strays::new_mark();
        in_own_session(command.env(strays::VARIABLE, &mark));
        let child = command.kill_on_drop(true).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok((Self { leader, mark }, child))
    }

    /// Asks all members to end.
    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all members.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
        strays::kill(&self.mark);
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _nobody_left = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
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
