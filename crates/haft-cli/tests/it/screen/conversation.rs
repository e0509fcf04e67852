//! The screen that `haft` opens, in a real terminal: keys go in, pictures come out.

use crate::kit::{
    Place,
    terminal::{Terminal, poll, steady},
};
use serde_json::{Value, json};

/// What a written model says, one line for each reply.
fn opened(place: &Place, size: (u16, u16), script: &[Value], more: &str) -> Option<Terminal> {
    place.script("model.jsonl", script);
    let terminal = Terminal::open(place, size)?;
    terminal.haft(place, &format!("--model script/../model.jsonl {more}"));
    terminal.see("what to do?");
    Some(terminal)
}

fn edit(old: &str, new: &str) -> Value {
    json!({"name": "edit", "arguments": {"path": "a.txt", "old": old, "new": new}})
}

/// O-11, C-74: a conversation with its Markdown, calls and results.
#[test]
fn a_prompt_is_answered_and_what_is_finished_is_the_terminals_own() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    let markdown = "# Plan\n\nI **look** at `a.txt`:\n\n1. first\n2. then\n   - below\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 漢字 |\n\n```rust\nfn main() {}\n```\n";
    let script = [
        json!({"think": "hm", "say": markdown, "pieces": 3, "usage": {"input": 1000, "output": 50},
               "calls": [{"name": "read", "arguments": {"path": "a.txt"}}]}),
        json!({"say": "It has five lines. cafe\u{301} \u{1b}]0;evil\u{7}", "usage": {"input": 1100, "output": 9}}),
    ];
    let Some(terminal) = opened(&place, (60, 40), &script, "") else { return };
    terminal.say("how long is it?");
    terminal.see("It has five lines.");
    let screen = terminal.see("2 rounds");
    insta::assert_snapshot!("conversation", steady(&screen, &place));
    terminal.keys(&["C-d"]);
    let left = terminal.see("left 0");
    assert!(left.contains("It has five lines."), "{left}");
    assert!(!left.contains("what to do?"), "{left}");
}

// Letters of a word are not answers, wherever in it they stand
#[test]
fn who_writes_while_a_call_asks_has_not_answered() {
    let place = Place::new();
    place.write("a.txt", "hello\nworld\n");
    let script = [json!({"calls": [edit("world", "Welt")]}), json!({"say": "Then not."})];
    let Some(terminal) = opened(&place, (60, 24), &script, "") else { return };
    terminal.say("translate it");
    terminal.see("1. Yes");
    terminal.keys(&["-l", "some typed text"]);
    terminal.see("> some typed text");
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    terminal.keys(&["Escape"]);
    terminal.see("Then not.");
    assert_eq!(place.read("a.txt").unwrap(), "hello\nworld\n");
}

/// O-11, C-51: a call that asks, with its diff; the answer is one key.
#[test]
fn an_approval_shows_its_diff_and_takes_one_key() {
    let place = Place::new();
    place.write("a.txt", "hello\nworld\n");
    let script = [
        json!({"say": "I change it.", "calls": [edit("world", "Welt")]}),
        json!({"say": "Then not."}),
        json!({"calls": [edit("world", "Welt")]}),
        json!({"say": "Changed."}),
    ];
    let Some(terminal) = opened(&place, (60, 24), &script, "") else { return };
    terminal.say("translate it");
    let screen = terminal.see("1. Yes");
    insta::assert_snapshot!("approval", without_time(&steady(&screen, &place)));
    terminal.keys(&["Escape"]);
    let screen = terminal.see("Then not.");
    assert!(screen.contains("✗ Edit a.txt  +1 −1  refused") && screen.contains("+ Welt"), "{screen}");
    assert_eq!(place.read("a.txt").unwrap(), "hello\nworld\n");
    terminal.say("do it");
    terminal.see("1. Yes");
    terminal.resize(40, 12);
    let small = terminal.see("1. Yes");
    insta::assert_snapshot!("approval_small", without_time(&steady(&small, &place)));
    terminal.resize(60, 24);
    terminal.keys(&["C-o"]);
    terminal.see("q leaves");
    terminal.keys(&["q"]);
    terminal.see("1. Yes");
    terminal.keys(&["y"]);
    terminal.see("Changed.");
    assert_eq!(place.read("a.txt").unwrap(), "hello\nWelt\n");
}

