//! Streams of the Responses wire: the reply that the engine gets from each.
use super::{
    server::{answer, events},
    streams::{call, reply, thinking},
};
use haft_core::{Part, StopReason, Usage};
use haft_providers::Wire;
use serde_json::{Value, json};

/// Events, each named by its type.
fn stream(all: &[Value]) -> String {
    let event = |data: &Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    all.iter().map(event).collect()
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": delta})
}

fn item(kind: &str, index: u64, item: Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item})
}

fn end(status: &str, more: Value) -> Value {
    let mut response = json!({"status": status, "error": null,
        "usage": {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 5}}});
    more.as_object().into_iter().flatten().for_each(|(field, value)| response[field] = value.clone());
    json!({"type": format!("response.{status}"), "response": response})
}

fn function(arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": "a", "name": "x", "arguments": arguments})
}

// A-21, A-23, A-52, A-58
#[tokio::test]
async fn items_become_parts() {
    let part = |index: u64| json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": index});
    let message = |part: Value| item("done", 1, json!({"type": "message", "content": [part]}));
    let thought =
        json!({"type": "reasoning", "summary": [{"text": "a"}, {"text": "b"}], "encrypted_content": "g"});
    let signed = thinking("a\n\nb", Some("openai_responses:g"));
    let said = |text: &str| json!({"type": "output_text", "text": text});
    let x = |arguments: Value| call("a", "x", arguments);
    let table: Vec<(&str, Vec<Value>, Vec<Part>, StopReason)> = vec![
        (
            "text in pieces, and once more at its end",
            vec![delta("output_text", 1, "a"), delta("output_text", 1, "b"), message(said("ab"))],
            vec![Part::text("ab")],
            StopReason::EndTurn,
        ),
        ("text at its end only", vec![message(said("ab"))], vec![Part::text("ab")], StopReason::EndTurn),
        (
            "a thought in pieces",
            vec![
                item("added", 0, json!({"type": "reasoning"})),
                part(0),
                delta("reasoning_summary_text", 0, "a"),
                part(1),
                delta("reasoning_summary_text", 0, "b"),
                item("done", 0, thought.clone()),
            ],
            vec![signed.clone()],
            StopReason::EndTurn,
        ),
        ("a thought at its end only", vec![item("done", 0, thought)], vec![signed], StopReason::EndTurn),
        (
            "an open thought",
            vec![delta("reasoning_text", 0, "hm")],
            vec![thinking("hm", None)],
            StopReason::EndTurn,
        ),
        (
            "a call in pieces",
            vec![
                item("added", 0, function("")),
                delta("function_call_arguments", 0, r#"{"p":"#),
                delta("function_call_arguments", 0, "1}"),
                item("done", 0, function(r#"{"p":1}"#)),
            ],
            vec![x(json!({"p": 1}))],
            StopReason::ToolUse,
        ),
        (
            "a call at its end only",
            vec![item("done", 0, function(r#"{"p":1}"#))],
            vec![x(json!({"p": 1}))],
            StopReason::ToolUse,
        ),
        (
            "the model declines",
            vec![delta("refusal", 1, "no"), message(json!({"type": "refusal", "refusal": "no"}))],
            vec![Part::text("no")],
            StopReason::Refusal,
        ),
        (
            "kinds that are not known, and tools of the vendor",
            vec![json!({"type": "response.news"}), item("done", 0, json!({"type": "web_search_call"}))],
            vec![],
            StopReason::EndTurn,
        ),
    ];
    for (what, mut all, expected, stop) in table {
        all.insert(0, json!({"type": "response.created", "response": {}}));
        all.push(end("completed", json!({})));
        let got = reply(Wire::OpenaiResponses, events(&stream(&all))).await.unwrap();
        let counted = Usage { input: 4, output: 4, cache_read: 5, cache_write: 0 };
        assert_eq!(got, (expected, stop, counted), "{what}");
    }
}

// A-58
#[tokio::test]
async fn a_reply_may_be_incomplete_failed_or_cut_off() {
    let begun = [item("added", 0, function("")), delta("function_call_arguments", 0, "{\"p")];
    let lack = |reason: &str| end("incomplete", json!({"incomplete_details": {"reason": reason}}));
    let failed = |code: &str| end("failed", json!({"error": {"code": code, "message": "why"}}));
    let table = [
        (lack("max_output_tokens"), "Length"),
        (lack("content_filter"), "Refusal"),
        (end("incomplete", json!({})), "Length"),
        (failed("server_error"), "OpenAI (Responses) had an internal error: why"),
        (failed("invalid_api_key"), "OpenAI (Responses) refused the key: why"),
        (
            end("failed", json!({})),
            "OpenAI (Responses) had an internal error: the reply ended with the status `failed`",
        ),
        (
            json!({"type": "error", "code": "x", "message": "why"}),
            "OpenAI (Responses) had an internal error: why",
        ),
        (json!({"type": "response.in_progress"}), "the reply was cut off"),
    ];
    for (last, expected) in table {
        let all: Vec<Value> = begun.iter().cloned().chain([last.clone()]).collect();
        let told = match reply(Wire::OpenaiResponses, events(&stream(&all))).await {
            Ok((parts, stop, _)) => {
                assert!(parts[0].as_call().unwrap().problem.is_some(), "{last}");
                format!("{stop:?}")
            }
            Err(error) => error,
        };
        assert!(told.contains(expected), "{last}: {told}");
    }
}

#[tokio::test]
async fn a_whole_response_reads_like_a_streamed_one() {
    let output =
        json!([{"type": "message", "content": [{"type": "output_text", "text": "so"}]}, function("{}")]);
    let body = end("completed", json!({"output": output}))["response"].to_string();
    let (parts, stop, usage) =
        reply(Wire::OpenaiResponses, answer(200, "content-type: application/json", &body)).await.unwrap();
    assert_eq!((parts, stop), (vec![Part::text("so"), call("a", "x", json!({}))], StopReason::ToolUse));
    assert_eq!((usage.input, usage.cache_read), (4, 5));
}
