//! What changes look like on a terminal, and how a person answers the call that asks for them.

use crate::kit::{Place, terminal::Terminal};
use serde_json::{Value, json};

const BEFORE: &str = "def add(a, b):\n    return a - b\n";

fn edit(new: &str) -> Value {
    json!({"name": "edit", "arguments": {"path": "calc.py", "old": "    return a - b", "new": new}})
}

/// A screen, or a line-based front-end, on a model that says `script`.
fn opened(place: &Place, how: &str, script: &[Value], size: (u16, u16)) -> Option<Terminal> {
    place.write("calc.py", BEFORE);
    place.script("model.jsonl", script);
    let terminal = Terminal::open(place, size)?;
    terminal.haft(place, &format!("{how} --model script/../model.jsonl"));
    Some(terminal)
}

/// O-11, C-74: numbers of lines, grounds, what differs in a line, and syntax: alike wherever a person sees a change.
#[test]
fn a_change_is_drawn_alike_on_the_screen_and_line_by_line() {
    let table =
        [("", "what to do?"), ("chat", "to leave."), ("run fix --permission accept-edits", "Mended.")];
    for (how, begun) in table {
        let place = Place::new();
        let script = [json!({"calls": [edit("    return a + b")]}), json!({"say": "Mended."})];
        let Some(terminal) = opened(&place, how, &script, (80, 30)) else { return };
        terminal.see(begun);
        if !how.starts_with("run") {
            terminal.say("fix");
            terminal.see("Edit calc.py?");
        }
        let screen = terminal.screen();
        for expected in [
            "Edit calc.py  +1 −1",
            "  1 1   def add(a, b):",
            "  2   -     return a - b",
            "    2 +     return a + b",
        ] {
            assert!(screen.lines().any(|line| line.contains(expected)), "{how}: {expected} in {screen}");
        }
        let colors = terminal.colors();
        let line =
            |sign: &str| colors.lines().find(|line| line.contains(sign)).unwrap_or_default().to_owned();
        // The grounds of lines and of what differs in them, in 256 colors; `return` is colored within.
        for (sign, ground, part) in [("- ", "48;5;52", "48;5;88"), ("+ ", "48;5;22", "48;5;29")] {
            let line = line(&format!("{sign}    "));
            let codes = [ground, part, "38;5;176mreturn"];
            assert!(codes.iter().all(|code| line.contains(code)), "{how}: {line:?}");
        }
    }
}

#[test]
fn without_colors_a_change_has_its_signs() {
    let place = Place::new();
    let script = [json!({"calls": [edit("    return a + b")]}), json!({"say": "Mended."})];
    let Some(terminal) = opened(&place, "run fix --no-color --permission accept-edits", &script, (80, 30))
    else {
        return;
    };
    terminal.see("Mended.");
    let colors = terminal.colors();
    assert!(colors.contains("  2   -     return a - b\n") && !colors.contains("\x1b["), "{colors:?}");
}

/// What is removed cannot be looked up in the file: it stands there, and where it has no room it is counted.
#[test]
fn what_is_removed_is_not_clipped_away() {
    let place = Place::new();
    let lines: String = (1..=60).map(|line| format!("old {line}\n")).collect();
    place.write("gone.txt", &lines);
    place.write("calc.txt", &lines);
    let patch = "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch";
    let new: String = (1..=60).map(|line| format!("new {line}\n")).collect();
    let script = [
        json!({"calls": [{"name": "apply_patch", "arguments": {"patch": patch}}]}),
        json!({"calls": [{"name": "read", "arguments": {"path": "calc.txt"}}]}),
        json!({"calls": [{"name": "write", "arguments": {"path": "calc.txt", "content": new}}]}),
        json!({"say": "Done."}),
    ];
    let Some(terminal) = opened(&place, "", &script, (80, 24)) else { return };
    terminal.see("what to do?");
    terminal.say("tidy up");
    let screen = terminal.see("Delete gone.txt?");
    assert!(screen.contains("Delete gone.txt  −60") && screen.contains("of them removed"), "{screen}");
    terminal.keys(&["y"]);
    let screen = terminal.see("Edit calc.txt?");
    assert!(screen.contains("Edit calc.txt  +60 −60") && screen.contains("- old 1"), "{screen}");
    terminal.keys(&["y"]);
    terminal.see("Done.");
    let all = terminal.all();
    for expected in ["- old 1\n", "- old 60\n"] {
        assert!(all.matches(expected).count() >= 2, "{expected:?} in {all}");
    }
}

