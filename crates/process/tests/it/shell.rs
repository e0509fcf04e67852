//! Commands that behave, and commands that do not.
use haft_process::{Exit, Finished, ProcessError, Shell};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

fn shell(command: &str) -> Shell {
    Shell {
        command: command.into(),
        folder: "/".into(),
        environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        timeout: Some(Duration::from_secs(20)),
        capture: 1_000,
        spill: None,
        hidden: Arc::default(),
        confinement: None,
    }
}

async fn run(shell: Shell) -> Finished {
    shell.run(|_| ()).await.unwrap()
}

/// Standard output, standard error, how it ended.
async fn told(shell: Shell) -> (String, String, Exit) {
    let Finished { stdout, stderr, exit, .. } = run(shell).await;
    (stdout.text, stderr.text, exit)
}

/// Waits until they are gone: a signal needs a moment to arrive.
async fn wait_for_the_end_of(marks: &[&str]) {
    wait_until(&format!("{marks:?} are gone"), || !marks.iter().any(|mark| is_alive(mark))).await;
}

async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process that this test program started has this text in its command line. Others on the machine may
/// have it too.
fn is_alive(mark: &str) -> bool {
    let ours = format!("HAFT_CALL={}-", std::process::id());
    let holds = |file: PathBuf, text: &str| {
        std::fs::read(file).is_ok_and(|content| String::from_utf8_lossy(&content).contains(text))
    };
    let mut processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes.any(|process| holds(process.join("cmdline"), mark) && holds(process.join("environ"), &ours))
}

// A-79, C-38, B07
#[tokio::test]
async fn output_and_exit_code_come_back() {
    let table = [
        ("echo out; echo err >&2", ("out\n", "err\n", Exit::Code(0))),
        ("exit 7", ("", "", Exit::Code(7))),
        ("kill -9 $$", ("", "", Exit::Signal(9))),
        ("printf 'a\\377b'", ("a\u{fffd}b", "", Exit::Code(0))),
        ("cat", ("", "", Exit::Code(0))),
        (
            "env | grep -v -e ^PWD -e ^SHLVL -e ^_ -e ^OLDPWD -e ^HAFT_CALL",
            ("PATH=/usr/bin:/bin\n", "", Exit::Code(0)),
        ),
        ("pwd", ("/\n", "", Exit::Code(0))),
    ];
    for (command, (stdout, stderr, exit)) in table {
        assert_eq!(told(shell(command)).await, (stdout.into(), stderr.into(), exit), "{command}");
    }
}

// C-34
#[tokio::test]
async fn output_is_shown_while_the_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let seen = |chunk: &str| folder.path().join(chunk.trim());
    let mut chunks = Vec::new();
    let wait = "until [ -e $seen ]; do sleep 0.01; done";
    let command = format!("echo one; seen=one; {wait}; echo two >&2; seen=two; {wait}; echo three");
    let command = Shell { folder: folder.path().into(), ..shell(&command) };
    let show = |chunk: &str| {
        std::fs::write(seen(chunk), "").unwrap();
        chunks.push(chunk.to_owned());
    };
    command.run(show).await.unwrap();
    assert_eq!(chunks, ["one\n", "two\n", "three\n"]);
}

// B01, B11, A-82
#[tokio::test]
async fn what_does_not_end_is_ended_with_its_children() {
    let all = [
        ("sleep 1001", "1001"),
        ("sleep 1002 & sleep 1003", "1002"),
        ("trap '' TERM INT HUP; while :; do sleep 1004; done", "1004"),
        ("(trap '' TERM; sleep 1005) & sleep 1006", "1005"),
    ];
    let [a, b, c, d] = all.map(|(command, mark)| is_ended(command, mark));
    tokio::join!(a, b, c, d);
}

// B01, B06: apart from the others, since the reader does nothing else
#[tokio::test]
async fn what_prints_without_end_is_ended() {
    is_ended("yes 1007", "1007").await;
}

async fn is_ended(command: &str, mark: &str) {
    let start = Instant::now();
    let timeout = Some(Duration::from_secs(2));
    let (stdout, _, exit) = told(Shell { timeout, ..shell(&format!("echo before; {command}")) }).await;
    assert!(stdout.starts_with("before\n"), "{command}: {stdout}");
    assert_eq!(exit, Exit::TimedOut, "{command}");
    assert!(start.elapsed() < Duration::from_secs(20), "{command}: {:?}", start.elapsed());
    wait_for_the_end_of(&[mark]).await;
}

// B04
#[tokio::test]
async fn a_child_in_the_background_is_not_waited_for() {
    for (command, mark) in [
        ("sleep 2001 & echo started", "sleep\u{0}2001"),
        ("sleep 2002 >/dev/null 2>&1 & echo started", "sleep\u{0}2002"),
        ("(trap '' TERM HUP; exec sleep 2003) & echo started", "sleep\u{0}2003"),
    ] {
        let start = Instant::now();
        assert_eq!(told(shell(command)).await, ("started\n".into(), String::new(), Exit::Code(0)));
        assert!(start.elapsed() < Duration::from_secs(20), "{command}");
        wait_for_the_end_of(&[mark]).await;
    }
}

