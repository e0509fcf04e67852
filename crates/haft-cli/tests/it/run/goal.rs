//! `--goal` and `/goal`: the turn goes on until a check that failed succeeds after the last change, or says why it does not.
use crate::kit::{Place, Ran, Server, bash, openai_call, openai_text, terminal::poll};
use serde_json::{Value, json};
use std::{
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

const CHECK: &str = "grep two a.txt";

fn say(text: &str) -> Value {
    json!({"say": text})
}

fn write(content: &str) -> Value {
    bash(&format!("echo {content} >a.txt"))
}

fn run(place: &Place, lines: &[Value], options: &[&str]) -> Ran {
    let model = place.script("m", lines);
    let words = ["run", "--permission", "full", "--model", &model, "--goal", "a.txt says two"];
    place.run(&[&words[..], options].concat())
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

// H-07
#[test]
fn a_goal_is_reached_by_a_check_that_failed_and_succeeds_after_the_last_change() {
    let claims = say("It says two.");
    let table: [(&str, &str, Vec<Value>, usize); 4] = [
        ("at the first attempt", "one\n", vec![write("two"), say("Done.")], 1),
        ("claimed first", "one\n", vec![claims.clone(), claims, write("two"), say("Done.")], 3),
        ("wrong first", "one\n", vec![write("three"), say("Done."), write("two"), say("Done.")], 2),
        ("red by the model", "two\n", vec![write("one"), bash(CHECK), write("two"), say("Done.")], 1),
    ];
    for (what, before, lines, missed) in table {
        let place = Place::new();
        place.write("a.txt", before);
        let ran = run(&place, &lines, &["--proof", CHECK, "--json"]);
        let events = ran.events();
        assert_eq!(ran.code, 0, "{what}: {ran:?}");
        assert_eq!(of_type(&events, "goal_missed").len(), missed, "{what}: {ran:?}");
        let reached = of_type(&events, "goal_reached");
        let [reached] = reached.as_slice() else { panic!("{what}: {ran:?}") };
        let ended = |seq: &Value| events.iter().find(|event| event["seq"] == *seq).unwrap();
        let code = |seq: &Value| ended(seq)["details"]["exit_code"].clone();
        assert_eq!((code(&reached["red"]), code(&reached["green"])), (json!(1), json!(0)), "{what}");
        assert_eq!(events.last().unwrap()["outcome"], "finished", "{what}");
    }
}

#[test]
fn what_is_missing_is_told_to_the_model_and_the_end_to_the_person() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let lines = [
        json!({"say": "It is done.", "expect": "Before your work, `grep two a.txt` fails (exit code 1)."}),
        json!({"calls": [{"name": "bash", "arguments": {"command": "echo two >a.txt"}}],
            "expect": "[Goal] Not reached: `grep two a.txt` fails (exit code 1). Do what is missing."}),
        say("Done."),
    ];
    let ran = run(&place, &lines, &["--proof", CHECK]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let expected = [
        "(goal: a.txt says two; check: `grep two a.txt`)",
        "(the goal is not reached: `grep two a.txt` fails (exit code 1))",
        "(the goal is reached: `grep two a.txt` failed at entry ",
        ", after the last change)",
    ];
    for text in expected {
        assert!(ran.err.contains(text), "{text}: {ran:?}");
    }
}

/// What it is, the script, the options, the exit code, and what is said.
type Failing<'a> = (&'a str, Vec<Value>, &'a [&'a str], i32, &'a str);

// H-08
#[test]
fn a_goal_that_is_not_reached_says_why() {
    let claims = vec![say("It says two."); 6];
    let busy: Vec<Value> = (0..6).flat_map(|n| [write(&n.to_string()), say("Done.")]).collect();
    let table: [Failing<'_>; 6] = [
        ("claims", claims.clone(), &["--proof", CHECK], 5, "`grep two a.txt` fails (exit code 1)"),
        ("rounds", busy, &["--proof", CHECK, "--max-rounds", "4"], 3, "4 rounds are used up"),
        (
            "never red",
            claims.clone(),
            &["--proof", "grep one a.txt"],
            5,
            "has not failed since the goal was set",
        ),
        ("no tests", claims.clone(), &[], 5, "`test` could not be run: "),
        (
            "a flaky check",
            claims.clone(),
            &["--proof", "test -f seen || { touch seen; false; }"],
            5,
            "nothing was changed",
        ),
        // Its own report is no work, however often it runs.
        (
            "a check that writes a report",
            claims,
            &["--proof", "echo x >>report; test $(wc -l <report) -ge 2"],
            5,
            "nothing was changed",
        ),
    ];
    for (what, lines, options, code, why) in table {
        let place = Place::new();
        place.write("a.txt", "one\n");
        let ran = run(&place, &lines, options);
        assert_eq!(ran.code, code, "{what}: {ran:?}");
        assert!(ran.err.contains(why), "{what}: {ran:?}");
        let reason = "the goal is not reached, and going on is of no use";
        assert_eq!(ran.err.contains(reason), code == 5, "{what}: {ran:?}");
    }
}

#[test]
fn without_proof_the_check_is_the_configured_one_and_runs_unasked() {
    let place = Place::unconfined();
    place.configure("check = \"touch ran; false\"\n");
    let model = place.script("m", &vec![say("It is done."); 6]);
    let ran = place.run(&["run", "--permission", "ask", "--model", &model, "--goal", "it is done"]);
    assert_eq!((ran.code, place.read("ran").is_some()), (5, true), "{ran:?}");
}

#[test]
fn a_goal_holds_until_it_is_reached_or_given_up() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let lines = [say("No."), say("No."), say("No."), say("Hello."), write("two"), say("Done."), say("Bye.")];
    let model = place.script("m", &lines);
    let input = format!(
        "/goal\n/goal \"a.txt says two\" --proof {CHECK}\n/goal\nwhat now?\n/goal\nbye\n/goal clear\nEXIT\n"
    );
    let ran = place.run_with_input(&["chat", "--model", &model, "--permission", "full"], input.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    let expected = [
        "no goal is set; ",
        "going on is of no use: `grep two a.txt` fails (exit code 1)",
        "goal: a.txt says two; check: `grep two a.txt`, run 4 times; `/goal clear` gives it up",
        "the goal is reached: `grep two a.txt` failed",
        "no goal is set; ",
        "no goal is set; ",
    ];
    is_told_in_order(&ran, &expected);
    let model = place.script("m", &lines[..3]);
    let input =
        "/goal \"a.txt says three\" --proof grep three a.txt\n/goal clear\n/goal clear\nEXIT\n".to_owned();
    let ran = place.run_with_input(&["chat", "--model", &model, "--permission", "full"], input.as_bytes());
    is_told_in_order(&ran, &["going on is of no use", "(the goal is given up)", "no goal is set; "]);
}

fn is_told_in_order(ran: &Ran, expected: &[&str]) {
    let mut rest = ran.err.as_str();
    for text in expected {
        let place = rest.find(text).unwrap_or_else(|| panic!("{text}: {ran:?}"));
        rest = &rest[place + text.len()..];
    }
}

// H-09
#[test]
fn a_session_that_was_killed_goes_on_with_its_goal() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let asked = Arc::new(AtomicBool::new(false));
    let is_asked = asked.clone();
    let server = Server::answering(move |number, _| match number {
        0 => {
            asked.store(true, SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(300));
            openai_text("too late")
        }
        1 => openai_text("Nothing to do."),
        2 => openai_call("bash", &json!({"command": "echo two >a.txt"})),
        _ => openai_text("Done."),
    });
    let url = format!("{}/v1", server.address);
    let common = ["--base-url", &url, "--model", "openai/gpt-5", "--permission", "full"];
    let first = [&["run", "--goal", "a.txt says two", "--proof", CHECK][..], &common].concat();
    let mut command = place.haft(&first);
    command.env("OPENAI_API_KEY", "k").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    poll(|| is_asked.load(SeqCst), || "the model is asked".to_owned());
    child.kill().unwrap();
    child.wait().unwrap();
    let mut command = place.haft(&[&["resume", "--last"][..], &common].concat());
    let ran = Ran::from(command.env("OPENAI_API_KEY", "k").output().unwrap());
    assert_eq!((ran.code, place.read("a.txt").as_deref()), (0, Some("two\n")), "{ran:?}");
    assert!(ran.err.contains("the goal is reached: "), "{ran:?}");
    let told = server.asked().last().unwrap().to_string();
    assert_eq!(told.matches("[Goal] Not reached").count(), 1, "{told}");
}

// H-09
#[test]
fn a_goal_is_replayed_and_undone_with_its_turn() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let ran = run(&place, &[say("Done."), write("two"), say("Done.")], &["--proof", CHECK]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let replayed = place.run(&["sessions", "replay", &id]);
    assert_eq!(replayed.code, 0, "{replayed:?}");
    let undone = place.run(&["undo", &id]);
    assert_eq!((undone.code, place.read("a.txt").as_deref()), (0, Some("one\n")), "{undone:?}");
}
