//! [`give_up`] and [`Identity`]: take rights from a confined process, whichever user it is.
use super::step::{done, write};
use haft_core::ProcessLimits;
use std::{ffi::CString, fs, io, ptr, sync::LazyLock};

/// Whether this process is root of the machine, and not only of a user namespace, as in a rootless container: the
/// latter may do no more than its user.
pub fn is_root_of_machine() -> bool {
    static IS_WHOLE: LazyLock<bool> = LazyLock::new(|| {
        let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        users.split_whitespace().eq(["0", "0", "4294967295"])
    });
    rustix::process::geteuid().is_root() && *IS_WHOLE
}

/// Which user a process is in a user namespace of its own: the same as before.
pub(super) struct Identity {
    users: CString,
    groups: CString,
}

impl Identity {
    pub(super) fn own() -> Self {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let map = |id: u32| CString::new(format!("{id} {id} 1")).expect("digits and blanks");
        Self { users: map(user), groups: map(group) }
    }

    /// The files belong to root while the memory of this process is private, so it is not private for a moment.
    pub(super) fn take(&self) -> io::Result<()> {
        set_dumpable(true)?;
        let taken = self.write_maps();
        set_dumpable(false)?;
        taken
    }

    fn write_maps(&self) -> io::Result<()> {
        // Without it only root may map a group (user_namespaces(7)).
        write(c"/proc/self/setgroups", c"deny")?;
        write(c"/proc/self/uid_map", &self.users)?;
        write(c"/proc/self/gid_map", &self.groups)
    }
}

/// Makes the memory private again.
#[expect(unsafe_code, reason = "prctl(2) without memory of its own")]
fn set_dumpable(dumpable: bool) -> io::Result<()> {
    // SAFETY: takes numbers and nothing else.
    done(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, libc::c_ulong::from(dumpable), 0, 0, 0) }.into())
}

#[expect(unsafe_code, reason = "unshare(2) without memory of its own")]
pub(super) fn unshare(namespaces: libc::c_int) -> libc::c_long {
    // SAFETY: this process has one thread.
    unsafe { libc::unshare(namespaces) }.into()
}

/// Starts loopback: a new network has one interface, which is down.
#[expect(unsafe_code, reason = "socket(2) and ioctl(2) without memory of their own")]
pub(super) fn begin_loopback() -> io::Result<()> {
    // SAFETY: a request of zeros is valid, the name fits, and the descriptor is our own.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        done(socket.into())?;
        let mut request: libc::ifreq = std::mem::zeroed();
        ptr::copy_nonoverlapping(c"lo".as_ptr(), request.ifr_name.as_mut_ptr(), 3);
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        let begun = done(libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw mut request).into());
        libc::close(socket);
        begun
    }
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

/// `_LINUX_CAPABILITY_VERSION_3`: two words of each kind.
const CAPABILITIES: u32 = 0x2008_0522;

/// Gives up all capabilities for good, including those that root would get with the next program.
#[expect(unsafe_code, reason = "prctl(2), capset(2) and setrlimit(2) without memory of their own")]
pub(super) fn give_up(limits: &ProcessLimits) -> io::Result<()> {
    let nothing = [0_u32; 6];
    let header = CapabilityHeader { version: CAPABILITIES, pid: 0 };
    // SAFETY: numbers, and structures that outlive the calls.
    unsafe {
        let mut capability = 0;
        while libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 {
            capability += 1;
        }
        done(libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0).into())?;
        done(libc::syscall(libc::SYS_capset, &raw const header, nothing.as_ptr()))?;
        let most = |most: u64| libc::rlimit { rlim_cur: most, rlim_max: most };
        let processes = most(limits.processes.into());
        let _fewer_are_allowed = libc::setrlimit(libc::RLIMIT_NPROC, &raw const processes);
        if let Some(bytes) = limits.file_bytes {
            let bytes = most(bytes);
            let _less_is_allowed = libc::setrlimit(libc::RLIMIT_FSIZE, &raw const bytes);
        }
        if let Some(bytes) = limits.memory_bytes {
            let bytes = most(bytes);
            let _less_is_allowed = libc::setrlimit(libc::RLIMIT_DATA, &raw const bytes);
        }
        done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        // It was lost with the rights.
        done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())
    }
}