#[tokio::test]
async fn a_child_that_finishes_the_output_is_waited_for() {
    let (stdout, ..) = told(shell("echo a > >(sed s/a/b/)")).await;
    assert_eq!(stdout, "b\n");
}

// A child that leaves the group keeps the pipe open; the result does not wait for it.
#[tokio::test]
async fn a_daemon_does_not_hold_up_the_result() {
    let start = Instant::now();
    assert_eq!(told(shell("setsid sleep 300.25 & echo started")).await.0, "started\n");
    assert!(start.elapsed() < Duration::from_secs(20));
}

// B10
#[tokio::test]
async fn there_is_no_terminal_to_ask() {
    let (stdout, stderr, exit) = told(shell("read x </dev/tty; echo rc=$?")).await;
    assert_eq!((stdout.as_str(), exit), ("rc=1\n", Exit::Code(0)));
    assert!(stderr.contains("/dev/tty"), "{stderr}");
}

/// Runs the command until it prints something, and lets it go.
async fn drop_once_ready(command: &str) {
    let (ready, seen) = tokio::sync::oneshot::channel();
    let mut ready = Some(ready);
    let work = shell(command).run(move |_| {
        let _told = ready.take().map(|ready| ready.send(()));
    });
    tokio::select! {
        ended = work => panic!("it ended by itself: {ended:?}"),
        seen = seen => seen.unwrap(),
    }
}

#[tokio::test]
async fn a_dropped_run_leaves_nobody_behind() {
    drop_once_ready("sleep 3001 & echo ready; sleep 3002").await;
    wait_for_the_end_of(&["sleep\u{0}3001", "sleep\u{0}3002"]).await;
    drop_once_ready("trap '' TERM; echo ready; while :; do sleep 3003; done").await;
    wait_for_the_end_of(&["sleep\u{0}3003"]).await;
}

// As `git` removes its lock; the shell around it does not wait for that. What it prints is not read.
#[tokio::test]
async fn a_dropped_run_may_tidy_up() {
    let folder = tempfile::tempdir().unwrap();
    let tidied = folder.path().join("tidied");
    let inner = "trap \"echo bye; echo > tidied; exit\" TERM; echo ready; while :; do sleep 0.05; done";
    drop_once_ready(&format!("cd '{}'; sh -c '{inner}'; true", folder.path().display())).await;
    wait_until("it has tidied up", || tidied.exists()).await;
}

// What ignores the request to end does not outlive the program that started it.
#[test]
fn a_runtime_that_ends_leaves_nobody_behind() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    first.block_on(drop_once_ready("trap '' TERM; echo ready; while :; do sleep 3004; done"));
    first.shutdown_background();
    runtime().block_on(wait_for_the_end_of(&["sleep\u{0}3004"]));
}

// B06, B08
#[tokio::test]
async fn output_without_end_is_kept_by_its_ends_and_spilled() {
    let folder = tempfile::tempdir().unwrap();
    let command = "echo first >&2; echo begin; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo end";
    let Finished { stdout, stderr, truncated, spilled, .. } =
        run(Shell { spill: Some(folder.path().into()), ..shell(command) }).await;
    assert!(truncated && stdout.text.starts_with("begin\nxxx") && stdout.text.ends_with("xxx\nend\n"));
    assert_eq!((stdout.text.len(), stdout.missing_bytes, stdout.missing_lines), (1_000, 29_999_011, 0));
    let spilled = std::fs::read_to_string(spilled.unwrap()).unwrap();
    assert_eq!((stderr.text.as_str(), spilled.len()), ("first\n", 30_000_011 + 6));
    assert!(spilled.ends_with("xxx\nend\n"));
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let gone = Shell { folder: "/no/such/folder".into(), ..shell("true") };
    let table = [
        (shell("echo \0"), "cannot run the command: it contains a NUL byte"),
        (gone, "cannot start a shell in `/no/such/folder`: the folder does not exist"),
    ];
    for (shell, expected) in table {
        let error: ProcessError = shell.run(|_| ()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert!(Path::new("/bin/sh").exists());
}

// B05
#[tokio::test]
async fn who_leaves_the_group_is_found_and_killed() {
    let daemon =
        "setsid sleep 311.5 >/dev/null 2>&1 </dev/null & (setsid setsid sleep 312.5 &) ; echo started";
    let finished = run(shell(daemon)).await;
    assert_eq!((finished.stdout.text.as_str(), finished.exit), ("started\n", Exit::Code(0)));
    wait_for_the_end_of(&["sleep\x00311.5", "sleep\x00312.5"]).await;
}
