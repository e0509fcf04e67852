//! What the first request of a session costs before anybody has said much.
#![expect(clippy::print_stdout, reason = "the figures are worth reading")]

use crate::kit::{Place, Server, openai_text};
use serde_json::Value;

/// As o200k counts, the vocabulary of the GPT-4o family.
fn tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

#[test]
fn the_first_request_is_short() {
    let place = Place::new();
    let server = Server::start(vec![openai_text("Hi.")]);
    let address = format!("{}/v1", server.address);
    let model = ["--model", "openai/gpt-5", "--base-url", &address];
    let mut haft = place.haft(&["run", "Say hi."]);
    haft.args(model).env("OPENAI_API_KEY", "k");
    let output = haft.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let request: Value = server.asked().remove(0);
    for tool in request["tools"].as_array().unwrap() {
        println!("{:5} {}", tokens(&tool.to_string()), tool["function"]["name"]);
    }
    let all = tokens(&request.to_string());
    println!("{all:5} tokens in all, {} of them tools", tokens(&request["tools"].to_string()));
    assert!(all <= 1_800, "{all} tokens: {request}");
}
