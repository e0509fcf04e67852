//! Proofs of thoughts: what a reply brings goes back to the vendors that want it, and to no other.
use crate::{
    line::{
        server::{answer, events},
        streams::{call, chat, reply, thinking},
    },
    requests::{conversation, sent, sent_by},
};
use haft_core::{CallId, Message, Part, Request, ToolResult};
use haft_providers::{Connection, Effort, Wire};
use serde_json::{Value, json};
use std::sync::Arc;

/// A conversation in which the model said `parts`, and its calls were answered.
fn answered(model: &str, parts: Vec<Part>) -> Request {
    let result = |id: &CallId| Message::Tool {
        call: id.clone(),
        name: "read".into(),
        result: ToolResult { content: "one".into(), ..ToolResult::default() },
    };
    let results: Vec<Message> = parts.iter().filter_map(Part::as_call).map(|call| result(&call.id)).collect();
    let prompt = Message::User { parts: vec![Part::text("look")] };
    let messages = [prompt, Message::Assistant { parts }].into_iter().chain(results);
    Request { model: model.into(), messages: messages.map(Arc::new).collect(), ..conversation() }
}

/// The first message of the model in a request on the chat wire.
async fn said_again(vendor: &str, model: &str, parts: Vec<Part>) -> Value {
    let (_, body) = sent(vendor, answered(model, parts)).await;
    body["messages"][2].clone()
}

fn piece(index: u64, id: &str, signature: &str) -> Value {
    let extra = json!({"google": {"thought_signature": signature}});
    let mut piece = json!({"index": index, "id": id, "function": {"name": "read", "arguments": "{}"}});
    if !signature.is_empty() {
        piece["extra_content"] = extra;
    }
    piece
}

#[tokio::test]
async fn gemini_gets_the_signatures_of_its_calls_back_on_either_wire() {
    let pieces = json!([piece(0, "a", "of a"), piece(1, "b", ""), piece(2, "c", "of c")]);
    let streamed = events(&chat(&[json!({"tool_calls": pieces})], json!("tool_calls")));
    let whole = json!({"choices": [{"message": {"tool_calls": pieces}, "finish_reason": "tool_calls"}]});
    let whole = answer(200, "content-type: application/json", &whole.to_string());
    for act in [streamed, whole] {
        let (parts, ..) = reply(Wire::OpenaiChat, act).await.unwrap();
        let expected = vec![
            thinking("", Some("gemini:0:of a")),
            thinking("", Some("gemini:2:of c")),
            call("a", "read", json!({})),
            call("b", "read", json!({})),
            call("c", "read", json!({})),
        ];
        assert_eq!(parts, expected);
        let chat = said_again("gemini", "gemini-3-pro-preview", parts.clone()).await;
        let signatures = [0, 1, 2]
            .map(|place| chat["tool_calls"][place]["extra_content"]["google"]["thought_signature"].clone());
        assert_eq!(signatures, [json!("of a"), Value::Null, json!("of c")], "{chat}");
        let (_, native) = sent("gemini-native", answered("m", parts)).await;
        let signatures =
            [0, 1, 2].map(|place| native["contents"][1]["parts"][place]["thoughtSignature"].clone());
        assert_eq!(signatures, [json!("of a"), Value::Null, json!("of c")], "{native}");
    }
}

#[tokio::test]
async fn openrouter_gets_the_details_of_its_thoughts_back_as_they_came() {
    let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": "f"});
    let signature = json!({"type": "reasoning.text", "signature": "s", "index": 0, "text": null});
    let encrypted = |id: &str| json!({"type": "reasoning.encrypted", "data": "ENC", "id": id, "index": 0});
    let deltas = [
        json!({"reasoning": "h", "reasoning_details": [text("h")]}),
        json!({"reasoning": "m", "reasoning_details": [text("m")]}),
        json!({"reasoning_details": [signature]}),
        json!({"reasoning_details": [encrypted("a"), encrypted("b")]}),
        json!({"reasoning_details": null, "tool_calls": [piece(0, "a", "")]}),
    ];
    let (parts, ..) = reply(Wire::OpenaiChat, events(&chat(&deltas, json!("tool_calls")))).await.unwrap();
    let details = json!([
        {"type": "reasoning.text", "text": "hm", "index": 0, "format": "f", "signature": "s"},
        encrypted("a"),
        encrypted("b"),
    ]);
    assert_eq!(
        said_again("openrouter", "google/gemini-3", parts.clone()).await["reasoning_details"],
        details
    );
    for vendor in ["openai", "mistral", "gemini"] {
        let said = said_again(vendor, "m", parts.clone()).await;
        assert!(!said.to_string().contains("reasoning_details"), "{vendor}: {said}");
    }
    for vendor in ["anthropic", "openai-responses", "gemini-native"] {
        let (_, body) = sent(vendor, answered("m", parts.clone())).await;
        assert!(!body.to_string().contains("ENC"), "{vendor}: {body}");
    }
}

