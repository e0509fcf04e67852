//! [`give_memory_back`]: returns freed memory to the system.

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
