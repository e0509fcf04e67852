//! Memory that is not needed any more.

/// Gives back to the system what was freed: glibc keeps it for later, thread by thread, and a server that has closed a
/// thousand sessions would look as if it had them still. Does nothing with other C libraries.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the standard library has no name for malloc_trim(3)")]
pub fn give_memory_back() {
    // SAFETY: it takes a number, may be called at any time from any thread, and touches only what is free.
    let _some_was_given = unsafe { libc::malloc_trim(0) };
}

/// Nothing is known of how others do it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_memory_back() {}
