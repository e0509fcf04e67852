//! What a person, a script or a client sees of `haft run` and its neighbors. The real binary, a scripted model.
use crate::kit::{Place, Ran, call};
use serde_json::{Value, json};

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
}
fn write(path: &str, content: &str) -> Value {
    json!({"calls": [{"name": "write", "arguments": {"path": path, "content": content}}]})
}
fn says(text: &str) -> Value {
    json!({"say": text})
}

#[test]
fn the_reply_goes_to_standard_output_and_everything_else_to_standard_error() {
    let place = Place::new();
    let model = place.script("m", &[bash("echo one"), says("Two.")]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Two.\n"), "{ran:?}");
    assert_eq!(ran.err, "● bash echo one\n  ✓ one\n");
    let quiet = place.run(&["run", "-q", "--model", &model, "--permission", "full", "go"]);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("Two.\n", ""));
    // Words without a command are a prompt, also from standard input.
    assert_eq!(place.run(&["--model", &model, "--permission", "full", "say", "two"]).out, "Two.\n");
    assert_eq!(
        place.run_with_input(&["run", "-q", "--model", &model, "--permission", "full", "-"], b"go").out,
        "Two.\n"
    );
}

// T-29, A-27, A-33, A-49: each round, each call and the cap stand in the log, for who asks
#[test]
fn the_log_tells_rounds_calls_and_the_cap() {
    let place = Place::new();
    let model = place.script(
        "m",
        &[bash("echo one"), json!({"calls": [{"name": "read", "arguments": {"path": "nope"}}]})],
    );
    let log = |option: &str| {
        place.run(&["run", option, "--model", &model, "--permission", "full", "--max-rounds", "2", "go"]).err
    };
    let all = log("-vv");
    for line in [
        "Agent iteration 1",
        "Agent iteration 2",
        "the call went well",
        "the call failed",
        "Max iterations (2) reached",
    ] {
        assert!(all.contains(line), "{line}: {all}");
    }
    let warnings = log("-v");
    assert!(
        warnings.contains("Max iterations (2) reached") && !warnings.contains("Agent iteration"),
        "{warnings}"
    );
}

