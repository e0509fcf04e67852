//! [`Vendor`]: the table of vendors, which of their models take an effort, and how long each may take.
use haft_providers::{Timeouts, WIRES, takes_effort, vendor, vendors};
use std::time::Duration;

//
#[test]
fn the_table_can_be_read_and_names_are_unique() {
    let mut names: Vec<&str> = Vec::new();
    for vendor in vendors() {
        names.push(vendor.name);
        names.extend(vendor.aliases);
        assert!(vendor.base_url.starts_with(if vendor.local { "http://" } else { "https://" }), "{vendor:?}");
        assert!(vendor.key_variable.is_none() == vendor.local || vendor.sign_in.is_some(), "{vendor:?}");
        assert_eq!(vendor.key_page.is_none(), vendor.key_variable.is_none(), "{vendor:?}");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert_eq!(vendor("moonshot").unwrap().name, "kimi");
    assert!(vendor("unknown").is_none());
    assert!(WIRES.iter().all(|wire| wire.speaker().is_some()));
}

#[test]
fn the_documentation_names_the_variables_of_each_vendor() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");
    let page = std::fs::read_to_string(page).unwrap();
    let cell = |variable: Option<&str>| variable.map_or("–".to_owned(), |variable| format!("`{variable}`"));
    for vendor in vendors() {
        let (key, address) = (cell(vendor.key_variable), cell(vendor.base_url_variable));
        let row = format!("\n| `{}` | {key} | {address} |\n", vendor.name);
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn who_is_known_to_be_slow_may_take_longer() {
    let table = [
        ("groq", "https://api.groq.com/openai/v1", 60, 60, 3_600),
        ("openai", "https://api.openai.com/v1", 300, 60, 3_600),
        ("openai", "https://api.openai.com/v1/", 300, 60, 3_600),
        ("openai", "http://127.0.0.1:4000/v1", 60, 60, 3_600),
        ("azure", "https://me.openai.azure.com", 300, 60, 3_600),
        ("ollama", "http://127.0.0.1:11434/v1", 600, 600, 14_400),
        ("ollama", "http://gpu.example:11434/v1", 600, 600, 14_400),
    ];
    for (name, base_url, first_byte, idle, reply) in table {
        let timeouts = vendor(name).unwrap().timeouts_at(base_url);
        let found = [timeouts.first_byte, timeouts.idle, timeouts.reply].map(|limit| limit.as_secs());
        assert_eq!(found, [first_byte, idle, reply], "{name} {base_url}");
        assert!(timeouts.thinking >= timeouts.first_byte && timeouts.whole >= timeouts.first_byte);
    }
}

#[test]
fn only_models_that_take_an_effort_are_sent_one() {
    let table = [
        ("openai/gpt-5", true),
        ("openai/gpt-5-chat-latest", false),
        ("openai/gpt-4.1", false),
        ("openai/o3", true),
        ("openai-responses/gpt-5", true),
        ("azure/gpt-5", true),
        ("azure/gpt-4o", false),
        ("openai-responses/gpt-4o", false),
        ("anthropic/claude-sonnet-4-5", true),
        ("anthropic/claude-3-5-haiku-latest", false),
        ("gemini/gemini-2.5-pro", true),
        ("gemini-native/gemini-2.0-flash", false),
        ("groq/openai/gpt-oss-120b", true),
        ("groq/llama-3.3-70b-versatile", false),
        ("openrouter/openrouter/auto", true),
        ("mistral/mistral-medium-latest", false),
        ("deepseek/deepseek-chat", false),
        ("ollama/gpt-oss:20b", true),
        ("llamacpp/x", true),
    ];
    for (spec, expected) in table {
        let (name, model) = spec.split_once('/').unwrap();
        assert_eq!(takes_effort(vendor(name).unwrap(), model), expected, "{spec}");
    }
}

/// The numbers that people find in the documentation.
#[test]
fn a_server_has_a_minute_and_a_reply_two_without_anything_new() {
    let seconds = Timeouts {
        first_byte: Duration::from_secs(60),
        thinking: Duration::from_secs(300),
        idle: Duration::from_secs(60),
        repeating: Duration::from_secs(120),
        reply: Duration::from_secs(3_600),
        whole: Duration::from_secs(600),
    };
    assert_eq!(Timeouts::default(), seconds);
}
