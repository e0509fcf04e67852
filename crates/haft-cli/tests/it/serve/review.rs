//! What a session changed is committed and published over HTTP. A real repository, and an API that takes pull requests.
use crate::kit::{
    bash,
    project::{Project, git},
    serving::Serving,
};
use serde_json::json;

// H-106
#[test]
fn what_a_session_changed_becomes_a_commit_and_a_pull_request() {
    let project = Project::new();
    let edit = json!({"path": "instances.go", "old_text": "package", "new_text": "// By Haft.\npackage"});
    let calls = json!({"calls": [{"name": "edit", "arguments": edit}]});
    let script = project.place.script("edits.jsonl", &[calls, json!({"say": "Done."})]);
    let server = Serving::begin(
        &project.place,
        project.haft(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--permission",
            "accept-edits",
            "--model",
            &script,
        ]),
    );
    let id = server.session("{}");
    let ended =
        server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"say by whom it is","wait":true}"#);
    assert_eq!(ended.status, 200, "{ended:?}");
    let post = |what: &str, body: serde_json::Value| {
        server.ask(&format!("POST /v1/sessions/{id}/{what}"), &body.to_string())
    };
    // What the person works on beside it is not published.
    project.place.write("notes.txt", "mine\n");
    let work = project.place.work();
    for (what, body, expected) in [
        ("pull-request", json!({"title": " "}), "needs a title"),
        ("pull-request", json!({"title": "x"}), "`main` is the branch that others work on"),
        ("pull-request", json!({"title": "x", "branch": "a b"}), "cannot publish"),
        ("commit", json!({"message": ""}), "needs a message"),
    ] {
        let refused = post(what, body);
        assert!(refused.status >= 400 && refused.body.contains(expected), "{what}: {refused:?}");
        assert_eq!(git(&work, &["branch", "--format=%(refname:short)"]), "main");
        assert_eq!(git(&work, &["log", "--format=%s"]), "Begin");
    }
    let opened =
        post("pull-request", json!({"title": "Say by whom", "description": "As asked.", "branch": "by"}));
    assert_eq!(opened.status, 200, "{opened:?}");
    let text = opened.json()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("Pull request: https://example.org/octo/instances/pull/1"), "{text}");
    assert_eq!(project.commits("by"), "Say by whom");
    let files = git(&work, &["show", "--format=", "--name-only", "by"]);
    assert_eq!(
        (files.as_str(), git(&work, &["status", "--porcelain"])),
        ("instances.go", "?? notes.txt".into())
    );
    let expected = json!({"title": "Say by whom", "head": "by", "base": "main", "body": "As asked."});
    assert_eq!(*project.opened.lock().unwrap(), [expected]);
}

// H-106
#[test]
fn each_turn_is_committed_without_what_git_cannot_commit() {
    let project = Project::new();
    let work = project.place.work();
    project.place.write(".gitignore", "target/\n");
    git(&work, &["add", "."]);
    git(&work, &["commit", "--quiet", "-m", "Ignore"]);
    let first = "echo a >a.txt; mkdir empty target; echo o >target/o; git add a.txt";
    let second = "rm a.txt; git mv instances.go moved.go; echo b >b.txt";
    let said = json!({"say": "Done."});
    // A commit is a call as well, and each counts as a reply of the script.
    let committed = [json!({"say": "Committed."}), json!({"say": "Refused."})];
    let lines = [&[bash(first), said.clone()][..], &committed, &[bash(second), said]].concat();
    let script = project.place.script("two", &lines);
    let words =
        ["serve", "--listen", "127.0.0.1:0", "--permission", "accept-edits", "--model", script.as_str()];
    let server = Serving::begin(&project.place, project.haft(&words));
    let id = server.session("{}");
    let post = |what: &str, body: serde_json::Value| {
        server.ask(&format!("POST /v1/sessions/{id}/{what}"), &body.to_string())
    };
    let staged = || git(&work, &["diff", "--cached", "--name-only"]);
    for (title, expected) in
        [("First", "A\ta.txt"), ("Second", "D\ta.txt\nA\tb.txt\nD\tinstances.go\nA\tmoved.go")]
    {
        let ended = post("prompt", json!({"text": "go on", "wait": true}));
        assert_eq!(ended.json()["outcome"], "finished", "{ended:?}");
        let committed = post("commit", json!({"message": title}));
        assert_eq!(committed.status, 200, "{title}: {committed:?}");
        let files = git(&work, &["show", "--format=%s", "--name-status", "--no-renames"]);
        assert_eq!((files, staged()), (format!("{title}\n\n{expected}"), String::new()));
        let again = post("commit", json!({"message": "Again"}));
        assert!(again.status == 409 && again.body.contains("nothing to commit"), "{title}: {again:?}");
    }
    project.place.write("mine.txt", "mine\n");
    for paths in [json!(["mine.txt", "absent.txt"]), json!(["target/o"]), json!([".git"])] {
        let refused = post("commit", json!({"message": "x", "paths": paths}));
        assert_eq!((refused.status, staged()), (409, String::new()), "{paths}: {refused:?}");
    }
}

// H-106
#[test]
fn where_nothing_was_changed_no_branch_is_made() {
    let project = Project::new();
    let work = project.place.work();
    let publish = |arguments: serde_json::Value| {
        project.run(&["tools", "call", "publish", &arguments.to_string(), "--permission", "full"])
    };
    project.place.write("notes.txt", "mine\n");
    for arguments in [
        json!({"title": "x", "branch": "empty", "paths": ["instances.go"]}),
        json!({"title": "x", "branch": "empty", "paths": ["absent.go"]}),
    ] {
        let refused = publish(arguments);
        assert!(refused.code != 0 && refused.out.contains("nothing was changed: `empty`"), "{refused:?}");
        assert_eq!(git(&work, &["branch", "--format=%(refname:short)"]), "main");
        assert_eq!(git(&work, &["status", "--porcelain"]), "?? notes.txt");
    }
    // The branch has a commit then, and nothing that is not committed.
    let published = publish(json!({"title": "Note it", "branch": "notes"}));
    assert!(published.out.contains("on `notes`: 1 commit, 1 file."), "{published:?}");
    let again = publish(json!({"title": "Note it"}));
    assert!(again.out.contains("Pull request: "), "{again:?}");
}
