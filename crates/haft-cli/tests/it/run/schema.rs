//! `--schema`: the last reply is JSON that matches a schema, or the exit code says that it is not.
use crate::kit::{
    Place, Ran, call, openai_call, openai_text,
    vendor::{Asked, VendorServer},
};
use serde_json::{Value, json};

fn schema() -> Value {
    json!({"type": "object", "properties": {"files": {"type": "array", "items": {"type": "string"}},
        "count": {"type": "integer"}}, "required": ["files", "count"], "additionalProperties": false})
}

fn say(text: &str) -> Value {
    json!({"say": text})
}

fn run(place: &Place, lines: &[Value], options: &[&str]) -> Ran {
    let model = place.script("m", lines);
    place.write("answer.json", schema().to_string());
    let words = ["run", "--schema", "answer.json", "--permission", "full", "--model", &model, "count them"];
    place.run(&[&words[..], options].concat())
}

const RIGHT: &str = "{\n  \"files\": [\"a.txt\"],\n  \"count\": 1\n}";
const PRINTED: &str = "{\"files\":[\"a.txt\"],\"count\":1}\n";

// H-34
#[test]
fn the_answer_alone_is_printed_and_a_wrong_one_is_asked_for_again() {
    let look = || call("bash", json!({"command": "ls"}));
    let wrong = say("{\"files\": \"a.txt\"}");
    let table: [(&str, Vec<Value>, usize); 5] = [
        ("at once", vec![say(RIGHT)], 0),
        ("in a fence", vec![say(&format!("```json\n{RIGHT}\n```"))], 0),
        ("after calls", vec![look(), say(RIGHT)], 0),
        ("after prose", vec![look(), say("There is one file."), say(RIGHT)], 1),
        ("after three that are wrong", vec![wrong.clone(), wrong.clone(), look(), wrong, say(RIGHT)], 3),
    ];
    for (what, lines, rejections) in table {
        let ran = run(&Place::new(), &lines, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (0, PRINTED), "{what}: {ran:?}");
        assert_eq!(
            ran.err.matches("the answer does not match the schema: ").count(),
            rejections,
            "{what}: {ran:?}"
        );
    }
}

// H-34
#[test]
fn an_answer_that_never_matches_is_an_error_of_its_own() {
    let lines = vec![say("{\"files\": [1], \"count\": 1}"); 4];
    let place = Place::new();
    let ran = run(&place, &lines, &[]);
    let error = "error: the answer does not match the schema: `files[0]` must be a string, not an integer\n";
    assert_eq!((ran.code, ran.out.as_str()), (5, ""), "{ran:?}");
    assert!(ran.err.ends_with(error), "{ran:?}");
    let ran = run(&place, &lines, &["--quiet"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (5, "", error), "{ran:?}");
    let events = run(&place, &lines, &["--json"]).events();
    assert_eq!(events.last().unwrap()["outcome"], "invalid_answer");
    assert_eq!(events.iter().filter(|event| event["type"] == "replied").count(), 4);
}

#[test]
fn scripts_find_the_answer_in_every_output() {
    let place = Place::new();
    let whole: Value = serde_json::from_str(&run(&place, &[say(RIGHT)], &["--output", "json"]).out).unwrap();
    let expected = json!({"files": ["a.txt"], "count": 1});
    assert_eq!((&whole["answer"], &whole["outcome"]), (&expected, &json!("finished")));
    let events = run(&place, &[say("one"), say(RIGHT)], &["--json"]).events();
    let answered = events.iter().find(|event| event["type"] == "answered").unwrap();
    assert_eq!(answered["answer"], expected);
    let rejected = events.iter().find(|event| event["type"] == "answer_rejected").unwrap();
    assert_eq!(rejected["problems"], json!(["the answer is not JSON: expected value at line 1 column 1"]));
}

// H-35
#[test]
fn a_schema_that_cannot_be_used_is_found_before_anything_is_asked() {
    let place = Place::new();
    place.write("broken.json", "{");
    place.write("odd.json", r#"{"type": "text"}"#);
    let model = place.script("m", &[say(RIGHT)]);
    let table = [
        ("missing.json", "cannot read the schema `missing.json`: "),
        ("broken.json", "the schema `broken.json` is not JSON: "),
        ("odd.json", "the schema `odd.json` is invalid: "),
        ("{\"$ref\": \"https://example.org/a.json\"}", "the schema of `--schema` is invalid: "),
        (
            r#"{"properties": {"a": {"pattern": "^(?!x)"}}}"#,
            "the schema of `--schema` is invalid: the pattern `^(?!x)` is not valid, or has something that is not \
             supported here: look-around or a back reference",
        ),
    ];
    for (schema, error) in table {
        let ran = place.run(&["run", "--schema", schema, "--model", &model, "go"]);
        assert_eq!(ran.code, 2, "{schema}: {ran:?}");
        assert!(ran.err.starts_with(&format!("error: {error}")), "{schema}: {ran:?}");
    }
    assert!(
        !place.path().join("home/sessions").exists() || place.run(&["sessions", "--json"]).out.trim() == "[]"
    );
    let inline = place.run(&["run", "--schema", r#"{"type": "object"}"#, "--model", &model, "go"]);
    assert_eq!((inline.code, inline.out.as_str()), (0, PRINTED), "{inline:?}");
}

// A server that takes either tools or a form gets the tools until the work is done.
#[test]
fn a_server_is_told_the_form_when_the_answer_is_due() {
    let place = Place::new();
    place.write("a.txt", "x");
    let server = VendorServer::start(|asked: &Asked| {
        let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
        match (
            asked.body.get("response_format").is_some(),
            messages.iter().any(|each| each["role"] == "tool"),
        ) {
            (true, _) => openai_text(RIGHT),
            (false, true) => openai_text("There is one file."),
            (false, false) => openai_call("bash", &json!({"command": "ls"})),
        }
    });
    let mut command = place.haft(&[
        "run",
        "--schema",
        &schema().to_string(),
        "--permission",
        "full",
        "--model",
        "ollama/m",
        "count them",
    ]);
    let ran = Ran::from(command.env("OLLAMA_BASE_URL", &server.base_url).output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (0, PRINTED), "{ran:?}");
    let asked: Vec<Value> = server.prompts();
    let forms: Vec<&Value> =
        asked.iter().map(|body| &body["response_format"]["json_schema"]["schema"]).collect();
    assert_eq!(forms, [&Value::Null, &Value::Null, &schema()]);
    let with_tools: Vec<bool> = asked.iter().map(|body| body.get("tools").is_some()).collect();
    assert_eq!(with_tools, [true, true, false]);
    let prompt = asked[0]["messages"][1]["content"].as_str().unwrap();
    assert!(prompt.starts_with("count them\n\n[When all is done"), "{prompt}");
    assert!(prompt.contains("\"count\": {\"type\": \"integer\"}"), "{prompt}");
}

#[test]
fn a_turn_that_goes_on_keeps_its_schema_and_the_next_one_has_none() {
    let place = Place::new();
    let look = call("bash", json!({"command": "ls"}));
    let ran = run(&place, std::slice::from_ref(&look), &["--max-rounds", "1"]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
    let model = place.script("m", &[look, say("one file"), say(RIGHT), say("Gladly.")]);
    let resumed = place.run(&["resume", "--model", &model]);
    assert_eq!((resumed.code, resumed.out.as_str()), (0, PRINTED), "{resumed:?}");
    let next = place.run(&["run", "--continue", "--model", &model, "thanks"]);
    assert_eq!((next.code, next.out.as_str()), (0, "Gladly.\n"), "{next:?}");
}