// C-26 to C-30, C-33, C-34, X-30
#[test]
fn an_activity_stream_says_what_calls_do() {
    let place = Place::unconfined();
    let calls = json!({"calls": [
        {"name": "bash", "arguments": {"command": "echo one"}},
        {"name": "read", "arguments": {"path": "nowhere"}},
    ]});
    let model = place.script("m", &[calls, json!({"say": "done"})]);
    let ran = place.run(&["run", "--output", "activity", "--permission", "full", "--model", &model, "go"]);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            format!("{} {}", line["type"].as_str().unwrap(), line["data"]["toolName"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "tool_call_start bash",
        "tool_output_chunk bash",
        "tool_call_end bash",
        "tool_call_start read",
        "error read",
        // X-30: each call that begins ends once.
        "tool_call_end read",
    ];
    assert_eq!(told, expected, "{ran:?}");
    assert_eq!(lines[0]["data"]["arguments"]["command"], "echo one");
    assert_eq!((&lines[1]["data"]["chunk"], &lines[2]["data"]["success"]), (&json!("one\n"), &json!(true)));
    assert!(lines[2]["data"]["result"].as_str().unwrap().contains("one"), "{ran:?}");
    assert_eq!(lines[5]["data"]["success"], false);
    assert!(lines[4]["data"]["message"].as_str().unwrap().contains("cannot read `nowhere`"), "{ran:?}");
}

// C-25, C-30, C-32, C-33, O-05
#[test]
fn stream_json_is_what_the_journal_holds_and_live_updates_between() {
    let place = Place::new();
    let model = place.script("m", &[write("a.txt", "x\n"), says("done")]);
    let ran = place.run(&["run", "--model", &model, "--permission", "accept-edits", "--json", "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.recorded(),
        [
            "session_opened",
            "prompted",
            "replied",
            "tool_started",
            "staged",
            "tool_ended",
            "replied",
            "turn_ended"
        ]
    );
    let events = ran.events();
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap().clone();
    let opened = of("session_opened");
    assert_eq!(
        (&opened["seq"], &opened["agent"], &opened["profile"]),
        (&json!(0), &json!("haft"), &json!("default"))
    );
    assert_eq!((&opened["model"], &opened["workspace"]), (&json!(model), &json!(place.work())));
    assert_eq!(of("prompted")["parts"], json!([{"type": "text", "text": "go"}]));
    let call = &of("replied")["parts"][0];
    assert_eq!(
        (&call["type"], &call["name"], &call["arguments"]["path"]),
        (&json!("tool_call"), &json!("write"), &json!("a.txt"))
    );
    assert_eq!(of("tool_started")["arguments"], json!({"path": "a.txt", "content": "x\n"}));
    let staged = of("staged");
    assert_eq!(
        (&staged["how"], &staged["changes"][0]["path"], &staged["changes"][0]["kind"]),
        (&json!("declared"), &json!("a.txt"), &json!("created"))
    );
    assert_eq!(staged["changes"][0]["before"], Value::Null);
    assert_eq!(
        staged["changes"][0]["after"],
        json!("73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac")
    );
    let ended = of("tool_ended");
    assert_eq!(
        (&ended["ok"], &ended["name"], &ended["error"]),
        (&json!(true), &json!("write"), &Value::Null)
    );
    assert!(ended["content"].is_string() && ended["duration_ms"].is_u64());
    let turn = of("turn_ended");
    assert_eq!((&turn["outcome"], &turn["rounds"]), (&json!("finished"), &json!(2)));
    assert!(turn["usage"].is_object() && turn.get("cost_usd").is_some());
    let live: Vec<&Value> = events.iter().filter(|event| event["seq"].is_null()).collect();
    assert!(live.iter().any(|event| event["type"] == "text" && event["text"] == "done"));
    // The journal and the export are the recorded ones, line for line.
    let recorded: String = ran
        .out
        .lines()
        .filter(|line| !line.contains("\"seq\":null"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(std::fs::read_to_string(place.journal()).unwrap(), recorded);
    let id = opened["session"].as_str().unwrap();
    assert_eq!(place.run(&["sessions", "export", id, "--format", "json"]).out, recorded);
}

// T-56, T-57
#[test]
fn json_is_one_object_at_the_end() {
    let place = Place::new();
    let model = place.script("m", &[write("a.txt", "x\n"), says("done")]);
    let ran = place.run(&["run", "--model", &model, "--permission", "full", "--output", "json", "go"]);
    let mut object: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(object["session"].as_str().is_some_and(|id| id.len() > 10));
    object["session"] = json!("…");
    assert_eq!(
        object,
        json!({"session": "…", "outcome": "finished", "text": "done", "rounds": 2,
               "usage": {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0}, "cost_usd": null,
               "changes": [{"path": "a.txt", "kind": "created"}], "error": null})
    );
}

// O-30
#[test]
fn prompt_is_another_name_of_run() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "Hi.", "expect": "hello"})]);
    let ran = place.run(&["prompt", "hello", "--model", &model]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hi.\n"), "{ran:?}");
}

// O-30
#[test]
fn the_exit_code_says_how_the_turn_ended() {
    let place = Place::new();
    let same: Vec<Value> = (0..20).map(|_| bash("echo same")).collect();
    let table = [
        (vec![says("hi")], vec![], 0),
        (vec![json!({"fail": "no", "kind": "rejected"})], vec![], 1),
        (
            (0..9).map(|n| bash(&format!("echo {n}"))).collect(),
            vec!["--permission", "full", "--max-rounds", "3"],
            3,
        ),
        (same, vec!["--permission", "full"], 3),
        (vec![bash("touch x"), says("could not")], vec![], 4),
        (vec![bash("touch x"), says("could not")], vec!["--permission", "read-only"], 0),
    ];
    for (number, (lines, options, code)) in table.into_iter().enumerate() {
        let model = place.script(&format!("m{number}"), &lines);
        let arguments = [vec!["run", "--model", &model], options, vec!["go"]].concat();
        let ran = place.run(&arguments);
        assert_eq!(ran.code, code, "{number}: {ran:?}");
        assert!(place.read("x").is_none());
    }
}

// Who starts it in a script learns what it would have taken, and that does it.
#[test]
fn without_a_person_a_refusal_names_what_would_have_allowed_it() {
    let place = Place::new();
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "x", "content": "1"}}]});
    for (number, call) in [bash("touch x"), write].into_iter().enumerate() {
        let model = place.script(&format!("m{number}"), &[call, says("done")]);
        let refused = place.run(&["run", "--model", &model, "go"]);
        let hint = refused.err.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_default();
        assert_eq!(refused.code, 4, "{refused:?}");
        match hint.split('`').nth(1).unwrap_or_default() {
            "--permission accept-edits" => {
                place.run(&["run", "--model", &model, "--permission", "accept-edits", "go"]);
            }
            rule => {
                place.configure(&format!("[rules]\n{rule}"));
                place.run(&["run", "--model", &model, "go"]);
            }
        }
        assert!(place.read("x").is_some(), "{refused:?}");
        std::fs::remove_file(place.work().join("x")).unwrap();
    }
}

