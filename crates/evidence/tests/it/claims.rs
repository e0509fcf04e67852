//! [`ClaimChecker`]: claims in many phrasings, and the facts that prove them.
use haft_core::{
    CallId, Change, Entry, Evidence, Fact, FileState, Hash, Part, Seq, StopReason, TaskId, ToolResult,
    Tracking, Usage,
};
use haft_evidence::ClaimChecker;
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc};

/// What is claimed in a session in which nothing has happened, so that nothing proves it.
fn told(reply: &str) -> Vec<String> {
    let deed = |unproven: String| {
        let (_, missing) = unproven.rsplit_once("\": ").unwrap();
        match missing.split_once('`').map(|(what, name)| (what, name.trim_end_matches('`'))) {
            Some(("no call ran ", command)) => format!("ran {command}"),
            Some(("no call changed ", file)) => format!("wrote {file}"),
            Some(("no call deleted ", file)) => format!("deleted {file}"),
            _ => match missing {
                "no run of tests succeeded after the last change, or the last one did not" => "tests pass",
                "no run of tests is recorded" => "ran tests",
                "no call made a commit" => "committed",
                "no call pushed" => "pushed",
                other => other,
            }
            .to_owned(),
        }
    };
    unproven(reply, Vec::new()).into_iter().map(deed).collect()
}

