//! Names of sessions: no two alike, in the order of their making, and short enough to type.
use haft_engine::{Home, JournalError};
use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Set for a process that makes sessions: in this home.
const HOME: &str = "HAFT_TEST_SESSIONS_IN";
const PROCESSES: usize = 8;
const EACH: usize = 1_250;

#[test]
fn sessions_made_at_once_by_many_processes_have_a_name_each() {
    if let Some(home) = env::var_os(HOME) {
        return make_sessions(&Home(home.into()));
    }
    // In memory where there is such a place: to remove so many files takes a disk longer than to make them.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let makers = (0..PROCESSES).map(|_| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([
            "names::sessions_made_at_once_by_many_processes_have_a_name_each",
            "--exact",
            "--nocapture",
        ]);
        command.env(HOME, folder.path()).stdout(Stdio::piped()).spawn().unwrap()
    });
    let makers: Vec<_> = makers.collect();
    let mut names = BTreeSet::new();
    for maker in makers {
        let output = maker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let told = String::from_utf8(output.stdout).unwrap();
        names.extend(told.lines().filter_map(|line| line.strip_prefix("made ")).map(str::to_owned));
    }
    assert_eq!(names.len(), PROCESSES * EACH);
    let folders = std::fs::read_dir(folder.path().join("sessions")).unwrap();
    assert_eq!(folders.count(), PROCESSES * EACH);
}

/// Each is held until all are made, as sessions are that people work in.
fn make_sessions(home: &Home) {
    let mut told = String::new();
    for _ in 0..EACH {
        let (id, journal) = home.create().unwrap();
        assert!(journal.entries().is_empty(), "{id} has been there before");
        told += &format!("made {id}\n");
    }
    #[expect(clippy::print_stdout, reason = "the other process reads it")]
    {
        println!("\n{told}");
    }
}

#[test]
fn names_sort_by_time_and_fit_into_the_address_of_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home(folder.path().to_owned());
    let mut names = Vec::new();
    for _ in 0..50 {
        names.push(home.create().unwrap().0.0);
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
    assert!(names.is_sorted(), "{names:?}");
    for name in names {
        let usual = PathBuf::from("/home/person-with-a-long-name/.local/share/haft/sessions");
        assert!(usual.join(&name).join("socket").as_os_str().len() < 108, "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{name}");
    }
}

#[test]
fn a_beginning_that_several_names_have_is_told_with_those_names() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home(folder.path().to_owned());
    for name in ["20260101-a1", "20260101-a2", "20260102", "20260102-b"] {
        std::fs::create_dir_all(folder.path().join("sessions").join(name)).unwrap();
    }
    let found = |id: &str| home.find(id).map(|found| found.0).map_err(|error| error.to_string());
    let table = [
        ("20260101-a1", Ok("20260101-a1")),
        ("20260102-", Ok("20260102-b")),
        ("20260102", Ok("20260102")),
        ("20260101-a", Err("the ID `20260101-a` is ambiguous: 20260101-a1, 20260101-a2")),
        ("2026", Err("the ID `2026` is ambiguous: 20260101-a1, 20260101-a2, 20260102, …")),
        ("2027", Err("there is no session `2027`")),
        ("", Err("there is no session ``")),
    ];
    for (id, expected) in table {
        assert_eq!(found(id), expected.map(str::to_owned).map_err(str::to_owned), "{id}");
    }
}

#[test]
fn a_session_that_is_not_there_is_not_made_by_opening_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home(folder.path().to_owned());
    let empty = folder.path().join("sessions/20260101-a1");
    std::fs::create_dir_all(&empty).unwrap();
    assert!(matches!(home.open("20260101-a1"), Err(JournalError::Missing(_))));
    assert_eq!(names_in(&empty), 0);
}

fn names_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}