/// Three answers: by arrows and Enter, by numbers, by letters; the second says what it covers before it is given.
#[test]
fn an_approval_is_answered_with_arrows_numbers_or_letters() {
    let place = Place::unconfined();
    let run =
        |name: &str| json!({"calls": [{"name": "bash", "arguments": {"command": format!("touch {name}")}}]});
    let mut three = run("three");
    three["calls"][0]["arguments"]["description"] = "Makes three".into();
    let script = [run("one"), run("two"), run("two"), three, json!({"say": "Done."})];
    let Some(terminal) = opened(&place, "", &script, (100, 40)) else { return };
    terminal.see("what to do?");
    terminal.say("touch them");
    let screen = terminal.see("? Run `touch one`?");
    let answers = [
        "❯ 1. Yes  (y)",
        "  2. Yes, and do not ask again for `touch one` in this session  (a)",
        "  3. No, and say what to do instead  (n)",
    ];
    assert!(screen.contains(&answers.join("\n")), "{screen}");
    terminal.keys(&["Down", "Up", "Enter"]);
    terminal.see("? Run `touch two`?");
    assert!(place.read("one").is_some());
    terminal.keys(&["2"]);
    // The second time it is not asked for.
    let screen = terminal.see("? Run `touch three`?");
    // What the question says does not stand above it once more.
    let beside = "  called with\n    description: Makes three\n? Run `touch three`?\n";
    assert!(screen.contains(beside) && !screen.contains("bash would"), "{screen}");
    terminal.keys(&["Up"]);
    terminal.see("❯ 3. No");
    terminal.keys(&["Up", "Up", "Enter"]);
    terminal.see("Done.");
    assert!(place.read("two").is_some() && place.read("three").is_some());
}

/// The words behind a no are read by the model with the refusal, and the refused diff stays.
// H-28
#[test]
fn a_no_says_what_to_do_instead() {
    let place = Place::new();
    let script =
        [json!({"calls": [edit("    return a + b")]}), json!({"expect": "use sum", "say": "Then so."})];
    let Some(terminal) = opened(&place, "chat", &script, (80, 30)) else { return };
    terminal.see("to leave.");
    terminal.say("fix");
    terminal.see("3. No, and say what to do instead");
    terminal.say("n use sum");
    let screen = terminal.see("Then so.");
    assert!(screen.contains("+     return a + b"), "{screen}");
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    assert!(journal.contains("use sum") && journal.contains("and the user said no"), "{journal}");
    assert_eq!(place.read("calc.py").as_deref(), Some(BEFORE));
}

/// The time that a person takes to answer is not the call's.
#[test]
fn a_call_is_not_charged_with_the_time_of_a_person() {
    let place = Place::new();
    let script = [json!({"calls": [edit("    return a + b")]}), json!({"say": "Mended."})];
    let Some(terminal) = opened(&place, "", &script, (80, 30)) else { return };
    terminal.see("what to do?");
    terminal.say("fix");
    terminal.see("1. Yes");
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    terminal.keys(&["y"]);
    let screen = terminal.see("Mended.");
    assert!(screen.contains("✓ Edit calc.py  +1 −1\n"), "{screen}");
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let ended = journal.lines().find(|line| line.contains("\"tool_ended\"")).unwrap();
    let ended: Value = serde_json::from_str(ended).unwrap();
    assert!(ended["duration_ms"].as_u64().unwrap() < 2_000, "{ended}");
}

