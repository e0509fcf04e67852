//! `haft acp` as an editor starts it: what its person reads where the protocol has no field for it.
use crate::kit::Place;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout, Stdio},
};

/// The two ends of a running `haft acp`.
struct Editor {
    input: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Editor {
    /// Sends a request; returns what comes before its answer, and the answer.
    fn ask(&mut self, id: u64, method: &str, params: Value) -> (Vec<Value>, Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
        let mut told = Vec::new();
        loop {
            let line: Value = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
            if line["id"] == id {
                return (told, line);
            }
            told.push(line);
        }
    }
}

#[test]
fn an_editor_shows_why_a_prompt_was_refused() {
    let place = Place::new();
    place.configure("[[hooks]]\nevent = \"turn_start\"\ncommand = \"echo 'not on a Sunday' >&2; exit 2\"\n");
    let model = place.script("m", &[json!({"say": "Done."})]);
    let mut child =
        place.haft(&["acp", "--model", &model]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut editor = Editor { input: child.stdin.take().unwrap(), lines };
    editor.ask(1, "initialize", json!({"protocolVersion": 1}));
    let (_, made) = editor.ask(2, "session/new", json!({"cwd": place.work(), "mcpServers": []}));
    let options = made["result"]["configOptions"][0]["options"].as_array().unwrap();
    assert!(options.iter().all(|option| option["value"] != ""), "{options:?}");
    let session = &made["result"]["sessionId"];
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    let (told, answer) = editor.ask(3, "session/prompt", prompt);
    assert_eq!(answer["result"]["stopReason"], "refusal", "{answer}");
    let told = json!(told).to_string();
    assert!(told.contains("the prompt was refused: a hook denied it: not on a Sunday"), "{told}");
    drop(editor);
    assert!(child.wait().unwrap().success());
}
