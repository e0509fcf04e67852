//! The first listing of the documentation, and how much it brings along.
use std::{collections::BTreeSet, fs, path::Path, process::Command};

#[test]
fn the_listing_of_the_documentation_is_the_first_example() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(here.join(file)).unwrap();
    // On one line in the documentation, since it is short.
    let example = read("examples/first.rs").replace("{\n    2 * x\n}", "{ 2 * x }");
    let listing: Vec<&str> = example.lines().skip(2).map(str::trim).collect();
    for file in ["src/lib.rs", "../../README.md", "../../docs/embedding.md"] {
        let text = read(file);
        let text: Vec<&str> =
            text.lines().map(|line| line.strip_prefix("//!").unwrap_or(line).trim()).collect();
        assert!(text.windows(listing.len()).any(|lines| lines == listing), "{file} has another listing");
    }
}

/// A program that embeds Haft compiles no more than this.
const MOST_CRATES: usize = 215;

#[test]
fn the_default_features_bring_few_crates() {
    let tree = haft_testing::without_package(Command::new(env!("CARGO")))
        .args(["tree", "--package", "haft", "--edges", "normal,build", "--prefix", "none", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8(tree.stdout).unwrap();
    let crates: BTreeSet<&str> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    assert!((20..=MOST_CRATES).contains(&crates.len()), "{} crates", crates.len());
}
