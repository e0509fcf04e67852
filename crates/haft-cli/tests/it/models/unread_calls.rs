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
                ran.err.contains(&format!("{note}{format}`, Haft reads such calls; `haft config set ")),
                "{reply}: {ran:?}"
            );
            let ran = run(&["--dialect", format]);
            assert_eq!(place.read("a").as_deref(), Some("b"), "{ran:?}");
            assert!(!ran.err.contains(note), "{ran:?}");
        }
    }
}

/// How models of Ollama's library write a call of `write` at times, and the format that is named.
const FORMS: [(&str, &str); 13] = [
    ("```json\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}\n```", "xlam"),
    ("```\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}\n```", "xlam"),
    ("{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}", "xlam"),
    (
        "<think>hm</think>\n\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}",
        "xlam",
    ),
    (
        "<tools>\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}\n</tools>",
        "hermes",
    ),
    (
        "<|tool_call|>[{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}]<|/tool_call|>",
        "phi4_mini",
    ),
    ("<|tool_call|>[{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}]", "granite"),
    ("```tool_code\nwrite(path='a', content='b')\n```", "gemma3"),
    (
        "<|python_tag|>{\"name\": \"write\", \"parameters\": {\"path\": \"a\", \"content\": \"b\"}}",
        "llama3_json",
    ),
    ("{\"name\": \"write\", \"parameters\": {\"path\": \"a\", \"content\": \"b\"}}", "llama3_json"),
    ("[write(path='a', content='b')]", "llama4_pythonic"),
    (
        "<function=write>\n<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter>\n</function>\n\
         </tool_call>",
        "qwen3_coder",
    ),
    (
        "```\n<tool_call>\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}\n</tool_call>\n```",
        "hermes",
    ),
];

#[test]
fn the_forms_of_small_models_are_named_and_read() {
    for (reply, format) in FORMS {
        let run = |more: &[&str]| {
            let place = Place::new();
            let model = place.script("m", &[json!({"say": reply}), json!({"say": "Done."})]);
            let ran =
                place.run(&[&["run", "--model", &model, "--permission", "full"], more, &["go"]].concat());
            (place.read("a"), ran.err)
        };
        let written = Some("b".to_owned());
        let note = |format: &str| format!("with `--dialect {format}`");
        for unread in [&[][..], &["--dialect", "kimi_k2"]] {
            let (file, err) = run(unread);
            assert!(file.is_none() && err.contains(&note(format)), "{reply} {unread:?}: {err}");
        }
        for read in ["auto", format] {
            let (file, err) = run(&["--dialect", read]);
            assert!(file == written && !err.contains(&note("")[..15]), "{reply} {read}: {err}");
        }
    }
}

#[test]
fn what_is_not_a_whole_reply_of_known_calls_is_neither_named_nor_read() {
    let call = FORMS[2].0;
    let table = [
        format!("To write it, I would send {call} now."),
        format!("{call}\nwrites the file."),
        format!("Like this:\n{}\n", FORMS[0].0),
        call.replace("write", "no_such_tool"),
        "```bash\nwrite -p a -c b\n```".to_owned(),
        "```tool_code\nwrite(path='a', content='b')\n```\nis how Gemma writes it.".to_owned(),
    ];
    for reply in table {
        for dialect in [&[][..], &["--dialect", "auto"]] {
            let place = Place::new();
            let model = place.script("m", &[json!({"say": reply})]);
            let all = [&["run", "--model", &model, "--permission", "full"], dialect, &["go"]].concat();
            let ran = place.run(&all);
            assert_eq!((ran.code, place.read("a")), (0, None), "{reply} {dialect:?}: {ran:?}");
            assert!(!ran.err.contains("--dialect"), "{reply}: {ran:?}");
        }
    }
}

#[test]
fn a_quoted_call_is_not_run() {
    let call =
        "<tool_call>{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}</tool_call>";
    let reply = format!("A call is written like this:\n\n```\n{call}\n```\n\nThat is the Hermes format.");
    for dialect in ["hermes", "auto"] {
        let place = Place::new();
        let model = place.script("m", &[json!({"say": reply})]);
        let ran =
            place.run(&["run", "--model", &model, "--permission", "full", "--dialect", dialect, "how?"]);
        assert_eq!((ran.code, place.read("a")), (0, None), "{ran:?}");
        assert!(ran.out.contains(call) && ran.out.contains("That is the Hermes format."), "{ran:?}");
    }
}

#[test]
fn a_dialect_is_kept_for_a_model() {
    let place = Place::new();
    let reply = FORMS[7].0;
    let model = place.script("m", &[json!({"say": reply}), json!({"say": "Done."})]);
    let run = |more: &[&str]| {
        place.run(&[&["run", "--model", &model, "--permission", "full"], more, &["go"]].concat())
    };
    let key = format!("models.\"{model}\".dialect");
    let noted = run(&[]).err;
    assert!(
        noted.contains(&format!("`haft config set '{key}' gemma3` keeps it for this model\n")),
        "{noted}"
    );
    assert_eq!(place.run(&["config", "set", &key, "gemma3"]).code, 0);
    let shown = place.run(&["config", "show"]).out;
    assert!(shown.contains("config.toml\n") && shown.contains("dialect = \"gemma3\""), "{shown}");
    // What is typed goes before it.
    assert!(run(&["--dialect", "hermes"]).err.contains("`--dialect gemma3`"));
    assert_eq!(place.read("a"), None);
    let ran = run(&[]);
    assert_eq!((ran.code, place.read("a").as_deref()), (0, Some("b")), "{ran:?}");
    let refused = place.run(&["config", "set", &key, "gema3"]);
    assert!(refused.code != 0 && refused.err.contains("did you mean `gemma3`?"), "{refused:?}");
    place.configure(&format!("[models.\"{model}\"]\ndialect = \"gema3\"\n"));
    for command in [&["config", "check"][..], &["run", "--model", &model, "go"]] {
        let ran = place.run(command);
        assert!(ran.code != 0 && ran.err.contains("did you mean `gemma3`?"), "{command:?}: {ran:?}");
    }
}
