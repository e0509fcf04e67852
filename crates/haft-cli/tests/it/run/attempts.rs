//! `--attempts`: where a turn misses its goal, others begin anew on files of their own, and the first that reaches it is kept.
use crate::kit::{
    Place, Ran, Reply, Server, bash, openai_call, openai_text,
    terminal::{Terminal, poll},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

const CHECK: &str = "grep two a.txt";

/// The number of the attempt that asks: the turn itself is number 1.
fn attempt_of(request: &Value) -> u32 {
    let told = request["messages"].to_string();
    let number = told.split("[Attempt ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(1)
}

/// How often the model has replied in the conversation.
fn replies(request: &Value) -> usize {
    request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant").count()
}

/// Each attempt leaves a file of its own name; the one with the number `right` does what the goal asks for.
fn command(attempt: u32, right: u32) -> String {
    let word = if attempt == right { "two" } else { "three" };
    format!("echo {word} >a.txt; echo {attempt} >left-{attempt}.txt")
}

fn model(right: u32) -> impl Fn(usize, &Value) -> Reply + Send + Sync + 'static {
    move |_, request| match replies(request) {
        0 => openai_call("bash", &json!({"command": command(attempt_of(request), right)})),
        _ => openai_text("Done."),
    }
}

fn haft(place: &Place, server: &Server, words: &[&str]) -> Command {
    let url = format!("{}/v1", server.address);
    let common = ["--base-url", &url, "--model", "openai/gpt-5", "--permission", "full"];
    let mut command = place.haft(&[words, &common].concat());
    command.env("OPENAI_API_KEY", "k").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn try_for_two(place: &Place, server: &Server, options: &[&str]) -> Ran {
    let words = [&["run", "--goal", "a.txt says two", "--proof", CHECK][..], options].concat();
    Ran::from(haft(place, server, &words).output().unwrap())
}

fn place() -> Place {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The names of all files of the workspace, in order.
fn names(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.work()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The session that a person began.
fn session(place: &Place) -> String {
    let mut journals = fs::read_dir(place.path().join("home/sessions")).unwrap().map(|folder| {
        let journal = fs::read_to_string(folder.unwrap().path().join("journal.jsonl")).unwrap();
        serde_json::from_str::<Value>(journal.lines().next().unwrap()).unwrap()
    });
    let opened = journals.find(|opened| opened["delegated_by"].is_null()).unwrap();
    opened["session"].as_str().unwrap().to_owned()
}

// H-50
#[test]
fn a_turn_that_reaches_its_goal_makes_no_other_attempt() {
    let (alone, server) = (Server::answering(model(1)), Server::answering(model(1)));
    let ran = try_for_two(&place(), &alone, &[]);
    let tried = try_for_two(&place(), &server, &["--attempts", "8", "--json"]);
    assert_eq!((ran.code, tried.code), (0, 0), "{tried:?}");
    assert_eq!(server.asked().len(), alone.asked().len());
    assert!(!tried.out.contains("attempts_begun"), "{tried:?}");
}

// H-50
#[test]
fn a_goal_that_is_typed_in_a_conversation_may_ask_for_attempts() {
    let (place, server) = (place(), Server::answering(model(3)));
    let mut chat = haft(&place, &server, &["chat"]).stdin(Stdio::piped()).spawn().unwrap();
    let typed =
        ["/goal \"a.txt says two\" --attempts 40 --proof ", "/goal \"a.txt says two\" --attempts 4 --proof "];
    let lines: String = typed.map(|begin| format!("{begin}{CHECK}\n")).concat();
    chat.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let ran = Ran::from(chat.wait_with_output().unwrap());
    assert!(ran.err.contains("`--attempts` takes a number from 2 to 16, not `40`"), "{ran:?}");
    assert!(ran.err.contains("(attempt 3 reached the goal"), "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("two\n"));
}

// H-50, H-51
#[test]
fn the_first_attempt_that_passes_is_kept_and_nothing_of_the_others() {
    let (place, server) = (place(), Server::answering(model(3)));
    let ran = try_for_two(&place, &server, &["--attempts", "4", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(names(&place), ["a.txt", "left-3.txt"], "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("two\n"));
    let events = ran.events();
    let ended = of_type(&events, "attempt_ended");
    let won: Vec<&&Value> = ended.iter().filter(|end| end["result"] == "won").collect();
    let [won] = won.as_slice() else { panic!("{ran:?}") };
    assert_eq!(won["number"], 3);
    let files = json!([
        {"path": "a.txt", "kind": "modified", "added": 1, "removed": 1},
        {"path": "left-3.txt", "kind": "created", "added": 1, "removed": 0},
    ]);
    assert_eq!(won["files"], files, "{ran:?}");
    assert_eq!(of_type(&events, "goal_reached").len(), 1, "{ran:?}");
    assert!(!place.has_made("left-2.txt") && !place.has_made("left-4.txt"));
    let undone = place.run(&["undo", &session(&place)]);
    assert_eq!((undone.code, names(&place)), (0, vec!["a.txt".to_owned()]), "{undone:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n"));
}

// H-50
#[test]
fn attempts_begin_where_the_turn_began_and_know_what_its_check_said() {
    let (place, server) = (place(), Server::answering(model(2)));
    let ran = try_for_two(&place, &server, &["--attempts", "2"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    let told = asked.iter().find(|request| attempt_of(request) == 2).unwrap()["messages"].to_string();
    let parts = [
        "a.txt says two",
        "[An earlier attempt did not reach the goal] `grep two a.txt` fails (exit code 1)",
        "[Attempt 2 of 2]",
    ];
    for part in parts {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(names(&place), ["a.txt", "left-2.txt"], "what the turn left is gone: {ran:?}");
    let lines = ["attempt 2 begins", "attempt 2 reached the goal (2 files, +2 -1; ", "the goal is reached: "];
    for line in lines {
        assert!(ran.err.contains(line), "{line}: {ran:?}");
    }
}

// H-51
#[test]
fn where_no_attempt_passes_the_turn_stands_and_each_says_why() {
    let (place, server) = (place(), Server::answering(model(0)));
    let ran = try_for_two(&place, &server, &["--attempts", "3"]);
    assert_eq!((ran.code, names(&place)), (5, vec!["a.txt".to_owned(), "left-1.txt".to_owned()]), "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("three\n"));
    for number in [2, 3] {
        let why = format!("attempt {number} did not reach the goal: `grep two a.txt` fails (exit code 1)");
        assert!(ran.err.contains(&why), "{ran:?}");
    }
}

#[test]
fn attempts_are_refused_where_no_proof_or_no_view_tells_them_apart() {
    let script = |place: &Place| place.script("m", &[json!({"say": "Done."})]);
    let proven = ["--goal", "g", "--proof", "true"];
    let table: [(&str, Place, Vec<&str>, &str); 5] = [
        ("no goal", Place::new(), vec!["--attempts", "8", "go"], "`--attempts` needs a proof"),
        ("no proof", Place::new(), vec!["--attempts", "8", "--goal", "g"], "--goal \"g\" --proof"),
        ("one", Place::new(), [&["--attempts", "1"][..], &proven].concat(), "2..=16"),
        ("too many", Place::new(), [&["--attempts", "17"][..], &proven].concat(), "2..=16"),
        (
            "no views",
            Place::unconfined(),
            [&["--attempts", "2"][..], &proven].concat(),
            "`--attempts` cannot be used: each attempt needs a view of its own",
        ),
    ];
    for (what, place, words, why) in table {
        let ran = place.run(&[&["run", "--model", &script(&place)][..], &words].concat());
        assert_eq!(ran.code, 2, "{what}: {ran:?}");
        assert!(ran.err.contains(why), "{what}: {ran:?}");
    }
}

// H-51
#[test]
fn the_budget_is_one_over_all_attempts() {
    let place = place();
    let usage = json!({"input": 6_000, "output": 100});
    let with_usage = |mut line: Value| {
        line["usage"] = usage.clone();
        line
    };
    let lines = [vec![bash("echo three >a.txt")], vec![json!({"say": "Done."}); 40]].concat();
    let lines: Vec<Value> = lines.into_iter().map(with_usage).collect();
    let model = place.script("m", &lines);
    let ran = place.run(&[
        "run",
        "--model",
        &model,
        "--permission",
        "full",
        "--goal",
        "a.txt says two",
        "--proof",
        CHECK,
        "--attempts",
        "3",
        "--max-tokens",
        "60000",
        "--json",
    ]);
    assert_eq!(ran.code, 5, "{ran:?}");
    let events = ran.events();
    let ended = of_type(&events, "attempt_ended");
    assert_eq!(ended.len(), 2, "{ran:?}");
    for end in ended {
        assert!(end["why"].as_str().unwrap().contains("budget"), "{end}");
    }
    let usage = &events.last().unwrap()["usage"];
    let spent = usage["input"].as_u64().unwrap() + usage["output"].as_u64().unwrap();
    assert!((40_000..=60_000).contains(&spent), "{usage}");
}

// H-52
#[test]
fn an_attempt_sees_ignored_folders_and_changes_nothing_there() {
    let place = place();
    place.write(".gitignore", "target/\n");
    place.write("target/known", "known\n");
    let fill =
        "grep -q known target/known && for n in $(seq 600); do echo $n >target/$n; done; echo two >a.txt";
    let server = Server::answering(move |_, request| match (attempt_of(request), replies(request)) {
        (2, 0) => openai_call("bash", &json!({"command": fill})),
        _ => openai_text("Done."),
    });
    let ran = try_for_two(&place, &server, &["--attempts", "2"]);
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("two\n")), "{ran:?}");
    let left = fs::read_dir(place.work().join("target")).unwrap().count();
    assert_eq!((left, place.read("target/known").as_deref()), (1, Some("known\n")));
}

// H-52
#[test]
fn an_attempt_cannot_write_outside_its_view() {
    let place = place();
    let outside = place.path().join("outside.txt");
    let (written, named) = (outside.clone(), outside.display().to_string());
    let server = Server::answering(move |_, request| match (attempt_of(request), replies(request)) {
        (2, 0) => openai_call("write", &json!({"path": named, "content": "x"})),
        (2, 1) => openai_call("bash", &json!({"command": format!("echo x >{named}; echo two >a.txt")})),
        _ => openai_text("Done."),
    });
    let ran = try_for_two(&place, &server, &["--attempts", "2"]);
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("two\n")), "{ran:?}");
    assert!(!written.exists());
    let told = server.asked().last().unwrap().to_string();
    assert!(told.contains("it would write outside the workspace"), "{told}");
}

// H-52
#[test]
fn tools_that_search_see_the_files_of_their_attempt() {
    let place = place();
    let server = Server::answering(move |_, request| {
        let call = |name: &str, arguments: Value| openai_call(name, &arguments);
        match (attempt_of(request), replies(request)) {
            (1, 0) => call("bash", json!({"command": "echo needle >of-the-turn.txt; rm a.txt"})),
            (2, 0) => call("write", json!({"path": "src/own.txt", "content": "needle\n"})),
            (2, 1) => call("grep", json!({"pattern": "needle"})),
            (2, 2) => call("list", json!({"depth": 2})),
            (2, 3) => call("read", json!({"path": "src/own.txt"})),
            (2, 4) => call("edit", json!({"path": "src/own.txt", "old": "needle", "new": "thread"})),
            (2, 5) => call("bash", json!({"command": "cat src/own.txt; echo two >a.txt"})),
            _ => openai_text("Done."),
        }
    });
    let ran = try_for_two(&place, &server, &["--attempts", "2"]);
    assert_eq!((ran.code, names(&place)), (0, vec!["a.txt".to_owned(), "src".to_owned()]), "{ran:?}");
    assert_eq!(place.read("src/own.txt").as_deref(), Some("thread\n"));
    let asked = server.asked();
    let last = asked.iter().rfind(|request| attempt_of(request) == 2).unwrap();
    let results: Vec<&str> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(results[1].contains("src/own.txt") && !results[1].contains("of-the-turn"), "{results:?}");
    let listed = results[2];
    assert!(["src/", "own.txt", "a.txt"].iter().all(|name| listed.contains(name)), "{results:?}");
    assert!(!listed.contains("of-the-turn"), "{results:?}");
    assert!(results[5].contains("thread"), "{results:?}");
}

// H-51
#[test]
fn a_file_that_a_person_changed_meanwhile_is_left_alone() {
    let place = place();
    let theirs = place.work().join("a.txt");
    let server = Server::answering(move |_, request| match (attempt_of(request), replies(request)) {
        (2, 0) => openai_call("bash", &json!({"command": command(2, 2)})),
        (2, 1) => {
            fs::write(&theirs, "a person's\n").unwrap();
            openai_text("Done.")
        }
        _ => openai_text("Done."),
    });
    let ran = try_for_two(&place, &server, &["--attempts", "2"]);
    assert_eq!((ran.code, names(&place)), (5, vec!["a.txt".to_owned()]), "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("a person's\n"));
}

/// Runs until attempt 2 asks its model, which answers too late.
fn until_an_attempt_runs(place: &Place) -> (Child, Server) {
    let is_asked = Arc::new(AtomicBool::new(false));
    let (asked, inner) = (is_asked.clone(), model(0));
    let server = Server::answering(move |number, request| {
        if attempt_of(request) == 2 {
            asked.store(true, SeqCst);
            thread::sleep(Duration::from_millis(1_500));
        }
        inner(number, request)
    });
    let words = ["run", "--attempts", "2", "--goal", "a.txt says two", "--proof", CHECK];
    let child = haft(place, &server, &words).spawn().unwrap();
    poll(|| is_asked.load(SeqCst), || "the model is asked".to_owned());
    (child, server)
}

// H-51
#[test]
fn an_interrupt_ends_all_attempts_and_leaves_what_the_turn_did() {
    let place = place();
    let (child, _server) = until_an_attempt_runs(&place);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 130, "{ran:?}");
    assert_eq!(names(&place), ["a.txt", "left-1.txt"], "{ran:?}");
}

// H-53
#[test]
fn attempts_that_were_killed_begin_anew_when_the_session_goes_on() {
    let place = place();
    let (mut child, _server) = until_an_attempt_runs(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(&place), ["a.txt", "left-1.txt"]);
    let server = Server::answering(model(2));
    let ran = Ran::from(haft(&place, &server, &["resume", "--last"]).output().unwrap());
    assert_eq!((ran.code, names(&place)), (0, vec!["a.txt".to_owned(), "left-2.txt".to_owned()]), "{ran:?}");
    assert!(server.asked().iter().all(|request| attempt_of(request) == 2));
}

// H-53
#[test]
fn a_winner_that_was_killed_while_it_was_settled_is_settled_once() {
    let place = place();
    let many = "for n in $(seq 400); do echo $n >>many-$n.txt; done; echo two >a.txt";
    let server = Server::answering(move |_, request| match (attempt_of(request), replies(request)) {
        (2, 0) => openai_call("bash", &json!({"command": many})),
        _ => openai_text("Done."),
    });
    let words = ["run", "--attempts", "2", "--goal", "a.txt says two", "--proof", CHECK, "--json"];
    let mut child = haft(&place, &server, &words).stdout(Stdio::null()).spawn().unwrap();
    let is_staged = || {
        let folders = fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
        let mut journals =
            folders.filter_map(|folder| fs::read_to_string(folder.path().join("journal.jsonl")).ok());
        journals.any(|journal| {
            journal
                .lines()
                .any(|line| line.contains("\"call\":\"attempts_") && line.contains("\"type\":\"staged\""))
        })
    };
    poll(is_staged, || "the winner is staged".to_owned());
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = Ran::from(haft(&place, &server, &["resume", "--last"]).output().unwrap());
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("two\n")), "{ran:?}");
    for number in 1..=400 {
        assert_eq!(place.read(&format!("many-{number}.txt")), Some(format!("{number}\n")));
    }
    let undone = place.run(&["undo", &session(&place)]);
    assert_eq!((undone.code, names(&place)), (0, vec!["a.txt".to_owned()]), "{undone:?}");
}

/// All attempts that `right` names do what the goal asks for.
fn several(right: &'static [u32]) -> impl Fn(usize, &Value) -> Reply + Send + Sync + 'static {
    move |number, request| {
        let attempt = attempt_of(request);
        let right = if right.contains(&attempt) { attempt } else { 0 };
        model(right)(number, request)
    }
}

// H-83
#[test]
fn a_person_chooses_among_the_attempts_that_pass() {
    for (answer, names_after, said) in [
        ("4", vec!["a.txt", "left-4.txt"], "the goal is reached"),
        ("2", vec!["a.txt", "left-2.txt"], "the goal is reached"),
        ("attempt 2", vec!["a.txt", "left-2.txt"], "the goal is reached"),
        ("3", vec!["a.txt", "left-1.txt"], "chose none of the attempts"),
        ("1", vec!["a.txt", "left-1.txt"], "chose none of the attempts"),
    ] {
        let (place, server) = (place(), Server::answering(several(&[2, 4])));
        let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
        terminal.say("export OPENAI_API_KEY=k");
        let url = format!("{}/v1", server.address);
        terminal.haft(&place, &format!("--plain --base-url {url} --model openai/gpt-5 --permission full"));
        terminal.see("`exit` to leave.");
        terminal.say(&format!("/goal \"a.txt says two\" --attempts 4 --choose --proof {CHECK}"));
        terminal.see("2 attempts reached the goal. Which one is taken?");
        terminal.say(answer);
        terminal.see(said);
        terminal.say("exit");
        poll(|| names(&place) == names_after, || format!("{answer}: {:?}", names(&place)));
    }
}

// H-83
#[test]
fn attempts_that_run_are_listed_with_their_numbers() {
    let place = place();
    let server = Server::answering(|number, request| match (attempt_of(request), replies(request)) {
        (2.., 0) => openai_call("bash", &json!({"command": "sleep 100"})),
        _ => model(9)(number, request),
    });
    let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
    terminal.say("export OPENAI_API_KEY=k");
    let url = format!("{}/v1", server.address);
    terminal.haft(&place, &format!("--base-url {url} --model openai/gpt-5 --permission full"));
    terminal.see("openai/gpt-5 · full");
    terminal.say(&format!("/goal \"a.txt says two\" --attempts 3 --proof {CHECK}"));
    terminal.see("attempts 2 to 3 begin");
    poll(|| server.asked().iter().any(|request| attempt_of(request) > 1), || "an attempt's request".into());
    terminal.keys(&["C-t"]);
    // The list follows: the other attempt may begin later.
    terminal.see("attempt 2 of 3: ");
    terminal.see("attempt 3 of 3: ");
}

// H-83
#[test]
fn without_a_person_the_attempt_with_the_lowest_number_is_taken() {
    let (place, server) = (place(), Server::answering(several(&[2, 3, 4])));
    let ran = try_for_two(&place, &server, &["--attempts", "4", "--choose", "--json"]);
    assert_eq!((ran.code, names(&place)), (0, vec!["a.txt".to_owned(), "left-2.txt".to_owned()]), "{ran:?}");
    let events = ran.events();
    let ended = of_type(&events, "attempt_ended");
    assert_eq!(ended.iter().filter(|end| end["result"] == "passed").count(), 3, "{ran:?}");
    let listed = compared(&place, &["list"]);
    assert_eq!(listed.len(), 4, "{listed:?}");
    let line = &place.run(&["blame", "a.txt", "--json"]).events()[0];
    assert_eq!(line["attempt"]["number"], 2, "{line}");
}

// H-84
#[test]
fn a_session_with_attempts_is_replayed() {
    for options in [&["--attempts", "4"][..], &["--attempts", "4", "--choose"]] {
        let (place, server) = (place(), Server::answering(model(3)));
        let ran = try_for_two(&place, &server, options);
        assert_eq!(
            (ran.code, names(&place)),
            (0, vec!["a.txt".to_owned(), "left-3.txt".to_owned()]),
            "{ran:?}"
        );
        let id = session(&place);
        place.write("a.txt", "one\n");
        fs::remove_file(place.work().join("left-3.txt")).unwrap();
        let replayed = place.run(&["sessions", "replay", &id]);
        assert_eq!(replayed.code, 0, "{replayed:?}");
        assert!(replayed.out.contains("3 calls"), "{replayed:?}");
        let verified = place.run(&["verify", &id]);
        assert_eq!(verified.code, 0, "{verified:?}");
        // A bundle brings the session of the attempt that was taken.
        let bundle = place.path().join("session.zip").display().to_string();
        let made = place.run(&["bundle", &id, "--out", &bundle]);
        assert_eq!(made.code, 0, "{made:?}");
        let verified = place.run(&["verify", &bundle]);
        assert_eq!(verified.code, 0, "{verified:?}");
        let bytes = fs::read(&bundle).unwrap();
        let found = bytes.windows(b"left-3.txt".len()).rposition(|part| part == b"left-3.txt").unwrap();
        let forged = [&bytes[..found], b"left-4.txt", &bytes[found + 10..]].concat();
        fs::write(&bundle, forged).unwrap();
        let refused = place.run(&["verify", &bundle]);
        assert_eq!(refused.code, 5, "{refused:?}");
    }
}

// H-84
#[test]
fn where_no_attempt_passed_the_turn_alone_is_replayed() {
    let (place, server) = (place(), Server::answering(model(0)));
    let ran = try_for_two(&place, &server, &["--attempts", "3"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    place.write("a.txt", "one\n");
    fs::remove_file(place.work().join("left-1.txt")).unwrap();
    let replayed = place.run(&["sessions", "replay", &session(&place)]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
}

/// The lines of JSON that `haft attempts` prints.
fn compared(place: &Place, words: &[&str]) -> Vec<Value> {
    let ran = place.run(&[&["attempts"][..], words, &["--json"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()
}

/// The files of a diff, with how many lines were added and removed.
fn differing(place: &Place, words: &[&str]) -> Vec<(String, u64, u64)> {
    let file = |line: &Value| {
        let count = |name: &str| line[name].as_u64().unwrap();
        (line["path"].as_str().unwrap().to_owned(), count("added"), count("removed"))
    };
    compared(place, &[&["diff"], words].concat()).iter().map(file).collect()
}

// H-81
#[test]
fn attempts_are_compared_with_each_other_and_with_the_workspace() {
    let (place, server) = (place(), Server::answering(model(3)));
    let ran = try_for_two(&place, &server, &["--attempts", "3"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let listed = compared(&place, &["list"]);
    let rows: Vec<_> = listed.iter().map(|row| (row["number"].as_u64(), row["files"].clone())).collect();
    let [(Some(1), turn), .., (Some(3), winner)] = rows.as_slice() else { panic!("{rows:?}") };
    let file = |path: &str, kind: &str, added: u64, removed: u64| json!({"path": path, "kind": kind, "added": added, "removed": removed});
    assert_eq!(*turn, json!([file("a.txt", "modified", 1, 1), file("left-1.txt", "created", 1, 0)]));
    assert_eq!(*winner, json!([file("a.txt", "modified", 1, 1), file("left-3.txt", "created", 1, 0)]));
    assert_eq!((&listed[0]["result"], &listed[0]["session"]), (&json!("missed"), &json!(session(&place))));

    let row = |path: &str, added, removed| (path.to_owned(), added, removed);
    let rows = [row("a.txt", 1, 1), row("left-1.txt", 0, 1), row("left-3.txt", 1, 0)];
    assert_eq!(differing(&place, &["3", "1"]), rows);
    assert_eq!(differing(&place, &["3"]), [], "the winner is what lies there");
    place.write("a.txt", "two\nby hand\n");
    assert_eq!(differing(&place, &["3"]), [row("a.txt", 0, 1)]);
    let id = session(&place);
    let text = place.run(&["attempts", "diff", "1", "--session", &id]);
    let parts = ["--- a/a.txt\n+++ b/a.txt\n", "-two\n-by hand\n+three\n", "+++ b/left-1.txt\n"];
    for part in parts {
        assert!(text.out.contains(part), "{part}: {text:?}");
    }
    assert_eq!(place.read("a.txt").as_deref(), Some("two\nby hand\n"));
}

// H-81
#[test]
fn what_cannot_be_compared_is_named() {
    let place = place();
    let ran = place.run(&["attempts", "list"]);
    assert!(ran.code == 2 && ran.err.contains("there is no session"), "{ran:?}");
    let reached = try_for_two(&place, &Server::answering(model(1)), &["--attempts", "2"]);
    assert_eq!(reached.code, 0, "{reached:?}");
    let ran = place.run(&["attempts", "diff", "2"]);
    assert!(ran.code == 2 && ran.err.contains("made no further attempts at a goal"), "{ran:?}");
    place.write("a.txt", "one\n");
    let missed = try_for_two(&place, &Server::answering(model(0)), &["--attempts", "2"]);
    assert_eq!(missed.code, 5, "{missed:?}");
    let ran = place.run(&["attempts", "diff", "2", "7"]);
    assert!(ran.code == 2 && ran.err.contains("has no attempt 7 that ended"), "{ran:?}");
    let listed = place.run(&["attempts", "list"]);
    assert!(listed.out.contains("`grep two a.txt` fails (exit code 1)"), "{listed:?}");
}

// H-82
#[test]
fn blame_names_the_attempt_that_won() {
    let (place, server) = (place(), Server::answering(model(2)));
    let ran = try_for_two(&place, &server, &["--attempts", "2"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = &place.run(&["blame", "a.txt", "--json"]).events()[0];
    let made_in = &compared(&place, &["list"])[1]["session"];
    assert_eq!(line["attempt"], json!({"number": 2, "session": made_in}), "{line}");
    assert_eq!(line["prompt"], "a.txt says two", "{line}");
    let told = place.run(&["blame", "a.txt:1"]);
    assert!(told.out.contains(" attempt 2 "), "{told:?}");
    assert!(
        told.out.contains(&format!("attempt   2 (in the session {})", made_in.as_str().unwrap())),
        "{told:?}"
    );
}