/// D15, A22: what is hidden in entities, errors and names stays text; what a long command begins with is seen.
#[test]
fn nothing_that_others_wrote_reaches_the_terminal_raw() {
    let place = Place::unconfined();
    place.write("evil\u{1b}]0;FILE\u{7}.txt", "x");
    let command = format!("rm -rf precious\n{}", "echo harmless\n".repeat(60));
    let script = [
        json!({"say": "hello &#27;]0;ENTITY&#7; [x](http://a&#27;]0;LINK&#7;)", "fail": "boom \u{1b}]0;ERROR\u{7}\nline", "kind": "rejected"}),
        json!({"calls": [{"name": "bash", "arguments": {"command": command}}]}),
    ];
    let Some(terminal) = opened(&place, (60, 20), &script, "") else { return };
    terminal.say("go");
    terminal.see("boom");
    terminal.keys(&["-l", "@evil"]);
    terminal.see("❯ evil");
    terminal.keys(&["C-u"]);
    terminal.say("run it");
    let screen = terminal.see("1. Yes");
    assert!(screen.contains("rm -rf precious"), "{screen}");
    terminal.keys(&["C-a"]);
    terminal.see("y, a or n");
    terminal.keys(&["C-o"]);
    let page = terminal.see("q leaves");
    assert!(page.contains("rm -rf precious"), "{page}");
    assert!(!["FILE", "ENTITY", "LINK", "ERROR"].iter().any(|evil| terminal.title().contains(evil)));
}

/// While a person is asked the clock goes on.
fn without_time(screen: &str) -> String {
    let line = |line: &str| match line.split_once("waiting for you") {
        Some((before, _)) => format!("{before}waiting for you"),
        None => line.to_owned(),
    };
    screen.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// O-11: Esc stops a reply that hangs, and what was said meanwhile steers the turn.
#[test]
fn escape_interrupts_and_words_steer() {
    let place = Place::unconfined();
    place.write("a.txt", "x\n");
    let script = [
        json!({"say": "Working on it", "calls": [{"name": "bash", "arguments": {"command": "until test -e go; do sleep 0.05; done"}}]}),
        json!({"say": "It waits for", "expect": "hurry", "hang": true}),
    ];
    let Some(terminal) = opened(&place, (60, 20), &script, "--permission full") else { return };
    terminal.say("begin");
    terminal.see("● bash");
    terminal.say("hurry");
    terminal.see("next: hurry");
    place.write("go", "");
    terminal.see("It waits for");
    let steered = terminal.no_longer_see("next: hurry");
    assert!(steered.contains("> hurry"), "{steered}");
    terminal.keys(&["Escape"]);
    let screen = terminal.see("interrupted");
    assert!(screen.contains("It waits for"), "{screen}");
}

/// What was said in the middle of a turn is not lost when that turn is killed: it is seen, and it is said. `haft resume` goes
/// on at once, and both let the person go on talking.
#[test]
fn a_prompt_that_waited_when_the_process_was_killed_is_seen_when_the_session_goes_on() {
    for (way, word) in [("--continue", Some("/continue")), ("resume --last", None)] {
        let place = Place::unconfined();
        let script = [
            json!({"say": "Working on it", "calls": [{"name": "bash", "arguments": {"command": "until test -e go; do sleep 0.05; done"}}]}),
            json!({"say": "It went on."}),
            json!({"say": "I hurry.", "expect": "hurry"}),
            json!({"say": "Still here.", "expect": "are you there"}),
        ];
        let Some(terminal) = opened(&place, (60, 40), &script, "--permission full") else { return };
        terminal.say("begin");
        terminal.see("● bash");
        terminal.say("hurry");
        terminal.see("next: hurry");
        terminal.signal("KILL");
        terminal.see("left 137");
        // The terminal was not given back, so that Enter ends no line, and none that is pressed before this is done.
        terminal.keys(&["-l", "stty sane; printf 'given %s\\n' back"]);
        terminal.keys(&["C-j"]);
        terminal.see("given back");
        terminal.haft(&place, &format!("{way} --model script/../model.jsonl --permission full"));
        if let Some(word) = word {
            let cut_off = terminal.see("next: hurry");
            assert!(cut_off.contains("✗ bash until test -e go;"), "{cut_off}");
            terminal.say(word);
        }
        terminal.see("I hurry.");
        let screen = terminal.no_longer_see("next: hurry");
        let places =
            ["> begin", "Working on it", "It went on.", "> hurry", "I hurry."].map(|part| screen.find(part));
        assert!(places.is_sorted() && places[0].is_some(), "{screen}");
        assert_eq!(screen.matches("> hurry").count(), 1, "{screen}");
        terminal.say("are you there");
        terminal.see("Still here.");
    }
}

/// C-72, C-73: back and forward again, and twice Esc to an earlier prompt.
#[test]
fn a_turn_is_taken_back_with_its_files() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let script = [
        json!({"calls": [edit("one", "two")]}),
        json!({"say": "It is two."}),
        json!({"calls": [edit("two", "three")]}),
        json!({"say": "It is three."}),
    ];
    let Some(terminal) = opened(&place, (60, 24), &script, "--permission full") else { return };
    for (say, answer) in [("make it two", "It is two."), ("make it three", "It is three.")] {
        terminal.say(say);
        terminal.see(answer);
        terminal.see("what to do?");
    }
    terminal.say("/undo");
    terminal.see("went back");
    assert_eq!(place.read("a.txt").unwrap(), "two\n");
    terminal.say("/redo");
    terminal.see("went forward");
    assert_eq!(place.read("a.txt").unwrap(), "three\n");
    terminal.press_twice("Escape", "Esc again", "go back to before");
    let screen = terminal.see("go back to before");
    assert!(screen.contains("❯ make it three"), "{screen}");
    terminal.keys(&["Down", "Enter"]);
    terminal.see("> make it two");
    assert_eq!(place.read("a.txt").unwrap(), "one\n");
}

