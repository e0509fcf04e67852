//! `[vendors.anthropic] cache_ttl`: what the vendor is asked to keep, and what that costs.
use crate::kit::{Place, Ran, Reply, vendor::VendorServer};
use serde_json::{Value, json};

/// A reply that wrote a million tokens to the cache.
fn reply() -> Reply {
    let usage = json!({"input_tokens": 0, "cache_creation_input_tokens": 1_000_000, "output_tokens": 0});
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 0}}),
        json!({"type": "message_stop"}),
    ];
    let body =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    Reply(200, "text/event-stream", body.collect())
}

#[test]
fn a_conversation_is_kept_for_an_hour_where_the_person_says_so_at_its_own_price() {
    for (file, control, usd) in [
        ("", json!({"type": "ephemeral"}), 3.75),
        ("[vendors.anthropic]\ncache_ttl = \"5m\"\n", json!({"type": "ephemeral"}), 3.75),
        ("[vendors.anthropic]\ncache_ttl = \"1h\"\n", json!({"type": "ephemeral", "ttl": "1h"}), 6.0),
    ] {
        let (place, server) = (Place::new(), VendorServer::start(|_| reply()));
        place.configure(file);
        let mut haft = place.haft(&["run", "--json", "--model", "anthropic/claude-sonnet-4-5", "hello"]);
        haft.env("ANTHROPIC_BASE_URL", &server.base_url).env("ANTHROPIC_API_KEY", "k");
        let ran = Ran::from(haft.output().unwrap());
        let asked = server.prompts().pop().unwrap();
        let marks: Vec<&Value> = [&asked["cache_control"], &asked["system"][0]["cache_control"]].into();
        assert_eq!(marks, [&control, &control], "{file}");
        let ended = ran.events().into_iter().find(|event| event["type"] == "turn_ended").unwrap();
        assert_eq!(ended["cost_usd"].as_f64(), Some(usd), "{file}: {ran:?}");
    }
}

#[test]
fn another_time_is_an_error_that_names_the_two() {
    let place = Place::new();
    place.configure("[vendors.anthropic]\ncache_ttl = \"2h\"\n");
    let ran = place.run(&["run", "--model", "anthropic/claude-sonnet-4-5", "hello"]);
    assert!(ran.code == 2 && ran.err.contains("`5m`") && ran.err.contains("`1h`"), "{ran:?}");
}
