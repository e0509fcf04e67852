//! `git` in real repositories.
mod hostile;
use crate::kit::Kit;
use haft_core::{Effect, ToolErrorKind, ToolResult};
use hostile::executable;
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// A repository with one commit.
fn repository() -> Kit {
    let kit = Kit::new();
    prepare(&kit.workspace);
    kit.put("a.txt", "one\ntwo\n");
    commit(&kit.workspace, "First");
    kit
}

fn prepare(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    git(folder, &["config", "user.name", "Ada"]);
    git(folder, &["config", "user.email", "ada@example.org"]);
}

fn commit(folder: &Path, message: &str) {
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", message]);
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    let out = command.args(arguments).current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").output();
    let out = out.unwrap();
    assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
}

async fn told(kit: &Kit, arguments: Value) -> ToolResult {
    kit.told("git", arguments).await
}

// P-11, C-67
#[tokio::test]
async fn a_change_goes_from_the_status_to_a_commit() {
    let kit = repository();
    let clean = told(&kit, json!({"action": "status"})).await;
    assert_eq!(clean.content, "on `main`\nnothing to commit");
    kit.put("a.txt", "one\n2\n");
    kit.put("sub/b.txt", "new\n");
    let status = told(&kit, json!({"action": "status"})).await;
    assert_eq!(status.content, "on `main`\nnot staged:\n  M a.txt\nuntracked:\n  sub/");
    let fields = ["staged", "unstaged", "untracked"].map(|name| status.details[name].clone());
    assert_eq!(fields, [json!([]), json!([{"change": "M", "path": "a.txt"}]), json!(["sub/"])]);

    let diff = told(&kit, json!({"action": "diff"})).await;
    assert!(diff.content.starts_with("1 file, +1 -1\ndiff --git a/a.txt b/a.txt\n"), "{}", diff.content);
    assert!(diff.content.ends_with("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{}", diff.content);
    assert_eq!(diff.details["files"], json!([{"path": "a.txt", "added": 1, "removed": 1}]));

    let staged = told(&kit, json!({"action": "add", "paths": "a.txt"})).await;
    assert_eq!(staged.content, "on `main`\nstaged:\n  M a.txt\nuntracked:\n  sub/");
    let staged = told(&kit, json!({"action": "diff", "staged": true})).await;
    assert!(staged.content.contains("+2\n"), "{}", staged.content);
    assert!(told(&kit, json!({"action": "diff"})).await.content.starts_with("Nothing changed"));

    let message = "--amend \"quoted\" $(touch x)\n\nBody.";
    let committed = told(&kit, json!({"action": "commit", "message": message})).await;
    assert!(committed.content.starts_with("Committed "), "{}", committed.content);
    assert!(committed.content.ends_with("1 file changed, 1 insertion(+), 1 deletion(-)"));
    assert_eq!(committed.details["hash"].as_str().unwrap().len(), 40);
    let nothing = told(&kit, json!({"action": "commit", "message": "Again"})).await;
    assert!(
        nothing.content.starts_with("error: cannot commit: nothing is staged\nhint: "),
        "{}",
        nothing.content
    );

    let log = told(&kit, json!({"action": "log"})).await;
    let subjects: Vec<_> =
        log.details["entries"].as_array().unwrap().iter().map(|entry| &entry["subject"]).collect();
    assert_eq!(subjects, ["--amend \"quoted\" $(touch x)", "First"]);
    assert_eq!(log.content.lines().count(), 2);
    let one = told(&kit, json!({"action": "log", "limit": 1, "ref": "HEAD~1"})).await;
    assert!(one.content.ends_with("Ada: First"), "{}", one.content);
    let shown = told(&kit, json!({"action": "show"})).await;
    assert!(shown.content.contains("    Body.\n\n1 file, +1 -1\ndiff --git"), "{}", shown.content);
    let file = told(&kit, json!({"action": "show", "ref": "HEAD~1:a.txt"})).await;
    assert_eq!(file.content, "one\ntwo\n");
    let blame = told(&kit, json!({"action": "blame", "path": "a.txt"})).await;
    assert_eq!(blame.content.lines().filter(|line| line.contains("(Ada ")).count(), 2);
}

// P-11
#[tokio::test]
async fn branches_are_made_and_checked_out() {
    let kit = repository();
    told(&kit, json!({"action": "branch", "branch": "topic"})).await;
    let list = told(&kit, json!({"action": "branch"})).await;
    let names: Vec<_> =
        list.details["branches"].as_array().unwrap().iter().map(|b| (&b["name"], &b["current"])).collect();
    assert_eq!(names, [(&json!("main"), &json!(true)), (&json!("topic"), &json!(false))]);
    let there = told(&kit, json!({"action": "checkout", "ref": "topic"})).await;
    assert_eq!(there.content, "on `topic`\nnothing to commit");
    kit.put("a.txt", "changed\n");
    told(&kit, json!({"action": "checkout", "paths": ["a.txt"]})).await;
    assert_eq!(kit.get("a.txt"), b"one\ntwo\n");
}

// P-11, C-66
#[tokio::test]
async fn a_push_says_what_the_other_side_took() {
    let kit = repository();
    let bare = kit.workspace.with_file_name("bare.git");
    fs::create_dir(&bare).unwrap();
    git(&bare, &["init", "--quiet", "--bare"]);
    git(&kit.workspace, &["remote", "add", "origin", bare.to_str().unwrap()]);
    let pushed = told(&kit, json!({"action": "push"})).await;
    assert!(
        pushed.content.starts_with("Pushed to `origin`: HEAD -> main: [new branch]"),
        "{}",
        pushed.content
    );
    assert!(kit.shown().starts_with("pushing to `origin`"));

    git(&kit.workspace, &["commit", "--quiet", "--amend", "-m", "Other"]);
    let refused = told(&kit, json!({"action": "push", "ref": "main"})).await;
    assert!(refused.content.contains("[rejected] (non-fast-forward)"), "{}", refused.content);
    for arguments in [json!({"action": "push", "ref": "+main"}), json!({"action": "push", "ref": ":main"})] {
        assert!(told(&kit, arguments).await.content.contains("it would force, rename or remove"));
    }
    let nowhere = told(&kit, json!({"action": "push", "remote": "no-such"})).await;
    assert!(nowhere.content.contains("does not appear to be a git repository"), "{}", nowhere.content);
}

// P-11, X-10
#[test]
fn looking_is_reading_and_all_else_is_a_command() {
    let kit = Kit::new();
    let inside = |path: &str| Effect::Read(kit.workspace.join(path));
    let run = |command: &str| Effect::execute(command);
    let root = || Effect::Read(kit.workspace.clone());
    let table = [
        (json!({"action": "status"}), vec![root()]),
        (json!({"action": "diff", "paths": ["a"]}), vec![root(), inside("a")]),
        (json!({"action": "blame", "paths": "../x"}), vec![root(), inside("../x")]),
        (json!({"action": "branch"}), vec![root()]),
        (json!({"action": "branch", "ref": "x"}), vec![run("git branch x")]),
        (json!({"action": "add", "paths": ["a", "b"]}), vec![run("git add a b")]),
        (json!({"action": "commit", "message": "m"}), vec![run("git commit")]),
        (json!({"action": "checkout", "ref": "x"}), vec![run("git checkout x")]),
        (
            json!({"action": "push", "ref": "main"}),
            vec![run("git push origin main"), Effect::Network("origin".into())],
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(kit.effects("git", &arguments).unwrap(), expected, "{arguments}");
    }
}

// P-11
#[tokio::test]
async fn what_cannot_be_done_says_why() {
    let kit = repository();
    let table = [
        (json!({"action": "commit"}), "error: cannot commit: `message` is required\nhint: for example"),
        (json!({"action": "add"}), "error: cannot add: `paths` is required\nhint: for example"),
        (
            json!({"action": "push", "paths": ["main"], "staged": true, "limit": 1}),
            "error: cannot push: `paths` means nothing here; `staged` means nothing here; `limit` means nothing here",
        ),
        (
            json!({"action": "push", "ref": "--force", "remote": "--mirror"}),
            "error: cannot push: `ref` cannot be `--force`; `remote` cannot be `--mirror`\nhint: options",
        ),
        (json!({"action": "log", "ref": "--output=x"}), "error: cannot log: `ref` cannot be `--output=x`"),
        (json!({"action": "show", "ref": "nope"}), "error: git refused: bad revision 'nope'"),
        (
            json!({"action": "add", "paths": ["no"]}),
            "error: git refused: pathspec 'no' did not match any files",
        ),
    ];
    for (arguments, expected) in table {
        let content = told(&kit, arguments).await.content;
        assert!(content.starts_with(expected), "{content}");
    }
    let none = Kit::new();
    let content = told(&none, json!({"action": "status"})).await.content;
    assert!(content.starts_with("error: cannot use git: the workspace is in no repository"), "{content}");
}

// D13, D03
#[tokio::test]
async fn a_repository_that_points_elsewhere_is_refused() {
    let victim = repository();
    let target = victim.workspace.join(".git");
    type Make = fn(&Kit, &Path);
    let table: [(&str, Make); 5] = [
        ("a file", |kit, target| kit.put(".git", format!("gitdir: {}\n", target.display()))),
        ("a link", |kit, target| {
            std::os::unix::fs::symlink(target, kit.workspace.join(".git")).unwrap();
        }),
        ("a common folder", |kit, target| {
            prepare(&kit.workspace);
            kit.put(".git/commondir", target.to_str().unwrap());
        }),
        ("a pipe", |kit, _| {
            prepare(&kit.workspace);
            let made = Command::new("mkfifo").arg(kit.workspace.join(".git/commondir")).status();
            assert!(made.unwrap().success());
        }),
        ("a link inside", |kit, target| {
            prepare(&kit.workspace);
            fs::remove_dir_all(kit.workspace.join(".git/objects")).unwrap();
            std::os::unix::fs::symlink(target.join("objects"), kit.workspace.join(".git/objects")).unwrap();
        }),
    ];
    for (what, make) in table {
        let kit = Kit::new();
        make(&kit, &target);
        let told = told(&kit, json!({"action": "log"})).await;
        assert_eq!(
            told.error.map(|error| error.kind),
            Some(ToolErrorKind::Security),
            "{what}: {}",
            told.content
        );
    }
}

// D13
#[tokio::test]
async fn another_folder_of_work_is_not_taken_for_this_one() {
    let kit = repository();
    let other = kit.workspace.with_file_name("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("secret"), "").unwrap();
    git(&kit.workspace, &["config", "core.worktree", other.to_str().unwrap()]);
    assert_eq!(told(&kit, json!({"action": "status"})).await.content, "on `main`\nnothing to commit");
}

#[tokio::test]
async fn further_working_trees_submodules_and_folders_below_work() {
    let kit = repository();
    kit.put("sub/deep/b.txt", "b\n");
    kit.put("up.txt", "up\n");
    git(&kit.workspace, &["worktree", "add", "--quiet", "sub/tree", "-b", "tree"]);
    let mut tree = Kit::new();
    tree.workspace = kit.workspace.join("sub/tree");
    tree.put("c.txt", "c\n");
    assert_eq!(told(&tree, json!({"action": "status"})).await.content, "on `tree`\nuntracked:\n  c.txt");
    let mut below = Kit::new();
    below.workspace = kit.workspace.join("sub/deep");
    assert_eq!(told(&below, json!({"action": "status"})).await.content, "on `main`\nuntracked:\n  ./");
    assert_eq!(told(&below, json!({"action": "log"})).await.content, "No commits.");
}

// P-11
#[tokio::test]
async fn hooks_that_did_not_run_are_named() {
    let kit = repository();
    executable(&kit.workspace.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    kit.put("a.txt", "other\n");
    let told = told(&kit, json!({"action": "commit", "message": "m", "paths": ["a.txt"]})).await;
    assert!(told.content.contains("[hooks of the repository were not run: pre-commit;"), "{}", told.content);
}

// P-60: what is refused has committed and staged nothing.
#[tokio::test]
async fn a_refused_publish_leaves_the_repository_as_it_was() {
    let unborn = || {
        let kit = Kit::new();
        prepare(&kit.workspace);
        kit
    };
    let on_a_branch_without_a_base = || {
        let kit = repository();
        git(&kit.workspace, &["branch", "-m", "trunk"]);
        kit
    };
    let detached = || {
        let kit = repository();
        git(&kit.workspace, &["checkout", "--quiet", "--detach"]);
        kit
    };
    let table = [
        ("the branch of others", repository(), "`main` is the branch that others work on"),
        ("no commit", unborn(), "it is not known against which branch"),
        ("no base", on_a_branch_without_a_base(), "it is not known against which branch"),
        ("no branch", detached(), "no branch is checked out"),
    ];
    for (what, kit, why) in table {
        kit.put("mine.txt", "mine\n");
        let before = state(&kit.workspace);
        let told = kit.told("publish", json!({"title": "x"})).await;
        assert!(
            told.content.starts_with(&format!("error: cannot publish: {why}")),
            "{what}: {}",
            told.content
        );
        assert_eq!(state(&kit.workspace), before, "{what}");
    }
}

/// Everything that is committed, staged or only there.
fn state(folder: &Path) -> String {
    ["log --all --format=%H%d", "status --porcelain"].map(|words| said(folder, words)).join("\n")
}

fn said(folder: &Path, words: &str) -> String {
    let mut command = Command::new("git");
    let out =
        command.args(words.split(' ')).current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").output();
    String::from_utf8(out.unwrap().stdout).unwrap()
}
