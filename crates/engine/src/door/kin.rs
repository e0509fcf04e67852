//! Which processes this one started, itself or through others.
use std::{fs, process};

/// A chain of parents longer than this is none.
const LONGEST_CHAIN: usize = 4_096;

/// Whether the process `pid` was started by this one. False where the system does not tell, and for one that has left
/// its parents behind.
pub(super) fn is_below_us(pid: i32) -> bool {
    let (mut above, ours) = (parent(pid), i32::try_from(process::id()).ok());
    for _ in 0..LONGEST_CHAIN {
        match above {
            Some(pid) if Some(pid) == ours => return true,
            Some(pid) if pid > 1 => above = parent(pid),
            _ => return false,
        }
    }
    false
}

/// The fourth field of `/proc/PID/stat`. The second is a name in brackets that may hold anything.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
