//! What a model is told to do next, in the words of its profile: the arguments that it was offered, and no others.

use crate::kit::Place;
use serde_json::{Value, json};

/// What a call is told that did not work.
fn advice(place: &Place, profile: &str, name: &str, arguments: &Value) -> String {
    let arguments = arguments.to_string();
    let words = ["tools", "call", name, &arguments, "--profile", profile, "--permission", "full"];
    let ran = place.run(&words);
    let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    // Whatever of it a model reads; under `picoclaw` that is all there is.
    let said = [&told["content"], &told["for_llm"]].map(|text| text.as_str().unwrap_or_default());
    assert!(ran.code == 1 && !said.concat().is_empty(), "{profile} {name} {arguments}: {ran:?}");
    said.concat()
}

/// The parameters of a tool that a profile offers.
fn offered(place: &Place, profile: &str, name: &str) -> Vec<String> {
    let told: Value =
        serde_json::from_str(&place.run(&["tools", "schema", name, "--profile", profile]).out).unwrap();
    told[0]["function"]["parameters"]["properties"].as_object().unwrap().keys().cloned().collect()
}

// C-22, C-65, X-10
#[test]
fn a_suggestion_names_only_arguments_that_the_profile_offers() {
    let place = Place::new();
    place.write("a.txt", "x = 1\nx = 1\n");
    let run = |call: Value| move |_: &str| call.clone();
    let edit = |profile: &str| match profile {
        "opencode" => json!({"filePath": "a.txt", "oldString": "x", "newString": "y"}),
        _ => json!({"path": "a.txt", "old_text": "x", "new_text": "y"}),
    };
    // Parameters that some profile tells of, or none.
    let bash = ["timeout", "background", "needs", "pty", "working_dir", "description"];
    let edits = ["occurrence", "replace_all", "replaceAll", "old_text", "oldString"];
    type Call<'a> = (&'a str, Box<dyn Fn(&str) -> Value>, &'a [&'a str]);
    let calls: [Call<'_>; 6] = [
        ("bash", Box::new(run(json!({"command": "sleep 9", "timeout": 1}))), &bash),
        ("bash", Box::new(run(json!({"command": "true", "need": "live"}))), &bash),
        ("bash", Box::new(run(json!({"command": "true", "backgrund": true}))), &bash),
        ("bash", Box::new(run(json!({"command": "true", "work_dir": "."}))), &bash),
        ("edit", Box::new(edit), &edits),
        ("edit", Box::new(run(json!({"replaceal": true}))), &edits),
    ];
    for profile in ["default", "alfred", "pedro", "ally", "opencode", "picoclaw"] {
        for (name, arguments, known) in &calls {
            // The first of several is meant, or arguments are the tool's own affair.
            let arguments = arguments(profile);
            let works = match (profile, *name) {
                ("alfred", "edit") => arguments.get("old_text").is_some(),
                ("pedro", _) => arguments.get("timeout").is_some() || *name == "edit",
                ("picoclaw", _) => arguments.get("timeout").is_none() && arguments.get("old_text").is_none(),
                _ => false,
            };
            if works {
                continue;
            }
            let advice = advice(&place, profile, name, &arguments);
            let offered = offered(&place, profile, name);
            let untold = known.iter().filter(|known| !offered.iter().any(|offered| offered == *known));
            for untold in untold {
                let named = [format!("`{untold}`"), format!("`{untold}["), format!("{untold}=")];
                let is_named = named.iter().any(|named| advice.contains(named));
                assert!(!is_named, "{profile}: `{untold}` is named by: {advice}");
            }
        }
    }
    let told = advice(&place, "ally", "bash", &json!({"command": "sleep 9", "timeout": 1}));
    assert!(told.contains("give a longer `timeout`\""), "{told}");
    let told = advice(&place, "default", "bash", &json!({"command": "sleep 9", "timeout": 1}));
    assert!(told.contains("or run it in the `background`"), "{told}");
}
