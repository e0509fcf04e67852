//! A crate outside of this workspace, as a reader writes it of the first page of the documentation.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod server;
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// Word for word as the documentation has it.
const LISTING: &str = r#"use haft::prelude::*;

/// Doubles a number.
#[tool]
fn double(x: i64) -> i64 { 2 * x }

#[tokio::main]
async fn main() -> haft::Result<()> {
    let agent = Haft::builder().model("openai/gpt-5-mini").tool(double).build().await?;
    let report = agent.session()?.prompt("What is twice 21?").await?;
    println!("{}", report.text);
    Ok(())
}
"#;

#[test]
fn the_listing_of_the_documentation_runs_in_a_crate_of_its_own() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["src/lib.rs", "../../README.md", "../../docs/embedding.md"] {
        let text = fs::read_to_string(here.join(file)).unwrap();
        let text: Vec<&str> = text.lines().map(|line| line.strip_prefix("//!").unwrap_or(line)).collect();
        let text: Vec<&str> = text.iter().map(|line| line.strip_prefix(' ').unwrap_or(line).trim()).collect();
        let listing: Vec<&str> = LISTING.lines().map(str::trim).collect();
        assert!(text.windows(listing.len()).any(|lines| lines == listing), "{file} has another listing");
    }
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("outside");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/main.rs"), LISTING).unwrap();
    fs::write(project.join("Cargo.toml"), manifest(here)).unwrap();
    // The versions and what was compiled of them are there already: nothing is fetched anew.
    fs::copy(here.join("../../Cargo.lock"), project.join("Cargo.lock")).unwrap();
    let test = std::env::current_exe().unwrap();
    let server = server::Server::start();
    let ran = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", test.ancestors().nth(3).unwrap())
        .env("HAFT_HOME", folder.path().join("home"))
        .env("OPENAI_BASE_URL", server.url())
        .env("OPENAI_API_KEY", "none")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{err}");
    assert_eq!(out, "Twice 21 is 42.\n");
    let sessions = fs::read_dir(folder.path().join("home/sessions")).unwrap().count();
    assert_eq!(sessions, 1, "the session is kept where `haft sessions list` finds it");
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
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", "haft", "--edges", "normal,build", "--prefix", "none", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8(tree.stdout).unwrap();
    let crates: BTreeSet<&str> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    assert!((20..=MOST_CRATES).contains(&crates.len()), "{} crates", crates.len());
}
