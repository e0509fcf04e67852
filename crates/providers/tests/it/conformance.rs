//! Recorded streams of many vendors: each must come out as the vendors' own clients put it together.
//!
//! The recordings lie outside of this repository; where they are missing, one line says so. What they taught us is
//! in `streams.rs`, in cases of our own.
#![expect(clippy::print_stderr, reason = "says how many cases there were, and whether any")]
use futures::StreamExt;
use haft_core::{Part, Provider, Request};
use haft_providers::{WIRES, Wire, conformance::assemble};
use serde_json::Value;
use std::{fs, path::Path};

/// Of the recorded and derived cases of all wires, those on which two clients agree.
struct Case {
    id: String,
    wire: Wire,
    required: bool,
    expected: Value,
    bytes: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let Some(folder) = haft_testing::conformance("streams") else { return Vec::new() };
    let list = fs::read_to_string(folder.join("cases.jsonl")).unwrap();
    list.lines().filter_map(|line| case(&folder, serde_json::from_str(line).unwrap())).collect()
}

fn case(folder: &Path, case: Value) -> Option<Case> {
    let wire = *WIRES.iter().find(|wire| case["protocol"] == wire.name())?;
    Some(Case {
        id: case["id"].as_str()?.to_owned(),
        wire,
        required: case["oracle"] == "sdk+own" || !case["derived"].is_null(),
        expected: case["expected"].clone(),
        bytes: fs::read(folder.join(case["file"].as_str()?)).unwrap(),
    })
}

#[test]
fn recorded_streams_are_put_together_as_their_vendors_do() {
    let (mut optional, mut passed, mut required) = (0, 0, 0);
    let mut wrong = Vec::new();
    for case in cases() {
        let got = assemble(case.wire, [case.bytes.as_slice()]);
        let verdict = grade(&case, &got);
        match (&verdict, case.required) {
            (Ok(()), true) => required += 1,
            (Ok(()), false) => passed += 1,
            (Err(why), true) => wrong.push(format!("{}: {why}: {got:?}", case.id)),
            (Err(why), false) => eprintln!("{}: {why}", case.id),
        }
        optional += usize::from(!case.required);
    }
    eprintln!("required {required} passed, {} failed; optional {passed} of {optional}", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn recorded_streams_are_the_same_in_any_chunks() {
    for case in cases() {
        let whole = assemble(case.wire, [case.bytes.as_slice()]);
        for size in [1, 7, 1_000] {
            assert_eq!(assemble(case.wire, case.bytes.chunks(size)), whole, "{} by {size}", case.id);
        }
    }
}

/// What the engine gets, for replies made only of what it has words for.
#[tokio::test]
async fn deltas_say_what_the_blocks_say() {
    let known = ["text", "thinking", "tool_use"];
    for case in cases().into_iter().filter(|case| case.wire == Wire::Anthropic && case.required) {
        let blocks = case.expected["content"].as_array().cloned().unwrap_or_default();
        let is_known = |block: &Value| known.contains(&block["type"].as_str().unwrap());
        if case.expected["error"].is_object() || !blocks.iter().all(is_known) {
            continue;
        }
        let parts = replayed(&case.bytes).await;
        let said: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        assert_eq!(haft_core::text_of(&parts), said, "{}", case.id);
        let calls: Vec<_> = parts.iter().filter_map(Part::as_call).collect();
        let expected: Vec<_> = blocks.iter().filter(|block| block["type"] == "tool_use").collect();
        assert_eq!(calls.len(), expected.len(), "{}", case.id);
        for (call, block) in calls.iter().zip(expected) {
            assert_eq!(
                (call.id.0.as_str(), call.name.as_str()),
                (block["id"].as_str().unwrap(), block["name"].as_str().unwrap())
            );
            assert!(block["input"].is_null() || call.arguments == block["input"], "{}", case.id);
            assert_eq!(call.problem.is_some(), block["input"].is_null(), "{}", case.id);
        }
    }
}

/// Over a cassette, so that the whole way is walked.
async fn replayed(bytes: &[u8]) -> Vec<Part> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cassette");
    let begin = serde_json::json!({"exchange": 0, "wire": "anthropic", "status": 200,
        "media_type": "text/event-stream", "request": null});
    let chunk = serde_json::json!({"exchange": 0, "at_ms": 0, "text": std::str::from_utf8(bytes).unwrap()});
    fs::write(&path, format!("{begin}\n{chunk}\n")).unwrap();
    let replay = haft_providers::Replay::open(&path).unwrap();
    let mut reply = haft_core::Reply::default();
    let mut deltas = replay.stream(Request::default());
    while let Some(delta) = deltas.next().await {
        reply.push(delta.unwrap());
    }
    reply.into_parts()
}

/// By the rules of the suite's own grader.
fn grade(case: &Case, got: &Value) -> Result<(), String> {
    let expected = &case.expected;
    if expected["error"].is_object() && !expected["complete"].is_null() {
        return check(got["error"].is_object(), "an error was expected");
    }
    match case.wire {
        Wire::OpenaiChat | Wire::Gemini | Wire::Converse => grade_chat(expected, got)?,
        Wire::OpenaiResponses => grade_response(expected, got)?,
        Wire::Anthropic => grade_message(expected, got)?,
    }
    for field in ["prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"] {
        if expected["usage"][field].is_u64() {
            same(&expected["usage"][field], &got["usage"][field], field)?;
        }
    }
    Ok(())
}

fn grade_chat(expected: &Value, got: &Value) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    check(text(&expected["content"]) == text(&got["content"]), "content")?;
    check(text(&expected["reasoning"]).trim() == text(&got["reasoning"]).trim(), "reasoning")?;
    let calls = |value: &Value| value["tool_calls"].as_array().cloned().unwrap_or_default();
    let (wanted, made) = (calls(expected), calls(got));
    check(wanted.len() == made.len(), "calls")?;
    for (wanted, made) in wanted.iter().zip(&made) {
        same(&wanted["name"], &made["name"], "name")?;
        check(text(&wanted["id"]).is_empty() || wanted["id"] == made["id"], "id")?;
        check(wanted["arguments"].is_null() || wanted["arguments"] == made["arguments"], "arguments")?;
    }
    same(&expected["finish_reason"], &got["finish_reason"], "finish_reason")
}