/// Each is one clear sentence and a hint, the right exit code, and nothing started.
#[test]
fn bad_input_is_told_in_one_sentence_with_a_hint() {
    let place = Place::new();
    let script = place.script("m", &[says("hi")]);
    std::fs::write(place.path().join("broken"), "{\"say\": 1}\n").unwrap();
    let broken = format!("script/{}", place.path().join("broken").display());
    let short = place.path().join("short.gguf");
    std::fs::write(&short, b"GGUF\x03\0\0\0").unwrap();
    let short = format!("local/{}", short.display());
    let profile = place.path().join("profile.toml");
    let shown = place.run(&["profiles", "show", "default"]).out;
    std::fs::write(&profile, format!("{shown}\n[tools]\noffer = [\"read\", \"reed\"]\n")).unwrap();
    let profile = profile.to_str().unwrap();
    let table: Vec<(Vec<&str>, &str)> = vec![
        (
            vec!["run", "--model", "openai/gpt-5", "hi"],
            "error: there is no API key for OpenAI\nhint: set OPENAI_API_KEY",
        ),
        (
            vec!["run", "--model", "gpt-5", "hi"],
            "error: cannot use the model `gpt-5`: it is not of the form PROVIDER/MODEL\nhint: ",
        ),
        (
            vec!["run", "--model", "opneai/x", "hi"],
            "error: there is no provider `opneai`\nhint: did you mean `openai`?",
        ),
        (vec!["run", "--model", "script/nowhere", "hi"], "error: "),
        (vec!["run", "--model", &broken, "hi"], "error: "),
        (
            vec!["run", "--model", &script, "--profile", "missing", "hi"],
            "error: --profile: there is no profile `missing`; there are `default`, `alfred`",
        ),
        (
            vec!["run", "--model", &script, "--profile", profile, "hi"],
            "error: profile `default`, [tools]: there is no built-in tool `reed`\nhint: ",
        ),
        (
            vec!["run", "--model", &script, "--tools", "reed", "hi"],
            "error: there is no tool `reed`\nhint: there are read, ",
        ),
        (
            vec!["run", "--model", &script, "--profile", "alfred", "--tools", "grep", "hi"],
            "error: the profile `alfred` does not let the tool `grep` be used\nhint: it has ",
        ),
        (
            vec!["run", "--model", &script, "--cwd", "nowhere", "hi"],
            "error: cannot work in `nowhere`: No such file",
        ),
        (
            vec!["run", "--model", &script, "--agent", "missing", "hi"],
            "error: there is no agent `missing`; there are `haft`",
        ),
        (vec!["run", "--model", &script, "--continue", "hi"], "error: there is no session in "),
        (vec!["run", "--model", &script, "--no-such", "hi"], "error: unexpected argument '--no-such' found"),
        (vec!["run", "--model", &script, " "], "error: the prompt is empty\nhint: describe the task"),
        (
            vec!["run", "--model", &script, "--image", "a.tiff", "hi"],
            "error: cannot show the picture `a.tiff`",
        ),
        (vec!["run", "--model", &short, "hi"], "error: "),
    ];
    for (arguments, expected) in table {
        let ran = place.run(&arguments);
        assert!(
            ran.code == 2 && ran.err.starts_with(expected) && ran.out.is_empty(),
            "{arguments:?}: {ran:?}"
        );
        assert!(!place.path().join("home/sessions").exists(), "{arguments:?} started a session");
    }
    let missing = place.run(&["run", "--model", &script, "--session", "../../etc/passwd", "hi"]);
    assert!(
        missing.code == 2 && missing.err.starts_with("error: there is no session `../../etc/passwd`\nhint: "),
        "{missing:?}"
    );
}

