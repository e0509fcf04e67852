//! What a person chooses on the screen beside the conversation: the effort of a model, the name of a session, an editor.

use crate::kit::{Place, Server, openai_text, terminal::Terminal};
use serde_json::json;

/// With a server that stands for OpenAI.
fn with_openai(place: &Place, replies: usize) -> Server {
    let server = Server::start(vec![openai_text("Understood."); replies]);
    place.configure(&format!("[vendors.openai]\nbase_url = \"{}/v1\"\nkey = \"k\"\n", server.address));
    server
}

fn efforts(server: &Server) -> Vec<serde_json::Value> {
    server.asked().iter().map(|body| body["reasoning_effort"].clone()).collect()
}

#[test]
fn effort_is_chosen_beside_the_model_and_stays_with_it() {
    let place = Place::new();
    let server = with_openai(&place, 4);
    let Some(terminal) = Terminal::open(&place, (110, 30)) else { return };
    terminal.haft(&place, "--model openai/gpt-5");
    terminal.see("what to do?");
    terminal.say("/model");
    terminal.see("effort: default");
    terminal.keys(&["-l", "gpt-4.1-mini"]);
    terminal.see("no matches");
    terminal.keys(&["Escape"]);
    // Until then, Escape and `/` would be one key.
    terminal.no_longer_see("no matches");
    terminal.say("/model");
    terminal.keys(&["Right", "Right"]);
    terminal.see("effort: medium");
    terminal.keys(&["Right", "Right", "Right", "Left", "Enter"]);
    terminal.see("now using openai/gpt-5, effort medium");
    terminal.see("openai/gpt-5 · medium · ask");
    terminal.say("one");
    terminal.see("Understood.");
    // Another session of the same conversation, too.
    terminal.say("/new");
    terminal.see("what to do?");
    terminal.say("/model openai/gpt-5 high");
    terminal.see("effort high");
    terminal.say("two");
    terminal.see("Understood.");
    terminal.say("/model");
    terminal.see("effort: high");
    terminal.keys(&["Left", "Left", "C-s"]);
    terminal.see("saved for new sessions in");
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    terminal.haft(&place, "");
    terminal.see("openai/gpt-5 · low");
    terminal.say("three");
    terminal.see("Understood.");
    assert_eq!(efforts(&server), ["medium", "high", "low"]);
    terminal.say("/model openai/gpt-5 most");
    terminal.see("there are low, medium, high");
}

#[test]
fn a_model_without_effort_is_sent_none() {
    let place = Place::new();
    let server = with_openai(&place, 1);
    let Some(terminal) = Terminal::open(&place, (110, 30)) else { return };
    terminal.haft(&place, "--model openai/gpt-4.1");
    terminal.see("what to do?");
    terminal.say("/model");
    terminal.see("has no effort setting");
    terminal.keys(&["Right", "Enter"]);
    terminal.see("now using openai/gpt-4.1");
    terminal.say("one");
    terminal.see("Understood.");
    assert_eq!(efforts(&server), [json!(null)]);
}

#[test]
fn a_session_is_named_where_it_is_talked_in() {
    for how in ["", "chat"] {
        let place = Place::new();
        place.script("model.jsonl", &[json!({"say": "Hello."})]);
        let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
        terminal.haft(&place, &format!("{how} --model script/../model.jsonl"));
        terminal.see(if how.is_empty() { "what to do?" } else { "to leave." });
        terminal.say("hello");
        terminal.see("Hello.");
        terminal.say("/rename the first try");
        terminal.see("renamed this session to `the first try`");
        terminal.say("/quit");
        terminal.see("left 0");
        assert!(place.run(&["sessions", "list"]).out.contains("the first try"), "{how}");
    }
}