#[tokio::test]
async fn signatures_of_gemini_are_sent_to_no_other_vendor() {
    for vendor in ["openai", "mistral", "openrouter"] {
        let parts = vec![thinking("", Some("gemini:0:xyz")), call("a", "read", json!({}))];
        let said = said_again(vendor, "m", parts).await;
        assert!(!said.to_string().contains("xyz"), "{vendor}: {said}");
    }
}

#[tokio::test]
async fn a_call_that_another_model_made_bears_a_placeholder_for_gemini_3() {
    let skip = json!("skip_thought_signature_validator");
    for (model, signature, expected) in [
        ("gemini-3-pro-preview", None, skip.clone()),
        ("gemini-3-pro-preview", Some("s"), skip),
        ("gemini-3-pro-preview", Some("gemini:0:own"), json!("own")),
        ("gemini-2.5-pro", None, Value::Null),
    ] {
        let parts =
            vec![thinking("hm", signature), call("a", "read", json!({})), call("b", "read", json!({}))];
        let chat = said_again("gemini", model, parts.clone()).await;
        let (_, native) = sent("gemini-native", answered(model, parts)).await;
        let of_chat =
            |place: usize| &chat["tool_calls"][place]["extra_content"]["google"]["thought_signature"];
        let of_native = |place: usize| &native["contents"][1]["parts"][place]["thoughtSignature"];
        assert_eq!([of_chat(0), of_native(0)], [&expected; 2], "{model}, {signature:?}");
        assert_eq!([of_chat(1), of_native(1)], [&Value::Null; 2], "{model}, {signature:?}");
    }
}

#[tokio::test]
async fn claude_does_not_think_in_a_turn_in_which_another_model_made_the_last_calls() {
    let a = || call("a", "read", json!({}));
    let own = |signature: &str| thinking("hm", Some(signature));
    // Without a thought of its own, with one of another vendor, with one that does not stand first, with one; without a call.
    for (of_anthropic, of_bedrock, expected) in [
        (vec![a()], vec![a()], false),
        (vec![own("gemini:0:g"), a()], vec![own("s"), a()], false),
        (vec![Part::text("Well."), own("s"), a()], vec![Part::text("Well."), own("converse:s"), a()], false),
        (vec![own("s"), a()], vec![own("converse:s"), a()], true),
        (vec![Part::text("Well.")], vec![Part::text("Well.")], true),
    ] {
        let connection = Connection { effort: Some(Effort::High), ..Connection::default() };
        let (_, body) =
            sent_by("anthropic", answered("claude-sonnet-4-5", of_anthropic.clone()), connection.clone())
                .await;
        assert_eq!(body["thinking"]["type"] == "enabled", expected, "{of_anthropic:?}");
        // A model that thinks as much as it needs may begin with a call.
        let (_, body) =
            sent_by("anthropic", answered("claude-opus-4-6", of_anthropic.clone()), connection).await;
        assert_eq!(body["thinking"]["type"], "adaptive", "{of_anthropic:?}");
        for field in ["thinking", "reasoning_config"] {
            let mut request = answered("m", of_bedrock.clone());
            request.options.insert(field.into(), json!({"type": "enabled", "budget_tokens": 2_048}));
            let (_, body) = sent("bedrock", request).await;
            let thinks = body["additionalModelRequestFields"][field]["type"] == "enabled";
            assert_eq!(thinks, expected, "{field}: {of_bedrock:?}");
        }
    }
}
