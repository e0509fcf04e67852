//! [`Group`]: a command and all its children, which end together.
use crate::{
    escaped, orphans,
    process_tags::{VARIABLE, new_start},
    spawn::spawn,
};
use haft_core::Confinement;
use haft_sandbox::{Plan, Proxy, environment as confined_environment};
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process_group, test_kill_process_group},
};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    process::{Command, ExitStatus},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    process::{Child, ChildStderr, ChildStdout},
    runtime::Handle,
    task::spawn_blocking,
    time::{sleep, timeout},
};

/// How long a command may clean up after the request to end.
const GRACE: Duration = Duration::from_secs(1);

/// How often the group is checked for members: the system does not report when a group is empty.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process, its group, and the processes that left it.
///
/// On drop the processes are asked to end, and killed after the grace period: `git`, for example, leaves its lock
/// behind if it is killed at once. A task of the tokio runtime waits meanwhile; without a runtime, or if it ends
/// before, they are killed at once.
#[derive(Debug)]
pub(crate) struct Group {
    members: Option<Members>,
    proxy: Option<Proxy>,
}

impl Group {
    /// Starts `command` in `folder` as [`spawn`] does, with exactly this environment, and with a unique word in its
    /// variable `HAFT_CALL`. `confinement` limits what it sees and reaches. `takes_input`: whether it gets a standard
    /// input.
    pub(crate) fn start(
        mut command: Command,
        folder: &Path,
        environment: &[(String, String)],
        confinement: Option<&Confinement>,
        takes_input: bool,
    ) -> io::Result<Self> {
        let (plan, receiver) =
            confinement.map(|confinement| Plan::new(confinement, folder)).transpose()?.unzip();
        let start = new_start();
        let given = environment.iter().rfind(|(name, _)| name == VARIABLE);
        let words = given.map_or(start.clone(), |(_, words)| format!("{words} {start}"));
        command.current_dir(folder).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        command.envs(confinement.map(confined_environment).unwrap_or_default()).env(VARIABLE, words);
        let mut children = orphans::hold();
        let child = spawn(command, plan, takes_input)?;
        let leader = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        children.waits_for(leader);
        drop(children);
        let is_confined = confinement.is_some();
        let members = Members { child, first: leader, leader, start, is_confined, pipes: Vec::new() };
        // From now on, a failure kills the processes.
        let mut group = Self { members: Some(members), proxy: None };
        if let Some((receiver, confinement)) = receiver.flatten().zip(confinement) {
            group.proxy = Some(Proxy::new(receiver, confinement)?);
        }
        Ok(group)
    }

    /// Takes the proxy to the hosts that the command may reach. The caller must serve it.
    pub(crate) fn take_proxy(&mut self) -> Option<Proxy> {
        self.proxy.take()
    }

    /// The process that was started.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.members().child
    }

    /// Takes both streams of the process. Their pipes are kept open until the members have ended, because a process may
    /// print while it cleans up.
    pub(crate) fn streams(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        let Members { child, pipes, .. } = self.members();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let open = [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
        pipes.extend(open.into_iter().flatten().filter_map(|pipe| pipe.try_clone_to_owned().ok()));
        (stdout, stderr)
    }

    /// How the process ended, if it has. Also kills its children then, because the group's ID may be reused after its
    /// leader has ended.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let members = self.members();
        let ended = members.child.try_wait()?;
        if ended.is_some() {
            members.kill_group();
        }
        Ok(ended)
    }

    /// Asks all members to end, and waits until they have ended or the grace period is over.
    pub(crate) async fn ask_to_end(&mut self) {
        let members = self.members();
        members.signal(Signal::TERM);
        members.clean_up().await;
    }

    /// Kills all members, and the processes that left the group.
    pub(crate) async fn kill(mut self) {
        if let Some(members) = self.members.take() {
            members.kill().await;
        }
    }

    fn members(&mut self) -> &mut Members {
        self.members.as_mut().expect("only the end of a group takes its members")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let (Some(mut members), Ok(runtime)) = (self.members.take(), Handle::try_current()) {
            members.signal(Signal::TERM);
            let cleanup = Cleanup::new();
            // The runtime owns the members for the grace period.
            runtime.spawn(async move {
                members.clean_up().await;
                members.kill().await;
                drop(cleanup);
            });
        }
    }
}

/// Waits until every command that was cancelled in this process has cleaned up, at most for the grace period. If the
/// process ends before, the commands are killed at once.
pub async fn wait_for_cleanup() {
    while !is_cleaned_up() {
        sleep(POLL_INTERVAL).await;
    }
}

/// Whether no cancelled command of this process is still cleaning up.
pub fn is_cleaned_up() -> bool {
    CLEANUPS.load(Relaxed) == 0
}

static CLEANUPS: AtomicUsize = AtomicUsize::new(0);

/// Counts as one command that cleans up until it is dropped.
struct Cleanup;

impl Cleanup {
    fn new() -> Self {
        CLEANUPS.fetch_add(1, Relaxed);
        Self
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        CLEANUPS.fetch_sub(1, Relaxed);
    }
}

/// Kills all members on drop.
#[derive(Debug)]
struct Members {
    child: Child,
    /// `None` once the group is killed, because another group may get its ID.
    leader: Option<Pid>,
    /// The process that was started.
    first: Option<Pid>,
    /// The tag by which processes that left the group are found.
    start: String,
    /// Whether the command is confined: all its processes are in one namespace, and end with the namespace's first
    /// process.
    is_confined: bool,
    /// Kept open, because a process that prints into a pipe without a reader is killed.
    pipes: Vec<OwnedFd>,
}

impl Members {
    /// Waits until the members have ended, or the grace period is over.
    async fn clean_up(&mut self) {
        let (child, leader) = (&mut self.child, self.leader);
        let gone = async {
            let _status = child.wait().await;
            let Some(leader) = leader else { return };
            orphans::reap_group(leader);
            while test_kill_process_group(leader) != Err(Errno::SRCH) {
                sleep(POLL_INTERVAL).await;
                orphans::reap_group(leader);
            }
        };
        if timeout(GRACE, gone).await.is_ok() {
            self.leader = None;
        }
    }

    async fn kill(mut self) {
        if self.is_confined {
            // If one of the processes around a confined command is killed, the system ends the others.
            self.signal(Signal::KILL);
            self.clean_up().await;
        } else {
            // Searching for the processes that left takes a moment.
            let _done = spawn_blocking(move || drop(self)).await;
        }
    }

    fn kill_group(&mut self) {
        self.signal(Signal::KILL);
        self.leader = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _the_group_is_gone = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        self.kill_group();
        if !self.is_confined {
            escaped::kill(&self.start);
        }
        orphans::forget(self.first);
        orphans::reap();
    }
}
