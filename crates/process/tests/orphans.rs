//! Processes that lose their parents become children of this one. A binary of its own: it is a decision for the whole process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "this is a test")]
use haft_process::{Exit, Shell, adopt_orphans};
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, path::Path, sync::Arc};

async fn run(folder: &Path, command: &str) {
    let environment = Arc::new([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
    let shell = Shell {
        command: command.into(),
        folder: folder.into(),
        environment,
        timeout: None,
        capture: 1_000,
        spill: None,
        hidden: Arc::default(),
        confinement: None,
    };
    assert_eq!(shell.run(|_| ()).await.unwrap().exit, Exit::Code(0));
}

/// The parent of a process, and whether the process is a zombie.
fn standing(pid: &str) -> Option<(u32, bool)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields[1].parse().ok()?, fields[0] == "Z"))
}

// B05, D60
#[tokio::test]
async fn who_leaves_its_parents_comes_here_and_is_waited_for() {
    assert!(adopt_orphans());
    let folder = tempfile::tempdir().unwrap();
    let daemon =
        "env -i setsid sh -c 'echo $$ >new; mv new pid; exec sleep 1000' >/dev/null 2>&1 </dev/null &";
    run(folder.path(), &format!("{daemon} until test -e pid; do sleep 0.01; done")).await;
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap().trim().to_owned();
    assert_eq!(standing(&pid), Some((std::process::id(), false)));
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    while standing(&pid).is_some_and(|(_, has_ended)| !has_ended) {
        tokio::task::yield_now().await;
    }
    run(folder.path(), "true").await;
    assert_eq!(standing(&pid), None, "this process has waited for it");
}