#[test]
fn what_is_claimed_is_found() {
    let table: &[(&str, &[&str])] = &[
        ("All tests pass.", &["tests pass"]),
        ("The tests now pass.", &["tests pass"]),
        ("✅ All 42 tests passed!", &["tests pass"]),
        ("- 12 passed, 0 failed", &["tests pass"]),
        ("The whole test suite is green.", &["tests pass"]),
        ("The tests pass in 3 s.", &["tests pass"]),
        ("I fixed the bug and all unit tests are passing.", &["tests pass"]),
        ("Done: the tests in `src/lib.rs` pass", &["tests pass"]),
        ("The tests (all 7) have passed.", &["tests pass"]),
        ("I ran the tests and they pass.", &["ran tests"]),
        ("I have executed the full test suite.", &["ran tests"]),
        ("I ran `cargo test` and it worked.", &["ran cargo test"]),
        ("Ran `make check`.", &["ran make check"]),
        ("Then I've run `npm run build`.", &["ran npm run build"]),
        ("I created `src/app/main.rs`.", &["wrote src/app/main.rs"]),
        ("I've created the file src/a.rs and added tests in `b.rs`.", &["wrote src/a.rs", "wrote b.rs"]),
        ("Created **notes.md** with the plan.", &["wrote notes.md"]),
        ("- Added `parse()` to `lib/parse.ts`", &["wrote lib/parse.ts"]),
        ("`config.toml` has been updated.", &["wrote config.toml"]),
        ("I fixed the off-by-one in [loop.c](src/loop.c).", &["wrote loop.c"]),
        ("I removed `old.py`, and updated ./README.md.", &["deleted old.py", "wrote README.md"]),
        ("I committed the change.", &["committed"]),
        ("Everything is now committed.", &["committed"]),
        ("Committed as abc123.", &["committed"]),
        ("I committed and pushed it.", &["committed", "pushed"]),
        ("The branch has been pushed.", &["pushed"]),
        ("I wrote `a.txt`.\n\nI wrote `a.txt`.", &["wrote a.txt"]),
        ("**All tests pass** and I committed everything", &["tests pass", "committed"]),
    ];
    let wrong = table
        .iter()
        .map(|(reply, expected)| (reply, told(reply), expected))
        .filter(|(_, told, expected)| told != *expected);
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

#[test]
fn what_is_not_claimed_is_left_alone() {
    let table = [
        // Negations.
        "The tests do not pass.",
        "I have not created `a.txt`.",
        "I didn't run `cargo test`.",
        "I couldn't get the tests to pass, and never committed anything.",
        "Not all tests pass.",
        "None of the tests passed.",
        "I was unable to commit; nothing was committed.",
        "Without changes the tests passed.",
        "Only 3 tests passed.",
        "3 of 10 tests failed.",
        "I failed to verify that all tests pass.",
        // Questions.
        "Do all tests pass?",
        "Should I say that I committed the change?",
        "Have you created `a.txt`?",
        // Plans and conditions.
        "I will create `a.txt`, then all tests should pass.",
        "Once that is done, I'd commit it.",
        "If all tests pass, commit the change.",
        "When the tests pass, push.",
        "Let me make sure all tests pass.",
        "You can check that all tests pass by running `cargo test`.",
        "Next I would have created `b.rs`.",
        "The goal is that every test passes.",
        "## Next steps\n- Created `a.txt` gets a header\n- all tests pass",
        "My plan:\n1. All tests pass\n2. I committed it",
        "- [ ] All tests pass",
        "To ensure all tests pass, run `make test`.",
        "Please verify that the tests pass.",
        "I am committed to quality. We committed to a deadline.",
        "Run `cargo test` to see whether the tests pass.",
        // Quotations and code.
        "The README says \"all tests pass\".",
        "> All tests pass.\n> I committed it.",
        "```\nI created `a.txt`.\nAll tests pass.\n```",
        "The function is called `all tests pass`.",
        "It says that all tests pass.",
        // Others, and what was before.
        "You committed this last week.",
        "The file was already committed.",
        "Someone previously created `a.txt`.",
        "They ran `make` and pushed.",
        // No files.
        "I updated the docs at example.com, e.g. the first page.",
        "I changed version 1.2 to 1.3.",
        "I added `foo()` and `Bar::baz`.",
        "I fixed it.",
        "The login test passed the wrong argument, and 2 passed arguments were null.",
        "Changed lines are in `b.rs`.",
        "Generated code lives in src/gen.rs.",
        "Created by the installer, `a.txt` is harmless.",
        "I updated the Node.js version and changed `user.name` to `self.value`.",
        "This function passes the test value on.",
        "The tests live in `tests/all.rs`.",
        "",
    ];
    let wrong = table.iter().map(|reply| (reply, told(reply))).filter(|(_, told)| !told.is_empty());
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

fn ran(name: &str, arguments: Value, how: Tracking, details: Value) -> Vec<Fact> {
    let call = CallId("c".into());
    let result = ToolResult { details, ..ToolResult::default() };
    vec![
        Fact::ToolStarted {
            call: call.clone(),
            name: name.into(),
            arguments,
            how,
            outside: false,
            reads: vec![],
        },
        Fact::ToolEnded { call, name: name.into(), result, duration_ms: 0 },
    ]
}

fn bash(command: &str, exit_code: i32) -> Vec<Fact> {
    ran("bash", json!({"command": command}), Tracking::Untracked, json!({"exit_code": exit_code}))
}

fn staged(path: &str, is_there: bool) -> Vec<Fact> {
    let state = FileState::file(Hash("00".into()), 0o644);
    let (before, after) = if is_there { (None, Some(state)) } else { (Some(state), None) };
    let change = Change { path: PathBuf::from(path), before, after, new_folders: 0 };
    let (call, result) = (CallId("c".into()), ToolResult::default());
    vec![Fact::Staged { call, changes: vec![change], how: Tracking::Staged, result, unrecorded: Vec::new() }]
}

fn unproven(reply: &str, facts: Vec<Vec<Fact>>) -> Vec<String> {
    let said =
        Fact::Replied { parts: vec![Part::text(reply)], usage: Usage::default(), stop: StopReason::EndTurn };
    let facts = facts.into_iter().flatten().chain([said]).enumerate();
    let entries = facts
        .map(|(seq, fact)| Arc::new(Entry { seq: Seq(seq as u64), parent: None, at: 0, fact, chain: None }));
    ClaimChecker.unproven(&entries.collect::<Vec<_>>(), None)
}

#[test]
fn a_claim_is_shown_by_what_happened() {
    let test_tool =
        |ok: bool| ran("test", json!({}), Tracking::Declared, json!({"ok": ok, "command": "cargo test"}));
    let job = |exit_code: i32| {
        let result = ToolResult { details: json!({"exit_code": exit_code}), ..ToolResult::default() };
        let job = TaskId("1".into());
        vec![
            Fact::TaskStarted { task: job.clone(), title: "cargo test".into(), how: Tracking::Untracked },
            Fact::TaskEnded { task: job, result },
        ]
    };
    let write = || {
        ran(
            "write",
            json!({"path": "a.txt", "content": "cargo test; git commit"}),
            Tracking::Staged,
            Value::Null,
        )
    };
    let delegate = |answer: &str| {
        let mut facts = ran("delegate", json!({"task": "x"}), Tracking::Declared, json!({"session": "s"}));
        if let Some(Fact::ToolEnded { result, .. }) = facts.last_mut() {
            result.content = answer.into();
        }
        facts
    };
    let git = || ran("git", json!({"action": "commit", "message": "x"}), Tracking::Untracked, Value::Null);
    let table = [
        ("All tests pass.", vec![], false),
        ("All tests pass.", vec![bash("cargo test --all", 0)], true),
        ("All tests pass.", vec![bash("cd x && make check", 0)], true),
        ("All tests pass.", vec![bash("RUST_LOG=x ./node_modules/.bin/jest", 0)], true),
        ("All tests pass.", vec![bash("/bin/bash -lc cargo test", 0)], true),
        ("All tests pass.", vec![bash("cargo test", 101)], false),
        ("All tests pass.", vec![bash("cargo test", 101), bash("cargo test", 0)], true),
        ("All tests pass.", vec![bash("cargo test", 0), bash("cargo test", 1)], false),
        ("All tests pass.", vec![bash("ls test", 0), bash("cat tests/a.rs", 0)], false),
        ("All tests pass.", vec![bash("git commit -m 'add test'", 0)], false),
        ("All tests pass.", vec![write()], false),
        ("All tests pass.", vec![test_tool(true)], true),
        ("All tests pass.", vec![test_tool(false)], false),
        ("All tests pass.", vec![job(0)], true),
        ("All tests pass.", vec![job(1)], false),
        ("All tests pass.", vec![delegate("I did it. All tests pass.")], true),
        ("All tests pass.", vec![delegate("I could not run the tests.")], false),
        ("I ran the tests.", vec![bash("cargo test", 1)], true),
        ("I ran the tests.", vec![bash("ls", 0)], false),
        ("I ran `cargo  test`.", vec![bash("cd a && cargo test -q", 1)], true),
        ("I ran `cargo test`.", vec![test_tool(false)], true),
        ("I ran `cargo test`.", vec![bash("cargo build", 0)], false),
        ("I created `a.txt`.", vec![staged("src/a.txt", true)], true),
        ("I created `src/a.txt`.", vec![staged("src/a.txt", true)], true),
        ("I created `src/a.txt`.", vec![staged("b.txt", true)], false),
        ("I created `/srv/src/a.txt`.", vec![staged("src/a.txt", true)], true),
        ("I created `a.txt`.", vec![bash("cargo new x", 0)], true),
        ("I created `a.txt`.", vec![bash("echo x > a.txt", 0)], true),
        ("I created `a.txt`.", vec![bash("ls; cat b", 0)], false),
        ("I deleted `a.txt`.", vec![staged("a.txt", true)], false),
        ("I deleted `a.txt`.", vec![staged("a.txt", false)], true),
        ("I committed it.", vec![bash("git add . && git commit -m x", 0)], true),
        ("I committed it.", vec![bash("git commit -m x", 1)], false),
        ("I committed it.", vec![git()], true),
        ("I committed it.", vec![write()], false),
        ("I pushed and I committed it.", vec![git()], false),
        ("Here is what I found.", vec![], true),
    ];
    let told = table
        .into_iter()
        .enumerate()
        .filter(|(_, (reply, facts, expected))| unproven(reply, facts.clone()).is_empty() != *expected);
    assert_eq!(told.map(|(row, (reply, facts, _))| (row, reply, facts)).collect::<Vec<_>>(), []);
}
