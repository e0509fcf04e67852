//! Tests that are run once more by a user who may do nothing.
use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::PathBuf,
    process::Command,
};

const PROGRAM: &str = "HAFT_UNDER_TEST";
const FOLDER: &str = "HAFT_TEST_FOLDER";
const OTHER_USER: u32 = 65_534;

/// The binary: a link to it where the user may not reach the one that was built.
pub(crate) fn program() -> OsString {
    env::var_os(PROGRAM).unwrap_or_else(|| env!("CARGO_BIN_EXE_haft").into())
}

/// Where confined commands see what is there, which is not below `/tmp`.
pub(crate) fn seen_folder() -> PathBuf {
    env::var_os(FOLDER).map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), PathBuf::from)
}

/// Runs the test `name` of `module` (its `module_path!()`) as that user. A user other than root has run it with few rights already.
pub(crate) fn run_as_nobody(module: &str, name: &str) {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return;
    }
    let folder = tempfile::tempdir_in(seen_folder()).unwrap();
    // Links: a copy is busy while a process that another test forked meanwhile still has it open for writing.
    let programs = [(env::current_exe().unwrap(), "tests"), (env!("CARGO_BIN_EXE_haft").into(), "haft")];
    for (program, name) in programs {
        fs::hard_link(program, folder.path().join(name)).unwrap();
    }
    chown(folder.path(), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    let mut tests = Command::new(folder.path().join("tests"));
    tests
        .args(["--exact", &full_name(module, name)])
        .current_dir(folder.path())
        .uid(OTHER_USER)
        .gid(OTHER_USER);
    tests.env(PROGRAM, folder.path().join("haft")).env(FOLDER, folder.path());
    let ended = tests.env("TMPDIR", folder.path()).env("HOME", folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && told.contains("1 passed"), "{told}");
}

/// Returns the name of a test as `--exact` takes it: its path without the crate.
pub(crate) fn full_name(module: &str, name: &str) -> String {
    let (_, module) = module.split_once("::").unwrap();
    format!("{module}::{name}")
}