fn grade_response(expected: &Value, got: &Value) -> Result<(), String> {
    same(&expected["content"], &got["content"], "content")?;
    let calls = |value: &Value| value["tool_calls"].as_array().cloned().unwrap_or_default();
    let (wanted, made) = (calls(expected), calls(got));
    check(wanted.len() == made.len(), "calls")?;
    for (wanted, made) in wanted.iter().zip(&made) {
        for field in ["name", "call_id", "arguments"] {
            same(&wanted[field], &made[field], field)?;
        }
    }
    Ok(())
}

fn grade_message(expected: &Value, got: &Value) -> Result<(), String> {
    let blocks = |value: &Value| value["content"].as_array().cloned().unwrap_or_default();
    let (wanted, made) = (blocks(expected), blocks(got));
    check(wanted.len() == made.len(), "blocks")?;
    for (wanted, made) in wanted.iter().zip(&made) {
        for field in ["type", "text", "thinking", "signature", "data", "id", "name", "input"] {
            if !wanted[field].is_null() && wanted[field] != "" {
                same(&wanted[field], &made[field], field)?;
            }
        }
    }
    same(&expected["stop_reason"], &got["stop_reason"], "stop_reason")
}

fn check(good: bool, what: &str) -> Result<(), String> {
    if good { Ok(()) } else { Err(what.to_owned()) }
}

fn same(wanted: &Value, got: &Value, what: &str) -> Result<(), String> {
    check(wanted == got, &format!("{what}: wanted {wanted}, got {got}"))
}