#[test]
fn a_prompt_of_ten_megabytes_is_refused() {
    let place = Place::new();
    let model = place.script("m", &[says("hi")]);
    let ran = place.run_with_input(&["run", "--model", &model, "-"], &vec![b'x'; 10 << 20]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.starts_with(
            "error: the prompt has more than 4 MB, and no model accepts more than 4 MB\nhint: write it to a file"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn a_broken_configuration_names_file_line_and_what_was_expected() {
    let place = Place::new();
    let file = place.path().join("person/.config/haft/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "model = \"openai/x\"\npermision = \"ask\"\n").unwrap();
    let ran = place.run(&["run", "hi"]);
    assert_eq!(ran.code, 2);
    let expected = format!("error: `{}`: line 2: unknown field `permision`, expected one of", file.display());
    assert!(ran.err.starts_with(&expected) && ran.err.contains("\nhint: "), "{}", ran.err);
}

#[test]
fn a_server_that_is_not_there_is_a_clear_error() {
    let place = Place::new();
    let mut command = place.haft(&["run", "--model", "openai/any", "hi"]);
    // Port 9 of loopback: nothing listens there.
    command.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").env("OPENAI_API_KEY", "sk-secret");
    let started = std::time::Instant::now();
    let output = crate::kit::Ran::from(command.output().unwrap());
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output.err.contains("error: OpenAI cannot be reached: ") && output.err.contains("127.0.0.1:9"),
        "{}",
        output.err
    );
    assert!(!output.err.contains("sk-secret"));
    assert!(started.elapsed().as_secs() < 30);
}

// Who holds the lock has no socket: a session below another one, or an older Haft.
#[test]
fn a_session_that_another_process_holds_and_lets_nobody_in_is_left_alone() {
    let place = Place::new();
    let model = place.script("m", &[says("done")]);
    place.run(&["run", "--model", &model, "go"]);
    let held = std::fs::File::open(place.journal()).unwrap();
    held.lock().unwrap();
    let id = place.journal().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let ran = place.run(&["run", "--model", &model, "--session", &id, "hi"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, format!("error: the session `{id}` is in use by another process\nhint: end the other `haft` process that uses it, or start a new session\n").as_str()));
}

fn wait_until(is_so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it never came");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn terminate(child: &std::process::Child) {
    let told = std::process::Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status();
    assert!(told.is_ok_and(|told| told.success()));
}

/// Whether a process has this command line.
fn is_running(line: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.any(|words| String::from_utf8_lossy(&words).replace('\0', " ").trim() == line)
}

// C12, C03: SIGTERM ends the turn and the tool's whole tree; the session can be resumed
#[test]
fn a_signal_interrupts_and_leaves_nothing_behind() {
    let place = Place::unconfined();
    // Found again among all that runs on the machine.
    let sleep = format!("sleep 37.{}", std::process::id());
    let slow = place.script("slow", &[bash(&format!("touch begun; {sleep}")), says("done")]);
    let mut child = place.haft(&["run", "--model", &slow, "--permission", "full", "go"]).spawn().unwrap();
    wait_until(|| place.read("begun").is_some());
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let command = json!({"command": format!("touch called; {sleep}")}).to_string();
    let mut call = place.haft(&["tools", "call", "bash", &command, "--permission", "full"]);
    let mut child = call.stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_until(|| place.read("called").is_some());
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    wait_until(|| !is_running(&sleep));
    let homes = std::fs::read_dir(place.path().join("home/sessions")).unwrap();
    for journal in
        homes.map(|home| std::fs::read_to_string(home.unwrap().path().join("journal.jsonl")).unwrap())
    {
        assert!(
            journal.trim_end().lines().last().unwrap().contains("\"outcome\":\"interrupted\""),
            "{journal}"
        );
    }
}

// A-38, A-40, A-61, A-62, A-87, A-88: to the letter
#[test]
fn chat_in_profile_alfred_prints_what_its_document_says() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "Let me look.", "calls": [{"name": "bash", "arguments": {"command": "echo 4"}}, {"name": "read", "arguments": {"path": "nope"}}]}), says("It is 4.")]);
    let ran = place.run_with_input(
        &["chat", "--profile", "alfred", "--model", &model, "--permission", "full"],
        b"What is 2+2?\nEXIT\n",
    );
    assert_eq!(
        ran.out,
        "Alfred CLI. Type 'exit' to quit.\n\nYou: Alfred: Let me look.\n[Executing 2 tool(s)...]\n[bash] ✓\n[read] ✗\nIt is 4.\n\nYou: "
    );
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

// A-33, A-41
#[test]
fn chat_in_profile_alfred_marks_the_cap() {
    let place = Place::new();
    let lines: Vec<Value> = (0..12).map(|n| bash(&format!("echo {n}"))).collect();
    let model = place.script("m", &lines);
    let ran = place.run_with_input(
        &["chat", "--profile", "alfred", "--model", &model, "--permission", "full"],
        b"go\nexit\n",
    );
    assert_eq!(ran.out.matches("[Executing 1 tool(s)...]").count(), 10, "{}", ran.out);
    assert!(
        ran.out.contains("I apologize, but I needed too many steps")
            && ran.out.contains("\n[Max iterations reached]\n"),
        "{}",
        ran.out
    );
}

