//! Hooks as guards: which calls they hear of, in whose words, and what they may ask for.
use crate::kit::{Place, Ran, call};
use serde_json::{Value, json};

fn patch() -> Value {
    call("apply_patch", json!({"patch": "*** Begin Patch\n*** Add File: new.txt\n+a key\n*** End Patch"}))
}

fn edit() -> Value {
    call("edit", json!({"path": "a.txt", "old_text": "one", "new_text": "two"}))
}

/// Runs `calls` with the hooks in `configuration`.
fn run(place: &Place, configuration: &str, calls: &[Value]) -> Ran {
    place.write("a.txt", "one\n");
    place.configure(configuration);
    let model = place.script("m", &[calls, &[json!({"say": "Done."})]].concat());
    place.run(&["run", "--permission", "full", "--model", &model, "go"])
}

/// A hook of `[[claude_hooks]]` or `[[hooks]]`.
fn hook(table: &str, event: &str, tools: &str, command: &str) -> String {
    format!("[[{table}]]\nevent = \"{event}\"\n{tools}\ncommand = '''{command}'''\n")
}

// H-129
#[test]
fn a_guard_of_write_and_edit_hears_of_each_tool_that_writes() {
    let native = hook("hooks", "before_tool", "tool = \"{write,edit}\"", "grep -q new.txt && exit 2; exit 0");
    let told = r#"grep -q '"new_string":".*a key' && exit 2; exit 0"#;
    let claude = hook("claude_hooks", "before_tool", "matcher = \"Edit|Write\"", told);
    for guard in [native, claude] {
        let place = Place::new();
        let file = call("file", json!({"action": "write", "path": "new.txt", "content": "a key"}));
        let ran = run(&place, &guard, &[patch(), file, edit()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.err.matches("a hook denied `").count(), 2, "{ran:?}");
        assert_eq!(place.read("new.txt"), None);
        assert_eq!(place.read("a.txt").as_deref(), Some("two\n"), "an edit that the guard lets through");
    }
}

#[test]
fn a_guard_of_claude_code_finds_what_it_looks_for() {
    let place = Place::new();
    let expected = [
        format!("\"file_path\":\"{}/a.txt\"", place.work().display()),
        "\"old_string\":\"one\"".to_owned(),
        "\"new_string\":\"two\"".to_owned(),
        format!("\"transcript_path\":\"{}/", place.path().join("home/sessions").display()),
        "\"tool_use_id\":\"call_1_0\"".to_owned(),
    ];
    let finds = expected.map(|expected| format!("echo \"$told\" | grep -qF '{expected}'")).join(" && ");
    let command = format!("told=$(cat); {finds} && {{ echo found >&2; exit 2; }}; exit 0");
    let ran = run(&place, &hook("claude_hooks", "before_tool", "matcher = \"Edit\"", &command), &[edit()]);
    assert!(ran.err.contains("a hook denied `edit`: found"), "{ran:?}");
}

#[test]
fn a_hook_may_ask_for_an_approval_or_for_other_arguments() {
    let asks =
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"odd"}}'"#;
    let changes =
        r#"echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"new_string":"x"}}}'"#;
    let table = [
        ("hooks", r#"echo '{"decision":"ask","reason":"odd"}'"#, 4, "a hook asks for approval: odd"),
        ("claude_hooks", asks, 4, "a hook asks for approval: odd"),
        ("claude_hooks", changes, 0, r#"it wants the call with other arguments: {"new_string":"x"}"#),
    ];
    for (hooks, command, code, told) in table {
        let place = Place::new();
        let ran = run(&place, &hook(hooks, "before_tool", "", command), &[edit()]);
        assert!(ran.code == code && ran.err.contains(told), "{command}: {ran:?}");
        assert_eq!(place.read("a.txt").as_deref(), Some("one\n"), "{command}");
    }
}

#[test]
fn what_a_hook_asks_about_is_not_queued_to_run_without_its_view() {
    let place = Place::in_sight();
    place.configure(&hook("hooks", "before_tool", "", r#"echo '{"decision":"ask","reason":"odd"}'"#));
    let model =
        place.script("m", &[call("bash", json!({"command": "echo x > b.txt"})), json!({"say": "Done."})]);
    let ran = place.run(&["run", "--outbox", "--permission", "full", "--model", &model, "go"]);
    assert!(ran.err.contains("a hook asks for approval: odd"), "{ran:?}");
    let queued = place.run(&["outbox", "list", "--json"]);
    assert_eq!((queued.out.as_str(), place.read("b.txt")), ("", None), "{queued:?}");
}

#[test]
fn a_prompt_cannot_be_approved() {
    let place = Place::new();
    let asks = hook("hooks", "turn_start", "", r#"echo '{"decision":"ask","reason":"odd"}'"#);
    let ran = run(&place, &asks, &[edit()]);
    assert!(ran.code == 4 && ran.err.contains("the prompt was refused: a hook denied it: odd"), "{ran:?}");
}

#[test]
fn what_hooks_said_and_refused_does_not_make_a_session_false() {
    let table = [
        hook("hooks", "before_tool", "tool = \"bash\"", r#"echo '{"decision":"ask","reason":"odd"}'"#),
        hook("hooks", "after_tool", "", r#"echo '{"context":"by the way"}'"#),
    ];
    for hooks in table {
        let place = Place::in_sight();
        let touches = call("bash", json!({"command": format!("touch {}/ran", place.path().display())}));
        run(&place, &hooks, &[edit(), touches]);
        let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let verified = place.run(&["verify", &id]);
        assert_eq!(verified.code, 0, "{hooks}: {verified:?}");
        assert!(!place.path().join("ran").exists(), "{hooks}: a view keeps it inside");
    }
}

#[test]
fn what_a_hook_cannot_do_is_told() {
    let place = Place::new();
    let stop = hook("claude_hooks", "turn_end", "", "echo 'run the tests' >&2; exit 2");
    let fails = hook("claude_hooks", "before_tool", "", "echo oh >&2; exit 1");
    let no_tool = hook("hooks", "before_tool", "tool = \"Bash\"", "exit 2");
    let ran = run(&place, &[stop, fails, no_tool].concat(), &[edit()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for told in [
        "of `[[claude_hooks]]` asks to go on, but the turn is over: run the tests",
        "the hook `echo oh >&2; exit 1` of `[[claude_hooks]]` failed with exit code 1: oh",
        "a hook is never told of a call: no tool of Haft has a name such as `Bash`",
    ] {
        assert!(ran.err.contains(told), "{told}: {ran:?}");
    }
}

#[test]
fn a_model_is_told_of_a_file_that_a_formatter_changed() {
    let place = Place::new();
    let again = call("edit", json!({"path": "a.txt", "old_text": "two", "new_text": "three"}));
    let read = call("read", json!({"path": "a.txt"}));
    let formats = hook("hooks", "after_tool", "tool = \"edit\"", "echo formatted >> a.txt");
    let ran = run(&place, &formats, &[edit(), read, again]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let told =
        "[a hook says: `a.txt` was changed by a hook after this call: read it again before you edit it]";
    assert_eq!(journal.matches(told).count(), 2, "{journal}");
    assert_eq!(place.read("a.txt").as_deref(), Some("three\nformatted\nformatted\n"));
}
