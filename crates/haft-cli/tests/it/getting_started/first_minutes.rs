//! The first ten minutes, as they are typed into a shell in a terminal of 80 columns.

use crate::kit::{Place, terminal::Terminal};
use serde_json::json;

const SIZE: (u16, u16) = (80, 50);

/// Each line as a person types it behind `haft`, with what stands in front of a pipe, and what is seen then.
#[test]
fn what_is_piped_in_and_what_is_mistyped_are_told_apart() {
    let place = Place::new();
    place.write("notes.txt", "Buy milk.\n");
    // Only a prompt with the input in it is answered.
    let expect = "summarize\n\n<stdin bytes=\"10\">\nBuy milk.\n</stdin>";
    place.script("model.jsonl", &[json!({"say": "The shop needs milk.", "expect": expect})]);
    let Some(terminal) = Terminal::open(&place, SIZE) else { return };
    let table = [
        ("--model script/../model.jsonl summarize <notes.txt", "The shop needs milk.\nleft 0"),
        ("sesions list", "there is no command `sesions`; did you mean `sessions`?"),
        ("sesions list", "hint: `haft run \"sesions list\"` sends it as a prompt\nleft 2"),
        ("resum 2026", "there is no command `resum`; did you mean `resume`?"),
        ("jobs lst", "tip: a similar subcommand exists: 'list'"),
    ];
    for (line, expected) in table {
        terminal.haft(&place, line);
        let screen = terminal.see("left ");
        assert!(screen.contains(expected), "{line}: {screen}");
    }
}

#[test]
fn lists_have_headers_and_say_where_there_is_nothing() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "Hello."})]);
    let Some(terminal) = Terminal::open(&place, SIZE) else { return };
    let seen = |arguments: &str| {
        terminal.haft(&place, arguments);
        terminal.see("left 0")
    };
    assert!(seen("sessions list").contains("There are no sessions yet: `haft` starts one."));
    assert!(seen("jobs list").contains("There are no jobs yet: `haft build \"TEXT\"` starts one."));
    seen("--model script/../model.jsonl say hello");
    let list = seen("sessions list");
    let header: Vec<&str> = list.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(header, ["SESSION", "LAST", "USED", "DIRECTORY", "MODEL", "TITLE"], "{list}");
    // Each row is one, whatever the width, and what it begins with names the session.
    let row = list.lines().nth(1).unwrap_or_default();
    assert!(row.contains("  now  ") && row.ends_with("say hello"), "{list}");
    let id = row.split_whitespace().next().unwrap_or_default();
    assert!(id.len() < 32 && seen(&format!("sessions show {id}")).contains("> say hello"), "{id}");
    let object: serde_json::Value =
        serde_json::from_str(place.run(&["sessions", "list", "--json"]).out.trim()).unwrap_or_default();
    assert_eq!(object["title"], "say hello");
}

/// The whole of it is seen at once.
#[test]
fn help_fits_the_terminal() {
    let place = Place::new();
    let Some(terminal) = Terminal::open(&place, SIZE) else { return };
    terminal.haft(&place, "--help");
    let screen = terminal.see("left 0");
    for part in ["A coding agent", "Talk and work:", "See and set up:", "Examples:", "git diff | haft"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() < 80), "{screen}");
    for topic in ["permissions", "sessions", "models", "configuration"] {
        terminal.haft(&place, &format!("help {topic}"));
        terminal.see("left 0");
        let page = terminal.all();
        assert!(page.to_lowercase().starts_with(topic), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
}
