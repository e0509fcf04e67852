//! Streams of bytes made by chance from the events of each wire.
use fastrand::Rng;
use haft_providers::{Wire, conformance::assemble};

/// What may stand anywhere.
const BITS: &[&[u8]] = &[
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"data: ",
    b"data:",
    b"event: x\n",
    b"id: 1\n",
    b": ping\n\n",
    b"{",
    b"}",
    b"\"",
    b"\\",
    b"[DONE]",
    b"null",
    b"\xff",
    b"\xef\xbb\xbf",
    "\u{1f600}".as_bytes(),
    b"\xf0\x9f",
    b" ",
    b"0",
    b"-1",
    b"1e999",
];

/// The events of a reply with text, thoughts and a call.
fn events(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::OpenaiChat => &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"hm"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"I look é."}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3}}"#,
            "[DONE]",
        ],
        Wire::OpenaiResponses => &[
            r#"{"type":"response.created","response":{"id":"r1","status":"in_progress"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1"}}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"item_id":"m1","delta":"I look é."}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"i1","call_id":"c1","name":"f","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"i1","delta":"{\"a\":1}"}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"i1","call_id":"c1","name":"f","arguments":"{\"a\":1}"}}"#,
            r#"{"type":"response.completed","response":{"id":"r1","status":"completed","usage":{"input_tokens":5,"output_tokens":3}}}"#,
        ],
        Wire::Anthropic => &[
            r#"{"type":"message_start","message":{"id":"m1","role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm é"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"f","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        Wire::Converse => &[
            r#"{"type":"messageStart","role":"assistant"}"#,
            r#"{"type":"contentBlockDelta","contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}"#,
            r#"{"type":"contentBlockDelta","contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"s"}}}"#,
            r#"{"type":"contentBlockStop","contentBlockIndex":0}"#,
            r#"{"type":"contentBlockDelta","contentBlockIndex":1,"delta":{"text":"I look é."}}"#,
            r#"{"type":"contentBlockStart","contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"c1","name":"f"}}}"#,
            r#"{"type":"contentBlockDelta","contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"a\":1}"}}}"#,
            r#"{"type":"contentBlockStop","contentBlockIndex":2}"#,
            r#"{"type":"messageStop","stopReason":"tool_use"}"#,
            r#"{"type":"metadata","usage":{"inputTokens":5,"outputTokens":3}}"#,
        ],
        Wire::Gemini => &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"I look é."}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}}}]}}]}"#,
            r#"{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5}}"#,
        ],
    }
}

/// Events in their order or not, with bytes lost, doubled and put in.
pub(crate) fn bytes(wire: Wire, random: &mut Rng) -> Vec<u8> {
    let mut events = events(wire).to_vec();
    for _ in 0..random.usize(..3) {
        let (one, other) = (random.usize(..events.len()), random.usize(..events.len()));
        match random.bool() {
            true => events.swap(one, other),
            false => events[one] = events[other],
        }
    }
    let end = ["\n\n", "\r\n\r\n", "\r\r", "\n"][random.usize(..4)];
    let mut bytes: Vec<u8> =
        events.iter().flat_map(|event| format!("data: {event}{end}").into_bytes()).collect();
    for _ in 0..random.usize(..5) {
        let at = random.usize(..=bytes.len());
        let until = random.usize(at..=bytes.len().min(at + 30));
        match random.u8(..5) {
            0 => drop(bytes.drain(at..until)),
            1 => bytes.truncate(at),
            2 => {
                let again = bytes[at..until].to_vec();
                bytes.splice(at..at, again);
            }
            _ => drop(bytes.splice(at..at, BITS[random.usize(..BITS.len())].iter().copied())),
        }
    }
    bytes
}

/// Why these bytes are not read as all bytes must be.
pub(crate) fn fault(wire: Wire, bytes: &[u8], random: &mut Rng) -> Option<String> {
    let whole = assemble(wire, [bytes]);
    for size in [1, random.usize(2..40)] {
        let cut = assemble(wire, bytes.chunks(size));
        if cut != whole {
            return Some(format!("cut by {size} it says {cut}, whole {whole}"));
        }
    }
    None
}
