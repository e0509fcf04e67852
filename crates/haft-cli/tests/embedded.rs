//! The embedded model does the main job in the real binary.
//!
//! The model lies in the folder that `HAFT_MODELS` names; `make test` fetches it. Where it is missing, this says so
//! and passes.
#![cfg(feature = "local")]
#![expect(clippy::print_stdout, reason = "a test that does not begin says why")]
mod kit;
use kit::Place;

#[test]
fn the_embedded_model_reads_a_file_and_tells_what_is_in_it() {
    let folder = std::env::var("HAFT_MODELS").unwrap_or_default();
    if !kit::exists(&std::path::Path::new(&folder).join("SmolLM2-135M-Instruct.Q4_1.gguf")) {
        println!("skipped: there is no demo model in HAFT_MODELS");
        return;
    }
    let place = Place::new();
    place.write("notes.txt", "Meeting on Monday.\nThe launch code is 7421.\n");
    let ran = place.run(&[
        "run",
        "--model",
        "local/smollm2-135m",
        "--json",
        "Read notes.txt and tell me the launch code.",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let events = ran.events();
    let started = events.iter().find(|event| event["type"] == "tool_started").unwrap();
    assert_eq!(
        (started["name"].as_str(), started["arguments"]["path"].as_str()),
        (Some("read"), Some("notes.txt"))
    );
    let reply = events.iter().rfind(|event| event["type"] == "replied").unwrap();
    assert!(reply["parts"].to_string().contains("7421"), "{reply}");
}
