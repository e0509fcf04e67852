//! Colors of the user's own, and mistakes in what the screen is set up with.

use crate::kit::{Place, terminal::Terminal};
use serde_json::json;

fn theme(place: &Place, name: &str, text: &str) {
    let folder = place.path().join("person/.config/haft/themes");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

// H-43
#[test]
fn a_theme_is_a_file() {
    let place = Place::new();
    place.configure("theme = \"mine\"\n");
    theme(&place, "mine", "base = \"dark\"\naccent = \"#010203\"\ndim = \"208\"\n");
    place.script("model.jsonl", &[json!({"say": "Heard."})]);
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.say("export COLORTERM=truecolor");
    terminal.haft(&place, "--model script/../model.jsonl");
    terminal.see("what to do?");
    terminal.say("hello");
    terminal.see("Heard.");
    assert!(terminal.colors().contains("38;2;1;2;3m>"), "{}", terminal.colors());
    terminal.say("/theme");
    let screen = terminal.see("mine");
    assert!(screen.contains("dark") && screen.contains("current"), "{screen}");
    terminal.keys(&["Escape"]);
    terminal.no_longer_see("type to search");
    terminal.say("/theme dark");
    terminal.see("theme: dark");
    terminal.say("/theme mine");
    terminal.see("theme: mine");
    terminal.say("/quit");
    terminal.see("left 0");
    terminal.say("export NO_COLOR=1; clear");
    terminal.haft(&place, "--continue --model script/../model.jsonl");
    terminal.see("what to do?");
    assert!(!terminal.colors().contains("38;"), "{}", terminal.colors());
}

// H-43
#[test]
fn known_themes_come_along_and_a_file_goes_before_one() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "Heard."}), json!({"say": "Again."})]);
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.say("export COLORTERM=truecolor");
    place.configure("theme = \"nord\"\n");
    for accent in ["38;2;136;192;208m>", "38;2;1;2;3m>"] {
        terminal.say("clear");
        terminal.haft(&place, "--model script/../model.jsonl");
        terminal.see("what to do?");
        assert!(terminal.colors().contains(accent), "{accent}: {}", terminal.colors());
        terminal.say("/theme");
        terminal.see("catppuccin");
        terminal.keys(&["Escape"]);
        terminal.no_longer_see("type to search");
        terminal.say("/quit");
        terminal.see("left 0");
        theme(&place, "nord", "base = \"dark\"\naccent = \"#010203\"\n");
    }
}

// H-43
#[test]
fn every_theme_that_comes_along_can_be_read() {
    let place = Place::new();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/commands/themes")).unwrap();
    let paths: Vec<std::path::PathBuf> = files.map(|file| file.unwrap().path()).collect();
    assert!(paths.len() >= 8, "{paths:?}");
    for path in paths {
        let (name, text) =
            (path.file_stem().unwrap().to_str().unwrap(), std::fs::read_to_string(&path).unwrap());
        assert!(text.contains("accent = ") && text.contains("syntax = "), "{name}");
        theme(&place, name, &text);
    }
    let ran = place.run(&["config", "check"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Whatever starts a session says so at once, and so does what checks the configuration.
// H-43
#[test]
fn mistakes_in_the_set_up_of_the_screen_are_told_at_the_start() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "Heard."})]);
    theme(&place, "odd", "base = \"dark\"\naccent = \"bleu\"\n");
    theme(&place, "older", "[colors]\n");
    theme(&place, "paper", "syntax = \"Nort\"\n");
    let table = [
        ("theme = \"odd\"\n", "odd.toml`: line 2: `bleu` is not a color"),
        ("theme = \"paper\"\n", "line 1: no colors of code are named `Nort`"),
        ("theme = \"older\"\n", "older.toml`: line 1: unknown field `colors`"),
        ("theme = \"gone\"\n", "config.toml`: line 1: there is no theme `gone`"),
        ("theme = \"../config\"\n", "there is no theme `../config`"),
        ("[keys.prompt]\nsumbit = \"F2\"\n", "has no action `sumbit`"),
        ("editor_mode = \"vi\"\n", "line 1: unknown variant `vi`"),
        ("notifications = \"loud\"\n", "line 1: unknown variant `loud`"),
        (
            "status_line = \"{modell}\"\n",
            "config.toml`: line 1: `status_line`: there is no `{modell}`; did you mean `{model}`?",
        ),
        ("hyperlinks = \"yes\"\n", "line 1: unknown variant `yes`"),
    ];
    for (text, expected) in table {
        place.configure(text);
        let model = ["--model", "script/../model.jsonl"];
        for command in [&["run", "go"][..], &["build", "it"], &["config", "check"]] {
            let model = if command[0] == "config" { &[][..] } else { &model[..] };
            let ended = place.run(&[command, model].concat());
            assert_eq!(ended.code, 2, "{text} {command:?}: {ended:?}");
            assert!(ended.err.replace('\n', " ").contains(expected), "{text} {command:?}: {ended:?}");
        }
        let doctor = place.run(&["doctor"]);
        let told = doctor.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(doctor.code == 1 && told.contains(expected), "{text}: {doctor:?}");
    }
    place.configure("theme = \"light\"\n");
    let all = place.run(&["config", "check"]);
    assert!(all.code == 2 && all.err.contains("odd.toml"), "a theme that is not in use: {all:?}");
    for name in ["odd", "older", "paper"] {
        theme(&place, name, "");
    }
    let good = place.run(&["config", "check"]);
    assert!(good.code == 0 && good.out.contains("config.toml"), "{good:?}");
}
