//! Profile `picoclaw`, as the Go tools package's document describes it, through the binary.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

fn calls(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

fn run(place: &Place, model: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["run", "--profile", "picoclaw", "--permission", "full", "--model", model];
    arguments.extend(more);
    arguments.push("go");
    place.run(&arguments)
}

fn call(place: &Place, name: &str, arguments: Value) -> (i32, Vec<Value>) {
    let ran = place.run(&[
        "tools",
        "call",
        name,
        &arguments.to_string(),
        "--profile",
        "picoclaw",
        "--permission",
        "full",
    ]);
    let is_started = ran.out.contains("Started as job 1.");
    assert_eq!(ran.err.contains("(ended background task 1: "), is_started, "{ran:?}");
    (ran.code, ran.events())
}

// T-09 to T-14, T-16, T-18, T-19, T-20: the JSON of `ToolResult`, key by key
#[test]
fn a_result_is_split_by_who_reads_it() {
    let place = Place::new();
    place.write("a.txt", "Hello\n");
    let of = |for_llm: &str| json!({"for_llm": for_llm, "silent": false, "is_error": false, "async": false});
    let mut error = of("cannot read `nope`: no such file\nhint: the folder holds a.txt");
    error["is_error"] = json!(true);
    let mut message = of("Sent.");
    message["for_user"] = json!("Half done.");
    let table = [
        ("read_file", json!({"path": "a.txt"}), 0, of("Hello\n")),
        ("read_file", json!({"path": "nope"}), 1, error),
        ("message", json!({"text": "Half done."}), 0, message),
        ("write_file", json!({"path": "b.txt", "content": "Hello\n"}), 0, of("Wrote 6 bytes to `b.txt`.")),
    ];
    for (name, arguments, code, expected) in table {
        assert_eq!(call(&place, name, arguments), (code, vec![expected]), "{name}");
    }
    let slow = json!({"command": "sleep 60", "background": true});
    let (code, mut told) = call(&place, "exec", slow);
    let text = told[0]["for_llm"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Started as job 1. Its end will be reported."), "{text}");
    let mut started = of(&text);
    started["async"] = json!(true);
    assert_eq!((code, told.remove(0)), (0, started));
}

// T-05, T-06: the loop goes on at once, and a follow-up message tells of the end
#[test]
fn the_end_of_work_in_the_background_is_waited_for_and_reported() {
    let place = Place::new();
    let slow = json!({"command": "sleep 0.5; echo built > built.txt; echo it is built", "background": true});
    let model = place.script(
        "m",
        &[
            calls("exec", slow),
            json!({"say": "Started.", "expect": "Started as job 1."}),
            json!({"say": "Done: it is built.", "expect": "Job 1 has ended.\nit is built"}),
        ],
    );
    let ran = run(&place, &model, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Started.\nDone: it is built.\n"), "{ran:?}");
    assert!(ran.err.contains("(waiting for background task 1: "), "{ran:?}");
    assert_eq!(place.read("built.txt").as_deref(), Some("built\n"));
    // One object, one turn after the other.
    let ran = run(&place, &model, &["--output", "json"]);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&object["outcome"], &object["text"], &object["rounds"]),
        (&json!("finished"), &json!("Done: it is built."), &json!(3))
    );
}

// T-06: what the limits of the turn leave no time for is ended, and said to be
#[test]
fn work_in_the_background_that_outlasts_the_turn_is_said_to_be_ended() {
    let place = Place::new();
    let server = json!({"command": "sleep 300", "background": true});
    let model = place.script("m", &[calls("exec", server), json!({"say": "It serves."})]);
    let ran = run(&place, &model, &["--max-time", "2"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It serves.\n"), "{ran:?}");
    assert!(
        ran.err.contains("(waiting for background task 1: ")
            && ran.err.ends_with("(ended background task 1: sleep 300)\n"),
        "{ran:?}"
    );
}

// T-15, T-29: start, name, how long; what starts in the background; what failed, and why
#[test]
fn the_log_tells_of_every_call() {
    let place = Place::new();
    place.write("a.txt", "Hello\n");
    let model = place.script(
        "m",
        &[
            json!({"calls": [
                {"id": "call_1", "name": "read_file", "arguments": {"path": "a.txt"}},
                {"id": "call_2", "name": "exec", "arguments": {"command": "true", "background": true}},
                {"id": "call_3", "name": "read_file", "arguments": {"path": "/proc/self/mem"}},
                {"id": "call_4", "name": "no_such", "arguments": {}},
            ]}),
            json!({"say": "done"}),
            json!({"say": "done"}),
        ],
    );
    let log = run(&place, &model, &["-vv"]).err;
    let line = |words: &[&str]| log.lines().any(|line| words.iter().all(|word| line.contains(word)));
    for words in [
        ["DEBUG", "the call starts", "call.id=call_1", "tool=\"read_file\"", ""],
        ["DEBUG", "the call went well", "call.id=call_1", "tool=\"read_file\"", "duration_ms="],
        ["DEBUG", "the call goes on in the background", "call.id=call_2", "job=1", "duration_ms="],
        ["DEBUG", "the job ended", "job=1", "failed=None", "duration_ms="],
        ["WARN", "the call failed", "call.id=call_3", "tool=\"read_file\"", "source: "],
        ["WARN", "the call failed", "call.id=call_4", "tool=\"no_such\"", "there is no tool"],
        ["DEBUG", "the call ended with an error", "call.id=call_4", "", "duration_ms="],
    ] {
        assert!(line(&words), "{words:?}: {log}");
    }
}

// T-06, T-58: a program that does not want to wait says so
#[test]
fn an_interrupt_ends_the_waiting_and_the_work() {
    let place = Place::new();
    let slow = json!({"command": "sleep 300", "background": true});
    let model = place.script("m", &[calls("exec", slow), json!({"say": "Started."})]);
    let words = ["run", "--profile", "picoclaw", "--permission", "full", "--model", &model, "go"];
    let mut haft = place.haft(&words);
    let mut child = haft.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut told = BufReader::new(child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    assert!(told.any(|line| line.starts_with("(waiting for background task 1: ")));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.is_ok_and(|status| status.success()));
    assert_eq!(told.last().as_deref(), Some("(ended background task 1: sleep 300)"));
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
