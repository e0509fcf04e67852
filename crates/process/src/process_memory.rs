//! [`keep_memory_private`] and [`give_memory_back`]: protect this process's memory from other processes, and return
//! freed memory to the system.
use std::io;

/// Closes the memory of this process (`/proc/PID/mem`, `ptrace`, core dumps) to all other processes of the same user,
/// and to all that it starts as root. Call it first, before there is a second thread.
///
/// - The process is no longer *dumpable* (`prctl(2)`): reading its memory takes `CAP_SYS_PTRACE`.
/// - That capability is taken from the *bounding set*, so that no program started from here on has it, even as root.
///   Such a program can still debug what it starts itself.
///
/// Programs that this process starts are dumpable: the system sets that anew for each program. A root process that was
/// started elsewhere is not kept out, and neither is one that loads code into the kernel. Does nothing on systems other
/// than Linux.
pub fn keep_memory_private() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            process::{DumpableBehavior, set_dumpable_behavior},
            thread::{CapabilitySet, remove_capability_from_bounding_set},
        };
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // A process that is not root cannot do this, and need not.
        let _it_is_not_ours = remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE);
    }
    Ok(())
}

/// Returns freed memory to the system: glibc keeps it for later, thread by thread, and a server that has closed a
/// thousand sessions would appear to still hold them. Does nothing with other C libraries.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the standard library has no name for malloc_trim(3)")]
pub fn give_memory_back() {
    // SAFETY: it takes a number, may be called at any time from any thread, and touches only what is free.
    let _some_was_given = unsafe { libc::malloc_trim(0) };
}

/// Does nothing: other C libraries have no documented call for it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_memory_back() {}
