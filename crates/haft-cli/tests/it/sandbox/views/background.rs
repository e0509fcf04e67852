//! Commands in the background, in views of their own.
use crate::kit::{Place, Ran, Server, UNTIL_GO, call, openai_calls, openai_text, terminal::poll};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Child, Stdio},
};

const OPTIONS: [&str; 4] = ["--sandbox", "require", "--permission", "accept-edits"];

fn bash(command: &str) -> Value {
    json!({"name": "bash", "arguments": {"command": command}})
}

fn background(command: &str) -> Value {
    json!({"name": "bash", "arguments": {"command": command, "background": true}})
}

/// Runs one reply with each of `rounds`, and waits for what they leave in the background.
fn run(place: &Place, permission: &str, rounds: &[Vec<Value>]) -> Ran {
    let replies = rounds.iter().map(|calls| json!({"calls": calls}));
    // A task may end in a turn of its own.
    let replies: Vec<Value> = replies.chain([json!({"say": "done"}), json!({"say": "seen"})]).collect();
    let model = place.script("model.jsonl", &replies);
    let options = ["--sandbox", "require", "--permission", permission, "--json", "--model", &model];
    place.run(&[&["run"], &options[..], &["go"]].concat())
}

/// What the model read of events of this type.
fn contents(ran: &Ran, kind: &str) -> Vec<String> {
    let events = ran.events();
    let wanted = events.iter().filter(|event| event["type"] == kind);
    let content =
        |event: &Value| event["content"].as_str().or(event["result"]["content"].as_str()).map(str::to_owned);
    wanted.map(|event| content(event).unwrap_or_else(|| panic!("{event}"))).collect()
}

/// The end of the one task.
fn ended(ran: &Ran) -> String {
    let ends = contents(ran, "job_ended");
    assert_eq!(ends.len(), 1, "{ran:?}");
    ends[0].clone()
}

