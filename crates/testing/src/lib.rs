//! What the tests of several crates share: the cases beside the repository, reports of tests that are left out
//! ([`left_out`]), and the common part of fuzzers.
pub mod clock;
pub mod fuzz;
pub mod postgres;

use std::{
    fs::OpenOptions,
    io::{Write, stderr},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
};

/// Reports that `what` is not tested and why: "pytest: `python3 -m pytest` does not run".
///
/// Writes a line with the name of the test to standard error, which bypasses the capture of `cargo test` for passing
/// tests, and to the file in the variable `HAFT_SKIPPED`, from which `scripts/test.sh` makes its summary.
///
/// # Panics
///
/// If the variable `HAFT_REQUIRE_ALL` is set: leaving a test out is then a failure.
pub fn left_out(what: &str) {
    assert!(std::env::var_os("HAFT_REQUIRE_ALL").is_none(), "left out, and HAFT_REQUIRE_ALL is set: {what}");
    let thread = std::thread::current();
    let line = format!("skipped: {}: {what}\n", thread.name().unwrap_or("a test"));
    let _closed = stderr().write_all(line.as_bytes());
    let list =
        std::env::var_os("HAFT_SKIPPED").map(|path| OpenOptions::new().append(true).create(true).open(path));
    if let Some(Ok(mut list)) = list {
        let _full = list.write_all(line.as_bytes());
    }
}

/// Removes the variables of the package under test (`CARGO_PKG_NAME` and others) from `command`, which runs Cargo.
///
/// `cargo test` sets them for tests. Some build scripts, such as that of `ring`, run again when one of them changes,
/// and everything that depends on them is compiled again: by this command, and by the next one from a shell.
#[must_use]
pub fn without_package(mut command: Command) -> Command {
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
        command.env_remove(name);
    }
    command
}

/// Returns the number of random trials: `usual`, or the value of the variable `HAFT_SOAK` (`make soak`).
pub fn tries(usual: u64) -> u64 {
    std::env::var("HAFT_SOAK").ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// Returns a loopback port on which nothing listens. The system does not assign it to another test meanwhile: it is
/// below the ports that Linux assigns to listeners without a port and to clients, which could even connect to
/// themselves there.
///
/// # Panics
///
/// If a thousand ports are taken.
pub fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut tried = std::iter::repeat_with(|| fastrand::u16(10_000..32_000)).take(1000);
    tried.find(is_free).expect("a free port")
}

/// Returns the path of conformance cases in `../shared/conformance` beside the repository, if they exist.
///
/// # Panics
///
/// Panics like [`left_out`], but not if `HAFT_REQUIRE_ALL` is `programs`: a clone alone has only its own cases.
pub fn conformance(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance").join(name);
    if path.exists() {
        return Some(path);
    }
    let only_programs = std::env::var_os("HAFT_REQUIRE_ALL").is_some_and(|value| value == "programs");
    if !only_programs {
        left_out(&format!("the cases `{name}`: there is no `{}`", path.display()));
    }
    None
}
