//! [`end_previous_run`]: what becomes of processes whose parent is gone.
#![cfg(target_os = "linux")]
use haft_process::{Owner, Program, Shell, VARIABLE, end_previous_run};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

/// Set for a process that starts a command and waits: the folder in which it does.
const HOST: &str = "HAFT_TEST_HOST";

/// A word that the host's commands carry, and no command of another test.
fn session(folder: &Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

/// Starts one of each kind that gets away from its parent, in the folder in which it runs.
const STRAYS: &str = r#"
    stray() { echo $BASHPID > $1.new; mv $1.new $1; while :; do sleep 0.01; done; }
    export -f stray
    (stray subshell) &
    bash -c 'stray child' &
    setsid bash -c 'stray session' &
    (setsid bash -c '(stray daemon) & exit' &)
    env -i bash -c "$(declare -f stray); stray clean" &
    setsid env -i bash -c "$(declare -f stray); stray gone" &
    stray leader
"#;
const KINDS: [&str; 7] = ["subshell", "child", "session", "daemon", "clean", "gone", "leader"];

fn shell(folder: &Path, command: &str) -> Shell {
    let path = ("PATH".to_owned(), env::var("PATH").unwrap());
    let session = (VARIABLE.to_owned(), session(folder));
    Shell {
        command: command.to_owned(),
        folder: folder.to_owned(),
        environment: [path, session].into(),
        timeout: None,
        capture: 1_000,
        spill: None,
        hidden: Arc::default(),
        confinement: None,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Acts as the host, where this process is one.
fn is_host() -> bool {
    let Some(folder) = env::var_os(HOST) else { return false };
    let folder = PathBuf::from(folder);
    fs::write(folder.join("owner"), Owner::this().text()).unwrap();
    runtime().block_on(shell(&folder, STRAYS).run(|_| ())).unwrap();
    true
}

/// A host, and the processes that it started.
fn host(test: &str, folder: &Path) -> (Child, Vec<u32>) {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([&format!("previous_run::{test}"), "--exact", "--nocapture"])
        .env(HOST, folder)
        .stdout(Stdio::null());
    let host = command.spawn().unwrap();
    let pid = |kind: &str| fs::read_to_string(folder.join(kind)).ok()?.trim().parse().ok();
    let found = || KINDS.iter().map(|kind| pid(kind)).collect::<Option<Vec<u32>>>();
    wait_until("all have begun", || found().is_some());
    (host, found().unwrap())
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came true that {what}");
        sleep(Duration::from_millis(2));
    }
}

/// A zombie runs nothing any more.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn alive(pids: &[u32]) -> Vec<&'static str> {
    let pairs = KINDS.iter().zip(pids);
    pairs.filter(|(_, pid)| is_alive(**pid)).map(|(kind, _)| *kind).collect()
}

#[test]
fn a_command_ends_with_the_process_that_started_it() {
    if is_host() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut host, pids) = host("a_command_ends_with_the_process_that_started_it", folder.path());
    host.kill().unwrap();
    host.wait().unwrap();
    wait_until("the command has ended", || !alive(&pids).contains(&"leader"));
    assert_eq!(end_previous_run(&[session(folder.path())], None), 0);
    assert_eq!(alive(&pids), ["clean", "gone"], "what says nothing of its session is not known by it");
    let owner = Owner::read(&fs::read_to_string(folder.path().join("owner")).unwrap());
    assert_eq!(end_previous_run(&[], Some(&owner)), 0);
    assert_eq!(alive(&pids), [""; 0]);
}

#[test]
fn what_a_killed_process_left_is_ended_at_once() {
    if is_host() {
        return;
    }
    for round in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let (mut host, pids) = host("what_a_killed_process_left_is_ended_at_once", folder.path());
        let owner = Owner::read(&fs::read_to_string(folder.path().join("owner")).unwrap());
        host.kill().unwrap();
        // It need not even have been waited for.
        assert_eq!(end_previous_run(&[], Some(&owner)), 0);
        assert_eq!(alive(&pids), [""; 0], "round {round}");
        host.wait().unwrap();
    }
}

#[test]
fn what_a_living_process_has_started_goes_on() {
    if is_host() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut host, pids) = host("what_a_living_process_has_started_goes_on", folder.path());
    let text = fs::read_to_string(folder.path().join("owner")).unwrap();
    let elsewhere = text.rsplit_once(' ').unwrap().0.to_owned() + " pid:[1]";
    let reused = text.replacen(&format!(" {} ", host.id()), " 1 ", 1);
    for owner in [&text, &elsewhere, "", "nonsense", "1 2 3 4 5"] {
        assert_eq!(end_previous_run(&[], Some(&Owner::read(owner))), 0, "{owner}");
        assert_eq!(alive(&pids), KINDS, "{owner}");
    }
    // Where another process has its number by now, it has ended.
    assert_eq!(end_previous_run(&[], Some(&Owner::read(&reused))), 0);
    assert_eq!(alive(&pids), [""; 0]);
    host.kill().unwrap();
    host.wait().unwrap();
}

// Linux tells of the end of a thread, not of a process.
#[test]
fn a_program_outlives_the_thread_that_started_it() {
    let program = Program {
        program: "sleep".into(),
        arguments: vec!["1000".into()],
        folder: "/".into(),
        environment: [("PATH".to_owned(), env::var("PATH").unwrap())].into(),
        timeout: None,
        capture: 0,
        confinement: None,
    };
    let runtime = runtime();
    let handle = runtime.handle().clone();
    let start = move || {
        let _entered = handle.enter();
        program.start_piped().unwrap()
    };
    let mut started = std::thread::spawn(start).join().unwrap();
    sleep(Duration::from_millis(200));
    assert_eq!(started.process.ended().unwrap(), None);
    runtime.block_on(async {
        drop(started);
        haft_process::wait_for_cleanup().await;
    });
}
