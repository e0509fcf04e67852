//! Addresses and paths that are shown can be clicked, and lead to what is shown.

use crate::kit::{
    Place,
    terminal::{Terminal, poll},
};
use serde_json::json;

/// What a conversation in a terminal wrote, with these settings, in `way`, where tmux says that it is of `tmux`.
fn written(settings: &str, way: &str, tmux: &str) -> (String, Place) {
    let place = Place::new();
    place.write("src/a.rs", "fn a() {}\n");
    place.configure(settings);
    let forged = "\u{1b}]8;;https://evil.example/\u{7}click\u{1b}]8;;\u{7}";
    let script = [
        json!({"calls": [{"name": "read", "arguments": {"path": "src/a.rs"}}]}),
        json!({"say": format!("See https://example.org/a and `src/a.rs:1`. {forged} Done."), "pieces": 40}),
    ];
    place.script("model.jsonl", &script);
    let raw = place.path().join("raw");
    if let Some(terminal) = Terminal::open(&place, (120, 30)) {
        if !tmux.is_empty() {
            terminal.say(&format!("export TERM_PROGRAM=tmux TERM_PROGRAM_VERSION={tmux}"));
        }
        terminal.record(&raw);
        terminal.haft(&place, &format!("{way} --model script/../model.jsonl"));
        terminal.see(if way.is_empty() { "what to do?" } else { "to leave." });
        terminal.say("go");
        terminal.see("Done.");
        terminal.say("/quit");
        terminal.see("left 0");
        poll(|| std::fs::read_to_string(&raw).is_ok_and(|raw| raw.contains("left 0")), || "the bytes".into());
    }
    (std::fs::read_to_string(raw).unwrap_or_default(), place)
}

// H-42
#[test]
fn what_is_shown_is_a_link_to_itself() {
    let always = "hyperlinks = \"always\"\n";
    for (settings, way, tmux) in [(always, "", ""), (always, "chat", ""), ("", "chat", "next-3.6")] {
        let (raw, place) = written(settings, way, tmux);
        if raw.is_empty() {
            return;
        }
        let work = place.work().canonicalize().unwrap();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let file = format!("\x1b]8;;file://{host}{}/src/a.rs\x07src/a.rs", work.display());
        assert!(
            raw.contains("\x1b]8;;https://example.org/a\x07https://example.org/a\x1b]8;;\x07"),
            "{way}: {raw}"
        );
        assert!(raw.matches(&file).count() >= 2, "the call and the reply, {way}: {raw}");
        assert!(!raw.contains("\x07click"), "{way}: {raw}");
    }
}

// H-42
#[test]
fn where_links_are_not_known_to_be_shown_none_are_written() {
    let never = "hyperlinks = \"never\"\n";
    // tmux shows them since 3.4.
    for (settings, way, tmux) in [("", "", ""), ("", "chat", ""), (never, "", ""), ("", "chat", "3.3a")] {
        let (raw, _place) = written(settings, way, tmux);
        assert!(!raw.contains("\x1b]8;"), "{settings} {way}: {raw}");
    }
    let place = Place::new();
    place.configure("hyperlinks = \"always\"\n");
    place.script("model.jsonl", &[json!({"say": "See https://example.org/a."})]);
    let piped = place.run(&["run", "go", "--model", "script/../model.jsonl"]);
    assert!(piped.out.contains("https://example.org/a.") && !piped.out.contains('\x1b'), "{piped:?}");
}
