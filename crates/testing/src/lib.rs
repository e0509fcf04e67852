//! What the tests of several crates share: the cases that lie beside the repository, saying that a test was left out,
//! and what fuzzers have in common.
pub mod clock;
pub mod fuzz;
pub mod postgres;

use std::path::{Path, PathBuf};

/// Says that `what` is not tested and why: "pytest: `python3 -m pytest` does not run".
///
/// # Panics
///
/// Where the variable `HAFT_REQUIRE_ALL` is set: what is left out is then a failure.
#[expect(clippy::print_stderr, reason = "whoever runs the tests should know what was not tested")]
pub fn left_out(what: &str) {
    assert!(std::env::var_os("HAFT_REQUIRE_ALL").is_none(), "left out, and HAFT_REQUIRE_ALL is set: {what}");
    eprintln!("note: left out: {what}");
}

/// Returns how often something random is tried: `usual`, or as often as the variable `HAFT_SOAK` says (`make soak`).
pub fn tries(usual: u64) -> u64 {
    std::env::var("HAFT_SOAK").ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// Returns the path of conformance cases in `../shared/conformance` beside the repository, where they are there.
///
/// # Panics
///
/// As [`left_out`] does, but not where `HAFT_REQUIRE_ALL` is `programs`: a clone alone has its own cases only.
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
