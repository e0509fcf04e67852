//! Replies of Gemini's own wire, written after its documentation: what the engine gets from each.
use super::{
    server::{answer, events},
    streams::{call, reply, thinking},
};
use haft_core::{Part, StopReason, Usage};
use haft_providers::Wire;
use serde_json::{Value, json};

fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn end(finish: &str) -> Value {
    json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": finish}], "usageMetadata": {
        "promptTokenCount": 9, "cachedContentTokenCount": 5, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}})
}

//
#[tokio::test]
async fn parts_become_parts() {
    let function =
        |name: &str, args: Value| json!({"functionCall": {"id": name, "name": name, "args": args}});
    let mut signed = function("a", json!({"p": 1}));
    signed["thoughtSignature"] = "g".into();
    let table: Vec<(&str, Vec<Value>, Vec<Part>, StopReason)> = vec![
        (
            "text in pieces",
            vec![parts(json!([{"text": "a"}])), parts(json!([{"text": "b"}, {"text": "c"}]))],
            vec![Part::text("abc")],
            StopReason::EndTurn,
        ),
        (
            "a thought, and a signature at the end of the text",
            vec![
                parts(json!([{"text": "hm", "thought": true}])),
                parts(json!([{"text": "so"}, {"text": "", "thoughtSignature": "g"}])),
            ],
            vec![thinking("hm", None), Part::text("so"), thinking("", Some("gemini::g"))],
            StopReason::EndTurn,
        ),
        (
            "two calls, of which the first is signed",
            vec![parts(json!([signed])), parts(json!([function("b", json!(null))]))],
            vec![
                thinking("", Some("gemini:0:g")),
                call("a", "a", json!({"p": 1})),
                call("b", "b", json!({})),
            ],
            StopReason::ToolUse,
        ),
        (
            "parts that are not known",
            vec![parts(json!([{"executableCode": {"code": "1"}}, 7])), json!({"modelVersion": "x"})],
            vec![],
            StopReason::EndTurn,
        ),
    ];
    for (what, mut chunks, expected, stop) in table {
        chunks.push(end("STOP"));
        let got = reply(Wire::Gemini, events(&stream(&chunks))).await.unwrap();
        let counted = Usage { input: 4, output: 7, cache_read: 5, cache_write: 0 };
        assert_eq!(got, (expected, stop, counted), "{what}");
        let whole = json!({"candidates": [{"content": {"parts": chunks
            .iter()
            .flat_map(|chunk| chunk["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default())
            .collect::<Value>()}, "finishReason": "STOP"}], "usageMetadata": chunks.last().unwrap()["usageMetadata"]});
        let whole = answer(200, "content-type: application/json", &whole.to_string());
        assert_eq!(reply(Wire::Gemini, whole).await.unwrap(), got, "{what}, whole");
    }
}

//
#[tokio::test]
async fn a_reply_ends_for_a_reason() {
    let error = json!({"error": {"code": 429, "message": "why", "status": "RESOURCE_EXHAUSTED"}});
    let mut daily = error.clone();
    daily["error"]["details"] =
        json!([{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}]);
    let table = [
        (end("MAX_TOKENS"), "Length"),
        (end("SAFETY"), "Refusal"),
        (end("NEXT_YEAR"), "Refusal"),
        (json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}), "Refusal"),
        (
            end("MALFORMED_FUNCTION_CALL"),
            "Gemini (native) had an internal error: the reply ended with MALFORMED_FUNCTION_CALL",
        ),
        (error, "Gemini (native) is busy: why (HTTP 429)"),
        (daily, "Gemini (native) rejected the request: why (HTTP 429)"),
        (parts(json!([])), "the reply was cut off"),
    ];
    for (last, expected) in table {
        let chunks = [parts(json!([{"text": "a"}])), last];
        let told = match reply(Wire::Gemini, events(&stream(&chunks))).await {
            Ok((_, stop, _)) => format!("{stop:?}"),
            Err(error) => error,
        };
        assert!(told.contains(expected), "{}: {told}", chunks[1]);
    }
}