#[test]
fn lists_are_chosen_from_and_files_completed() {
    let place = Place::new();
    place.write("src/screen.rs", "x\n");
    place.write("readme.md", "x\n");
    let script = [json!({"say": "I see it.", "expect": "@src/screen.rs"})];
    let Some(terminal) = opened(&place, (60, 24), &script, "") else { return };
    terminal.keys(&["/"]);
    let screen = terminal.see("❯ /help");
    insta::assert_snapshot!("commands", steady(&screen, &place));
    terminal.keys(&["t", "h", "e", "Enter"]);
    let screen = terminal.see("❯ terminal");
    insta::assert_snapshot!("themes", steady(&screen, &place));
    terminal.keys(&["Down", "Enter"]);
    terminal.see("colors: dark");
    terminal.keys(&["-l", "look at @scr"]);
    terminal.see("❯ src/screen.rs");
    terminal.keys(&["Tab"]);
    terminal.see("look at @src/screen.rs");
    terminal.keys(&["Enter"]);
    terminal.see("I see it.");
    terminal.say("/sessions");
    terminal.see("there is no other session in this directory");
}

/// E06: however long an answer is, each line is there once and in order.
#[test]
fn ten_thousand_lines_go_into_the_scrollback() {
    let place = Place::new();
    let lines: String = (0..10_000).map(|line| format!("row {line:05}\n")).collect();
    let script = [json!({"say": lines, "pieces": 11}), json!({"say": "short"})];
    let Some(terminal) = opened(&place, (80, 24), &script, "") else { return };
    terminal.say("count");
    terminal.see("row 09999");
    terminal.no_longer_see("Esc interrupts");
    terminal.see("what to do?");
    let all = terminal.all();
    let rows: Vec<&str> = all.lines().filter(|line| line.starts_with("row ")).map(str::trim_end).collect();
    let expected: Vec<String> = (0..10_000).map(|line| format!("row {line:05}")).collect();
    assert!(
        rows == expected,
        "{} rows, from {:?} on",
        rows.len(),
        rows.iter().zip(&expected).find(|(a, b)| a != b)
    );
}