const SIZES: [(u16, u16); 2] = [(80, 24), (40, 12)];

/// The page that Ctrl+O opens, all of it.
fn pages(terminal: &Terminal) -> String {
    terminal.keys(&["C-o"]);
    let mut all = terminal.see("q to close");
    for _ in 0..6 {
        terminal.keys(&["PPage"]);
    }
    for _ in 0..6 {
        all += &terminal.see("q to close");
        terminal.keys(&["NPage"]);
    }
    terminal.keys(&["q"]);
    terminal.no_longer_see("q to close");
    all
}

/// The beginning or the end of a word of `text` that stands alone in what is seen.
fn broken<'a>(seen: &'a str, text: &str) -> Option<&'a str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_part = |word: &&str| {
        let word = word.trim_end_matches(['`', '?', '…']).trim_start_matches('`');
        let is_end = |whole: &&str| whole.starts_with(word) || whole.ends_with(word);
        word.len() > 2 && !words.contains(&word) && words.iter().any(is_end)
    };
    seen.split_whitespace().find(is_part)
}

/// Wherever a person reads a command before it runs, or again with what came of it, its words are whole.
#[test]
fn no_word_of_a_command_is_broken() {
    let commands = [
        "for step in one two three; do sleep 0; echo working-on-$step; done; echo finished >made.txt; true https://example.com/a/b?c=d",
        "printf '%s %s' --flag=with-a-value another-argument-here >>made.txt && test -f made.txt && echo everything-is-well-that-ends-well",
    ];
    for place in [Place::unconfined(), Place::new()] {
        for command in commands {
            let call = json!({"name": "bash", "arguments": {"command": command, "timeout": 50}});
            for how in ["", "chat"] {
                for size in SIZES {
                    let Some(terminal) = opened(&place, how, &[json!({"calls": [call]})], size) else {
                        return;
                    };
                    terminal.see(if how.is_empty() { "what to do?" } else { "/help" });
                    terminal.say("make it");
                    let seen = terminal.see(if how.is_empty() { "3. No" } else { "INSTEAD" });
                    assert_eq!(broken(&seen, command), None, "{how} {size:?}: {seen}");
                    if how.is_empty() {
                        let pages = pages(&terminal);
                        assert_eq!(broken(&pages, command), None, "{size:?}: {pages}");
                        let missing = command.split_whitespace().find(|word| !pages.contains(word));
                        assert_eq!(missing, None, "{size:?}: {pages}");
                    }
                }
            }
        }
    }
}

/// A command that ran in its view is seen above what came of it.
#[test]
fn a_command_stands_above_its_diff() {
    let long = format!("echo finished >made.txt; true {}", "and-more ".repeat(80));
    for command in ["echo finished >made.txt", long.trim_end()] {
        let script = [
            json!({"calls": [{"name": "bash", "arguments": {"command": command}}]}),
            json!({"say": "Done."}),
        ];
        for how in ["", "chat"] {
            for size in SIZES {
                let place = Place::new();
                let Some(terminal) = opened(&place, how, &script, size) else { return };
                terminal.see(if how.is_empty() { "what to do?" } else { "/help" });
                terminal.say("make it");
                terminal.see(if how.is_empty() { "3. No" } else { "INSTEAD" });
                let seen = if how.is_empty() { terminal.screen() } else { terminal.all() };
                let at = |text: &str| seen.find(text);
                let (command, change) = (at("command: echo finished"), at("Create made.txt  +1"));
                assert!(command.is_some() && command < change, "{how} {size:?}: {seen}");
                if how.is_empty() {
                    let pages = pages(&terminal);
                    let (command, change) = (pages.find("command: echo"), pages.find("Create made.txt  +1"));
                    assert!(command.is_some() && command < change, "{size:?}: {pages}");
                }
            }
        }
    }
}