/// The same, and lets the background command go on once the model has read what became of `calls` calls.
fn run_and_let_go(place: &Place, rounds: &[Vec<Value>], calls: usize) -> Ran {
    place.hold();
    let replies = rounds.iter().map(|calls| json!({"calls": calls}));
    let replies: Vec<Value> = replies.chain([json!({"say": "done"}), json!({"say": "seen"})]).collect();
    let model = place.script("model.jsonl", &replies);
    let mut command = place.haft(&[&["run"], &OPTIONS[..], &["--json", "--model", &model, "go"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let are_over = || {
        let sessions = fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
        let journals = sessions.map(|session| fs::read_to_string(session.path().join("journal.jsonl")));
        journals.flatten().any(|journal| journal.matches("\"type\":\"tool_ended\"").count() == calls)
    };
    poll(are_over, || "the ends of the calls".into());
    place.let_go();
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn what_a_background_command_changes_is_real_once_it_has_ended_and_can_be_undone() {
    let place = Place::new();
    place.write("old.txt", "old\n");
    let build =
        format!("rm old.txt; mkdir out; echo early >out/a; {UNTIL_GO}; echo late >out/b; echo it is built");
    let ran = run_and_let_go(&place, &[vec![background(&build)], vec![bash("ls")]], 2);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(contents(&ran, "tool_ended")[0].contains("what it changes is real once it has ended"), "{ran:?}");
    assert_eq!(contents(&ran, "tool_ended")[1], "old.txt", "{ran:?}");
    assert_eq!(ended(&ran), "it is built\n[changed: - old.txt, + out, + out/a, + out/b]");
    let undone = place.run(&["undo"]);
    assert_eq!((undone.code, place.read("old.txt").as_deref()), (0, Some("old\n")), "{undone:?}");
    assert!(!place.work().join("out").exists());
    assert_eq!(place.run(&["redo"]).code, 0);
    assert_eq!((place.read("out/b").as_deref(), place.read("old.txt")), (Some("late\n"), None));
}

#[test]
fn the_end_of_a_command_that_was_taken_back_opens_no_turn() {
    let place = Place::new();
    place.hold();
    let task = format!("{UNTIL_GO}; echo two >two");
    let call = json!({"calls": [background(&task)]});
    let later = json!({"calls": [bash("echo later >later")]});
    let model = place.script("model.jsonl", &[call, json!({"say": "done"}), later, json!({"say": "seen"})]);
    let mut command = place.haft(&[&["run"], &OPTIONS[..], &["--json", "--model", &model, "go"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let has_ended = || {
        let sessions = fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
        let journals = sessions.map(|session| fs::read_to_string(session.path().join("journal.jsonl")));
        journals.flatten().any(|journal| journal.contains("\"type\":\"turn_ended\""))
    };
    poll(has_ended, || "the end of the turn".into());
    let undone = place.run(&["undo"]);
    assert!(
        undone.code == 0 && undone.out.contains("the conversation is back before your prompt"),
        "{undone:?}"
    );
    place.let_go();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let recorded = ran.recorded();
    let since = recorded.iter().skip_while(|kind| *kind != "rewound");
    assert_eq!(since.collect::<Vec<_>>(), ["rewound", "job_ended", "turn_ended"], "{ran:?}");
    assert!(ended(&ran).contains("nothing that it changed was kept"), "{ran:?}");
    assert_eq!((place.read("two"), place.read("later")), (None, None));
    let redone = place.run(&["redo"]);
    assert_eq!(
        (redone.code, redone.out.as_str()),
        (0, "the conversation is forward again; no files to restore\n"),
        "{redone:?}"
    );
}

#[test]
fn what_others_changed_while_it_ran_is_left_alone_and_named() {
    let place = Place::new();
    for name in ["shared.txt", "folder/kept.txt", "gone.txt"] {
        place.write(name, "old\n");
    }
    let task = format!(
        "{UNTIL_GO}; echo task >shared.txt; rm -r folder gone.txt; echo task >new.txt; echo task >other.txt"
    );
    let edits = ["shared.txt", "folder/kept.txt"].map(
        |path| json!({"name": "edit", "arguments": {"path": path, "old_text": "old", "new_text": "edited"}}),
    );
    let others = "echo call >new.txt";
    let ran = run_and_let_go(&place, &[vec![background(&task)], edits.to_vec(), vec![bash(others)]], 4);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = ended(&ran);
    let left = "[left alone, since another program changed it while the task ran: folder/kept.txt, new.txt, shared.txt]";
    assert!(told.contains("[changed: - gone.txt, + other.txt]") && told.ends_with(left), "{told}");
    let files = ["shared.txt", "folder/kept.txt", "new.txt", "other.txt", "gone.txt"];
    let read = files.map(|name| place.read(name));
    assert_eq!(
        read.each_ref().map(Option::as_deref),
        [Some("edited\n"), Some("edited\n"), Some("call\n"), Some("task\n"), None]
    );
}

#[test]
fn only_a_background_command_that_ends_by_itself_and_is_allowed_changes_anything() {
    let stop = |wait: u64| json!({"name": "job", "arguments": {"id": "1", "stop": true, "wait": wait}});
    let with = |timeout: u64| {
        let mut call = background("echo x >made; echo said; sleep 60");
        call["arguments"]["timeout"] = json!(timeout);
        call
    };
    let table = [
        (
            "accept-edits",
            vec![vec![background("echo x >made; exit 3")]],
            0,
            Some("[exit code: 3]\n[changed: + made]"),
        ),
        ("accept-edits", vec![vec![with(1)]], 0, None),
        ("accept-edits", vec![vec![background("echo x >made; sleep 60")], vec![stop(5)]], 0, None),
        ("ask", vec![vec![background("echo x >made")]], 4, None),
        ("read-only", vec![vec![background("echo x >made")]], 0, None),
    ];
    for (permission, rounds, code, kept) in table {
        let place = Place::new();
        let ran = run(&place, permission, &rounds);
        assert_eq!((ran.code, place.read("made").is_some()), (code, kept.is_some()), "{permission}: {ran:?}");
        match (kept, permission) {
            (Some(kept), _) => assert!(ended(&ran).contains(kept), "{ran:?}"),
            (None, "accept-edits") => {
                assert!(ended(&ran).ends_with("[nothing that it changed was kept]"), "{ran:?}")
            }
            (None, "ask") => assert!(ended(&ran).contains("`write:made` needs approval"), "{ran:?}"),
            (None, _) => assert!(!ran.out.contains("job_ended"), "{ran:?}"),
        }
    }
}

/// The session of the one journal.
fn session(place: &Place) -> String {
    place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_background_command_that_was_killed_with_haft_has_changed_nothing_and_is_told_so() {
    let place = Place::new();
    let calls = [
        background("echo x >made; touch /tmp/begun; sleep 60"),
        bash("touch /tmp/beside; test -e resumed || sleep 60"),
    ];
    let model = place.script("model.jsonl", &[json!({"calls": calls}), json!({"say": "done"})]);
    let mut child =
        place.haft(&[&["run"], &OPTIONS[..], &["--model", &model, "go"]].concat()).spawn().unwrap();
    poll(|| place.has_made("begun") && place.has_made("beside"), || "the beginning of both".into());
    child.kill().unwrap();
    child.wait().unwrap();
    place.write("resumed", "");
    let resumed = place.run(
        &[&["run", "--session", &session(&place)], &OPTIONS[..], &["--json", "--model", &model, "on"]]
            .concat(),
    );
    assert_eq!((resumed.code, place.read("made")), (0, None), "{resumed:?}");
    let journal = fs::read_to_string(place.journal()).unwrap();
    assert!(
        journal.contains("the job ended with the process that ran it; nothing that it changed was kept"),
        "{journal}"
    );
}

#[test]
fn what_was_staged_when_haft_was_killed_is_settled_once() {
    let place = Place::new();
    place.write("old.txt", "old\n");
    let ran = run(&place, "accept-edits", &[vec![background("echo new >old.txt; echo x >made")]]);
    assert_eq!((ran.code, place.read("made").as_deref()), (0, Some("x\n")), "{ran:?}");
    // As it is on disk between the fact and the files.
    let journal = fs::read_to_string(place.journal()).unwrap();
    let staged =
        journal.lines().position(|line| line.contains("\"staged\"") && line.contains("job_1")).unwrap();
    let cut: String = journal.lines().take(staged + 1).map(|line| format!("{line}\n")).collect();
    fs::write(place.journal(), cut).unwrap();
    place.write("old.txt", "old\n");
    fs::remove_file(place.work().join("made")).unwrap();
    let model = format!("script/{}", place.path().join("model.jsonl").display());
    let resumed = place
        .run(&[&["run", "--session", &session(&place)], &OPTIONS[..], &["--model", &model, "on"]].concat());
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert_eq!(
        (place.read("old.txt").as_deref(), place.read("made").as_deref()),
        (Some("new\n"), Some("x\n"))
    );
    let journal = fs::read_to_string(place.journal()).unwrap();
    let ends: Vec<&str> = journal.lines().filter(|line| line.contains("\"job_ended\"")).collect();
    assert!(
        matches!(ends[..], [end] if end.contains("[changed: ~ old.txt, + made]") || end.contains("[changed: + made, ~ old.txt]")),
        "{ends:?}"
    );
}

#[test]
fn a_server_works_in_the_real_workspace_and_is_kept_to_it() {
    let place = Place::new();
    let web = Server::start(vec![]);
    let address = web.address.trim_start_matches("http://").replace(':', "/");
    let task = format!(
        "echo x >made; touch /var/lib/haft-outside || echo kept out; \
         (exec 3<>/dev/tcp/{address}) 2>/dev/null && echo reached || echo alone"
    );
    let call = |needs: &[&str]| {
        let mut call = background(&task);
        call["arguments"]["needs"] = json!(needs);
        vec![call]
    };
    let asked = run(&place, "accept-edits", &[call(&["live"])]);
    assert_eq!((asked.code, place.read("made")), (4, None), "{asked:?}");
    for (needs, reach) in [(vec!["live"], "alone"), (vec!["live", "network"], "reached")] {
        let ran = run(&place, "full", &[call(&needs)]);
        let told = ended(&ran);
        assert!(told.contains("kept out") && told.contains(reach), "{needs:?}: {told}");
        assert!(place.read("made").is_some() && !Path::new("/var/lib/haft-outside").exists(), "{ran:?}");
        let started = ran.events().into_iter().find(|event| event["type"] == "tool_started").unwrap();
        assert_eq!(started["how"], "untracked");
        fs::remove_file(place.work().join("made")).unwrap();
    }
    let denied =
        place.script("model.jsonl", &[json!({"calls": call(&["live", "network"])}), json!({"say": "no"})]);
    let options = ["--sandbox", "require", "--permission", "full", "--network", "off", "--model", &denied];
    let ran = place.run(&[&["run"], &options[..], &["go"]].concat());
    assert_eq!(place.read("made"), None, "{ran:?}");
}

/// A turn with these replies, whose background command waits. The turn has ended when this returns.
struct Waiting {
    child: Child,
    _server: Server,
}

impl Waiting {
    fn start(place: &Place, rounds: Vec<Vec<(&'static str, Value)>>) -> Self {
        place.hold();
        let server = Server::answering(move |number, _| match rounds.get(number) {
            Some(calls) => openai_calls(calls),
            None => openai_text("done"),
        });
        let mut command =
            place.haft(&[&["run"], &OPTIONS[..], &["--json", "--model", "openai/any", "go"]].concat());
        command.env("OPENAI_BASE_URL", format!("{}/v1", server.address)).env("OPENAI_API_KEY", "sk-x");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_over = || {
            let sessions = fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
            let journals = sessions.map(|session| fs::read_to_string(session.path().join("journal.jsonl")));
            journals.flatten().any(|journal| journal.contains("\"turn_ended\""))
        };
        poll(is_over, || "the end of the turn".into());
        Self { child, _server: server }
    }

    /// Lets the background command go on, and returns what was told of its end.
    fn let_go(self, place: &Place) -> String {
        place.let_go();
        let ran = Ran::from(self.child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
        ended(&ran)
    }
}

/// The lines of an undo.
fn lines(undone: &Ran) -> Vec<&str> {
    assert_eq!(undone.code, 0, "{undone:?}");
    undone.out.lines().collect()
}

fn edit() -> (&'static str, Value) {
    ("edit", json!({"path": "edited.txt", "old_text": "old", "new_text": "new"}))
}

fn task(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command, "background": true}))
}

#[test]
fn an_undo_to_before_a_running_task_says_that_nothing_of_it_is_kept_and_none_is() {
    let command = format!("{UNTIL_GO}; cat edited.txt; echo x >made");
    let dropped =
        format!("background task 1 began later, so nothing that it changes is kept: {}…", &command[..60]);
    let before = "the conversation is back before your prompt: go";
    let table = [
        (vec!["undo", "--calls", "1"], vec!["~ edited.txt put back", &dropped]),
        (vec!["undo"], vec!["~ edited.txt put back", before, &dropped]),
    ];
    for (words, expected) in table {
        let place = Place::new();
        place.write("edited.txt", "old\n");
        let waiting = Waiting::start(&place, vec![vec![edit(), task(&command)]]);
        assert_eq!(place.read("edited.txt").as_deref(), Some("new\n"));
        assert_eq!(lines(&place.run(&words)), expected);
        let told = waiting.let_go(&place);
        assert_eq!(told, "old\n[the call that began it was taken back; nothing that it changed was kept]");
        assert_eq!((place.read("edited.txt").as_deref(), place.read("made")), (Some("old\n"), None));
    }
}

#[test]
fn an_undo_of_a_call_after_a_running_task_leaves_the_task_alone() {
    let begin = || task(&format!("{UNTIL_GO}; echo x >made"));
    // In one reply, the start of the task is recorded behind the edit.
    for rounds in [vec![vec![begin()], vec![edit()]], vec![vec![begin(), edit()]]] {
        let place = Place::new();
        place.write("edited.txt", "old\n");
        let waiting = Waiting::start(&place, rounds);
        let undone = place.run(&["undo", "--calls", "1"]);
        assert_eq!(lines(&undone), ["~ edited.txt put back"]);
        assert_eq!(waiting.let_go(&place), "(no output)\n[changed: + made]");
        let files = ["edited.txt", "made"].map(|name| place.read(name));
        assert_eq!(files.each_ref().map(Option::as_deref), [Some("old\n"), Some("x\n")]);
    }
}

#[test]
fn a_conversation_that_is_left_says_which_background_commands_ended() {
    let place = Place::new();
    let serve = call("bash", json!({"command": "sleep 1000", "background": true}));
    let model = place.script("m", &[serve, json!({"say": "It serves."})]);
    for leaves in ["/fork\nexit\n", "exit\n", "/new\n"] {
        let input = format!("serve\n{leaves}");
        let options = ["chat", "--model", &model, "--permission", "full"];
        let ran = place.run_with_input(&options, input.as_bytes());
        let told = ran.out.clone() + &ran.err;
        let ended = told.matches("background task 1 ended with the session: ").count();
        assert_eq!((ran.code, ended), (0, 1), "{leaves}: {ran:?}");
    }
}
