//! Replies with something odd in them: whatever comes, no wire may panic on it, or read it in two ways.
#[path = "../../examples/fuzz/streams.rs"]
mod streams;

use haft_providers::{WIRES, Wire, conformance::assemble};
use serde_json::{Value, json};

/// Every kind of event, with every field that is looked at.
fn sample(wire: Wire) -> Vec<Value> {
    match wire {
        Wire::OpenaiChat => {
            let call = json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}});
            let delta = json!({"content": "a", "function_call": {"name": "x", "arguments": "{}"}, "reasoning_content": "b", "refusal": "c", "tool_calls": [call]});
            vec![
                json!({"choices": [{"index": 0, "delta": delta}]}),
                json!({"choices": [{"delta": {"content": [{"type": "text", "text": "a"}]}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}}}),
            ]
        }
        Wire::OpenaiResponses => {
            let item =
                |item: Value| json!({"type": "response.output_item.done", "output_index": 0, "item": item});
            let content = json!([{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}]);
            let function = json!({"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"});
            vec![
                json!({"type": "response.created", "response": {}}),
                json!({"type": "response.output_text.delta", "output_index": 1, "delta": "a"}),
                item(json!({"type": "message", "content": content})),
                item(json!({"type": "reasoning", "summary": [{"text": "a"}], "content": [{"text": "b"}]})),
                item(function.clone()),
                json!({"type": "response.incomplete", "response": {"status": "incomplete", "output": [function],
                    "incomplete_details": {"reason": "x"}, "error": {"message": "why"}, "usage": {"input_tokens": 1}}}),
            ]
        }
        Wire::Anthropic => {
            let start =
                |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
            vec![
                json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
                start(json!({"type": "thinking", "thinking": "a", "signature": "s"})),
                start(json!({"type": "tool_use", "id": "a", "name": "x", "input": {}})),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
                json!({"type": "message_stop"}),
            ]
        }
        Wire::Converse => {
            let delta =
                |delta: Value| json!({"type": "contentBlockDelta", "contentBlockIndex": 0, "delta": delta});
            let call = json!({"toolUse": {"toolUseId": "a", "name": "x"}});
            vec![
                delta(json!({"reasoningContent": {"text": "a", "signature": "s", "redactedContent": "r"}})),
                json!({"type": "contentBlockStop", "contentBlockIndex": 0}),
                json!({"type": "contentBlockStart", "contentBlockIndex": 1, "start": call}),
                delta(json!({"text": "a"})),
                delta(json!({"toolUse": {"input": "{}"}})),
                json!({"type": "messageStop", "stopReason": "end_turn"}),
                json!({"type": "metadata", "usage": {"inputTokens": 1, "outputTokens": 1, "cacheReadInputTokens": 1}}),
            ]
        }
        Wire::Gemini => {
            let function =
                json!({"functionCall": {"id": "a", "name": "x", "args": {}}, "thoughtSignature": "s"});
            let parts = json!([{"text": "a", "thought": true}, function]);
            vec![
                json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP", "finishMessage": "b"}],
                "promptFeedback": {"blockReason": "x"}, "usageMetadata": {"promptTokenCount": 1}}),
            ]
        }
    }
}

#[test]
fn no_wire_panics_on_a_field_of_another_type() {
    let odd = [
        json!(null),
        json!("x"),
        json!(""),
        json!(-1),
        json!(1e300),
        json!(true),
        json!([]),
        json!([7]),
        json!({}),
    ];
    for wire in WIRES {
        let events = sample(*wire);
        for (number, event) in events.iter().enumerate() {
            for place in places(event, String::new()) {
                for odd in &odd {
                    let mut events = events.clone();
                    events[number].pointer_mut(&place).into_iter().for_each(|value| *value = odd.clone());
                    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
                    assert!(assemble(*wire, [stream.as_bytes()]).is_object(), "{wire:?} {place} {odd}");
                }
            }
        }
    }
}

/// JSON pointers to everything in `value`.
fn places(value: &Value, here: String) -> Vec<String> {
    let inner: Vec<String> = match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, inner)| places(inner, format!("{here}/{name}"))).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(place, inner)| places(inner, format!("{here}/{place}")))
            .collect(),
        _ => Vec::new(),
    };
    [here].into_iter().chain(inner).collect()
}

// A36
#[test]
fn a_mangled_stream_says_the_same_however_it_is_cut() {
    let mut random = fastrand::Rng::with_seed(20_250_305);
    for wire in WIRES {
        for _ in 0..300 {
            let bytes = streams::bytes(*wire, &mut random);
            let fault = streams::fault(*wire, &bytes, &mut random);
            assert_eq!(fault, None, "{}: {:?}", wire.name(), String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn a_name_in_pieces_is_one_name_and_a_repeated_one_counts_once() {
    let table: [(&[(&str, &str)], &str); 7] = [
        (&[("re", ""), ("ad", ""), ("", "{}")], "read"),
        (&[("re", ""), ("ad", "{}")], "read"),
        (&[("read", ""), ("read", "{"), ("read", "}")], "read"),
        (&[("re", ""), ("read", ""), ("read", "{}")], "read"),
        (&[("read", "{"), ("ad", "}")], "read"),
        (&[("", "{"), ("read", "}")], "read"),
        (&[("mcp__a", ""), ("__", ""), ("b", "{}")], "mcp__a__b"),
    ];
    for (pieces, expected) in table {
        let piece = |(number, (name, arguments)): (usize, &(&str, &str))| {
            let id = if number == 0 { json!("a") } else { json!(null) };
            let call = json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        };
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
        let events = pieces.iter().enumerate().map(piece).chain([end]);
        let stream: String = events.map(|event| format!("data: {event}\n\n")).collect();
        let reply = assemble(Wire::OpenaiChat, [stream.as_bytes()]);
        let calls = json!([{"id": "a", "name": expected, "arguments": {}}]);
        assert_eq!(reply["tool_calls"], calls, "{pieces:?}");
    }
}
