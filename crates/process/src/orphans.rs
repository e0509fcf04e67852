//! [`adopt_orphans`]: makes orphaned descendants children of this process. It alone prevents a command from counting as
//! the user on the session socket after a second fork.
//!
//! Linux gives an orphan to the nearest process above it that asked for orphans (`PR_SET_CHILD_SUBREAPER`, prctl(2)),
//! whatever session, group or environment the orphan chose. A process that takes orphans has to wait for them when they
//! end.
use crate::proc::{PARENT, SESSION, Stat, others};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, getpid, waitid, waitpgid, waitpid};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Takes the orphans of everything that this process starts from now on; returns whether the system supports it. Only a
/// program as a whole can decide that, before it starts the first command: a child that it starts itself in another
/// session, and does not wait for at once, would be taken for an orphan.
pub fn adopt_orphans() -> bool {
    #[cfg(target_os = "linux")]
    let adopts = rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    #[cfg(not(target_os = "linux"))]
    let adopts = false;
    hold().0.has_orphans = adopts;
    adopts
}

/// How often ended orphans are collected while a command runs.
const REAP_INTERVAL: Duration = Duration::from_secs(5);

/// The children of this process.
struct Children {
    /// Whether orphans become children of this process.
    has_orphans: bool,
    /// Leaders of a session of their own that a caller in this process waits for.
    leaders: BTreeSet<i32>,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children { has_orphans: false, leaders: BTreeSet::new() });

/// While the result is held, no child is taken for an orphan.
pub(crate) fn hold() -> Held {
    Held(CHILDREN.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) struct Held(MutexGuard<'static, Children>);

impl Held {
    /// Records that a caller in this process waits for `leader`.
    pub(crate) fn waits_for(&mut self, leader: Option<Pid>) {
        self.0.leaders.extend(leader.map(Pid::as_raw_pid));
    }
}

/// Records that no caller in this process waits for `leader` any more.
pub(crate) fn forget(leader: Option<Pid>) {
    if let Some(leader) = leader {
        hold().0.leaders.remove(&leader.as_raw_pid());
    }
}

/// Collects orphans as they end, forever.
pub(crate) async fn reaping() -> Infallible {
    loop {
        tokio::time::sleep(REAP_INTERVAL).await;
        reap();
    }
}

/// Reaps the ended orphans of a group, whose leader must have been waited for.
pub(crate) fn reap_group(leader: Pid) {
    if hold().0.has_orphans {
        while let Ok(Some(_)) = waitpgid(leader, WaitOptions::NOHANG) {}
    }
}

/// Collects all ended orphans: commands and all below them are in other sessions than this process, and everything else
/// that it starts is in its own.
pub(crate) fn reap() {
    let held = hold();
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !held.0.has_orphans || !matches!(waitid(WaitId::All, look), Ok(Some(_))) {
        return;
    }
    let own = Stat::read(Path::new("/proc/self"));
    let own_pid = getpid().to_string();
    for (pid, folder) in others() {
        let stat = Stat::read(&folder);
        let is_child = stat.field(PARENT) == Some(&own_pid);
        let is_orphan = is_child && stat.has_ended() && stat.field(SESSION) != own.field(SESSION);
        if is_orphan && !held.0.leaders.contains(&pid.as_raw_pid()) {
            let _its_starter_did = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}