#[test]
fn an_undo_does_not_warn_of_calls_that_change_no_files() {
    for (made, warns) in [
        (call("todo", json!({"items": [{"text": "look", "status": "pending"}]})), false),
        (json!({"calls": [{"name": "bash", "arguments": {"command": "true", "needs": ["live"]}}]}), true),
    ] {
        let place = Place::new();
        let edit = call("write", json!({"path": "made", "content": "made\n"}));
        let model = place.script("m", &[edit, made, says("done")]);
        place.run(&["run", "--model", &model, "--permission", "full", "go"]);
        let undone = place.run(&["undo"]);
        assert_eq!((undone.code, place.read("made")), (0, None), "{undone:?}");
        assert_eq!(undone.out.contains("untracked command"), warns, "{undone:?}");
    }
}

#[test]
fn undo_and_redo_move_files_and_respect_what_you_changed() {
    let place = Place::new();
    place.write("kept", "old\n");
    let model = place.script(
        "m",
        &[
            json!({"calls": [
        {"name": "edit", "arguments": {"path": "kept", "old_text": "old", "new_text": "new"}},
        {"name": "write", "arguments": {"path": "sub/made", "content": "made\n"}}]}),
            says("done"),
        ],
    );
    place.run(&["run", "--model", &model, "--permission", "accept-edits", "go"]);
    let state = || (place.read("kept").unwrap(), place.read("sub/made"));
    assert_eq!(state(), ("new\n".into(), Some("made\n".into())));
    let dry = place.run(&["undo", "--dry-run"]);
    assert_eq!(
        dry.out,
        "- sub/made would be removed\n~ kept would be put back\nthe conversation would be back before your prompt: go\n\n\
         --- a/sub/made\n+++ b/sub/made\n@@ -1 +0,0 @@\n-made\n--- a/kept\n+++ b/kept\n@@ -1 +1 @@\n-new\n+old\n",
        "{dry:?}"
    );
    assert_eq!(
        place.run(&["undo"]).out,
        "- sub/made removed\n~ kept put back\nthe conversation is back before your prompt: go\n"
    );
    assert_eq!(state(), ("old\n".into(), None));
    assert_eq!(place.run(&["redo"]).out, "~ kept changed again\n+ sub/made created again\n");
    assert_eq!(state(), ("new\n".into(), Some("made\n".into())));
    assert_eq!(place.run(&["redo"]).out, "nothing to redo\n");
    place.write("kept", "mine\n");
    let dry = place.run(&["undo", "--dry-run"]);
    assert!(dry.code == 1 && dry.out.contains("! kept would be skipped: modified since\n"), "{dry:?}");
    // Only what would happen.
    assert!(dry.out.contains("-made") && !dry.out.contains("+old") && !dry.out.contains("b/kept"), "{dry:?}");
    let next = "hint: `haft undo --show kept` prints the earlier version";
    assert!(dry.err.contains(next), "{dry:?}");
    assert_eq!(place.run(&["undo", "--show", "kept"]).out, "old\n");
    let refused = place.run(&["undo", "--show", "sub/made"]);
    assert!(refused.code == 1 && refused.err.contains("`sub/made` did not exist before"), "{refused:?}");
    let refused = place.run(&["undo", "--show", "other"]);
    assert!(refused.code == 2 && refused.err.contains("it would restore: `sub/made`, `kept`"), "{refused:?}");
    let ran = place.run(&["undo"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (
            1,
            "- sub/made removed\n! kept skipped: modified since\nthe conversation is back before your prompt: go\n"
        )
    );
    assert!(ran.err.contains(next), "{ran:?}");
    assert_eq!(state(), ("mine\n".into(), None));
    // Once more nothing is done, and what to do is said again.
    let ran = place.run(&["undo"]);
    assert!(ran.out == "nothing to undo\n" && ran.err.contains(next), "{ran:?}");
    for (folder, file) in [("", "kept"), ("sub", "../kept"), ("sub", "kept")] {
        std::fs::create_dir_all(place.work().join(folder)).unwrap();
        let mut command = place.haft(&["undo", "--show", file]);
        let command = command.args(["--cwd", &place.work().to_string_lossy()]);
        let shown = Ran::from(command.current_dir(place.work().join(folder)).output().unwrap());
        assert_eq!((shown.code, shown.out.as_str()), (0, "old\n"), "{folder} {file}: {shown:?}");
    }
    assert_eq!(state(), ("mine\n".into(), None));
    // What was in the way of a redo may go out of it.
    place.write("sub/made", "mine, too\n");
    assert_eq!(place.run(&["redo"]).code, 1);
    std::fs::remove_file(place.work().join("sub/made")).unwrap();
    place.write("kept", "old\n");
    assert_eq!(place.run(&["redo"]).out, "~ kept changed again\n+ sub/made created again\n");
    for (arguments, expected) in [
        (["undo", "--to", "99999"], "there is no entry 99999 to go back to"),
        (["undo", "--calls", "0"], "it must be at least 1"),
    ] {
        let refused = place.run(&arguments);
        assert!(refused.code == 2 && refused.err.contains(expected), "{refused:?}");
    }
    // A look at a tool is not what is taken back.
    place.run(&["tools", "call", "read", "{\"path\":\"kept\"}"]);
    assert!(place.run(&["undo", "--dry-run"]).out.contains("~ kept would be put back"));
}

#[test]
fn a_tool_is_called_without_a_model_through_the_whole_path() {
    let place = Place::unconfined();
    let call = |arguments: &[&str]| {
        let ran = place.run(&[&["tools", "call"], arguments].concat());
        let object: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        (ran.code, object)
    };
    let (code, object) = call(&["write", r#"{"path":"a.txt","content":"hi"}"#, "--permission", "full"]);
    assert_eq!(
        (code, &object["ok"], &object["how"], &object["changes"][0]["kind"]),
        (0, &json!(true), &json!("declared"), &json!("created"))
    );
    assert_eq!(place.read("a.txt").as_deref(), Some("hi"));
    let (code, object) = call(&["bash", r#"{"command":"exit 3"}"#, "--permission", "full"]);
    assert_eq!((code, &object["how"], &object["details"]["exit_code"]), (0, &json!("untracked"), &json!(3)));
    let (code, object) = call(&["write", r#"{"path":"b.txt","content":"hi"}"#]);
    assert_eq!(
        (code, &object["ok"], &object["error"]["type"]),
        (1, &json!(false), &json!("permission_error"))
    );
    assert!(place.read("b.txt").is_none());
    let (code, object) = call(&["read", "{oops"]);
    assert_eq!((code, &object["error"]["type"]), (1, &json!("validation_error")));
    let (code, object) = call(&["raed", "{}"]);
    assert_eq!(code, 1);
    assert!(object["error"]["suggestion"].as_str().unwrap().contains("did you mean `read`?"), "{object}");
    let schema: Value =
        serde_json::from_str(&place.run(&["tools", "schema", "--profile", "alfred"]).out).unwrap();
    let names: Vec<&str> =
        schema.as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "write", "edit", "bash"]); // A-60
}

// Who is told to end may tidy up: `git` removes its lock
#[test]
fn a_command_that_is_cancelled_ends_before_the_program_does() {
    let place = Place::unconfined();
    let tidy = "trap 'sleep 0.3; touch tidy; exit' TERM; touch begun; sleep 1000 & wait";
    let slow = place.script("slow", &[bash(tidy), says("done")]);
    let mut child = place.haft(&["run", "--model", &slow, "--permission", "full", "go"]).spawn().unwrap();
    wait_until(|| place.read("begun").is_some());
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(place.read("tidy").is_some());
}

// O-35, C03, C04: killed at any moment, a session goes on and each file effect happens once
#[test]
fn a_killed_run_is_resumed_and_each_file_effect_happens_once() {
    for lines in [2, 4, 6, 9, 12, 15, 19] {
        let place = Place::new();
        place.write("log", "end\n");
        let edit = |n: u32| json!({"calls": [{"name": "edit", "arguments": {"path": "log", "old_text": "end", "new_text": format!("{n}\nend")}}], "delay_ms": 5});
        let script: Vec<Value> = (0..6).map(edit).chain([says("done")]).collect();
        let model = place.script("m", &script);
        let mut child = place
            .haft(&["run", "--model", &model, "--permission", "full", "go"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let recorded = || {
            let folders = std::fs::read_dir(place.path().join("home/sessions")).into_iter().flatten();
            let journals = folders.flatten().map(|folder| folder.path().join("journal.jsonl"));
            journals.filter_map(|path| std::fs::read_to_string(path).ok()).collect::<String>().lines().count()
        };
        wait_until(|| recorded() >= lines);
        child.kill().unwrap();
        child.wait().unwrap();
        let id = place.journal().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let ran = place.run(&["sessions", "resume", &id, "--permission", "full"]);
        assert_eq!(ran.code, 0, "after {lines} lines: {ran:?}");
        assert_eq!(place.read("log").as_deref(), Some("0\n1\n2\n3\n4\n5\nend\n"), "after {lines} lines");
    }
}

#[test]
fn sessions_are_listed_shown_and_exported() {
    let place = Place::new();
    let model = place.script("m", &[bash("echo out"), says("All **done**.")]);
    place.run(&["run", "--model", &model, "--permission", "full", "make it so"]);
    let listed = place.run(&["sessions", "list"]);
    assert!(listed.out.contains("make it so") && listed.out.lines().count() == 2, "{listed:?}");
    let id = listed.out.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    let shown = place.run(&["sessions", "show", id]).out;
    assert_eq!(shown, "\n> make it so\n● bash echo out\n  ✓ out\nAll **done**.\n");
    let markdown = place.run(&["sessions", "export", id]).out;
    assert!(
        markdown.starts_with(&format!("# Session {id}\n")) && markdown.contains("## Prompt\n\nmake it so"),
        "{markdown}"
    );
    assert_eq!(place.run(&["sessions", "show", "nope"]).code, 2);
}

#[test]
fn a_conversation_goes_on_in_the_newest_session() {
    let place = Place::new();
    let model = place.script("m", &[says("first"), json!({"say": "second", "expect": "and then"})]);
    place.run(&["run", "--model", &model, "hello"]);
    let ran = place.run(&["run", "-q", "--model", &model, "--continue", "and then"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "second\n"), "{ran:?}");
}

#[test]
fn a_session_goes_on_in_its_own_folder() {
    let place = Place::new();
    let model = place.script("m", &[says("first"), write("a.txt", "x"), says("second")]);
    place.run(&["run", "--model", &model, "hello"]);
    let id = place.journal().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let elsewhere = place.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let arguments =
        ["run", "-q", "--model", &model, "--permission", "accept-edits", "--session", &id, "more"];
    let ran = crate::kit::Ran::from(place.haft(&arguments).current_dir(&elsewhere).output().unwrap());
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("x")), "{ran:?}");
    let refused = place.run(&[
        "run",
        "--model",
        &model,
        "--session",
        &id,
        "--cwd",
        elsewhere.to_str().unwrap(),
        "more",
    ]);
    assert!(refused.code == 2 && refused.err.contains("` works in `"), "{refused:?}");
}

#[test]
fn doctor_config_and_help_answer() {
    let place = Place::new();
    let doctor = place.run(&["doctor"]);
    assert!(doctor.out.contains("ok       sessions: ") && doctor.out.contains("commands: "), "{doctor:?}");
    place.configure("[commands]\nmemory = 900\n");
    let layers = place.run(&["doctor"]).out;
    let is_confined = layers.contains("can be confined here");
    for line in ["processes: ", "memory: 900 MB for each process of a command", "sockets: "] {
        assert_eq!(layers.contains(line), is_confined, "{line}: {layers}");
    }
    std::fs::remove_file(place.path().join("person/.config/haft/config.toml")).unwrap();
    let path = place.run(&["config", "path"]);
    assert!(path.out.contains("person/.config/haft/config.toml  (missing)"), "{path:?}");
    let shown = place.run(&["config", "show"]).out;
    assert!(shown.contains("permission = \"ask\"") && !shown.contains("config.toml"), "{shown}");
    place.configure("[commands]\nmemory = 900\nprivate_hosts = false\n");
    let shown = place.run(&["config", "show"]).out;
    assert!(shown.contains("config.toml\n[commands]\nmemory = 900\n\n"), "no defaults: {shown}");
    assert!(place.run(&["models", "list"]).out.contains("needs OPENAI_API_KEY"));
    assert_eq!((place.run(&["--help"]).code, place.run(&["--version"]).out.as_str()), (0, "haft 0.1.0\n"));
}

// P-18, P-20, P-22
#[test]
fn calls_are_found_in_a_text_whatever_the_dialect() {
    let place = Place::new();
    let parse = |text: &str, more: &[&str]| -> Value {
        let file = place.path().join("text");
        std::fs::write(&file, text).unwrap();
        let ran = place.run(&[&["parse", file.to_str().unwrap()], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let read = json!([{"id": "call_0", "name": "read", "arguments": {"path": "a"}}]);
    let hermes = "Hm.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>";
    let qwen = "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>";
    for (text, dialect) in [(hermes, "hermes"), (qwen, "qwen3_coder"), ("[read(path='a')]", "pythonic")] {
        let named = parse(text, &["--dialect", dialect]);
        assert_eq!((&named["tool_calls"], &named["dialect"]), (&read, &json!(dialect)), "{named}");
        assert_eq!(parse(text, &[])["tool_calls"], read, "auto: {text}");
    }
    let prose = parse("Nothing to do here.", &[]);
    assert_eq!((&prose["content"], &prose["tool_calls"]), (&json!("Nothing to do here."), &json!([])));
    let broken = parse("<tool_call>{\"name\": }</tool_call>", &["--dialect", "hermes"]);
    assert_eq!(
        (&broken["content"], broken["problems"].as_array().unwrap().len()),
        (&json!("<tool_call>{\"name\": }</tool_call>"), 1)
    );
    assert_eq!(place.run(&["parse", "--dialect", "klingon", "/dev/null"]).code, 2);
}

#[test]
fn profiles_are_listed_and_shown_as_they_may_stand_in_a_file() {
    let place = Place::new();
    let names = place.run(&["profiles", "list"]).out;
    let first = names.lines().skip(1).map(|line| line.split_whitespace().next().unwrap()).collect::<Vec<_>>();
    assert_eq!(first, ["default", "alfred", "pedro", "ally", "opencode", "picoclaw"]);
    for name in first {
        let file = place.path().join("own.toml");
        std::fs::write(&file, place.run(&["profiles", "show", name]).out).unwrap();
        let ran = place.run(&["tools", "schema", "--profile", file.to_str().unwrap()]);
        assert_eq!(ran.out, place.run(&["tools", "schema", "--profile", name]).out, "{name}");
        assert!(ran.out.len() > 100);
    }
    assert_eq!(place.run(&["profiles", "show", "missing"]).code, 2);
}

// P-03, P-14, P-15, P-16: a small script is the model; it calls two tools and answers
#[test]
fn a_model_behind_a_command_does_a_job_with_tools() {
    let place = Place::new();
    place.write("note.txt", "seven\n");
    let answers = r#"prompt=$(cat)
case "$prompt" in
*KEY=*) echo "the key is here" ;;
*"Wrote 6 bytes"*) echo "I copied the note." ;;
*seven*) printf '<tool_call>\n{"name": "write", "arguments": {"path": "copy.txt", "content": "seven\\n"}}\n</tool_call>\n' ;;
*) printf 'Let me look.\n<tool_call>\n{"name": "read", "arguments": {"path": "note.txt"}}\n</tool_call>\n' ;;
esac"#;
    let script = place.path().join("model.sh");
    std::fs::write(&script, answers).unwrap();
    let folder = place.path().join("person/.config/haft");
    std::fs::create_dir_all(&folder).unwrap();
    let config = format!("[exec.small]\nprogram = \"sh\"\narguments = [\"{}\"]\n", script.display());
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let ran =
        place.run(&["run", "Copy note.txt to copy.txt.", "--model", "exec/small", "--permission", "full"]);
    assert_eq!(
        (ran.code, place.read("copy.txt").as_deref()),
        (0, Some("seven\n")),
        "{} {}",
        ran.out,
        ran.err
    );
    assert!(ran.out.ends_with("I copied the note.\n"), "{}", ran.out);
    let missing = place.run(&["run", "hi", "--model", "exec/other"]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("there is no command `other`") && missing.err.contains("[exec.other]"));
}

#[test]
fn a_program_reads_which_session_goes_on() {
    let place = Place::new();
    let model = place.script("m", &[says("One."), says("Two.")]);
    let first = place.run(&["run", "--json", "--model", &model, "go"]).events();
    let second = place.run(&["run", "-c", "--json", "--model", &model, "and now?"]).events();
    for events in [&first, &second] {
        assert_eq!(events[0]["type"], "session_opened", "{events:?}");
        assert_eq!(events[0]["session"], first[0]["session"]);
    }
    assert!(!second.iter().any(|event| event["text"] == "One."), "only what is new: {second:?}");
    let id = first[0]["session"].as_str().unwrap();
    let shown = place.run(&["sessions", "show", id, "--json"]);
    assert_eq!(shown.out, place.run(&["sessions", "export", id, "--json"]).out);
    assert_eq!(shown.events()[1]["type"], "prompted", "{shown:?}");
    let deleted = place.run(&["sessions", "rm", id, "--json"]);
    assert_eq!((deleted.code, &deleted.events()[0]["deleted"]), (0, &json!(id)), "{deleted:?}");
}
