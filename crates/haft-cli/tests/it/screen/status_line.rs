//! The last line of the screen, as the user wants it.

use crate::kit::{Place, terminal::Terminal};
use serde_json::{Value, json};

fn opened(place: &Place, settings: &str) -> Option<Terminal> {
    place.configure(settings);
    let usage = json!({"input": 1000, "output": 50});
    place.script("model.jsonl", &[json!({"say": "Heard.", "usage": usage})]);
    let terminal = Terminal::open(place, (100, 30))?;
    terminal.haft(place, "--model script/../model.jsonl");
    Some(terminal)
}

// H-44
#[test]
fn a_template_names_what_the_line_shows() {
    let place = Place::new();
    let Some(terminal) = opened(&place, "status_line = \"<{mode}> · {cost} · in {folder} · {tokens}\"\n")
    else {
        return;
    };
    let screen = terminal.see("<ask>");
    assert_eq!(screen.trim_end().lines().last(), Some("  <ask> · in work"), "{screen}");
    terminal.say("hello");
    terminal.see("Heard.");
    terminal.see("<ask> · in work · 1.1k");
    terminal.say("/mode accept-edits");
    terminal.see("<accept-edits> · in work");
}

// H-44
#[test]
fn a_command_writes_the_line() {
    let place = Place::new();
    place.write("../status.sh", "cat >../told.json\nprintf '\\033[31mMINE\\033[0m \\033]0;EVIL\\007%s\\nmore\\n' \"$(grep -c accept-edits ../told.json)\"\n");
    let Some(terminal) = opened(&place, "status_command = \"sh ../status.sh\"\n") else { return };
    terminal.see("MINE ");
    terminal.say("/mode accept-edits");
    let screen = terminal.see("EVIL1");
    assert_eq!(screen.trim_end().lines().last(), Some("  MINE ]0;EVIL1"), "{screen}");
    assert!(!terminal.title().contains("EVIL"));
    let told: Value = serde_json::from_str(&place.read("../told.json").unwrap()).unwrap();
    assert_eq!(told["workspace"]["current_dir"], json!(place.work().canonicalize().unwrap()));
    assert_eq!(
        (&told["permission_mode"], &told["cost"]["total_cost_usd"]),
        (&json!("accept-edits"), &json!(null))
    );
    assert!(told["model"]["display_name"].as_str().unwrap().ends_with("model.jsonl"), "{told}");
}

// H-44
#[test]
fn a_command_that_fails_leaves_the_line_as_it_was() {
    let place = Place::new();
    let Some(terminal) = opened(&place, "status_command = \"echo no such thing >&2; exit 3\"\n") else {
        return;
    };
    let screen = terminal.see("`status_command` failed: exit code 3: no such thing");
    assert!(screen.contains("model.jsonl · ask"), "{screen}");
    terminal.say("hello");
    let screen = terminal.see("Heard.");
    assert_eq!(screen.matches("failed").count(), 1, "{screen}");
}