#[test]
fn a_prompt_is_written_in_the_persons_editor() {
    let place = Place::new();
    let script = [json!({"say": "Read.", "expect": "first\nsecond\nline 0\nline 1"})];
    place.script("model.jsonl", &script);
    place.write("../editor.sh", "test -t 0 && { stat -c %a \"$2\"; stat -c %a \"$(dirname \"$2\")\"; } > modes\nsed -i \"1i $1\" \"$2\"\n");
    place.write("../fails.sh", "echo lost > \"$1\"\nexit 3\n");
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.haft(&place, "--model script/../model.jsonl");
    terminal.see("what to do?");
    terminal.keys(&["C-g"]);
    terminal.see("set VISUAL or EDITOR");
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    terminal.say("export EDITOR=false VISUAL='sh ../editor.sh first'");
    terminal.haft(&place, "--model script/../model.jsonl");
    terminal.see("what to do?");
    terminal.keys(&["-l", "second"]);
    terminal.keys(&["M-Enter"]);
    // What is folded is whole in the editor.
    terminal.paste(&place, &(0..30).map(|line| format!("line {line}\n")).collect::<String>());
    terminal.see("[paste 1: 30 lines]");
    terminal.keys(&["C-g"]);
    terminal.see("> line 20");
    assert_eq!(place.read("modes").unwrap_or_default().lines().last(), Some("700"));
    terminal.keys(&["Enter"]);
    terminal.see("Read.");
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    terminal.say("export VISUAL='sh ../fails.sh'");
    terminal.haft(&place, "--model script/../model.jsonl --continue");
    terminal.see("what to do?");
    terminal.keys(&["-l", "as it was"]);
    terminal.keys(&["C-g"]);
    terminal.see("cannot edit the prompt with `sh ../fails.sh`");
    terminal.see("> as it was");
}

#[test]
fn effort_is_said_behind_the_model_line_by_line() {
    let place = Place::new();
    let server = with_openai(&place, 1);
    let Some(terminal) = Terminal::open(&place, (110, 30)) else { return };
    terminal.haft(&place, "chat --model openai/gpt-5");
    terminal.see("to leave.");
    terminal.say("/model");
    terminal.see("(/model SPEC [EFFORT])");
    terminal.say("/model openai/gpt-5 high");
    terminal.see("model openai/gpt-5");
    terminal.say("one");
    terminal.see("Understood.");
    assert_eq!(efforts(&server), ["high"]);
    terminal.say("/model openai/gpt-5 most");
    terminal.see("there is no effort `most`");
}

/// A long paste does not flood the scrollback, while it waits, once it is sent, and when the session goes on; Ctrl+O has it.
#[test]
fn a_paste_stays_folded_once_it_is_sent() {
    let place = Place::unconfined();
    let wait = json!({"name": "bash", "arguments": {"command": "until test -e go; do sleep 0.05; done"}});
    let script =
        [json!({"calls": [wait]}), json!({"say": "First.", "expect": "line 499"}), json!({"say": "Second."})];
    place.script("model.jsonl", &script);
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    terminal.haft(&place, "--model script/../model.jsonl --permission full");
    terminal.see("what to do?");
    let paste = |from: usize| (from..500).map(|line| format!("line {line}\n")).collect::<String>();
    terminal.keys(&["-l", "look at "]);
    terminal.paste(&place, &paste(0));
    terminal.see("> look at [paste 1: 500 lines]");
    terminal.keys(&["Enter"]);
    terminal.see("● bash");
    terminal.keys(&["-l", "and at "]);
    terminal.paste(&place, &paste(100));
    terminal.see("> and at [paste 1: 400 lines]");
    terminal.keys(&["Enter"]);
    terminal.see("next: and at [paste 1: 400 lines]");
    place.write("go", "");
    terminal.see("First.");
    terminal.no_longer_see("Esc to interrupt");
    terminal.say("once more");
    terminal.see("Second.");
    let all = terminal.all();
    assert!(
        all.contains("> look at [paste 1: 500 lines]") && all.contains("> and at [paste 1: 400"),
        "{all}"
    );
    assert!(!all.contains("line 1") && !all.contains("line 300"), "{all}");
    terminal.keys(&["C-o"]);
    terminal.see("q to close");
    terminal.keys(&["g"]);
    let page = terminal.see("> look at line 0");
    assert!(page.contains("  line 9\n"), "{page}");
    terminal.keys(&["q"]);
    terminal.see("what to do?");
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    terminal.haft(&place, "-c");
    let again = terminal.see("what to do?");
    assert!(again.contains("more lines (Ctrl+O shows all)") && !again.contains("line 300"), "{again}");
}

