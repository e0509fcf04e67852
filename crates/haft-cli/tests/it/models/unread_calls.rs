//! Calls that a model writes as text although no format is named.
use crate::kit::{Place, terminal::Terminal};
use serde_json::json;

#[test]
fn the_screen_shows_the_note() {
    let place = Place::new();
    let call = "<tool_call>\n{\"name\": \"list\", \"arguments\": {\"path\": \".\"}}\n</tool_call>";
    let model = place.script("m", &[json!({"say": call})]);
    let Some(terminal) = Terminal::open(&place, (140, 30)) else { return };
    terminal.haft(&place, &format!("--model {model}"));
    terminal.see("what to do?");
    terminal.say("go");
    terminal.see("with `--dialect hermes`, Haft reads such calls");
}

// H-126
#[test]
fn a_note_says_once_which_format_would_read_them() {
    let call = "<tool_call>\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}\n</tool_call>";
    let qwen = "<tool_call>\n<function=write>\n<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter>\n\
                </function>\n</tool_call>";
    let quoted = format!("Write it like this:\n```\n{call}\n```\n");
    let table = [
        (call, Some("hermes")),
        (qwen, Some("qwen3_coder")),
        (quoted.as_str(), None),
        ("Call `write` with a path and a content.", None),
        ("<tool_call>\n{\"name\": \"no_such_tool\", \"arguments\": {}}\n</tool_call>", None),
    ];
    for (reply, format) in table {
        let place = Place::new();
        let model = place.script("m", &[json!({"say": reply}), json!({"say": reply})]);
        let run = |more: &[&str]| {
            place.run(&[&["run", "--model", &model, "--permission", "full"], more, &["go"]].concat())
        };
        let ran = run(&[]);
        assert_eq!((ran.code, place.read("a")), (0, None), "{ran:?}");
        let note = "the model wrote a call as text, which is not run; with `--dialect ";
        assert_eq!(ran.err.contains(note), format.is_some(), "{reply}: {ran:?}");
        if let Some(format) = format {
            assert!(
                ran.err.contains(&format!("{note}{format}`, Haft reads such calls\n")),
                "{reply}: {ran:?}"
            );
            let ran = run(&["--dialect", format]);
            assert_eq!(place.read("a").as_deref(), Some("b"), "{ran:?}");
            assert!(!ran.err.contains(note), "{ran:?}");
        }
    }
}
