//! [`filter`]: makes the seccomp filter of a confined process, which allows certain system calls and refuses some of
//! their arguments.
use super::{
    calls::{ALLOWED, OLDER, PERSONALITIES, REFUSED},
    step::done,
};
use haft_core::Outside;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::{collections::BTreeMap, io, sync::OnceLock};

/// Two filters: one for calls that fail as nonexistent, and one for calls that are refused. If both match, the kernel
/// returns the error of the last one.
pub(super) type Filter = [BpfProgram; 2];

/// Flags of `clone` that create new namespaces.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// The socket families that a program may use in addition to the internet's: none that reaches a virtual machine's host
/// or drivers, and of netlink only what reports the addresses of this machine.
const SOCKETS: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The protocol of multipath TCP, which the proxy and the network rules do not cover.
const MULTIPATH: u64 = 262;

/// The types of Unix sockets that can send to another socket by its name even if they were created by `socketpair`:
/// each of a pair of datagram sockets can send to any name. The system treats raw ones the same.
const DATAGRAMS: [libc::c_int; 2] = [libc::SOCK_DGRAM, libc::SOCK_RAW];

/// The bits of a socket's type; the others are flags (`SOCK_TYPE_MASK` in `linux/net.h`).
const SOCKET_KIND: u64 = 0xf;

/// Returns the filter for a command. Each of the two filters is made once.
pub(super) fn filter(outside: Outside) -> io::Result<&'static Filter> {
    static WITH_UNIX: OnceLock<Filter> = OnceLock::new();
    static WITHOUT_UNIX: OnceLock<Filter> = OnceLock::new();
    let (made, unix) = match outside {
        Outside::Overlays => (&WITH_UNIX, true),
        Outside::Bound => (&WITHOUT_UNIX, false),
    };
    match made.get() {
        Some(filter) => Ok(filter),
        None => new(unix).map(|filter| made.get_or_init(|| filter)),
    }
}

/// Makes a filter. `unix`: whether the process may create Unix sockets that can have a name or connect to one.
fn new(unix: bool) -> io::Result<Filter> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let masked = |bits: u64| SeccompCmpOp::MaskedEq(bits);
    let namespaces = NAMESPACES.iter().map(|bits| {
        let bits = *bits as u64;
        rule(vec![condition(0, masked(bits), bits)?])
    });
    rules.insert(libc::SYS_clone, namespaces.collect::<io::Result<_>>()?);
    let others = SOCKETS.iter().map(|family| condition(0, SeccompCmpOp::Ne, *family as u64));
    let netlink = vec![
        condition(0, SeccompCmpOp::Eq, libc::AF_NETLINK as u64)?,
        condition(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64)?,
    ];
    let multipath = vec![condition(2, SeccompCmpOp::Eq, MULTIPATH)?];
    let mut sockets = vec![rule(others.collect::<io::Result<_>>()?)?, rule(netlink)?, rule(multipath)?];
    if !unix {
        sockets.push(rule(vec![condition(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?])?);
        let pairs = DATAGRAMS.iter().map(|kind| rule(vec![condition(1, masked(SOCKET_KIND), *kind as u64)?]));
        rules.insert(libc::SYS_socketpair, pairs.collect::<io::Result<_>>()?);
    }
    rules.insert(libc::SYS_socket, sockets);
    // The `ioctl` that inserts characters into a terminal's input as if the user had typed them.
    let typed =
        [libc::TIOCSTI, libc::TIOCLINUX].map(|request| rule(vec![condition(1, SeccompCmpOp::Eq, request)?]));
    rules.insert(libc::SYS_ioctl, typed.into_iter().collect::<io::Result<_>>()?);
    let others = PERSONALITIES.iter().map(|kind| condition(0, SeccompCmpOp::Ne, *kind));
    rules.insert(libc::SYS_personality, vec![rule(others.collect::<io::Result<_>>()?)?]);
    let refused = compiled(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;
    let known = ALLOWED.iter().chain(OLDER).chain(REFUSED).chain(&[libc::SYS_personality]);
    let known = known.map(|call| (*call, Vec::new())).collect();
    let known = compiled(known, SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow)?;
    Ok([known, refused])
}

/// Attaches the filter to this process permanently. Allocates nothing.
#[expect(unsafe_code, reason = "`seccompiler::apply_filter` allocates")]
pub(super) fn apply(filter: &Filter) -> io::Result<()> {
    for program in filter {
        let length = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?;
        let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
        let (call, set) = (libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER);
        // SAFETY: the program outlives the call, and its instructions have the kernel's own layout.
        done(unsafe { libc::syscall(call, set, 0, &raw const program) })?;
    }
    Ok(())
}

fn compiled(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> io::Result<BpfProgram> {
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, otherwise, matched, machine).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn condition(argument: u8, compare: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value).map_err(io::Error::other)
}
