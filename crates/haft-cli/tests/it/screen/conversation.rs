//! The screen that `haft` opens, in a real terminal: keys go in, pictures come out.

use crate::kit::{
    Place,
    bare_terminal::BareTerminal,
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
    let page = terminal.see("q to close");
    assert!(page.contains("rm -rf precious"), "{page}");
    assert!(!["FILE", "ENTITY", "LINK", "ERROR"].iter().any(|evil| terminal.title().contains(evil)));
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

/// E06: however long an answer is, each line is there once and in order.
#[test]
fn ten_thousand_lines_go_into_the_scrollback() {
    let place = Place::new();
    let lines: String = (0..10_000).map(|line| format!("row {line:05}\n")).collect();
    let script = [json!({"say": lines, "pieces": 11}), json!({"say": "short"})];
    let Some(terminal) = opened(&place, (80, 24), &script, "") else { return };
    terminal.say("count");
    terminal.see("row 09999");
    terminal.no_longer_see("Esc to interrupt");
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
    terminal.keys(&["Escape"]);
    terminal.say("delegate it");
    terminal.see("● delegate look around");
    terminal.keys(&["C-t"]);
    terminal.see("subagent: look around");
    terminal.keys(&["Down", "Enter"]);
    let page = terminal.see("q to close");
    assert!(page.contains("> look around"), "{page}");
    terminal.keys(&["q"]);
    terminal.see("● delegate look around");
    terminal.keys(&["Escape"]);
    terminal.see("interrupted");
}

/// H-139
#[test]
fn what_a_background_command_prints_is_read_as_it_comes_and_the_model_reads_it_too() {
    let place = Place::new();
    let work = "echo up; until [ -e go ]; do sleep 0.1; done; printf '\\033[31mmore\\033[0m\\n'; sleep 1000";
    let serve = json!({"command": work, "background": true, "needs": ["live"]});
    let script = [
        json!({"calls": [{"name": "bash", "arguments": serve}]}),
        json!({"say": "It serves."}),
        json!({"calls": [{"name": "job", "arguments": {"id": "1"}}]}),
        json!({"say": "Looked."}),
        json!({"say": "Noted."}),
    ];
    let Some(terminal) = opened(&place, (80, 30), &script, "--permission full") else { return };
    terminal.say("serve");
    terminal.see("It serves.");
    terminal.keys(&["C-t"]);
    terminal.see("❯ task 1");
    terminal.keys(&["Enter"]);
    let page = terminal.see("q to close");
    assert!(page.starts_with("task 1: echo up") && page.contains("\nup\n"), "{page}");

    std::fs::write(place.work().join("go"), "").unwrap();

    terminal.see("\nmore\n");
    terminal.keys(&["q"]);
    terminal.say("look");
    terminal.see("Looked.");
    let read = std::fs::read_to_string(place.journal()).unwrap();
    let read = read.lines().filter(|line| line.contains("tool_ended")).nth(1).unwrap().to_owned();
    assert!(read.contains("up") && read.contains("more"), "{read}");

    terminal.keys(&["C-d"]);
    terminal.see("press Ctrl+D again to end 1 background command and quit");
    terminal.keys(&["C-t"]);
    terminal.see("❯ task 1");
    terminal.keys(&["C-d"]);
    terminal.see("stop: ends it; the model is told");
    terminal.keys(&["Enter"]);
    terminal.see("background task 1 was stopped");
    terminal.see("Noted.");
    terminal.no_longer_see("1 background task");
    terminal.keys(&["C-t"]);
    terminal.see("no background command or subagent is running");
}

#[test]
fn what_closes_the_session_asks_before_it_ends_background_commands() {
    let place = Place::new();
    let serve = json!({"command": "sleep 1000", "background": true});
    let script = [json!({"calls": [{"name": "bash", "arguments": serve}]}), json!({"say": "It serves."})];
    let Some(terminal) = opened(&place, (80, 30), &script, "--permission full") else { return };
    terminal.say("serve");
    terminal.see("It serves.");
    for (word, marked) in [("/fork", 1), ("/new", 1), ("/quit", 1)] {
        terminal.say(word);
        terminal.see("work is running in the background");
        terminal.see("end 1 background command, and go on");
        terminal.keys(&["Enter"]);
        terminal.no_longer_see("work is running in the background");
        terminal.see(&format!("{marked} background task"));
    }
    terminal.say("/fork");
    terminal.see("work is running in the background");
    terminal.keys(&["Down", "Enter"]);
    terminal.see("the conversation goes on in a copy of this session");
    terminal.no_longer_see("1 background task");
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

// The system sends SIGHUP to programs of the terminal's own session alone.
#[test]
fn a_program_ends_when_its_terminal_is_gone_also_if_the_system_does_not_tell_it() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "Hello"})]);
    let line = "setsid --wait sh -c 'echo $$ >../pid; exec \"$HAFT\" --model script/../model.jsonl'";
    let Some(mut terminal) = BareTerminal::running(&place, line) else { return };
    terminal.see("what to do?");
    let pid = std::fs::read_to_string(place.path().join("pid")).unwrap();
    let is_there = || std::path::Path::new("/proc").join(pid.trim()).join("exe").exists();
    assert!(is_there());
    drop(terminal);
    poll(|| !is_there(), || format!("the end of process {pid}"));
}
