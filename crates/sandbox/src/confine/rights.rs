//! [`give_up`] and [`Identity`]: remove the privileges of a confined process, for any user.
use super::step::{done, write};
use haft_core::ProcessLimits;
use rustix::{
    process::{
        DumpableBehavior, Resource, Rlimit, Signal, set_dumpable_behavior, set_parent_process_death_signal,
        setrlimit,
    },
    thread::{
        CapabilitySet, CapabilitySets, UnshareFlags, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, unshare_unsafe,
    },
};
use std::{ffi::CString, fs, io, ptr, sync::LazyLock};

/// Whether this process is root of the machine, and not only of a user namespace, as in a rootless container: root of a
/// user namespace has no more rights than its user.
pub fn is_root_of_machine() -> bool {
    static IS_WHOLE: LazyLock<bool> = LazyLock::new(|| {
        let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        users.split_whitespace().eq(["0", "0", "4294967295"])
    });
    rustix::process::geteuid().is_root() && *IS_WHOLE
}

/// The user of a process in its own user namespace, which is the same as before.
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

    /// The files in `/proc/self` belong to root while the memory of this process is private, so the process is dumpable
    /// for a moment.
    pub(super) fn take(&self) -> io::Result<()> {
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        let taken = self.write_maps();
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        Ok(taken?)
    }

    fn write_maps(&self) -> rustix::io::Result<()> {
        // Without this setting, only root may map a group (user_namespaces(7)).
        write(c"/proc/self/setgroups", c"deny")?;
        write(c"/proc/self/uid_map", &self.users)?;
        write(c"/proc/self/gid_map", &self.groups)
    }
}

#[expect(unsafe_code, reason = "some flags of unshare(2) are not safe where there are other threads")]
pub(super) fn unshare(namespaces: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: this process has one thread.
    unsafe { unshare_unsafe(namespaces) }
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

/// Gives up all capabilities permanently, including those that root would get with the next program.
pub(super) fn give_up(limits: &ProcessLimits) -> io::Result<()> {
    let mut known = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    let _from_here_on_none_is_known = known.try_for_each(remove_capability_from_bounding_set);
    clear_ambient_capability_set()?;
    let nothing = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing })?;
    limit(Resource::Nproc, Some(limits.processes.into()));
    limit(Resource::Fsize, limits.file_bytes);
    limit(Resource::Data, limits.memory_bytes);
    set_no_new_privs(true)?;
    // The change of privileges cleared the parent-death signal.
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

fn limit(of: Resource, most: Option<u64>) {
    if most.is_some() {
        let _less_is_allowed = setrlimit(of, Rlimit { current: most, maximum: most });
    }
}
