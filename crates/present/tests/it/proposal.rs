//! What a person is told of a call that asks.
use haft_core::{CallId, Change, Effect, Entry, Fact, FileState, Hash, Secrets, ToolCall};
use haft_engine::Recorded;
use haft_present::proposal::{Brief, Proposal};
use serde_json::{Value, json};
use std::{io, sync::Arc};

/// A session in `/w`.
struct Session;

impl Recorded for Session {
    fn entries(&self) -> Vec<Arc<Entry>> {
        let opened = json!({
            "seq": 0, "at": 0, "type": "session_opened", "version": 1, "session": "s", "agent": "haft",
            "model": "m", "workspace": "/w", "profile": "default",
        });
        vec![Arc::new(serde_json::from_value(opened).unwrap())]
    }

    fn content(&self, _: &Hash) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn secrets(&self) -> Secrets {
        Secrets::default()
    }
}

fn proposal(made: ToolCall, reason: &str, effects: &[Effect], changes: &[Change]) -> Proposal {
    let asked = Fact::ApprovalAsked {
        call: CallId("1".into()),
        reason: reason.into(),
        effects: effects.to_vec(),
        changes: changes.to_vec(),
        bulk: Vec::new(),
        runs: Some(Box::new(made)),
        diagnostics: None,
    };
    Proposal::of(&Session, &asked).unwrap()
}

fn told(tool: &str, arguments: Value, effects: &[Effect]) -> String {
    let proposal = proposal(ToolCall::new("1", tool, arguments), "it needs approval", effects, &[]);
    format!("{}{}", proposal.whole(""), proposal.always_line())
}

// D60
#[test]
fn a_question_shows_every_effect_and_every_argument() {
    let push = [Effect::execute("git push origin main"), Effect::Network("origin".into())];
    let outside = [Effect::execute_in("make\nrm -rf \u{202e}x", "/x"), Effect::Read("/etc/passwd".into())];
    let table: [(&str, Value, &[Effect], &[&str]); 4] = [
        (
            "bash",
            json!({"command": "make", "working_dir": "sub", "timeout": 7}),
            &[Effect::execute_in("make", "sub")],
            &[
                "bash would",
                "  run in the folder `sub`: make",
                "called with",
                "  working_dir: sub",
                "  timeout: 7",
                "always: this command in this folder, whatever else it is called with",
            ],
        ),
        (
            "mcp__mail__send",
            json!({"to": "send", "text": "hi\n\nBob", "bcc": ["eve"]}),
            &[Effect::execute("mcp:mail send 12ab")],
            &[
                "mcp__mail__send would",
                "  call `send` of the MCP server `mail`",
                "called with",
                "  to: send",
                "  text:",
                "    hi\\n\\n",
                "    Bob",
                "  bcc: [\"eve\"]",
                "always: every call of this tool, with any arguments",
            ],
        ),
        (
            "git",
            json!({"action": "push", "ref": "main"}),
            &push,
            &[
                "git would",
                "  run: git push origin main",
                "  reach over the network: origin",
                "called with",
                "  action: push",
                "  ref: main",
                "always: this command in this folder, whatever else it is called with; reaching `origin`",
            ],
        ),
        (
            "b\nash",
            json!({}),
            &outside,
            &[
                "b\\nash would",
                "  run outside of the workspace, in `/x`:",
                "    make\\n",
                "    rm -rf \\u{202e}x",
                "  read: /etc/passwd",
                "always: this command in this folder; reading this file",
            ],
        ),
    ];
    for (tool, arguments, effects, expected) in table {
        assert_eq!(told(tool, arguments, effects), expected.join("\n"), "{tool}");
    }
}

#[test]
fn of_what_is_long_the_ends_are_shown_at_first() {
    let command = format!("touch owned; {}; echo end", "x".repeat(20_000));
    let made =
        ToolCall::new("1", "bash", json!({"command": command, "text": "y".repeat(9_000), "to": "eve"}));
    let proposal = proposal(made, "", &[Effect::execute(command)], &[]);
    let Brief { text, is_whole } = proposal.brief("");
    assert!(!is_whole && text.len() < 18_000, "{} bytes", text.len());
    for expected in ["touch owned; xx", "xx; echo end", "12023 characters are left out", "to: eve"] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(proposal.whole("").contains(&"x".repeat(20_000)));
}

