//! Every requirement is proven by a test, and the page that says by which is up to date.
use std::{path::Path, process::Command};

#[test]
fn every_requirement_is_proven_and_the_page_says_by_what() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(said) = Command::new("python3").arg("scripts/requirements.py").current_dir(root).output() else {
        return haft_testing::left_out("which requirements are proven: there is no `python3`");
    };
    assert!(said.status.success(), "{}", String::from_utf8(said.stdout).unwrap());
}
