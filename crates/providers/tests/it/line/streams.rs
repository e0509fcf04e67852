//! Odd streams, made here after what servers really send: the reply that the engine gets from each.
use super::server::{Act, Server, answer, events};
use futures::StreamExt;
use haft_core::{Delta, Part, Reply, Request, StopReason, ToolCall, Usage};
use haft_providers::{Connection, Wire, connect};
use serde_json::{Value, json};

/// The parts of the reply, why it ended, its tokens.
pub(crate) async fn reply(wire: Wire, act: Act) -> Result<(Vec<Part>, StopReason, Usage), String> {
    let server = Server::start(vec![vec![act]]).await;
    let settings = Connection { base_url: Some(server.url.clone()), ..Connection::default() };
    let mut reply = Reply::default();
    let mut deltas = connect(wire.speaker().unwrap(), settings).stream(Request::default());
    while let Some(delta) = deltas.next().await {
        reply.push(delta.map_err(|error| error.to_string())?);
    }
    let (stop, usage) = (reply.stop(), reply.usage());
    Ok((reply.into_parts(), stop, usage))
}

/// Events of the chat wire from the deltas of their choice; `finish` may be null.
pub(crate) fn chat(deltas: &[Value], finish: Value) -> String {
    let event = |delta: &Value| {
        format!("data: {}\n\n", json!({"choices": [{"delta": delta, "finish_reason": null}]}))
    };
    let last = json!({"choices": [{"delta": {}, "finish_reason": finish}]});
    let deltas: String = deltas.iter().map(event).collect();
    format!("{deltas}data: {last}\n\ndata: [DONE]\n\n")
}

fn calls(pieces: &[Value]) -> String {
    let deltas: Vec<Value> = pieces.iter().map(|piece| json!({"tool_calls": [piece]})).collect();
    chat(&deltas, json!("tool_calls"))
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Part {
    Part::ToolCall(ToolCall::new(id, name, arguments))
}

pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Part {
    Part::Thinking { text: text.into(), signature: signature.map(Into::into) }
}

// T-36, T-37, A63, A64
#[tokio::test]
async fn calls_are_found_however_they_are_cut() {
    let whole = |id: &str, name: &str| json!({"id": id, "function": {"name": name, "arguments": "{}"}});
    let more = |arguments: &str| json!({"function": {"arguments": arguments}});
    let at = |index: u64, mut piece: Value| {
        piece["index"] = index.into();
        piece
    };
    let begin =
        |arguments: Value| json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": arguments}});
    let one = vec![call("a", "x", json!({"p": 1}))];
    let table = [
        ("in pieces", calls(&[begin(json!("")), at(0, more("{\"p\"")), at(0, more(":1}"))]), one.clone()),
        (
            "without index",
            calls(&[json!({"id": "a", "function": {"name": "x", "arguments": "{\"p\""}}), more(":1}")]),
            one.clone(),
        ),
        ("arguments as an object", calls(&[begin(json!({"p": 1}))]), one.clone()),
        ("arguments null at first", calls(&[begin(Value::Null), at(0, more("{\"p\":1}"))]), one.clone()),
        ("id and name again", calls(&[begin(json!("{\"p\"")), begin(json!(":1}"))]), one.clone()),
        (
            "name and id later",
            calls(&[
                json!({"index": 0}),
                json!({"index": 0, "id": "a"}),
                at(0, json!({"function": {"name": "x", "arguments": "{\"p\":1}"}})),
            ]),
            one.clone(),
        ),
        (
            "index as text",
            calls(&[at(0, whole("a", "x")), json!({"index": "1", "id": "b", "function": {"name": "y"}})]),
            vec![call("a", "x", json!({})), call("b", "y", json!({}))],
        ),
        (
            "said to be the end",
            calls(&[begin(json!("{\"p\":1}"))]).replace("\"tool_calls\"}", "\"stop\"}"),
            one.clone(),
        ),
        (
            "index from 7",
            calls(&[at(7, whole("a", "x")), at(8, whole("b", "y"))]),
            vec![call("a", "x", json!({})), call("b", "y", json!({}))],
        ),
        (
            "all at index 0",
            calls(&[at(0, whole("a", "x")), at(0, whole("b", "x"))]),
            vec![call("a", "x", json!({})), call("b", "x", json!({}))],
        ),
        (
            "no index, no id",
            calls(&[whole("", "x"), whole("", "y")]),
            vec![call("call_0", "x", json!({})), call("call_1", "y", json!({}))],
        ),
        (
            "an index beyond all bounds",
            calls(&[at(u64::MAX, whole("a", "x"))]),
            vec![call("a", "x", json!({}))],
        ),
        (
            "legacy",
            chat(
                &[
                    json!({"function_call": {"name": "x", "arguments": "{\"p\""}}),
                    json!({"function_call": {"arguments": ":1}"}}),
                ],
                json!("function_call"),
            ),
            vec![call("call_0", "x", json!({"p": 1}))],
        ),
    ];
    for (what, stream, expected) in table {
        let (parts, stop, _) = reply(Wire::OpenaiChat, events(&stream)).await.unwrap();
        assert_eq!((parts, stop), (expected, StopReason::ToolUse), "{what}");
    }
}

//
#[tokio::test]
async fn text_and_thinking_are_found_in_all_their_places() {
    let hi = vec![Part::text("hi")];
    let both = vec![thinking("hm", None), Part::text("hi")];
    let stop = |word: &str| chat(&[json!({"content": "hi"})], json!(word));
    let table = [
        (
            "null fields",
            chat(
                &[json!({"content": null, "tool_calls": null, "role": null}), json!({"content": "hi"})],
                json!("stop"),
            ),
            hi.clone(),
            StopReason::EndTurn,
        ),
        (
            "reasoning_content",
            chat(&[json!({"reasoning_content": "hm"}), json!({"content": "hi"})], json!("stop")),
            both.clone(),
            StopReason::EndTurn,
        ),
        (
            "reasoning, twice",
            chat(
                &[json!({"reasoning": "hm", "reasoning_content": "hm"}), json!({"content": "hi"})],
                json!("stop"),
            ),
            both.clone(),
            StopReason::EndTurn,
        ),
        (
            "reasoning_text",
            chat(&[json!({"reasoning_text": "hm", "content": "hi"})], json!("stop")),
            both.clone(),
            StopReason::EndTurn,
        ),
        (
            "parts",
            chat(
                &[
                    json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}]}),
                ],
                json!("stop"),
            ),
            both,
            StopReason::EndTurn,
        ),
        ("length", stop("length"), hi.clone(), StopReason::Length),
        ("filter", stop("content_filter"), hi.clone(), StopReason::Refusal),
        ("an unknown word", stop("eos_token"), hi.clone(), StopReason::EndTurn),
        ("an empty word", stop(""), hi.clone(), StopReason::EndTurn),
        (
            "refused",
            chat(&[json!({"refusal": "no"})], json!("stop")),
            vec![Part::text("no")],
            StopReason::Refusal,
        ),
        (
            "half a surrogate pair",
            stop("stop").replace("hi", "h\\ud83di"),
            vec![Part::text("h\u{fffd}i")],
            StopReason::EndTurn,
        ),
        (
            "no space, returns",
            stop("stop").replace("data: ", "data:").replace('\n', "\r\n"),
            hi.clone(),
            StopReason::EndTurn,
        ),
        (
            "all so far beside it",
            stop("stop").replacen("\"delta\"", "\"message\":{\"content\":\"hi\"},\"delta\"", 2),
            hi.clone(),
            StopReason::EndTurn,
        ),
        (
            "another choice",
            stop("stop").replacen(
                "data",
                "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}\n\ndata",
                1,
            ),
            hi,
            StopReason::EndTurn,
        ),
    ];
    for (what, stream, expected, expected_stop) in table {
        let (parts, stop, _) = reply(Wire::OpenaiChat, events(&stream)).await.unwrap();
        assert_eq!((parts, stop), (expected, expected_stop), "{what}");
    }
}

