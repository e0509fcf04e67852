//! What a command has said stays where the command is stopped: for the person, for the model, and for programs.

use crate::kit::{
    Place, Ran, Server, openai_call, openai_text,
    terminal::{Terminal, poll},
};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// Says something, and only later that it has.
const HANGS: &str =
    "echo the first word; sleep 0.5; echo the last word >&2; sleep 0.5; touch begun; sleep 60";

/// A model that runs `HANGS` and then says that it has read what came of it; `timeout` in seconds.
fn model(timeout: Option<u64>) -> Server {
    let mut arguments = json!({"command": HANGS});
    if let Some(seconds) = timeout {
        arguments["timeout"] = json!(seconds);
    }
    Server::start(vec![openai_call("bash", &arguments), openai_text("I have read it.")])
}

fn options(server: &Server) -> Vec<String> {
    let base = format!("{}/v1", server.address);
    ["--model", "llamacpp/any", "--permission", "full", "--base-url", &base].map(str::to_owned).to_vec()
}

fn last_messages(server: &Server) -> String {
    server.asked().pop().unwrap_or_default()["messages"].to_string()
}

#[test]
fn a_person_and_the_model_read_what_an_interrupted_command_has_said() {
    let ways: [(&str, &[&str]); 4] =
        [("", &["Escape"]), ("", &["C-c"]), ("chat", &["C-c"]), ("--plain", &["C-c"])];
    for place in [Place::unconfined as fn() -> Place, Place::new] {
        for (how, keys) in ways {
            let (place, server) = (place(), model(None));
            let Some(terminal) = Terminal::open(&place, (100, 40)) else { return };
            terminal.haft(&place, &format!("{how} {}", options(&server).join(" ")));
            terminal.see("/help");
            terminal.say("run it");
            poll(|| place.has_made("begun") || place.read("begun").is_some(), || "the command".into());
            terminal.keys(keys);
            let screen = terminal.see("interrupted");
            for said in ["the first word\n", "the last word\n"] {
                assert!(screen.contains(said), "{how} {keys:?}: {said} in {screen}");
            }
            if how.is_empty() {
                terminal.see("what to do?");
                let head = screen.lines().find(|line| line.contains("✗ bash")).unwrap_or_default();
                assert!(head.trim_end().ends_with("interrupted"), "{screen}");
            }
            terminal.say("what did it say?");
            terminal.see("I have read it.");
            let read = last_messages(&server);
            let expected = "interrupted by the user. Its output so far:\\nthe first word\\nthe last word";
            assert!(read.contains(expected), "{how} {keys:?}: {read}");
        }
    }
}

fn stopped(ran: &Ran) -> Value {
    serde_json::from_str::<Value>(&ran.out).unwrap_or_default()["stopped"].clone()
}

#[test]
fn a_program_reads_what_a_stopped_command_has_said() {
    for place in [Place::unconfined as fn() -> Place, Place::new] {
        for (timeout, code, begin) in [
            (None, 130, "interrupted by the user."),
            (Some(2), 0, "timed out after 2 s; the command was killed."),
        ] {
            let (place, server) = (place(), model(timeout));
            let mut command = place.haft(&["run", "--output", "json", "go"]);
            command.args(options(&server)).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = command.spawn().unwrap();
            if timeout.is_none() {
                poll(|| place.has_made("begun") || place.read("begun").is_some(), || "the command".into());
                let pid = child.id().to_string();
                assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
            }
            let ran = Ran::from(child.wait_with_output().unwrap());
            let expected = json!([{
                "tool": "bash", "arguments": command_of(timeout),
                "error": format!("{begin} Its output so far:\nthe first word\nthe last word"),
            }]);
            assert_eq!((ran.code, stopped(&ran)), (code, expected), "{ran:?}");
            if timeout.is_some() {
                assert!(last_messages(&server).contains("the first word"), "{}", last_messages(&server));
            }
        }
    }
}

fn command_of(timeout: Option<u64>) -> Value {
    match timeout {
        Some(seconds) => json!({"command": HANGS, "timeout": seconds}),
        None => json!({"command": HANGS}),
    }
}

/// Of output without end the newest is kept.
#[test]
fn however_much_was_said_the_end_of_it_is_kept() {
    let place = Place::unconfined();
    let loud = "seq 1 400000; echo the last word; sleep 0.5; touch begun; sleep 60";
    let server = Server::start(vec![openai_call("bash", &json!({"command": loud})), openai_text("Read.")]);
    let mut command = place.haft(&["run", "--output", "json", "go"]);
    command.args(options(&server)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    poll(|| place.read("begun").is_some(), || "the command".into());
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    let said = stopped(&ran)[0]["error"].as_str().unwrap_or_default().to_owned();
    assert!(
        said.contains("earlier bytes were not kept") && said.ends_with("400000\nthe last word"),
        "{ran:?}"
    );
    assert!(said.len() < 120_000, "{} bytes", said.len());
}
