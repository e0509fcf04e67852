//! The embedded model does the main job in the real binary.
//!
//! The model lies in the folder that `HAFT_MODELS` names; `make test` fetches it.
#![cfg(feature = "local")]
use crate::kit::Place;

/// Whether the demo model is there; says so if not.
fn is_here() -> bool {
    let folder = std::env::var("HAFT_MODELS").unwrap_or_default();
    let is_here = crate::kit::exists(&std::path::Path::new(&folder).join("SmolLM2-135M-Instruct.Q4_1.gguf"));
    if !is_here {
        haft_testing::left_out("the embedded model: there is no demo model in `HAFT_MODELS`");
    }
    is_here
}

#[test]
fn the_embedded_model_reads_a_file_and_tells_what_is_in_it() {
    if !is_here() {
        return;
    }
    let place = Place::new();
    place.write("notes.txt", "Meeting on Monday.\nThe launch code is 7421.\n");
    let ran = place.run(&[
        "run",
        "--model",
        "local/smollm2-135m",
        "--json",
        "Read notes.txt and tell me the launch code.",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let events = ran.events();
    let started = events.iter().find(|event| event["type"] == "tool_started").unwrap();
    assert_eq!(
        (started["name"].as_str(), started["arguments"]["path"].as_str()),
        (Some("read"), Some("notes.txt"))
    );
    let reply = events.iter().rfind(|event| event["type"] == "replied").unwrap();
    assert!(reply["parts"].to_string().contains("7421"), "{reply}");
}

#[test]
fn it_does_a_job_of_two_tools_in_each_dialect_that_it_is_shown() {
    if !is_here() {
        return;
    }
    let prompt = "Create a file named out.txt with the word done in it, then read notes.txt and tell me the launch code.";
    // Without a dialect it writes one-line actions.
    for dialect in [None, Some("hermes"), Some("thoughts_json")] {
        let place = Place::new();
        place.write("notes.txt", "Meeting on Monday.\nThe launch code is 7421.\n");
        let mut words =
            vec!["run", "--model", "local/smollm2-135m", "--permission", "accept-edits", "--json"];
        words.extend(dialect.into_iter().flat_map(|dialect| ["--dialect", dialect]));
        words.push(prompt);
        let ran = place.run(&words);
        assert_eq!(ran.code, 0, "{dialect:?}: {ran:?}");
        let events = ran.events();
        let called: Vec<(&str, bool)> = events
            .iter()
            .filter(|event| event["type"] == "tool_ended")
            .map(|event| (event["name"].as_str().unwrap(), event["ok"].as_bool().unwrap()))
            .collect();
        assert_eq!(called, [("write", true), ("read", true)], "{dialect:?}");
        assert_eq!(place.read("out.txt").as_deref(), Some("done"), "{dialect:?}");
        let reply = events.iter().rfind(|event| event["type"] == "replied").unwrap();
        assert!(reply["parts"].to_string().contains("7421"), "{dialect:?}: {reply}");
    }
}

// A small model's calls are held to their form: none can be malformed.
#[test]
fn the_check_of_a_model_counts_its_calls_and_keeps_the_table() {
    if !is_here() {
        return;
    }
    let place = Place::new();
    let ran = place.run(&[
        "models",
        "check",
        "local/smollm2-135m",
        "--dialect",
        "hermes",
        "--first",
        "2",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let table: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let row = table["rows"].as_array().unwrap().iter().find(|row| row["held"] == true).unwrap();
    assert_eq!((row["tasks"].as_u64(), row["invalid_calls"].as_u64()), (Some(2), Some(0)), "{row}");
    assert_eq!(row["valid_call_rate"].as_f64(), Some(1.0));
    let kept = place.path().join("home").join("checks/local_smollm2-135m@hermes.json");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), format!("{table:#}\n"));
}

// Its answer is held to the grammar of the schema.
#[test]
fn the_embedded_model_answers_with_json_of_a_schema() {
    if !is_here() {
        return;
    }
    let schema = r#"{"type": "object", "properties": {"capital": {"type": "string", "maxLength": 40},
        "size": {"enum": ["small", "large"]}}, "required": ["capital", "size"], "additionalProperties": false}"#;
    let place = Place::new();
    let ran = place.run(&[
        "run",
        "--model",
        "local/smollm2-135m",
        "--schema",
        schema,
        "What is the capital of Peru?",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(answer["capital"].is_string() && answer["size"].is_string(), "{answer}");
    assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
}
