//! The IDs of sessions, and the names that people give them.
use crate::kit::{Place, Ran, terminal::Terminal};
use serde_json::{Value, json};
use std::{collections::BTreeSet, process::Stdio};

const AT_ONCE: usize = 16;

#[test]
fn runs_that_begin_together_share_no_session() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "hello"})]);
    let runs = (0..AT_ONCE).map(|number| {
        let prompt = format!("prompt {number}");
        let mut command = place.haft(&["run", "-q", "--model", &model, &prompt]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for run in runs.collect::<Vec<_>>() {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let listed = place.run(&["sessions", "list", "--json"]);
    let sessions: Vec<Value> = listed.events();
    let text = |field: &str| -> BTreeSet<String> {
        sessions.iter().map(|session| session[field].as_str().unwrap().to_owned()).collect()
    };
    let prompts: BTreeSet<String> = (0..AT_ONCE).map(|number| format!("prompt {number}")).collect();
    assert_eq!((text("session").len(), text("title")), (AT_ONCE, prompts));
    assert!(sessions.iter().all(|session| session["entries"] == 4), "{listed:?}");
    // Any beginning that one name alone has is enough.
    let name = text("session").pop_first().unwrap();
    let next = text("session").into_iter().nth(1).unwrap();
    let alike = name.bytes().zip(next.bytes()).take_while(|(one, other)| one == other).count();
    assert_eq!(place.run(&["sessions", "show", &name[..=alike]]).code, 0);
    let refused = place.run(&["sessions", "show", &name[..alike]]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("is ambiguous: "), "{refused:?}");
    assert!(refused.err.contains(&name), "{refused:?}");
}

fn session(place: &Place, prompt: &str) -> String {
    let model = place.script("m", &[json!({"say": "hello"}), json!({"say": "again"})]);
    let ran = place.run(&["run", "--json", "--model", &model, prompt]);
    ran.events()[0]["session"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_goes_by_the_name_that_it_was_given() {
    let place = Place::new();
    let (id, other) = (session(&place, "one"), session(&place, "two"));
    assert_eq!(place.run(&["sessions", "show"]).out, place.run(&["sessions", "show", &other]).out);
    let renamed = place.run(&["sessions", "rename", &id, " the parser, part 2 "]);
    assert_eq!((renamed.code, renamed.out), (0, format!("{id} is named `the parser, part 2`\n")));
    // Lists show it, and every command takes it.
    assert!(place.run(&["sessions", "list"]).out.contains("the parser, part 2"));
    let listed = place.run(&["sessions", "list", "--json"]).events();
    let names: Vec<&Value> = listed.iter().map(|session| &session["name"]).collect();
    assert_eq!(names, [&Value::Null, &json!("the parser, part 2")]);
    assert!(place.run(&["sessions", "show", "the parser, part 2"]).out.contains("hello"));
    let model = format!("script/{}", place.path().join("m").display());
    let resumed = place.run_with_input(&["resume", "the parser, part 2", "--model", &model], b"go on\n");
    assert!(resumed.out.contains("again"), "{resumed:?}");
    assert!(resumed.err.contains("note: going on with `the parser, part 2`"), "{resumed:?}");
    // Another name replaces it, a fork has none, and an empty one takes it away.
    let rename = |id: &str, name: &str| place.run(&["sessions", "rename", "--json", id, name]);
    assert_eq!(rename(&id[..id.len() - 1], "parser").events(), [json!({"session": id, "name": "parser"})]);
    assert_eq!(place.run(&["sessions", "show", "the parser, part 2"]).code, 2);
    assert_eq!(place.run(&["sessions", "fork", "parser"]).code, 0);
    assert_eq!(place.run(&["sessions", "show", "parser"]).code, 0);
    assert_eq!(rename(&other, "parser").code, 0);
    let refused = place.run(&["sessions", "show", "parser"]);
    assert!(refused.err.contains("several sessions are named `parser`: "), "{refused:?}");
    assert_eq!(rename(&other, "").events(), [json!({"session": other, "name": null})]);
    assert_eq!(place.run(&["sessions", "show", "parser"]).code, 0);
}

#[test]
fn what_is_no_name_for_a_session_is_refused() {
    let place = Place::new();
    let (id, other) = (session(&place, "one"), session(&place, "two"));
    let long = "x".repeat(61);
    let table = [
        (id.as_str(), "two\nlines", "it must be one line"),
        (&id, "\u{1b}[2Jred", "without control characters"),
        (&id, &long, "it must have at most 60 characters"),
        (&id, &other, "it is the ID of a session"),
        ("nope", "x", "there is no session `nope`"),
        ("../../etc", "x", "there is no session `../../etc`"),
    ];
    for (id, name, expected) in table {
        let refused = place.run(&["sessions", "rename", id, name]);
        assert_eq!(refused.code, 2, "{name:?}: {refused:?}");
        assert!(refused.err.contains(expected), "{name:?}: {refused:?}");
    }
    let listed = place.run(&["sessions", "list", "--json"]).events();
    assert!(listed.iter().all(|session| session["name"].is_null()), "{listed:?}");
}

// D15
#[test]
fn what_is_hidden_in_a_title_is_shown_in_every_list() {
    let place = Place::new();
    let hidden =
        ['\u{202e}', '\u{2066}', '\u{200f}', '\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{e0041}'];
    let title: String = hidden.iter().map(|sign| format!("a{sign}b")).collect();
    let id = session(&place, &title);
    let is_open = |text: &str| !hidden.iter().any(|sign| text.contains(*sign));
    let shown = |text: &str| hidden.iter().all(|sign| text.contains(&sign.escape_default().to_string()));
    for arguments in [
        &["sessions", "list"][..],
        &["sessions", "search", "b"],
        &["sessions", "rename", &id, &title],
        &["sessions", "list"],
        &["undo", &id, "--dry-run"],
    ] {
        let ran = place.run(arguments);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(is_open(&said) && shown(&said), "{arguments:?}: {said:?}");
    }
    let page = place.run(&["sessions", "export", &id, "--format", "html"]).out;
    let heading = page.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).unwrap();
    assert!(is_open(heading) && shown(heading), "{heading:?}");
    // Programs get it as it is, and a terminal that shows their line does not.
    let listed = place.run(&["sessions", "list", "--json"]);
    assert!(is_open(&listed.out), "{listed:?}");
    assert_eq!(listed.events()[0]["title"], json!(title));
}

/// A subagent stands below the session that it works for, whatever was begun meanwhile; what has no words has no empty title,
/// and a long name of a model leaves the table as it is.
#[test]
fn a_list_of_sessions_is_a_tree() {
    let place = Place::new();
    let folder = place.path().join("person/.config/haft/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let child = place.script("child.jsonl", &[json!({"say": "Looked."})]);
    std::fs::write(
        folder.join("helper.md"),
        format!("---\nname: helper\ndescription: h\nmodel: {child}\n---\nHelp.\n"),
    )
    .unwrap();
    let help =
        |task: &str| json!({"calls": [{"name": "delegate", "arguments": {"task": task, "agent": "helper"}}]});
    let long = format!("{}.jsonl", "a-rather-long-name-of-a-model".repeat(6));
    let first = place.script(
        &long,
        &[
            json!({"say": "Begun."}),
            help("look here"),
            json!({"say": "One."}),
            help("look there"),
            json!({"say": "Two."}),
        ],
    );
    let second = place.script("second.jsonl", &[json!({"say": "Hello."})]);
    let ids = |place: &Place| -> Vec<(String, String)> {
        let all = place.run(&["sessions", "list", "--json"]).events();
        all.iter()
            .map(|one| (one["session"].as_str().unwrap().into(), one["title"].as_str().unwrap().into()))
            .collect()
    };
    assert_eq!(place.run(&["--model", &first, "the first one"]).code, 0);
    let own = ids(&place)[0].0.clone();
    assert_eq!(place.run(&["--model", &second, "the second one"]).code, 0);
    assert_eq!(place.run(&["--session", &own, "--permission", "full", "go on"]).code, 0);
    assert_eq!(place.run_with_input(&["chat", "--model", &second], b"exit\n").code, 0);
    assert_eq!(place.run(&["--session", &own, "--permission", "full", "and on"]).code, 0);
    let titles = |listed: &str| -> Vec<String> {
        let rows = listed.lines().skip(1);
        rows.map(|row| {
            let (id, title) = (row.split_whitespace().next().unwrap(), row.rsplit("  ").next().unwrap());
            format!("{}{title}", if id == "└" { "└ " } else { "" })
        })
        .collect()
    };
    let listed = place.run(&["sessions", "list"]).out;
    let expected = ["(empty)", "the second one", "the first one", "└ look here", "└ look there"];
    assert_eq!(titles(&listed), expected, "{listed}");
    let model = listed.lines().find(|row| row.ends_with("the first one")).unwrap();
    assert!(model.contains("…") && model.contains("model.jsonl") && !model.contains("a-model/"), "{listed}");
    let at = |row: &str| row.find("the ").map(|at| row[..at].chars().count());
    let rows: Vec<_> = listed.lines().filter_map(at).collect();
    assert_eq!(rows[0], rows[1], "{listed}");
    assert!(listed.lines().all(|row| row.chars().count() < 160), "{listed}");
    // One whose own is gone stands alone.
    let journal = place.path().join("home/sessions").join(&own);
    std::fs::remove_dir_all(journal).unwrap();
    let listed = place.run(&["sessions", "list"]).out;
    assert_eq!(titles(&listed), ["look there", "(empty)", "look here", "the second one"], "{listed}");
    let Some(terminal) = Terminal::open(&place, (80, 24)) else { return };
    terminal.haft(&place, "sessions list");
    let screen = terminal.see("left 0");
    assert_eq!(screen.lines().filter(|line| line.contains("  now  ")).count(), 4, "{screen}");
}

#[test]
fn sessions_do_not_lie_in_the_workspace_under_another_name() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "hi"})]);
    let link = place.path().join("link");
    std::os::unix::fs::symlink(place.work(), &link).unwrap();
    for home in [".haft".into(), link.join("home")] {
        let mut command = place.haft(&["run", "--model", &model, "go"]);
        let ran = Ran::from(command.env("HAFT_HOME", &home).output().unwrap());
        assert!(ran.code == 2 && ran.err.contains("is inside the workspace"), "{ran:?}");
        assert_eq!(place.read(".haft/sessions"), None, "{}", home.display());
    }
    // Outside, a relative one is meant from the current folder.
    let mut command = place.haft(&["run", "--model", &model, "go"]);
    assert_eq!(Ran::from(command.env("HAFT_HOME", "../other").output().unwrap()).code, 0);
    assert!(place.path().join("other/sessions").exists());
}
