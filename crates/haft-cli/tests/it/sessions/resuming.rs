//! Whether a session can go on, told alike by `haft resume`, the screen and the page.

use crate::kit::{Place, serving::Serving, terminal::Terminal};
use serde_json::{Value, json};

fn facts(place: &Place) -> Vec<String> {
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.map(|entry| entry["type"].as_str().unwrap().to_owned()).collect()
}

/// What the page reads of the only session.
fn is_unfinished(place: &Place, model: &str) -> Value {
    let folder = place.journal().parent().unwrap().to_owned();
    let id = folder.file_name().unwrap().to_str().unwrap();
    let server = Serving::start(place, &["--model", model]);
    server.ask(&format!("GET /v1/sessions/{id}"), "").json()["is_unfinished"].clone()
}

/// A person stopped it: what they do before they leave does not start it again.
#[test]
fn a_turn_that_a_person_stopped_is_not_taken_up() {
    for modes in [&[][..], &["accept-edits"], &["accept-edits", "read-only"]] {
        let place = Place::new();
        let model = place.script(
            "model.jsonl",
            &[
                json!({"say": "Working on it", "hang": true}),
                json!({"say": "unheard"}),
                json!({"say": "It went on.", "expect": "Your reply was cut off"}),
            ],
        );
        let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
        terminal.haft(&place, &format!("--model {model}"));
        terminal.see("what to do?");
        terminal.say("begin");
        terminal.see("Working on it");
        terminal.keys(&["Escape"]);
        terminal.see("interrupted");
        for mode in modes {
            terminal.keys(&["BTab"]);
            terminal.see(&format!("· {mode}"));
        }
        terminal.keys(&["C-d"]);
        terminal.see("left 0");
        assert_eq!(facts(&place).iter().filter(|fact| *fact == "mode_set").count(), modes.len());
        let ran = place.run(&["resume"]);
        assert!(ran.code == 0 && !ran.out.contains("It went on."), "{modes:?}: {ran:?}");
        assert_eq!(is_unfinished(&place, &model), true, "{modes:?}");
        assert!(!facts(&place).contains(&"continued".to_owned()), "{modes:?}");
        terminal.haft(&place, "resume");
        let screen = terminal.see("what to do?");
        assert!(!screen.contains("It went on.") && !screen.contains("takes it up"), "{modes:?}: {screen}");
        terminal.say("/continue");
        terminal.see("It went on.");
    }
}

/// A summary between two turns is no turn, also where its process ends in the middle of it.
#[test]
fn a_summary_leaves_a_finished_session_finished() {
    for is_killed in [false, true] {
        let place = Place::new();
        let long = "some words ".repeat(2_000);
        let model = place.script(
            "model.jsonl",
            &[
                json!({"say": long}),
                json!({"say": "Second."}),
                json!({"say": "The summary."}),
                json!({"say": "It went on."}),
            ],
        );
        let typed = b"one\ntwo\n/compact\nexit\n";
        assert_eq!(place.run_with_input(&["chat", "--model", &model], typed).code, 0);
        let journal = std::fs::read_to_string(place.journal()).unwrap();
        let all = facts(&place);
        assert!(all.ends_with(&["compacted".into(), "turn_ended".into()]), "{all:?}");
        if is_killed {
            let end = journal.trim_end().rfind('\n').unwrap() + 1;
            std::fs::write(place.journal(), &journal[..end]).unwrap();
        }
        let before = facts(&place);
        let ran = place.run(&["resume"]);
        assert!(ran.code == 0 && !ran.out.contains("It went on."), "{is_killed}: {ran:?}");
        assert_eq!(facts(&place), before, "{is_killed}");
        assert_eq!(is_unfinished(&place, &model), false, "{is_killed}");
        let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
        terminal.haft(&place, "resume");
        let screen = terminal.see("what to do?");
        assert!(!screen.contains("cut off") && !screen.contains("It went on."), "{is_killed}: {screen}");
    }
}
