//! A process whose memory its own commands cannot read.
use std::io;

/// Closes the memory of this process (`/proc/PID/mem`, `ptrace`, core dumps) to all other processes of the same user,
/// and to all that it starts as root. Call it first, before there is a second thread.
///
/// - The process is no longer *dumpable* (`prctl(2)`): whoever wants to look into it needs `CAP_SYS_PTRACE`.
/// - That capability is taken from the *bounding set*, so that no program that is started from here on has it, also as
///   root. It can still debug what it starts itself.
///
/// What is started is dumpable as ever: the system sets that anew for each program. A process of root that was started
/// elsewhere is not kept out, and neither is one that loads code into the kernel. Where the system is no Linux, nothing
/// happens.
pub fn keep_memory_private() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            process::{DumpableBehavior, set_dumpable_behavior},
            thread::{CapabilitySet, remove_capability_from_bounding_set},
        };
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // Who is not root may not, and need not.
        let _it_is_not_ours = remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE);
    }
    Ok(())
}
