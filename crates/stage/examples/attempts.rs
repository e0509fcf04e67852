//! How long until eight attempts can begin in a repository of 100,000 files: in views of it, and in work trees of Git; and
//! how many files they leave when they are dropped.
//! `cargo run --release -p haft-stage --example attempts`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that prints for the person who runs it"
)]
use haft_core::{Change, Effect, Stage, View};
use haft_process::Shell;
use haft_stage::{CommandAccess, LocalStage};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

const FILES: usize = 100_000;
const ATTEMPTS: usize = 8;
/// Files that the turn before has changed, so that each view shows them as they were.
const CHANGED: usize = 20;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap().join("w");
    for number in 0..FILES {
        let place = workspace.join((number / 500).to_string());
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(format!("{number}.txt")), format!("{number}\n")).unwrap();
    }
    git(&workspace, &["init", "--quiet"]);
    git(&workspace, &["add", "."]);
    git(&workspace, &["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", "x"]);
    let stage = LocalStage::new(folder.path().join("blobs")).with_command_views(CommandAccess::default());
    stage.command_views(&workspace).unwrap();
    let shown = changes(&stage, &workspace);
    let begun = Instant::now();
    let effects = [Effect::execute("anything").confined()];
    let views: Vec<_> =
        (0..ATTEMPTS).map(|_| stage.open_with(&workspace, &effects, &shown).unwrap()).collect();
    let opened = begun.elapsed();
    for view in &views {
        read_and_write(&workspace, &**view).await;
    }
    let in_views = begun.elapsed();
    assert!(
        views.iter().all(|view| !view.changes().unwrap().is_empty()),
        "each view has what was written in it"
    );
    let roots: Vec<PathBuf> = views.iter().map(|view| view.root().to_owned()).collect();
    drop(views);
    let left = left_in(&workspace) + roots.iter().filter(|root| **root != workspace && root.exists()).count();
    let begun = Instant::now();
    for number in 0..ATTEMPTS {
        let tree = folder.path().join(format!("tree-{number}"));
        git(&workspace, &["worktree", "add", "--quiet", "--detach", tree.to_str().unwrap()]);
    }
    let in_trees = begun.elapsed();
    println!(
        "{ATTEMPTS} attempts in {FILES} files: views open after {:.1} ms, with a command in each after {:.1} ms; git worktree add {:.2} s ({:.0} times as long); {left} files left by dropped attempts",
        1_000.0 * opened.as_secs_f64(),
        1_000.0 * in_views.as_secs_f64(),
        in_trees.as_secs_f64(),
        in_trees.as_secs_f64() / in_views.as_secs_f64()
    );
}

/// What leads from the workspace to the files as they were.
fn changes(stage: &LocalStage, workspace: &Path) -> Vec<Change> {
    let names = (0..CHANGED).map(|number| format!("0/{number}.txt"));
    let effects: Vec<Effect> = names.clone().map(|name| Effect::Write(workspace.join(name))).collect();
    let view = stage.open(workspace, &effects).unwrap();
    names.for_each(|name| fs::write(view.locate(Path::new(&name)), "before\n").unwrap());
    view.changes().unwrap()
}

/// Runs a command that reads a file as the attempt sees it, and changes, creates and removes others.
async fn read_and_write(workspace: &Path, view: &dyn View) {
    let shell = Shell {
        command: "cat 0/0.txt 199/99999.txt; echo lost >lost.txt; echo lost >>1/500.txt; rm 2/1000.txt"
            .into(),
        folder: workspace.to_owned(),
        environment: [("PATH".to_owned(), env::var("PATH").unwrap_or_default())].into(),
        timeout: Some(Duration::from_secs(60)),
        capture: 1_000,
        spill: None,
        hidden: Arc::default(),
        confinement: view.confinement(),
    };
    let finished = shell.run(|_| ()).await.unwrap();
    assert_eq!(finished.stdout.text, "before\n99999\n");
}

/// How many files of the workspace are not as they were before the attempts.
fn left_in(workspace: &Path) -> usize {
    let status = Command::new("git")
        .current_dir(workspace)
        .args(["status", "--porcelain", "--untracked-files=all"])
        .output()
        .unwrap();
    assert!(status.status.success(), "git status");
    status.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
}

fn git(folder: &Path, words: &[&str]) {
    let status = Command::new("git").current_dir(folder).args(words).status().unwrap();
    assert!(status.success(), "git {words:?}");
}
