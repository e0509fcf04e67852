//! Routes that speak as OpenAI's do, before a model on loopback.
use crate::kit::{Place, openai, serving::Serving, vendor::VendorServer};
use serde_json::{Value, json};

const KEY: &str = "sk-private-0123456789";

#[test]
fn another_model_of_the_same_provider_is_asked_at_the_same_address_and_a_cut_reply_says_so() {
    let vendor = VendorServer::start(|asked| {
        let finish = if asked.body["model"] == "short" { "length" } else { "stop" };
        openai(&[json!({"role": "assistant", "content": "It is"})], finish)
    });
    let place = Place::new();
    place.configure(&format!("[vendors.openai]\nkey = \"{KEY}\"\n"));
    let server = Serving::start(&place, &["--model", "openai/long", "--base-url", &vendor.base_url]);
    let chat = |model: &str| -> Value {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "hello"}]});
        server.ask("POST /v1/chat/completions", &body.to_string()).json()
    };
    for (model, finish) in [("openai/long", "stop"), ("openai/short", "length")] {
        let answer = chat(model);
        let choice = &answer["choices"][0];
        assert_eq!(
            (&choice["message"]["content"], &choice["finish_reason"]),
            (&json!("It is"), &json!(finish))
        );
    }
    let body = json!({"model": "openai/short", "input": "hello"});
    let answer = server.ask("POST /v1/responses", &body.to_string()).json();
    let reason = &answer["incomplete_details"]["reason"];
    assert_eq!((&answer["status"], reason), (&json!("incomplete"), &json!("max_output_tokens")));
    let asked: Vec<Value> = vendor.prompts().into_iter().map(|body| body["model"].clone()).collect();
    assert_eq!(asked, ["long", "short", "short"]);
    // What another provider is asked goes to its own address, without this key.
    let other = chat("anthropic/claude-haiku-4-5");
    assert!(other["error"].is_object() && vendor.prompts().len() == 3, "{other}");
}