/// From 80×24 to 40×12 and back, in the middle of a reply: nothing stands there twice.
#[test]
fn a_resize_draws_anew_what_is_live() {
    let place = Place::new();
    let long = "These words are wider than forty columns, so they take several rows on a small terminal.";
    let script = [
        json!({"say": format!("{long}\n\n漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 e\u{301}\n\nEnd"), "hang": true}),
    ];
    let Some(terminal) = opened(&place, (80, 24), &script, "") else { return };
    terminal.say("talk");
    terminal.see("End");
    terminal.resize(40, 12);
    terminal.see("@ for fi…");
    terminal.resize(80, 24);
    terminal.see("@ for files");
    terminal.keys(&["Escape"]);
    let screen = terminal.see("interrupted");
    for once in ["End", "what to do?", "interrupted"] {
        assert_eq!(screen.matches(once).count(), 1, "{once}:\n{screen}");
    }
    assert_eq!(screen.matches("漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字").count(), 1, "{screen}");
}

#[test]
fn another_model_and_another_session_are_a_word_away() {
    let place = Place::new();
    let other = [json!({"say": "unheard"}), json!({"say": "The other one.", "expect": "again"})];
    place.script("other.jsonl", &other);
    let script = [json!({"say": "The first one."})];
    let Some(terminal) = opened(&place, (70, 40), &script, "--permission full") else { return };
    terminal.say("hello");
    terminal.see("The first one.");
    terminal.say("/model script/../other.jsonl");
    terminal.see("now with script/../other.jsonl");
    terminal.say("again");
    let screen = terminal.see("The other one.");
    assert_eq!(screen.matches("> hello").count(), 1, "{screen}");
    terminal.say("/model no/such");
    terminal.see("goes on as before");
    terminal.say("/new");
    terminal.see("haft  script/../other.jsonl");
    terminal.see("what to do?");
    terminal.say("/sessions");
    let picker = terminal.see("session:");
    assert!(picker.contains("❯ hello  now  "), "{picker}");
    terminal.keys(&["Enter"]);
    terminal.see("> hello");
    terminal.say("!echo from a command");
    terminal.see("✓ bash");
}

/// Who sits there may allow more, and less; everything at once only in words.
#[test]
fn what_runs_unasked_can_be_changed() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let script = [
        json!({"calls": [edit("one", "two")]}),
        json!({"say": "Edited."}),
        json!({"calls": [{"name": "bash", "arguments": {"command": "echo three > a.txt"}}]}),
        json!({"say": "Ran."}),
    ];
    let Some(terminal) = opened(&place, (60, 24), &script, "") else { return };
    terminal.see("· ask");
    terminal.keys(&["BTab"]);
    terminal.see("· accept-edits");
    terminal.say("edit it");
    terminal.see("Edited.");
    terminal.say("/mode full");
    terminal.see("· full");
    terminal.say("run it");
    terminal.see("Ran.");
    assert_eq!(place.read("a.txt").unwrap(), "three\n");
    terminal.keys(&["BTab"]);
    terminal.see("· read-only");
}

