//! Every example runs to its end, and what it asserts holds.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod server;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Needs a file of a model; `local_model` is compiled with the feature `local`.
const NEEDS_A_FILE: &str = "local_model";
/// Asks a server. It is the first listing of the documentation.
const ASKS_A_SERVER: &str = "first";

/// The folder of what cargo builds, and whether it is optimized.
fn target() -> (PathBuf, bool) {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    (profile.to_owned(), profile.ends_with("release"))
}

fn names() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let names = files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned());
    names.filter(|name| name != NEEDS_A_FILE).collect()
}

#[test]
fn every_example_runs_and_what_it_asserts_holds() {
    let (folder, is_release) = target();
    let names = names();
    assert!(names.len() >= 13, "{names:?}");
    // The packages with the features that the whole workspace asks of them: a run of all its tests has compiled those.
    let mut build = haft_testing::without_package(Command::new(env!("CARGO")));
    build.args(["build", "--quiet", "--offline", "--workspace", "--features", "haft/app,haft/mcp"]);
    build.args(names.iter().flat_map(|name| ["--example", name]));
    build.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_TARGET_DIR", folder.parent().unwrap());
    if is_release {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success(), "the examples cannot be built");
    let server = server::Server::start();
    let home = tempfile::tempdir().unwrap();
    for name in &names {
        let mut program = Command::new(folder.join("examples").join(name));
        program.env("HAFT_HOME", home.path().join("home")).current_dir(home.path());
        if name == ASKS_A_SERVER {
            let work = home.path().join("work");
            fs::create_dir(&work).unwrap();
            program.current_dir(work).env("OPENAI_BASE_URL", server.url()).env("OPENAI_API_KEY", "none");
        }
        let ran = program.output().unwrap();
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}
