//! The proofs of a model's thoughts: what a vendor refuses a call without. The real binary, servers on loopback.
use crate::kit::{Place, Ran, Reply, Server, anthropic, openai, openai_call, openai_text};
use serde_json::{Value, json};

/// What a model of `vendor` is sent in its second request, after a reply with a call that also has these fields.
fn second_request(vendor: &str, model: &str, of_message: Value, of_call: Value) -> Value {
    let place = Place::new();
    place.write("a.txt", "The code is 7421.\n");
    let function = json!({"name": "read", "arguments": r#"{"path":"a.txt"}"#});
    let mut call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
    call.as_object_mut().unwrap().extend(of_call.as_object().unwrap().clone());
    let mut delta = json!({"role": "assistant", "tool_calls": [call]});
    delta.as_object_mut().unwrap().extend(of_message.as_object().unwrap().clone());
    let server = Server::start(vec![openai(&[delta], "tool_calls"), openai_text("It is 7421.")]);
    let (url, key) = (format!("{vendor}_BASE_URL"), format!("{vendor}_API_KEY"));
    let mut command = place.haft(&["run", "--model", model, "what is the code?"]);
    let ran = Ran::from(command.env(url, format!("{}/v1", server.address)).env(key, "k").output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is 7421.\n"), "{ran:?}");
    server.asked()[1].clone()
}

#[test]
fn what_proves_a_thought_goes_back_with_the_call_that_it_led_to() {
    let signature = json!({"google": {"thought_signature": "c2ln"}});
    let asked = second_request(
        "GEMINI",
        "gemini/gemini-3-pro-preview",
        json!({}),
        json!({"extra_content": signature}),
    );
    assert_eq!(asked["messages"][2]["tool_calls"][0]["extra_content"], signature, "{asked}");
    let details = json!([{"type": "reasoning.encrypted", "data": "c2ln", "id": "r", "index": 0}]);
    let asked = second_request(
        "OPENROUTER",
        "openrouter/google/gemini-3-pro-preview",
        json!({"reasoning": "hm", "reasoning_details": details}),
        json!({}),
    );
    assert_eq!(asked["messages"][2]["reasoning_details"], details, "{asked}");
}

/// What a model of `vendor` is sent that takes over from OpenAI after a call of that, and answers with `reply`.
fn taken_over(vendor: &str, model: &str, reply: Reply) -> Value {
    let place = Place::new();
    place.write("a.txt", "The code is 7421.\n");
    let no_credit =
        Reply(402, "application/json", json!({"error": {"message": "Insufficient Balance"}}).to_string());
    let first = Server::start(vec![openai_call("read", &json!({"path": "a.txt"})), no_credit]);
    let second = Server::start(vec![reply]);
    place.configure(&format!(
        "[vendors.openai]\nbase_url = \"{}/v1\"\nkey = \"sk-secret-key\"\n\
         [vendors.{vendor}]\nbase_url = \"{}/v1\"\nkey = \"sk-secret-key\"\n",
        first.address, second.address
    ));
    let model = format!("{vendor}/{model}");
    let options = ["run", "--model", "openai/gpt-5", "--fallback", &model, "--effort", "high", "go"];
    let ran = place.run(&options);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is 7421.\n"), "{ran:?}");
    second.asked()[0].clone()
}

#[test]
fn gemini_3_takes_over_the_calls_of_another_model() {
    let asked = taken_over("gemini", "gemini-3-pro-preview", openai_text("It is 7421."));
    let extra = &asked["messages"][2]["tool_calls"][0]["extra_content"];
    assert_eq!(extra["google"]["thought_signature"], "skip_thought_signature_validator", "{asked}");
}

#[test]
fn claude_takes_over_the_calls_of_another_model_without_thinking_in_that_turn() {
    let text = json!({"type": "text", "text": ""});
    let reply = anthropic(text, &[json!({"type": "text_delta", "text": "It is 7421."})], "end_turn");
    let asked = taken_over("anthropic", "claude-sonnet-4-5", reply);
    assert_eq!(asked["messages"][1]["content"][0]["type"], "tool_use", "{asked}");
    assert!(asked["thinking"].is_null(), "{asked}");
}
