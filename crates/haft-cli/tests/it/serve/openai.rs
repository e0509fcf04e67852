//! Routes that speak as OpenAI's do, before a model on loopback.
use super::users::{Client, add, journal};
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

/// Two users who say and hear the same words have sessions of their own, whose calls differ.
#[test]
fn a_conversation_goes_on_in_a_session_of_its_own_user() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "First."}), json!({"say": "Second."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let users = [add(&place, &server, "ann", "admin"), add(&place, &server, "ben", "admin")];
    let say = |user: &Client<'_>, messages: Value| {
        let body = json!({"model": "haft", "messages": messages});
        let answer = user.ask("POST /v1/chat/completions", &body);
        answer.json()["choices"][0]["message"]["content"].clone()
    };
    for user in &users {
        assert_eq!(say(user, json!([{"role": "user", "content": "one"}])), "First.");
    }
    for user in &users {
        let messages = json!([{"role": "user", "content": "one"}, {"role": "assistant", "content": "First."},
            {"role": "user", "content": "two"}]);
        assert_eq!(say(user, messages), "Second.");
    }
    let sessions = server.ask("GET /v1/sessions", "").json()["sessions"].clone();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    for session in sessions {
        let entries = journal(&place, session["id"].as_str().unwrap());
        let prompts: Vec<_> = entries.iter().filter(|entry| entry["type"] == "prompted").collect();
        assert_eq!(prompts.len(), 2, "{prompts:?}");
    }
}
