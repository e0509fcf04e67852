//! What a person is told beside the conversation: hints that they can follow, how things stand, and nothing twice.

use crate::kit::{
    Place,
    terminal::{Terminal, poll},
};
use serde_json::{Value, json};

fn opened(place: &Place, script: &[Value], more: &str) -> Option<Terminal> {
    place.script("model.jsonl", script);
    let terminal = Terminal::open(place, (90, 30))?;
    terminal.haft(place, &format!("--model script/../model.jsonl {more}"));
    terminal.see("what to do?");
    Some(terminal)
}

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command}}]})
}

#[test]
fn a_command_that_is_not_known_is_told_where_all_are_listed() {
    let place = Place::new();
    let Some(terminal) = opened(&place, &[json!({"say": "unheard"})], "") else { return };
    for line in ["/rules", "/skills", "/hooks", "/modle", "/nosuch at all"] {
        let name = line.split(' ').next().unwrap();
        terminal.say(line);
        terminal.see(&format!("there is no command `{name}`"));
        let screen = terminal.see("what to do?");
        let hint = screen.rsplit("hint: ").next().unwrap_or_default();
        assert!(hint.contains("`/help` lists") && !screen.contains("docs/"), "{line}: {screen}");
        terminal.keys(&["C-l"]);
    }
    let ran = place.run_with_input(&["chat", "--model", "script/../model.jsonl"], b"/nosuch\nexit\n");
    assert!(ran.err.contains("`/help` lists them"), "{ran:?}");
}

/// No line that people are shown names a file that only the repository has.
#[test]
fn no_hint_names_a_file_of_the_repository() {
    let place = Place::new();
    for words in [
        &["config", "set", "no.such", "1"][..],
        &["config", "set", "nosuch", "1"],
        &["help", "permissions"],
        &["help", "sessions"],
        &["help", "models"],
        &["help", "configuration"],
        &["doctor"],
        &["serve", "--fleet", "nonsense"],
        &["help"],
    ] {
        let ran = place.run(words);
        assert!(!format!("{}{}", ran.out, ran.err).contains("docs/"), "{words:?}: {ran:?}");
    }
}

/// The status line shows the mode; the scrollback holds no line of each press, also when the session goes on.
#[test]
fn a_mode_is_seen_where_it_holds_and_nowhere_else() {
    let place = Place::new();
    let Some(terminal) = opened(&place, &[json!({"say": "Hello."})], "") else { return };
    terminal.say("hello");
    terminal.see("Hello.");
    for mode in ["accept-edits", "read-only", "plan", "ask", "accept-edits"] {
        terminal.keys(&["BTab"]);
        terminal.see(&format!("model.jsonl · {mode}"));
    }
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    terminal.haft(&place, "-c");
    terminal.see("model.jsonl · accept-edits");
    let all = terminal.all();
    assert!(!all.contains("what is allowed") && all.contains("> hello"), "{all}");
}

/// What a subagent does is told in words.
#[test]
fn a_live_line_of_a_subagent_is_no_json() {
    let place = Place::new();
    let folder = place.path().join("person/.config/haft/agents");
    std::fs::create_dir_all(&folder).unwrap();
    place.write("a.txt", "x\n");
    place.script(
        "child.jsonl",
        &[
            json!({"calls": [{"name": "read", "arguments": {"path": "a.txt", "limit": 5}}]}),
            json!({"calls": [{"name": "list", "arguments": {"depth": 2}}]}),
            bash("for word in some words; do echo $word; done; sleep 60"),
        ],
    );
    let child = "---\nname: helper\ndescription: helps\nmodel: script/../child.jsonl\n---\nHelp.\n";
    std::fs::write(folder.join("helper.md"), child).unwrap();
    let delegate = json!({"calls": [{"name": "delegate", "arguments": {"task": "look", "agent": "helper"}}]});
    let Some(terminal) = opened(&place, &[delegate], "--permission full") else { return };
    terminal.say("go");
    let screen = terminal.see("bash for word in some words;");
    assert!(screen.contains("read a.txt") && !screen.contains('{'), "{screen}");
    terminal.keys(&["Escape"]);
    terminal.see("interrupted");
}

/// A turn that goes on by itself needs no word that says how it would.
#[test]
fn a_turn_that_goes_on_by_itself_is_not_said_to_wait() {
    for (way, is_said) in [("-c", true), ("resume", false)] {
        let place = Place::unconfined();
        let wait = bash("touch begun; until test -e go; do sleep 0.05; done");
        let script = [wait, json!({"say": "It went on."})];
        let Some(terminal) = opened(&place, &script, "--permission full") else { return };
        terminal.say("begin");
        poll(|| place.read("begun").is_some(), || "the command".into());
        terminal.signal("KILL");
        terminal.see("left 137");
        terminal.keys(&["-l", "stty sane; printf 'given %s\\n' back"]);
        terminal.keys(&["C-j"]);
        terminal.see("given back");
        terminal.haft(&place, way);
        let screen = terminal.see(if is_said { "`/continue` resumes it" } else { "It went on." });
        assert_eq!(screen.contains("`/continue` resumes it"), is_said, "{screen}");
    }
}

/// The status line says so while commands run unconfined that were to be confined.
#[test]
fn the_status_line_says_that_commands_run_unconfined() {
    let place = Place::new();
    let script = [bash("echo ran"), json!({"say": "It ran."})];
    place.script("model.jsonl", &script);
    for refuses in [true, false] {
        let Some(terminal) = Terminal::open(&place, (110, 30)) else { return };
        if refuses {
            // As where a system lets only root make namespaces.
            terminal.say("exec unshare --map-root-user env PS1='% ' sh");
            terminal.see("%");
            terminal.say("echo 0 >/proc/sys/user/max_user_namespaces && echo done");
            terminal.see("done\n");
        }
        terminal.haft(&place, "--model script/../model.jsonl --permission full");
        terminal.see("model.jsonl · full");
        terminal.say("run it");
        let screen = terminal.see("It ran.");
        assert_eq!(screen.contains("model.jsonl · full · unconfined"), refuses, "{screen}");
        assert_eq!(screen.contains("commands run unconfined"), refuses, "{screen}");
    }
}
