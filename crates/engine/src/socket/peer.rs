//! [`Peer`]: the process at the other end of a connection. Distinguishes processes that the user started from those
//! that an agent's command left behind.
//!
//! Linux reports the process that connected (`SO_PEERCRED`, unix(7)), its parents, its terminal and its initial
//! environment (proc(5)). A command can detach from its parents with a second fork, from its session with `setsid`, and
//! clear its environment. It still remains below the process that adopts its orphans: see
//! `haft_process::adopt_orphans`.
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
};
use tokio::net::UnixStream;

/// Maximum length of a chain of parents that is followed.
const MAX_CHAIN_LENGTH: usize = 4_096;

/// The variable in the environment of each process below a command, unless the process cleared its environment
/// (`haft_process`).
const CALL_VARIABLE: &[u8] = b"HAFT_CALL=";

/// The process that connected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pid: i32,
    /// The start time, which identifies the process if its ID is reused.
    began: Option<u64>,
}

impl Peer {
    /// Identifies the process that connected; the error says why it is refused.
    pub(super) fn of(stream: &UnixStream, owner: u32) -> Result<Self, String> {
        let peer = stream.peer_cred().map_err(|error| format!("it is not known who comes: {error}"))?;
        if peer.uid() != owner {
            return Err("the session is another user's".to_owned());
        }
        // A process of another container has no ID here.
        let pid = peer.pid().unwrap_or_default();
        match chain(pid) {
            Some(chain) if chain.iter().skip(1).any(|process| process.is(process::id())) => {
                Err("the session runs this command, so it cannot join it as its person".to_owned())
            }
            // The process has ended and left the connection to another process.
            None if pid > 0 && Process::read(1).is_some() => {
                Err("who comes has ended, so it is not known who started them".to_owned())
            }
            chain => Ok(Self { pid, began: chain.map(|chain| chain[0].began) }),
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether its approvals count as the user's; an error says why not.
    ///
    /// Neither it nor any of its parents may be a command of an agent, and it must be a front-end of Haft, or in the
    /// foreground of a terminal.
    pub(super) fn may_allow(&self) -> Result<(), &'static str> {
        if u32::try_from(self.pid) == Ok(process::id()) {
            return Ok(());
        }
        if !has_all_below() {
            return Err("the process that has the session open cannot tell its own commands from a person's");
        }
        let chain = chain(self.pid).ok_or("it is not known who started it")?;
        let Some((peer, above)) = chain.split_first().filter(|(peer, _)| Some(peer.began) == self.began)
        else {
            return Err("it is not known who started it");
        };
        if above.iter().any(Process::is_haft) || chain.iter().any(Process::is_marked) {
            return Err("an agent's command started it");
        }
        match peer.is_haft() || peer.is_in_front() {
            true => Ok(()),
            false => Err("it is not in front on a terminal"),
        }
    }
}

/// Whether all descendants of this process stay below it, even if they detach.
fn has_all_below() -> bool {
    #[cfg(target_os = "linux")]
    let has_all = matches!(rustix::process::child_subreaper(), Ok(Some(_)));
    #[cfg(not(target_os = "linux"))]
    let has_all = false;
    has_all
}

/// A process and its ancestors, up to the first process of the system. `None` if the system does not report them.
fn chain(pid: i32) -> Option<Vec<Process>> {
    let mut chain = vec![Process::read(pid)?];
    while let Some(parent) = chain.last().map(|last| last.parent).filter(|parent| *parent > 0) {
        chain.push(Process::read(parent)?);
        if chain.len() > MAX_CHAIN_LENGTH {
            return None;
        }
    }
    Some(chain)
}

/// What the system reports about a process.
struct Process {
    pid: i32,
    /// The name of its program, cut to 15 bytes. The process can change it.
    name: String,
    parent: i32,
    group: i32,
    terminal: i32,
    /// The foreground process group of its terminal.
    front: i32,
    /// Start time, in ticks since the system booted.
    began: u64,
}

impl Process {
    /// Parses `/proc/PID/stat`. The second field is a name in parentheses that may contain any characters.
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let (start, rest) = stat.rsplit_once(')')?;
        let name = start.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse().ok();
        let began = fields.get(19)?.parse().ok()?;
        let (parent, group, terminal, front) = (number(1)?, number(2)?, number(4)?, number(5)?);
        Some(Self { pid, name, parent, group, terminal, front, began })
    }

    fn is(&self, pid: u32) -> bool {
        u32::try_from(self.pid) == Ok(pid)
    }

    /// Whether the process is in the foreground of its terminal.
    fn is_in_front(&self) -> bool {
        self.terminal != 0 && self.front == self.group
    }

    /// Whether it runs the same program as this process, or another version with the same name.
    fn is_haft(&self) -> bool {
        let own = fs::read_link("/proc/self/exe").ok();
        let program = fs::read_link(self.file("exe")).ok();
        match (program, own) {
            (Some(program), Some(own)) => {
                let is_same = fs::metadata(self.file("exe")).is_ok_and(|theirs| {
                    fs::metadata("/proc/self/exe")
                        .is_ok_and(|ours| (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()))
                });
                is_same || called(&program) == called(&own)
            }
            // The system does not report the program of a process whose memory is protected.
            _ => own_name().is_some_and(|own| own == self.name),
        }
    }

    /// Whether its initial environment marks it as a command of an agent.
    fn is_marked(&self) -> bool {
        let environment = fs::read(self.file("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(CALL_VARIABLE))
    }

    fn file(&self, name: &str) -> PathBuf {
        format!("/proc/{}/{name}", self.pid).into()
    }
}

fn own_name() -> Option<String> {
    Process::read(i32::try_from(process::id()).ok()?).map(|own| own.name)
}

/// A program that was replaced since it started is called `PATH (deleted)`.
fn called(program: &Path) -> Option<String> {
    let name = program.file_name()?.to_string_lossy().into_owned();
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_parents_goes_up_to_the_first_process() {
        let own = i32::try_from(process::id()).unwrap();
        let chain = chain(own).unwrap();
        assert_eq!((chain[0].pid, chain.last().unwrap().parent), (own, 0));
        assert!(chain[0].is_haft() && chain[0].is(process::id()));
        assert!(super::chain(i32::MAX).is_none(), "there is no such process");
    }
}
