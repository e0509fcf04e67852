//! [`apply`]: prevents a confined process from using abstract Unix sockets of other processes, even if it shares the
//! network of this machine (landlock(7), since Linux 6.12).
use super::step::done;
use std::{io, ptr};

/// `struct landlock_ruleset_attr` in `linux/landlock.h`.
#[repr(C)]
struct Rules {
    files: u64,
    network: u64,
    scoped: u64,
}

const ABSTRACT_SOCKETS: u64 = 1;

/// `LANDLOCK_CREATE_RULESET_VERSION`: returns the version in place of a descriptor.
const QUERY_VERSION: libc::c_uint = 1;

/// The first version that supports scopes.
const MIN_VERSION: libc::c_long = 6;

/// Whether the system supports scopes.
pub fn scopes_sockets() -> bool {
    create(ptr::null(), 0, QUERY_VERSION) >= MIN_VERSION
}

/// Attaches the rules to this process permanently, if the system supports them. Allocates nothing.
#[expect(unsafe_code, reason = "landlock_restrict_self(2) without memory of its own")]
pub(super) fn apply() -> io::Result<()> {
    if !scopes_sockets() {
        return Ok(());
    }
    let rules = Rules { files: 0, network: 0, scoped: ABSTRACT_SOCKETS };
    let descriptor = create(&raw const rules, size_of::<Rules>(), 0);
    done(descriptor)?;
    // SAFETY: the descriptor is our own, and not used again.
    unsafe {
        let restricted = done(libc::syscall(libc::SYS_landlock_restrict_self, descriptor, 0));
        libc::close(descriptor as libc::c_int);
        restricted
    }
}

#[expect(unsafe_code, reason = "landlock_create_ruleset(2) without memory of its own")]
fn create(rules: *const Rules, size: usize, flags: libc::c_uint) -> libc::c_long {
    // SAFETY: the rules outlive the call and are as long as `size` says.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, rules, size, flags) }
}