// What a diff shows is not repeated beside it, unless the person wants all of it.
#[test]
fn long_arguments_are_counted_beside_a_diff() {
    let made = ToolCall::new("1", "write", json!({"path": "a.txt", "content": "x".repeat(500)}));
    let state = FileState::file(Hash(String::new()), 0o644);
    let changes = [Change { path: "a.txt".into(), before: None, after: Some(state), new_folders: 0 }];
    let proposal = proposal(made, "", &[Effect::Write("/w/a.txt".into())], &changes);
    assert!(proposal.whole("DIFF\n").contains(&"x".repeat(500)));
    let counted = "  content: 500 characters; the changes show what comes of them\n";
    let diff = format!("+++ b/a.txt\n+{}\n", "x".repeat(500));
    let table = [
        ("DIFF\n", format!("called with\n  path: a.txt\n{counted}DIFF\n"), false),
        ("+++ b/a.txt\n", format!("called with\n{counted}+++ b/a.txt\n"), false),
        (&diff, diff.clone(), true),
    ];
    for (diff, text, is_whole) in table {
        assert_eq!(proposal.brief(diff), Brief { text, is_whole });
    }
    assert_eq!(proposal.always, "writing this file, with any content");
}

#[test]
fn the_whole_content_of_a_file_is_not_repeated_beside_its_diff() {
    let content = "one\n2\nthree\n";
    let state = FileState::file(Hash::of(content.as_bytes()).unwrap(), 0o644);
    let changes = [Change { path: "a.txt".into(), before: None, after: Some(state), new_folders: 0 }];
    let made = ToolCall::new("1", "write", json!({"path": "a.txt", "content": content}));
    let proposal = proposal(made, "", &[Effect::Write("/w/a.txt".into())], &changes);
    let diff = "+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    assert_eq!(proposal.brief(diff), Brief { text: diff.to_owned(), is_whole: true });
    // What a diff does not show is shown beside it.
    for diff in ["+++ b/a.txt\nnot text, 12 bytes\n", "+++ b/a.txt\n@@ -1,3 +1,3 @@\n-two\n… 9 more lines\n"]
    {
        assert!(proposal.brief(diff).text.contains("content:"), "{diff}");
    }
}

// H-137: a person who has not read the documentation sees what "live" means.
#[test]
fn a_question_says_what_live_means() {
    for (needs, lasting, expected) in [
        (json!(["live"]), false, Some("outside of the sandbox")),
        (json!(["live", "network"]), true, Some("on the real files")),
        (json!(["network"]), false, None),
    ] {
        let made = ToolCall::new("1", "bash", json!({"command": "make", "needs": needs}));
        let effects = match Effect::execute("make") {
            Effect::Execute(run) => [Effect::Execute(haft_core::Execution { lasting, ..run })],
            other => [other],
        };
        let why = proposal(made, "", &effects, &[]).why;
        assert_eq!(why.is_some(), expected.is_some(), "{why:?}");
        assert!(expected.is_none_or(|expected| why.unwrap_or_default().contains(expected)), "{expected:?}");
    }
}

// A list of words says how a call works, which a diff does not show even where the same word stands in it.
#[test]
fn what_a_diff_shows_of_nested_arguments_is_not_repeated() {
    let state = FileState::file(Hash(String::new()), 0o644);
    let changes = [Change { path: "a.txt".into(), before: None, after: Some(state), new_folders: 0 }];
    let diff = "+++ b/a.txt\n+use tabs <!-- 1 -->\n+network\n";
    let table = [
        (json!({"add": [{"text": "use tabs", "sources": ["1"]}], "withdraw": []}), ""),
        (json!({"add": [{"text": "use spaces"}]}), "called with\n  add: [{\"text\":\"use spaces\"}]\n"),
        (json!({"needs": ["network"]}), "called with\n  needs: [\"network\"]\n"),
        (json!({"deep": {"is": true}}), "called with\n  deep: {\"is\":true}\n"),
    ];
    for (arguments, expected) in table {
        let made = ToolCall::new("1", "memory", arguments);
        let proposal = proposal(made, "", &[Effect::Write("/w/a.txt".into())], &changes);
        assert_eq!(proposal.brief(diff).text, format!("{expected}{diff}"));
    }
}
