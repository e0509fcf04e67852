//! The screen says that there is a newer version only where that was asked for, and waits for no server.
use crate::kit::{
    Place,
    releases::{NEW, Releases, Served},
    terminal::{Terminal, poll},
};
use serde_json::json;

/// Opens the screen and leaves it, once `until` holds; what it said.
fn opened(terminal: &Terminal, place: &Place, until: impl Fn() -> bool) -> String {
    terminal.haft(place, "--model script/../model.jsonl");
    terminal.see("what to do?");
    poll(until, || "the server to be asked".into());
    let seen = terminal.all();
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    seen
}

#[test]
fn a_check_is_made_once_a_day_if_it_is_wanted() {
    let (place, releases) = (Place::new(), Releases::start());
    place.script("model.jsonl", &[json!({"say": "unheard"})]);
    let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
    let told = format!("haft {NEW} is available; `haft update` installs it");

    releases.configure(&place, "");
    assert!(!opened(&terminal, &place, || true).contains(&told));
    assert_eq!(releases.asked(), Vec::<String>::new());

    releases.configure(&place, "check = true");
    let kept = place.path().join("person/.cache/haft/update.json");
    assert!(!opened(&terminal, &place, || kept.exists()).contains(&told));
    let once = ["/index.json", "/index.json.minisig"];
    assert_eq!(releases.asked(), once);
    // The answer of the first day is told, and the server is not asked again.
    assert!(opened(&terminal, &place, || true).contains(&told));
    assert_eq!(releases.asked(), once);
}

#[test]
fn a_slow_server_does_not_hold_up_the_screen() {
    let (place, releases) = (Place::new(), Releases::start());
    place.script("model.jsonl", &[json!({"say": "unheard"})]);
    let Some(terminal) = Terminal::open(&place, (90, 30)) else { return };
    releases.configure(&place, "check = true");
    releases.put("/index.json", Served::Slow(vec![b' '; 99_999]));
    opened(&terminal, &place, || !releases.asked().is_empty());
    assert!(!place.path().join("person/.cache/haft/update.json").exists());
}
