//! What a turn may cost, and what it did cost. The real binary, a scripted model.
use crate::kit::Place;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

fn costly() -> Value {
    json!({
        "calls": [{"name": "bash", "arguments": {"command": "echo one"}}],
        "usage": {"input": 20_000, "output": 1_000, "cache_read": 10_000},
    })
}

#[test]
fn a_limit_ends_the_turn_with_an_exit_code_of_its_own() {
    let place = Place::new();
    let model = place.script("m", &[costly(), json!({"say": "Two."})]);
    let ran = place.run(&[
        "run",
        "--model",
        &model,
        "--permission",
        "full",
        "--max-tokens",
        "32000",
        "--output",
        "json",
        "go",
    ]);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (ran.code, &object["outcome"], &object["cost_usd"]),
        (3, &json!("budget"), &Value::Null),
        "{ran:?}"
    );
    let words = place.run(&["run", "--model", &model, "--permission", "full", "--max-tokens", "32000", "go"]);
    assert!(words.err.contains("the budget of 32000 tokens is used up"), "{words:?}");
    // The same from the environment and from the project's own file, which can only narrow.
    place.write(".haft/config.toml", "max_tokens = 32000");
    let narrowed =
        place.run(&["run", "--model", &model, "--permission", "full", "--max-tokens", "900000", "go"]);
    assert_eq!(narrowed.code, 3, "{narrowed:?}");
}

// No limit at all would be the opposite of what 0 says.
#[test]
fn nothing_is_no_limit() {
    let place = Place::new();
    let model = place.script("m", &[json!({"say": "One."})]);
    for option in ["--max-tokens", "--max-cost", "--max-time"] {
        let ran = place.run(&["run", "--model", &model, option, "0", "go"]);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
}

#[test]
fn a_limit_on_money_needs_a_price() {
    let place = Place::new();
    let model =
        place.script("m", &[costly(), json!({"say": "Two.", "usage": {"input": 40_000, "output": 500}})]);
    let arguments =
        ["run", "--model", &model, "--permission", "full", "--max-cost", "0.5", "--output", "json", "go"];
    let refused = place.run(&arguments);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.err.contains("the price of `script/") && refused.err.contains("--max-tokens"),
        "{refused:?}"
    );
    let price = format!(
        "[models.\"{model}\"]\nwindow = 500000\nprice = {{ input = 1.0, output = 10.0, cache_read = 0.1 }}\n"
    );
    let folder = place.path().join("person/.config/haft");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), price).unwrap();
    let ran = place.run(&arguments);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &object["cost_usd"]), (0, &json!(0.076)), "{ran:?}");
    assert_eq!(object["usage"]["cache_read"], json!(10_000));
    // What it went to stands below what was said and done.
    let shown = place.run(&["sessions", "show", object["session"].as_str().unwrap()]).out;
    for line in [
        "71500    $0.0760  tokens went to",
        "tool definitions",
        "system prompt",
        "results of bash",
        "1500    $0.0150  written by the model",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

// C-43: a person can ask for a summary in a conversation
#[test]
fn a_conversation_can_be_summarized() {
    let place = Place::new();
    let model = place.script("m", &["one", "two", "three"].map(|text| json!({"say": text})));
    let ran = place.run_with_input(&["chat", "--model", &model], b"a\nb\n/compact\nc\nexit\n");
    assert!(ran.err.contains("summarized to save room"), "{ran:?}");
    assert!(ran.out.contains("three"), "{ran:?}");
}

// E-5: exit code 5
#[test]
fn a_claim_that_nothing_shows_has_an_exit_code_of_its_own() {
    let place = Place::new();
    let lie = json!({"say": "All tests pass."});
    let model = place.script("m", &[lie.clone(), lie]);
    let ran = place.run(&["run", "--model", &model, "--evidence", "go"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.err.contains("nothing shows what it claims: \"All tests pass.\""), "{ran:?}");
    assert_eq!(place.run(&["run", "--model", &model, "go"]).code, 0);
}

// C03: killed while the model writes a summary
#[test]
fn a_process_killed_in_the_middle_of_a_summary_has_done_nothing() {
    let place = Place::new();
    let lines = ["one", "two", "three"].map(|text| json!({"say": text}));
    let model = place.script("m", &lines);
    let hangs = place.script("h", &[json!({"hang": true}), lines[0].clone()]);
    assert_eq!(place.run_with_input(&["chat", "--model", &model], b"a\nb\nexit\n").code, 0);
    let before = std::fs::read(place.journal()).unwrap();
    let mut command = place.haft(&["chat", "-vv", "--continue", "--model", &hangs]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"/compact\n").unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(log.any(|line| line.unwrap().contains("summarizing 3 messages")));
    // SIGKILL
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read(place.journal()).unwrap(), before);
    let ran = place.run_with_input(&["chat", "--continue", "--model", &model], b"/compact\nc\nexit\n");
    assert!(ran.err.contains("summarized to save room") && ran.out.contains("three"), "{ran:?}");
}