//
#[tokio::test]
async fn tokens_are_counted_wherever_they_stand() {
    let usage =
        json!({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}});
    let expected = Usage { input: 6, output: 2, cache_read: 4, cache_write: 0 };
    let deepseek = json!({"prompt_tokens": 10, "completion_tokens": 2.0, "prompt_cache_hit_tokens": "4"});
    for last in [
        json!({"choices": [], "usage": usage}),
        json!({"choices": null, "usage": deepseek}),
        json!({"x_groq": {"usage": usage}}),
        json!({"choices": [{"delta": {}, "usage": usage}]}),
    ] {
        let stream = chat(&[json!({"content": "hi"})], json!("stop"));
        let stream = stream.replace("data: [DONE]", &format!("data: {last}\n\ndata: [DONE]"));
        let (_, _, counted) = reply(Wire::OpenaiChat, events(&stream)).await.unwrap();
        assert_eq!(counted, expected, "{last}");
    }
}

//
#[tokio::test]
async fn a_whole_reply_is_read_like_a_streamed_one() {
    let json = "content-type: application/json";
    let body = json!({"choices": [{"message": {"content": null, "reasoning_content": "hm", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{\"p\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "x", "arguments": "{}"}}]},
        "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3, "completion_tokens": 5}});
    let parts = vec![thinking("hm", None), call("a", "x", json!({"p": 1})), call("b", "x", json!({}))];
    let usage = Usage { input: 3, output: 5, ..Usage::default() };
    let got = reply(Wire::OpenaiChat, answer(200, json, &body.to_string())).await;
    assert_eq!(got, Ok((parts, StopReason::ToolUse, usage)));

    let body = json!({"type": "message", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "zzz"},
        {"type": "text", "text": "hi"}, {"type": "tool_use", "id": "a", "name": "x", "input": {"p": 1}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 9}});
    let parts = vec![
        thinking("hm", Some("s")),
        thinking("", Some("redacted_thinking:zzz")),
        Part::text("hi"),
        call("a", "x", json!({"p": 1})),
    ];
    let usage = Usage { input: 3, output: 5, cache_read: 7, cache_write: 9 };
    let got = reply(Wire::Anthropic, answer(200, json, &body.to_string())).await;
    assert_eq!(got, Ok((parts, StopReason::ToolUse, usage)));
}

// O-25, O-29, O-45
#[tokio::test]
async fn anthropic_blocks_become_parts() {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let start = |index: u64, block: Value| {
        event(json!({"type": "content_block_start", "index": index, "content_block": block}))
    };
    let delta = |index: u64, delta: Value| {
        event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let stop = |index: u64| event(json!({"type": "content_block_stop", "index": index}));
    let end = |word: &str| {
        event(json!({"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 5}}))
            + &event(json!({"type": "message_stop"}))
    };
    let begin = event(
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 2}}}),
    );
    let text = start(0, json!({"type": "text", "text": "h"}))
        + &delta(0, json!({"type": "text_delta", "text": "i"}))
        + &stop(0);
    let tool = |index| {
        start(index, json!({"type": "tool_use", "id": format!("t{index}"), "name": "x", "input": {}}))
    };
    let json_delta =
        |index, json: &str| delta(index, json!({"type": "input_json_delta", "partial_json": json}));
    let table = [
        ("text", begin.clone() + &text + &end("end_turn"), vec![Part::text("hi")], StopReason::EndTurn),
        (
            "two calls",
            begin.clone()
                + &text
                + &tool(1)
                + &json_delta(1, "")
                + &json_delta(1, "{\"p\"")
                + &json_delta(1, ":1}")
                + &stop(1)
                + &tool(2)
                + &stop(2)
                + &end("tool_use"),
            vec![Part::text("hi"), call("t1", "x", json!({"p": 1})), call("t2", "x", json!({}))],
            StopReason::ToolUse,
        ),
        (
            "arguments at the start",
            begin.clone()
                + &start(0, json!({"type": "tool_use", "id": "t", "name": "x", "input": {"p": 1}}))
                + &end("tool_use"),
            vec![call("t", "x", json!({"p": 1}))],
            StopReason::ToolUse,
        ),
        (
            "thinking",
            begin.clone()
                + &start(0, json!({"type": "thinking", "thinking": ""}))
                + &delta(0, json!({"type": "thinking_delta", "thinking": "hm"}))
                + &delta(0, json!({"type": "signature_delta", "signature": "s"}))
                + &stop(0)
                + &start(1, json!({"type": "redacted_thinking", "data": "z"}))
                + &stop(1)
                + &end("max_tokens"),
            vec![thinking("hm", Some("s")), thinking("", Some("redacted_thinking:z"))],
            StopReason::Length,
        ),
        (
            "tools of the vendor, unknown blocks and events",
            begin.clone()
                + &start(0, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}))
                + &json_delta(0, "{\"q\":1}")
                + &stop(0)
                + &event(json!({"type": "ping"}))
                + &event(json!({"type": "of_next_year"}))
                + &text
                + &end("pause_turn"),
            vec![Part::text("hi")],
            StopReason::EndTurn,
        ),
        ("refusal", begin.clone() + &text + &end("refusal"), vec![Part::text("hi")], StopReason::Refusal),
    ];
    for (what, stream, expected, expected_stop) in table {
        let (parts, stop, usage) = reply(Wire::Anthropic, events(&stream)).await.unwrap();
        assert_eq!((parts, stop), (expected, expected_stop), "{what}");
        assert_eq!(usage, Usage { input: 3, output: 5, cache_read: 2, cache_write: 0 }, "{what}");
    }
}

#[tokio::test]
async fn ten_thousand_calls_in_one_reply_are_no_trouble() {
    let piece = |index: usize| json!({"index": index, "id": format!("c{index}"), "function": {"name": "x", "arguments": "{}"}});
    let pieces: Vec<Value> = (0..10_000).map(piece).collect();
    let (parts, _, _) = reply(Wire::OpenaiChat, events(&calls(&pieces))).await.unwrap();
    assert_eq!(parts.len(), 10_000);
    assert_eq!(parts[9_999], call("c9999", "x", json!({})));
}

/// Dropping the stream is how a person interrupts: the connection must go with it.
#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    let server = Server::start(vec![vec![
        events(&chat(&[json!({"content": "hi"})], Value::Null).replace("data: [DONE]\n\n", "")),
        Act::Hold,
    ]])
    .await;
    let settings = Connection { base_url: Some(server.url.clone()), ..Connection::default() };
    let mut deltas = connect(Wire::OpenaiChat.speaker().unwrap(), settings).stream(Request::default());
    assert_eq!(deltas.next().await.unwrap().unwrap(), Delta::Text("hi".into()));
    drop(deltas);
    server.until_all_have_left().await;
}
