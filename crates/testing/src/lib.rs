//! What the tests of several crates share: the cases that are beside the repository, saying that a test was left out,
//! and what fuzzers have in common.
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

/// Says that `what` is not tested and why: "pytest: `python3 -m pytest` does not run".
///
/// Writes a line with the name of the test to standard error, past what `cargo test` captures of a test that passes, and to
/// the file that the variable `HAFT_SKIPPED` names, from which `scripts/test.sh` makes its summary.
///
/// # Panics
///
/// If the variable `HAFT_REQUIRE_ALL` is set: what is left out is then a failure.
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

/// Takes the variables of the package under test (`CARGO_PKG_NAME` and others) out of `command`, which runs Cargo.
///
/// `cargo test` sets them for tests. Some build scripts, such as that of `ring`, run again when one of them changes, and
/// everything that depends on them is compiled again: in this command, and in the next one from a shell.
#[must_use]
pub fn without_package(mut command: Command) -> Command {
    let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_package)) {
        command.env_remove(name);
    }
    command
}

/// Returns how often something random is tried: `usual`, or as often as the variable `HAFT_SOAK` says (`make soak`).
pub fn tries(usual: u64) -> u64 {
    std::env::var("HAFT_SOAK").ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// Returns a port of loopback at which nothing listens. No test gets it from the system in the meantime: it is below
/// those that Linux gives to a listener without a port, and to a client, which could even connect to itself there.
///
/// # Panics
///
/// If a thousand ports are taken.
pub fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut tried = std::iter::repeat_with(|| fastrand::u16(10_000..32_000)).take(1000);
    tried.find(is_free).expect("a free port")
}

/// Returns the path of conformance cases in `../shared/conformance` beside the repository, where they are there.
///
/// # Panics
///
/// Like [`left_out`] does, but not where `HAFT_REQUIRE_ALL` is `programs`: a clone alone has its own cases only.
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
