//! Language servers: what a proposal adds and removes is said before it is written.
use crate::kit::{Place, Ran, terminal::Terminal};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Programs of the real servers, by the names that Haft has for them.
const PROGRAMS: [(&str, &str); 2] =
    [("pyright", "pyright-langserver"), ("typescript-language-server", "typescript-language-server")];

/// A place in which Haft finds the real servers, and no others; nothing where they are not installed.
fn served() -> Option<Place> {
    let Ok(modules) = std::env::var("HAFT_NODE_MODULES") else {
        haft_testing::left_out("`HAFT_NODE_MODULES` names no folder that has language servers");
        return None;
    };
    let place = Place::new();
    let program = |program: &str| PathBuf::from(&modules).join(".bin").join(program).display().to_string();
    let tables = PROGRAMS.map(|(name, command)| {
        format!("[lsp.{name}]\ncommand = \"{}\"\nargs = [\"--stdio\"]\ntimeout = 50\n", program(command))
    });
    place.configure(&(tables.concat() + "[lsp.basedpyright]\noff = true\n"));
    place.write("shapes.py", "def area(r: int) -> int:\n    return r * r\n");
    place.write("use.py", "from shapes import area\n\n\ndef total() -> int:\n    return area(2) + area(3)\n");
    place.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true, \"types\": []}}");
    place.write("shapes.ts", "export function area(r: number): number {\n  return r * r;\n}\n");
    place.write("use.ts", "import { area } from \"./shapes\";\n\nexport const total: number = area(2);\n");
    Some(place)
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"name": "edit", "arguments": {"path": path, "old_text": old, "new_text": new}})
}

/// What the model reads of each call.
fn read(ran: &Ran) -> Vec<String> {
    let events = ran.events();
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap().to_owned()).collect()
}

// 30.2
#[test]
fn a_question_says_what_a_proposal_adds_and_removes_before_it_is_written() {
    let table = [
        ("shapes.py", "(r: int)", "(r: int, h: int)", "pyright: adds 2 errors", "+ use.py:5: error:"),
        ("shapes.ts", "(r: number)", "(r: string)", "typescript-language-server: adds", "+ use.ts:3: error:"),
    ];
    for (file, old, new, sum, line) in table {
        let Some(place) = served() else { return };
        let script = [json!({"calls": [edit(file, old, new)]}), json!({"say": "Done."})];
        let model = place.script("model.jsonl", &script);
        let Some(terminal) = Terminal::open(&place, (140, 60)) else { return };
        terminal.haft(&place, &format!("chat --model {model}"));
        terminal.say("go");
        let screen = terminal.see("allow? y, a, n");
        assert!(screen.contains(sum) && screen.contains(line), "{file}: {screen}");
        assert!(place.read(file).unwrap().contains(old), "{file}: nothing is written yet");
        terminal.say("y");
        terminal.see("Done.");
        assert!(place.read(file).unwrap().contains(new), "{file}");
    }
}

// 30.2
#[test]
fn the_model_reads_the_difference_at_the_end_of_a_reply() {
    let Some(place) = served() else { return };
    let script = [
        json!({"calls": [edit("shapes.py", "def area", "def square"), edit("shapes.py", "r * r", "r ** 2")]}),
        json!({"calls": [edit("use.py", "import area", "import square as area")]}),
        json!({"calls": [
            edit("shapes.py", "def square", "def area"),
            edit("use.py", "import square as area", "import area"),
        ]}),
        json!({"say": "done"}),
    ];
    let model = place.script("model.jsonl", &script);
    let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    let read = read(&ran);
    let has_note = |text: &String| text.contains("[diagnostics by pyright: this reply ");
    assert_eq!(read.iter().map(has_note).collect::<Vec<_>>(), [false, true, true, false, false], "{read:#?}");
    assert!(
        read[1].contains("adds 1 error:\n+ use.py:1: error: \"area\" is unknown import symbol"),
        "{read:#?}"
    );
    assert!(read[2].contains("removes 1 error:\n- use.py:1: error:"), "{read:#?}");
}
