//! [`ALLOWED`] and [`REFUSED`]: the system calls that a confined process may make, and those that fail with `EPERM`.
//!
//! The list is that of moby's default profile for containers without capabilities (`profiles/seccomp/default.json`),
//! without calls that 253 common commands and the usual toolchains do not need: message queues of System V and POSIX,
//! `memfd_secret`, `fanotify_init`, `kcmp`, `modify_ldt` and `pidfd_getfd`. Calls that are not in the list fail as
//! nonexistent, so that libraries use an older call instead of a newer one.
use libc::{self as c, c_long};

/// Allowed on every machine.
#[rustfmt::skip]
pub(super) const ALLOWED: &[c_long] = &[
    c::SYS_accept, c::SYS_accept4, c::SYS_bind, c::SYS_brk, c::SYS_capget, c::SYS_capset, c::SYS_chdir,
    c::SYS_clock_getres, c::SYS_clock_gettime, c::SYS_clock_nanosleep, c::SYS_clone, c::SYS_close,
    c::SYS_close_range, c::SYS_connect, c::SYS_copy_file_range, c::SYS_dup, c::SYS_dup3,
    c::SYS_epoll_create1, c::SYS_epoll_ctl, c::SYS_epoll_pwait, c::SYS_epoll_pwait2, c::SYS_eventfd2,
    c::SYS_execve, c::SYS_execveat, c::SYS_exit, c::SYS_exit_group, c::SYS_faccessat, c::SYS_faccessat2,
    c::SYS_fadvise64, c::SYS_fallocate, c::SYS_fchdir, c::SYS_fchmod, c::SYS_fchmodat, c::SYS_fchmodat2,
    c::SYS_fchown, c::SYS_fchownat, c::SYS_fcntl, c::SYS_fdatasync, c::SYS_fgetxattr, c::SYS_flistxattr,
    c::SYS_flock, c::SYS_fremovexattr, c::SYS_fsetxattr, c::SYS_fstat, c::SYS_fstatfs, c::SYS_fsync,
    c::SYS_ftruncate, c::SYS_futex, c::SYS_futex_waitv, c::SYS_get_mempolicy, c::SYS_get_robust_list,
    c::SYS_getcpu, c::SYS_getcwd, c::SYS_getdents64, c::SYS_getegid, c::SYS_geteuid, c::SYS_getgid,
    c::SYS_getgroups, c::SYS_getitimer, c::SYS_getpeername, c::SYS_getpgid, c::SYS_getpid, c::SYS_getppid,
    c::SYS_getpriority, c::SYS_getrandom, c::SYS_getresgid, c::SYS_getresuid, c::SYS_getrusage,
    c::SYS_getsid, c::SYS_getsockname, c::SYS_getsockopt, c::SYS_gettid, c::SYS_gettimeofday, c::SYS_getuid,
    c::SYS_getxattr, c::SYS_inotify_add_watch, c::SYS_inotify_init1, c::SYS_inotify_rm_watch,
    c::SYS_io_cancel, c::SYS_io_destroy, c::SYS_io_getevents, c::SYS_io_setup, c::SYS_io_submit,
    c::SYS_ioctl, c::SYS_ioprio_get, c::SYS_ioprio_set, c::SYS_kill, c::SYS_landlock_add_rule,
    c::SYS_landlock_create_ruleset, c::SYS_landlock_restrict_self, c::SYS_lgetxattr, c::SYS_linkat,
    c::SYS_listen, c::SYS_listxattr, c::SYS_llistxattr, c::SYS_lremovexattr, c::SYS_lseek, c::SYS_lsetxattr,
    c::SYS_madvise, c::SYS_mbind, c::SYS_membarrier, c::SYS_memfd_create, c::SYS_mincore, c::SYS_mkdirat,
    c::SYS_mknodat, c::SYS_mlock, c::SYS_mlock2, c::SYS_mlockall, c::SYS_mmap, c::SYS_mprotect,
    c::SYS_mremap, c::SYS_mseal, c::SYS_msync, c::SYS_munlock, c::SYS_munlockall, c::SYS_munmap,
    c::SYS_name_to_handle_at, c::SYS_nanosleep, c::SYS_newfstatat, c::SYS_openat, c::SYS_openat2,
    c::SYS_pidfd_open, c::SYS_pidfd_send_signal, c::SYS_pipe2, c::SYS_pkey_alloc, c::SYS_pkey_free,
    c::SYS_pkey_mprotect, c::SYS_ppoll, c::SYS_prctl, c::SYS_pread64, c::SYS_preadv, c::SYS_preadv2,
    c::SYS_prlimit64, c::SYS_process_mrelease, c::SYS_pselect6, c::SYS_pwrite64, c::SYS_pwritev,
    c::SYS_pwritev2, c::SYS_read, c::SYS_readahead, c::SYS_readlinkat, c::SYS_readv, c::SYS_recvfrom,
    c::SYS_recvmmsg, c::SYS_recvmsg, c::SYS_remap_file_pages, c::SYS_removexattr, c::SYS_renameat2,
    c::SYS_restart_syscall, c::SYS_rseq, c::SYS_rt_sigaction, c::SYS_rt_sigpending, c::SYS_rt_sigprocmask,
    c::SYS_rt_sigqueueinfo, c::SYS_rt_sigreturn, c::SYS_rt_sigsuspend, c::SYS_rt_sigtimedwait,
    c::SYS_rt_tgsigqueueinfo, c::SYS_sched_get_priority_max, c::SYS_sched_get_priority_min,
    c::SYS_sched_getaffinity, c::SYS_sched_getattr, c::SYS_sched_getparam, c::SYS_sched_getscheduler,
    c::SYS_sched_rr_get_interval, c::SYS_sched_setaffinity, c::SYS_sched_setattr, c::SYS_sched_setparam,
    c::SYS_sched_setscheduler, c::SYS_sched_yield, c::SYS_seccomp, c::SYS_semctl, c::SYS_semget,
    c::SYS_semop, c::SYS_semtimedop, c::SYS_sendfile, c::SYS_sendmmsg, c::SYS_sendmsg, c::SYS_sendto,
    c::SYS_set_mempolicy, c::SYS_set_robust_list, c::SYS_set_tid_address, c::SYS_setfsgid, c::SYS_setfsuid,
    c::SYS_setgid, c::SYS_setgroups, c::SYS_setitimer, c::SYS_setpgid, c::SYS_setpriority, c::SYS_setregid,
    c::SYS_setresgid, c::SYS_setresuid, c::SYS_setreuid, c::SYS_setsid, c::SYS_setsockopt, c::SYS_setuid,
    c::SYS_setxattr, c::SYS_shmat, c::SYS_shmctl, c::SYS_shmdt, c::SYS_shmget, c::SYS_shutdown,
    c::SYS_sigaltstack, c::SYS_signalfd4, c::SYS_socket, c::SYS_socketpair, c::SYS_splice, c::SYS_statfs,
    c::SYS_statx, c::SYS_symlinkat, c::SYS_sync, c::SYS_sync_file_range, c::SYS_syncfs, c::SYS_sysinfo,
    c::SYS_tee, c::SYS_tgkill, c::SYS_timer_create, c::SYS_timer_delete, c::SYS_timer_getoverrun,
    c::SYS_timer_gettime, c::SYS_timer_settime, c::SYS_timerfd_create, c::SYS_timerfd_gettime,
    c::SYS_timerfd_settime, c::SYS_times, c::SYS_tkill, c::SYS_truncate, c::SYS_umask, c::SYS_uname,
    c::SYS_unlinkat, c::SYS_utimensat, c::SYS_vmsplice, c::SYS_wait4, c::SYS_waitid, c::SYS_write,
    c::SYS_writev,
];

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
pub(super) const OLDER: &[c_long] = &[
    c::SYS_access, c::SYS_alarm, c::SYS_arch_prctl, c::SYS_chmod, c::SYS_chown, c::SYS_creat, c::SYS_dup2,
    c::SYS_epoll_create, c::SYS_epoll_wait, c::SYS_eventfd, c::SYS_fork, c::SYS_futimesat, c::SYS_getdents,
    c::SYS_getpgrp, c::SYS_getrlimit, c::SYS_inotify_init, c::SYS_lchown, c::SYS_link, c::SYS_lstat,
    c::SYS_mkdir, c::SYS_mknod, c::SYS_open, c::SYS_pause, c::SYS_pipe, c::SYS_poll, c::SYS_readlink,
    c::SYS_rename, c::SYS_renameat, c::SYS_rmdir, c::SYS_select, c::SYS_setrlimit, c::SYS_signalfd,
    c::SYS_stat, c::SYS_symlink, c::SYS_time, c::SYS_unlink, c::SYS_utime, c::SYS_utimes, c::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const OLDER: &[c_long] = &[c::SYS_renameat];

/// Refused with `EPERM` whatever the arguments: with these calls programs request rights that a confined process does
/// not get, and their message for this error is familiar to users. Other calls that are not allowed fail with `ENOSYS`.
#[rustfmt::skip]
pub(super) const REFUSED: &[c_long] = &[
    c::SYS_mount, c::SYS_umount2, c::SYS_pivot_root, c::SYS_chroot, c::SYS_move_mount, c::SYS_open_tree,
    c::SYS_fsopen, c::SYS_fsconfig, c::SYS_fsmount, c::SYS_fspick, c::SYS_mount_setattr, c::SYS_unshare,
    c::SYS_setns, c::SYS_ptrace, c::SYS_process_vm_readv, c::SYS_process_vm_writev, c::SYS_bpf,
    c::SYS_perf_event_open, c::SYS_userfaultfd, c::SYS_keyctl, c::SYS_add_key, c::SYS_request_key,
    c::SYS_io_uring_setup, c::SYS_io_uring_enter, c::SYS_io_uring_register, c::SYS_open_by_handle_at,
    c::SYS_init_module, c::SYS_finit_module, c::SYS_delete_module, c::SYS_kexec_load, c::SYS_reboot,
    c::SYS_swapon, c::SYS_swapoff, c::SYS_acct, c::SYS_quotactl, c::SYS_settimeofday, c::SYS_clock_settime,
    c::SYS_adjtimex, c::SYS_syslog,
];

/// Allowed values for personality(2): Linux, also with another machine or version in `uname`, and a query.
pub(super) const PERSONALITIES: [u64; 5] = [0, 0x8, 0x20000, 0x20008, 0xffff_ffff];
