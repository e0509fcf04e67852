//! The first listing of the documentation, and a crate outside of this workspace that consists of it.
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

/// In the workspace a crate has the features that others ask of its dependencies, too.
#[test]
fn a_crate_outside_of_the_workspace_compiles_with_the_default_features() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("outside");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::copy(here.join("examples/first.rs"), project.join("src/main.rs")).unwrap();
    fs::write(project.join("Cargo.toml"), manifest(here)).unwrap();
    // The versions are there already: nothing is fetched anew.
    fs::copy(here.join("../../Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let test = std::env::current_exe().unwrap();
    let checked = haft_testing::without_package(Command::new(env!("CARGO")))
        .args(["check", "--quiet", "--offline"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", test.ancestors().nth(3).unwrap())
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

fn manifest(here: &Path) -> String {
    format!(
        "[package]\nname = \"outside\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         haft = {{ path = {here:?} }}\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n\n\
         # As the workspace has it, so that what is compiled fits.\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n[profile.dev.package.\"*\"]\ndebug = false\n\n[workspace]\n"
    )
}

/// A program that embeds Haft compiles no more than this.
const MOST_CRATES: usize = 210;

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