/// T-06, T-18: work beside the conversation is seen, and can be looked at.
#[test]
fn jobs_and_subagents_can_be_opened() {
    let place = Place::new();
    place.script("child.jsonl", &[json!({"say": "unheard", "hang": true})]);
    let folder = place.path().join("person/.config/haft/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let child = "---\nname: helper\ndescription: helps\nmodel: script/../child.jsonl\n---\nHelp.\n";
    std::fs::write(folder.join("helper.md"), child).unwrap();
    let serve = json!({"command": "echo up; touch said; sleep 1000", "background": true, "needs": ["live"]});
    let script = [
        json!({"calls": [{"name": "bash", "arguments": serve}]}),
        json!({"say": "It serves."}),
        json!({"say": "unheard"}),
        json!({"calls": [{"name": "delegate", "arguments": {"task": "look around", "agent": "helper"}}]}),
    ];
    let Some(terminal) = opened(&place, (70, 40), &script, "--permission full") else { return };
    terminal.say("serve");
    terminal.see("It serves.");
    terminal.see("1 background task");
    poll(|| place.read("said").is_some(), || "the job's word".into());
    terminal.keys(&["C-t"]);
    let screen = terminal.see("background:");
    assert!(screen.contains("❯ task ") && screen.contains("sleep 1000"), "{screen}");
    terminal.keys(&["Enter"]);
    terminal.see("  up");
    terminal.say("delegate it");
    terminal.see("● delegate look around");
    terminal.keys(&["C-t"]);
    terminal.see("subagent: look around");
    terminal.keys(&["Down", "Enter"]);
    let page = terminal.see("q leaves");
    assert!(page.contains("> look around"), "{page}");
    terminal.keys(&["q"]);
    terminal.see("● delegate look around");
    terminal.keys(&["Escape"]);
    terminal.see("interrupted");
}

/// B42: a command that makes a mess of its terminal leaves this one alone.
#[test]
fn the_terminal_is_given_back_as_it_was() {
    let place = Place::new();
    let mess = json!({"command": "stty raw -echo; printf '\\033[?1049h\\033[2J'; echo done", "pty": true});
    let script = [json!({"calls": [{"name": "bash", "arguments": mess}]}), json!({"say": "Tidy."})];
    let Some(terminal) = opened(&place, (60, 20), &script, "--permission full") else { return };
    terminal.say("make a mess");
    terminal.see("Tidy.");
    terminal.see("what to do?");
    terminal.say("/quit");
    terminal.see("left 0");
    terminal.is_usable();
}

#[test]
fn questions_of_tools_are_answered_with_a_number_or_in_words() {
    let place = Place::new();
    let ask =
        |text: &str| json!({"name": "ask", "arguments": {"question": text, "choices": ["red", "blue"]}});
    let script = [
        json!({"calls": [ask("Which color?")]}),
        json!({"calls": [ask("And which other?")], "expect": "blue"}),
        json!({"say": "Noted.", "expect": "green"}),
    ];
    let Some(terminal) = opened(&place, (60, 20), &script, "") else { return };
    terminal.say("ask me");
    terminal.see("2. blue");
    terminal.say("2");
    terminal.see("And which other?");
    terminal.say("green");
    terminal.see("Noted.");
}

/// Several lines, a long paste, the history.
#[test]
fn what_is_typed_may_have_several_lines() {
    let place = Place::new();
    let script = [
        json!({"say": "Two lines.", "expect": "one\ntwo"}),
        json!({"say": "Thirty lines.", "expect": "line 29"}),
        json!({"say": "Again.", "expect": "one\ntwo"}),
    ];
    let Some(terminal) = opened(&place, (60, 30), &script, "") else { return };
    terminal.keys(&["-l", "one"]);
    terminal.keys(&["M-Enter"]);
    terminal.say("two");
    terminal.see("Two lines.");
    let paste: String = (0..30).map(|line| format!("line {line}\n")).collect();
    terminal.paste(&place, &paste);
    terminal.see("[paste 1: 30 lines]");
    terminal.keys(&["Enter"]);
    terminal.see("Thirty lines.");
    terminal.keys(&["Up", "Up", "Up", "Enter"]);
    terminal.see("Again.");
}

// A draft with a folded paste is the same after the history and after a question.
#[test]
fn a_draft_comes_back_with_what_was_pasted() {
    let place = Place::unconfined();
    let question = json!({"name": "ask", "arguments": {"question": "Red or blue?"}});
    let wait = json!({"name": "bash", "arguments": {"command": "until [ -e go ]; do sleep 0.05; done"}});
    let script = [
        json!({"calls": [wait]}),
        json!({"calls": [question]}),
        json!({"say": "Noted."}),
        json!({"say": "Read."}),
    ];
    let Some(terminal) = opened(&place, (60, 24), &script, "--permission full") else { return };
    terminal.say("wait for me");
    terminal.see("bash");
    let paste: String = (0..30).map(|line| format!("line {line}\n")).collect();
    terminal.keys(&["-l", "look: "]);
    terminal.paste(&place, &paste);
    terminal.see("> look: [paste 1: 30 lines]");
    terminal.keys(&["Up"]);
    terminal.see("> wait for me");
    terminal.keys(&["Down"]);
    terminal.see("> look: [paste 1: 30 lines]");
    place.write("go", "");
    terminal.see("Red or blue?");
    terminal.say("blue");
    terminal.see("Noted.");
    terminal.see("> look: [paste 1: 30 lines]");
    terminal.keys(&["Enter"]);
    terminal.see("Read.");
    let journal = std::fs::read_to_string(place.journal()).unwrap_or_default();
    let mut prompts = journal.lines().filter(|line| line.contains("\"type\":\"prompted\""));
    let last: Value = serde_json::from_str(prompts.next_back().unwrap_or_default()).unwrap_or_default();
    assert_eq!(last["parts"][0]["text"], format!("look: {}", paste.trim_end()));
}
