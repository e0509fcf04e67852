//! `docs/demonstrations.md`: its commands run, and print what the page says.
use crate::kit::other_user;
use std::{path::Path, process::Command};

/// Exit code of the script where commands cannot be confined.
const UNCONFINED: i32 = 3;

/// Runs `scripts/demonstrations.py` with these options.
fn demonstrate(options: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/demonstrations.py");
    let done = Command::new("python3")
        .arg(script)
        .args(options)
        .env("HAFT", other_user::program())
        .output()
        .unwrap();
    if done.status.code() == Some(UNCONFINED) {
        return haft_testing::left_out("the demonstrations: commands cannot be confined here");
    }
    let [said, errors] = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(done.status.success(), "{said}{errors}");
}

// Run with UPDATE_DOCS=1, it writes what the commands print into the page.
#[test]
fn the_demonstrations_print_what_the_page_says() {
    if std::env::var_os("HAFT_NODE_MODULES").is_none() {
        haft_testing::left_out("the demonstration of a language server: none is installed");
    }
    let options: &[&str] = if std::env::var_os("UPDATE_DOCS").is_some() { &["--write"] } else { &[] };
    demonstrate(options);
}

#[test]
fn what_only_haft_does_is_shown_by_scripts_that_end_well_alone() {
    demonstrate(&["--alone"]);
}