/// `haft resume` lists the sessions of the directory on a terminal; `--last`, one session alone, and no terminal need no
/// choice.
#[test]
fn a_session_to_resume_is_chosen() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "A reply."})]);
    let model = ["--model", "script/../model.jsonl"];
    place.run(&[&["run", "the first one"], &model[..]].concat());
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    let shown = |options: &str, seen: &str| {
        terminal.haft(&place, &format!("resume {options} --model script/../model.jsonl"));
        let screen = terminal.see(seen);
        terminal.keys(&["C-d"]);
        terminal.see("left");
        screen
    };
    shown("", "what to do?");
    place.run(&[&["run", "the second one"], &model[..]].concat());
    let screen = shown("--last", "what to do?");
    assert!(screen.contains("> the second one"), "{screen}");
    let screen = shown("", "Which session?");
    assert!(screen.contains("❯ the second one") && screen.contains("1 turn · script/"), "{screen}");
    assert!(screen.contains("  > the second one\n    A reply.\n"), "{screen}");
    terminal.haft(&place, "resume --model script/../model.jsonl");
    terminal.see("Which session?");
    terminal.keys(&["-l", "first"]);
    terminal.see("❯ the first one");
    terminal.keys(&["Enter"]);
    terminal.see("> the first one");
    terminal.see("what to do?");
    terminal.keys(&["C-d"]);
    terminal.see("left 0");
    // Without a terminal it is the newest one, and nothing is asked.
    let resumed = place.run(&[&["resume", "--json"], &model[..]].concat());
    assert!(!resumed.err.contains("Which session?"), "{resumed:?}");
}

/// Keys are read from the user's own configuration; a wrong one is an error before the screen opens.
#[test]
fn keys_come_from_the_configuration() {
    let place = Place::new();
    place.script("model.jsonl", &[json!({"say": "Heard."})]);
    let Some(terminal) = Terminal::open(&place, (100, 30)) else { return };
    let wrong = [
        (
            "[keys.prompt]\nsumbit = \"F2\"\n",
            "`[keys.prompt]` has no action `sumbit`",
            "did you mean `submit`?",
        ),
        ("[keys.prompt]\nsubmit = 2\n", "line 2", "a key such as \"Ctrl+S\""),
        (
            "notifications = \"loud\"\n",
            "line 1: unknown variant `loud`",
            "expected one of `osc9`, `osc777`, `bell`, `off`",
        ),
        ("editor_mode = \"vi\"\n", "line 1: unknown variant `vi`", "expected `normal` or `vim`"),
        ("[keys.promt]\nsubmit = []\n", "there is no table `[keys.promt]`", "did you mean `prompt`?"),
    ];
    for (text, what, hint) in wrong {
        place.configure(text);
        terminal.haft(&place, "--model script/../model.jsonl");
        let screen = terminal.see("left 2").replace('\n', "");
        assert!(screen.contains(what) && screen.contains(hint), "{screen}");
        terminal.say("clear");
    }
    place.configure("editor_mode = \"vim\"\n[keys.prompt]\nsubmit = [\"F2\", \"Alt+Enter\"]\n");
    terminal.haft(&place, "--model script/../model.jsonl");
    terminal.see("INSERT · script/");
    terminal.keys(&["-l", "hello"]);
    terminal.keys(&["F2"]);
    terminal.see("Heard.");
}
