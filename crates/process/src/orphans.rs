//! [`adopt_orphans`]: makes processes that lost their parents children of this one. It alone keeps a command from passing for
//! a person on the session socket after a second fork.
//!
//! Linux gives an orphan to the nearest process above it that asked for orphans (`PR_SET_CHILD_SUBREAPER`, prctl(2)),
//! whatever session, group or environment the orphan chose. A process that takes orphans has to wait for them when they
//! end.
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpgid, waitpid};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    fs,
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

/// Collects the ended orphans of a group. Its leader must have been waited for.
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
    let Some(own) = Process::read("self") else { return };
    let is_orphan = |child: &Process| child.session != own.session && !held.0.leaders.contains(&child.pid);
    for child in ended_children(own.pid).filter(is_orphan) {
        if let Some(pid) = Pid::from_raw(child.pid) {
            let _its_starter_did = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

fn ended_children(of: i32) -> impl Iterator<Item = Process> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))?;
        Process::read(name)
    });
    all.filter(move |process| process.parent == of && process.has_ended)
}

/// What the system reports about a process.
struct Process {
    pid: i32,
    has_ended: bool,
    parent: i32,
    session: i32,
}

impl Process {
    /// Fields of `/proc/PID/stat` (proc_pid_stat(5)), counted from behind the name, which may hold anything.
    fn read(name: &str) -> Option<Self> {
        let stat = String::from_utf8_lossy(&fs::read(format!("/proc/{name}/stat")).ok()?).into_owned();
        let (pid, rest) = (stat.split_once(' ')?.0.parse().ok()?, stat.rsplit_once(')')?.1);
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place).and_then(|field| field.parse().ok());
        Some(Self { pid, has_ended: fields.first() == Some(&"Z"), parent: number(1)?, session: number(3)? })
    }
}
