//! [`filter`]: the seccomp filter of a confined process: the system calls that it may make, and which uses of them are
//! refused.
use super::{
    calls::{ALLOWED, OLDER, PERSONALITIES},
    step::done,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::OnceLock,
};

/// One filter for calls that do not exist, one for calls that are refused. Of two errors the kernel returns that of the
/// last filter.
pub(super) type Filter = [BpfProgram; 2];

/// Refused with `EPERM` whatever the arguments: with these calls programs ask for rights that a confined process does
/// not get, and they report this error in words that people know. Other calls that are not allowed do not exist
/// (`ENOSYS`).
const REFUSED: &[libc::c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
];

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

/// TCP over several paths at once, which the proxy and the network rules do not cover.
const MULTIPATH: u64 = 262;

/// Made once: every command has the same filter.
pub(super) fn filter() -> io::Result<&'static Filter> {
    static FILTER: OnceLock<Filter> = OnceLock::new();
    match FILTER.get() {
        Some(filter) => Ok(filter),
        None => made().map(|filter| FILTER.get_or_init(|| filter)),
    }
}

fn made() -> io::Result<Filter> {
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
    let sockets = vec![rule(others.collect::<io::Result<_>>()?)?, rule(netlink)?, rule(multipath)?];
    rules.insert(libc::SYS_socket, sockets);
    // Injects characters that a person would read in their terminal as typed by themselves.
    let typed =
        [libc::TIOCSTI, libc::TIOCLINUX].map(|request| rule(vec![condition(1, SeccompCmpOp::Eq, request)?]));
    rules.insert(libc::SYS_ioctl, typed.into_iter().collect::<io::Result<_>>()?);
    let others = PERSONALITIES.iter().map(|kind| condition(0, SeccompCmpOp::Ne, *kind));
    rules.insert(libc::SYS_personality, vec![rule(others.collect::<io::Result<_>>()?)?]);
    let refused = compiled(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;
    let known = ALLOWED.iter().chain(OLDER).chain(REFUSED).chain(&[libc::SYS_personality]);
    Ok([only(known.copied().collect()), refused])
}

/// Makes calls that are not among `known` fail as unknown. Neighboring numbers are compared at once: the kernel walks
/// through the filter for each existing call when it is attached to a process, and `seccompiler` writes five
/// instructions for each.
fn only(known: BTreeSet<libc::c_long>) -> BpfProgram {
    let op = |code: u32, jt: u8, k: u32| sock_filter { code: code as u16, jt, jf: 0, k };
    let unknown = || op(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
    // The number of the call is the first field of `seccomp_data` (seccomp(2)).
    let mut program = vec![op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in known.into_iter().filter_map(|number| u32::try_from(number).ok()) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    for (first, last) in ranges {
        program.extend([
            op(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, first),
            unknown(),
            op(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 1, last),
            op(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ]);
    }
    program.push(unknown());
    program
}

/// Attaches the filter to this process for good. Allocates nothing.
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
