//! Language servers: what a proposal adds and removes is said before it is written, and tools ask them.
use crate::kit::{
    Place, Ran, UNTIL_GO, bash, call,
    serving::Serving,
    terminal::{Terminal, poll},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

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
// H-01
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

/// A server that publishes diagnostics when it gets a text, as most do, and says of which version they are: an error for each
/// line with `wrong`.
const PUBLISHER: &str = r#"
import json, sys, time
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
def publish(uri, version, text):
    time.sleep(0.2)
    place = lambda line: {"line": line, "character": 0}
    found = [{"range": {"start": place(number), "end": place(number)}, "severity": 1, "message": "it is wrong"}
             for number, line in enumerate(text.split("\n")) if "wrong" in line]
    send({"method": "textDocument/publishDiagnostics",
          "params": {"uri": uri, "version": version, "diagnostics": found}})
while True:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if not length:
        break
    message = json.loads(sys.stdin.buffer.read(length))
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        send({"id": message["id"], "result": {"capabilities": {"textDocumentSync": 1}}})
    elif method == "textDocument/didOpen":
        document = params["textDocument"]
        publish(document["uri"], document["version"], document["text"])
    elif method == "textDocument/didChange":
        document = params["textDocument"]
        publish(document["uri"], document["version"], params["contentChanges"][0]["text"])
    elif "id" in message:
        send({"id": message["id"], "result": None})
"#;

/// Starts `server` for files that end in `.small`; it has `timeout` seconds to answer.
fn serve_small(place: &Place, server: &str, timeout: u32) {
    let server = place.write("server.py", server).canonicalize().unwrap();
    place.configure(&format!(
        "[lsp.small]\ncommand = \"python3\"\nargs = [\"{}\"]\nfiles = {{ small = \"small\" }}\ntimeout = {timeout}\n",
        server.display()
    ));
}

// 30.2
// H-03
#[test]
fn diagnostics_are_those_of_the_text_that_a_person_has_written_meanwhile() {
    let place = Place::new();
    serve_small(&place, PUBLISHER, 50);
    place.write("a.small", "1\n");
    place.hold();
    let look = || call("diagnostics", json!({"path": "a.small"}));
    let wait = bash(&format!("touch held; {UNTIL_GO}"));
    let model = place.script("model.jsonl", &[look(), wait, look(), json!({"say": "Done."})]);
    let mut haft = place.haft(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
    let running = haft.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    poll(|| place.has_made("held"), || "the command".to_owned());
    place.write("a.small", "wrong\n");
    place.let_go();
    let ran = Ran::from(running.wait_with_output().unwrap());
    let read = read(&ran);
    assert!(read[0].starts_with("small: 0 errors") && read[2].contains("it is wrong"), "{read:?}");
}

// 30.2
// H-01
#[test]
fn a_question_compares_with_what_was_there_where_a_server_publishes_by_itself() {
    let table = [
        ("1\n2\n", "1\nwrong\n2\n", "adds 1 error", "+ a.small:2: error: it is wrong"),
        ("1\nwrong\n", "1\n2\n", "removes 1 error", "- a.small:2: error: it is wrong"),
        ("1\nwrong\n", "wrong\n1\nwrong\n", "adds 1 error", "+ a.small:1: error: it is wrong"),
    ];
    for (before, after, sum, line) in table {
        let place = Place::new();
        serve_small(&place, PUBLISHER, 50);
        place.write("a.small", before);
        let model = place.script(
            "model.jsonl",
            &[json!({"calls": [edit("a.small", before, after)]}), json!({"say": "Done."})],
        );
        let Some(terminal) = Terminal::open(&place, (140, 60)) else { return };
        terminal.haft(&place, &format!("chat --model {model}"));
        terminal.say("go");
        let screen = terminal.see("allow? y, a, n");
        assert!(screen.contains(&format!("small: {sum}\n")) && screen.contains(line), "{before}: {screen}");
    }
}

// 30.2
// H-04
#[test]
fn a_server_that_answers_and_never_publishes_is_one_note() {
    let place = Place::new();
    let silent = PUBLISHER.replace("        publish(document", "        silent(document");
    serve_small(&place, &format!("def silent(*_): pass\n{silent}"), 1);
    place.write("a.small", "1\n");
    let edits = (1..6).map(|n| json!({"calls": [edit("a.small", &n.to_string(), &(n + 1).to_string())]}));
    let script: Vec<Value> = edits.chain([json!({"say": "Done."})]).collect();
    let model = place.script("model.jsonl", &script);
    let ran = place.run(&["run", "--permission", "full", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.err.matches("this session goes on without it").count(), 1, "{ran:?}");
}

// 30.2
// H-02
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

// 30.2
// H-03
#[test]
fn a_symbol_is_renamed_in_all_files_by_one_change_with_one_undo() {
    for (file, other) in [("shapes.py", "use.py"), ("shapes.ts", "use.ts")] {
        let Some(place) = served() else { return };
        let before = [file, other].map(|name| place.read(name).unwrap());
        let rename = json!({"path": file, "symbol": "area", "new_name": "square"});
        let model = place.script("model.jsonl", &[call("rename", rename), json!({"say": "done"})]);
        let ran = place.run(&["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
        let expected = format!("Renamed `area` to `square` in 2 files: {file}, {other}.");
        assert_eq!(read(&ran), [expected], "{ran:?}");
        let events = ran.events();
        let staged: Vec<usize> = events
            .iter()
            .filter(|event| event["type"] == "staged")
            .map(|event| event["changes"].as_array().unwrap().len())
            .collect();
        assert_eq!(staged, [2], "{ran:?}");
        for (name, before) in [file, other].iter().zip(&before) {
            assert_eq!(place.read(name), Some(before.replace("area", "square")), "{name}");
        }
        assert_eq!(place.run(&["undo"]).code, 0);
        assert_eq!([file, other].map(|name| place.read(name).unwrap()), before);
    }
}

// 30.2
// H-03
#[test]
fn a_rename_writes_all_of_its_files_or_none() {
    let place = Place::new();
    let renaming = PUBLISHER
        .replace("{\"textDocumentSync\": 1}", "{\"textDocumentSync\": 1, \"renameProvider\": True}")
        .replace(
            "    elif \"id\" in message:",
            "    elif method == \"textDocument/rename\":\n        \
                 asked = params[\"textDocument\"][\"uri\"]\n        \
                 place = lambda at: {\"line\": 0, \"character\": at}\n        \
                 edits = [{\"range\": {\"start\": place(0), \"end\": place(3)}, \"newText\": params[\"newName\"]}]\n        \
                 other = asked.replace(\"a.small\", \"b.small\")\n        \
                 send({\"id\": message[\"id\"], \"result\": {\"changes\": {asked: edits, other: edits}}})\n    \
             elif \"id\" in message:",
        );
    serve_small(&place, &renaming, 50);
    for name in ["a.small", "b.small"] {
        place.write(name, "old\n");
    }
    let rename = call("rename", json!({"path": "a.small", "symbol": "old", "new_name": "new"}));
    let model = place.script("m", &[rename.clone(), rename, json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
    let table = [
        ("old, by me\n", "not written, since it was changed meanwhile: `b.small`", "old\n"),
        ("old\n", "", "new\n"),
    ];
    for (b, told, a) in table {
        let asked = events.until("approval_asked").pop().unwrap();
        place.write("b.small", b);
        let approval = format!("POST /v1/sessions/{id}/approvals/{}", asked["call"].as_str().unwrap());
        assert_eq!(server.ask(&approval, r#"{"answer":"once"}"#).status, 202);
        let ended = events.until("tool_ended").pop().unwrap();
        assert!(ended["content"].as_str().unwrap().contains(told), "{ended}");
        assert_eq!(
            (place.read("a.small").as_deref(), place.read("b.small").as_deref()),
            (Some(a), Some(if told.is_empty() { a } else { b }))
        );
        place.write("b.small", "old\n");
    }
}

/// The places in the answer are about a text that is no longer there.
#[test]
fn a_rename_refuses_a_file_that_was_changed_while_the_server_looked() {
    let place = Place::new();
    let renaming = PUBLISHER
        .replace("{\"textDocumentSync\": 1}", "{\"textDocumentSync\": 1, \"renameProvider\": True}")
        .replace(
            "    elif \"id\" in message:",
            "    elif method == \"textDocument/rename\":\n        \
                 asked = params[\"textDocument\"][\"uri\"]\n        \
                 read = lambda: open(asked.removeprefix(\"file://\")).read()\n        \
                 seen = read()\n        \
                 while read() in (seen, \"\"): time.sleep(0.01)\n        \
                 place = lambda at: {\"line\": 0, \"character\": at}\n        \
                 edits = [{\"range\": {\"start\": place(0), \"end\": place(3)}, \"newText\": params[\"newName\"]}]\n        \
                 send({\"id\": message[\"id\"], \"result\": {\"changes\": {asked: edits}}})\n    \
             elif \"id\" in message:",
        );
    serve_small(&place, &renaming, 50);
    place.write("a.small", "old\n");
    let (file, is_over) = (place.work().join("a.small"), AtomicBool::new(false));
    let ran = thread::scope(|scope| {
        let editor = scope.spawn(|| {
            for line in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return format!("line {}\nold\n", line - 1);
                }
                fs::write(&file, format!("line {line}\nold\n")).unwrap();
                thread::sleep(Duration::from_millis(100));
            }
            String::new()
        });
        let arguments = json!({"path": "a.small", "symbol": "old", "new_name": "new"}).to_string();
        let ran = place.run(&["tools", "call", "--permission", "full", "rename", &arguments]);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(place.read("a.small").unwrap(), editor.join().unwrap(), "{ran:?}");
        ran
    });
    assert!(ran.out.contains("was changed while it looked; try again"), "{ran:?}");
}

// 30.2
// H-03
#[test]
fn tools_ask_the_servers() {
    let Some(place) = served() else { return };
    let area = |path: &str| json!({"path": path, "symbol": "area"});
    let uses = "shapes.py:1: def area(r: int) -> int:\nuse.py:1: from shapes import area\n\
                use.py:5: return area(2) + area(3)";
    let table = [
        ("definition", area("use.py"), "shapes.py:1: def area(r: int) -> int:"),
        ("references", area("shapes.py"), uses),
        ("symbols", json!({"path": "use.py"}), "4-5: def total() -> int:"),
        ("diagnostics", json!({"path": "use.py"}), "pyright: 0 errors, 0 warnings"),
        ("definition", area("use.ts"), "shapes.ts:1: export function area(r: number): number {"),
        ("symbols", json!({"path": "shapes.ts"}), "1-3: export function area(r: number): number {"),
        (
            "definition",
            json!({"path": "use.py", "symbol": "area", "line": 2}),
            "cannot find the definition of `area`: `area` does not stand in line 2 of `use.py`",
        ),
    ];
    let calls = table.iter().map(|(name, arguments, _)| call(name, arguments.clone()));
    let script: Vec<Value> = calls.chain([json!({"say": "done"})]).collect();
    let model = place.script("model.jsonl", &script);
    let ran = place.run(&["run", "--json", "--model", &model, "go"]);
    let read = read(&ran);
    assert_eq!(read.len(), table.len(), "{ran:?}");
    for (read, (name, arguments, expected)) in read.iter().zip(table) {
        assert!(read.contains(expected), "{name} {arguments}: {read}");
    }
}

/// A place without servers in `PATH`.
fn unserved(configuration: &str) -> Place {
    let place = Place::in_sight();
    place.configure(configuration);
    place.write("shapes.py", "def area(r):\n    return r\n");
    place.write("use.py", "from shapes import area\n");
    place
}

fn in_bare_path(place: &Place, arguments: &[&str]) -> Ran {
    Ran::from(place.haft(arguments).env("PATH", "/usr/bin:/bin").output().unwrap())
}

// 30.2
// H-03
#[test]
fn without_a_server_the_grammar_answers() {
    let place = unserved("");
    let area = json!({"path": "use.py", "symbol": "area"});
    let table = [
        ("symbols", json!({"path": "shapes.py"}), true, "1-2: def area(r):"),
        ("definition", area.clone(), true, "shapes.py:1: def area(r):"),
        ("references", area, true, "use.py\n1:from shapes import area"),
        ("diagnostics", json!({"path": "use.py"}), false, "cannot check `use.py`"),
        (
            "rename",
            json!({"path": "use.py", "symbol": "area", "new_name": "b"}),
            false,
            "cannot rename `area`",
        ),
    ];
    for (name, arguments, is_answered, expected) in table {
        let ran =
            in_bare_path(&place, &["tools", "call", name, &arguments.to_string(), "--permission", "full"]);
        let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        let content = told["content"].as_str().unwrap();
        assert_eq!(told["ok"], is_answered, "{name}: {told}");
        assert!(content.contains(expected), "{name}: {content}");
        assert!(content.contains("no language server is installed for such files"), "{name}: {content}");
    }
    let model = place.script(
        "model.jsonl",
        &[json!({"calls": [edit("shapes.py", "return r", "return x")]}), json!({"say": "done"})],
    );
    let ran =
        in_bare_path(&place, &["run", "--json", "--permission", "accept-edits", "--model", &model, "go"]);
    assert!(!ran.out.contains("[diagnostics by") && ran.err.is_empty(), "{ran:?}");
}

/// A script that Haft starts as a server, beside the workspace.
fn script(place: &Place, name: &str, text: &str) -> PathBuf {
    let path = place.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

const GREETING: &str =
    "printf 'Content-Length: 53\\r\\n\\r\\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"capabilities\":{}}}'";

// 30.2
// H-04
#[test]
fn a_server_that_is_broken_is_one_note_and_the_grammar_answers() {
    let rubbish = "yes rubbish | head -n 100000; cat >/dev/null";
    let table = [
        (
            "ends at once",
            "echo no license >&2; exit 3".to_owned(),
            "ended, exit status: 3; it said: no license",
        ),
        ("says rubbish", rubbish.to_owned(), "ended: it sent a line that is no header"),
        (
            "claims a long message",
            "printf 'Content-Length: 99999999999\\r\\n\\r\\n'; cat >/dev/null".to_owned(),
            "ended: it sent a message of 99999999999 bytes",
        ),
        ("says nothing", "cat >/dev/null".to_owned(), "the language server `fake` "),
        ("ends later", format!("{GREETING}; sleep 0.2; exit 4"), "ended, exit status: 4"),
        ("answers nothing", format!("{GREETING}; cat >/dev/null"), "did not answer within"),
    ];
    for (what, text, expected) in table {
        let place = unserved("");
        let program = script(&place, "server", &text);
        place.configure(&format!(
            "[lsp.fake]\ncommand = \"{}\"\nfiles = {{py = \"python\"}}\ntimeout = 1\n",
            program.display()
        ));
        let area = json!({"path": "use.py", "symbol": "area"});
        let script = [
            call("definition", area.clone()),
            call("references", area),
            call("symbols", json!({"path": "shapes.py"})),
            json!({"say": "done"}),
        ];
        let model = place.script("model.jsonl", &script);
        let ran = place.run(&["run", "--json", "--permission", "full", "--model", &model, "go"]);
        let read = read(&ran);
        let has_answer = |text: &String| text.contains(":def area(r):") || text.contains(": def area(r):");
        assert!(read.len() == 3 && read.iter().all(has_answer), "{what}: {ran:?}");
        assert!(read[0].contains(expected), "{what}: {}", read[0]);
        assert_eq!(ran.err.matches("`fake`").count(), 1, "{what}: {}", ran.err);
    }
}

// 30.2
// H-04
#[test]
fn a_server_is_confined_and_never_a_program_of_the_workspace() {
    let place = unserved("");
    let theirs = place.work().join("bin");
    fs::create_dir(&theirs).unwrap();
    let marks = "touch marker && cat >/dev/null";
    fs::rename(
        script(&place, "pyright-langserver", "touch \"$HOME/started\"; cat >/dev/null"),
        theirs.join("pyright-langserver"),
    )
    .unwrap();
    let path = format!("bin:{}:/usr/bin:/bin", theirs.display());
    let symbols = ["tools", "call", "symbols", r#"{"path":"shapes.py"}"#, "--permission", "full"];
    let ran = Ran::from(place.haft(&symbols).env("PATH", path).output().unwrap());
    assert!(ran.out.contains("no language server is installed"), "{ran:?}");
    let program = script(&place, "server", marks);
    place.configure(&format!(
        "[lsp.fake]\ncommand = \"{}\"\nfiles = {{py = \"python\"}}\ntimeout = 1\n",
        program.display()
    ));
    let ran = place.run(&symbols);
    assert!(ran.out.contains("Read-only file system") && !place.work().join("marker").exists(), "{ran:?}");
    let ran = Ran::from(place.haft(&symbols).env("HAFT_SANDBOX", "off").output().unwrap());
    assert!(ran.out.contains("a server starts only confined"), "{ran:?}");
}

// 30.2
#[test]
fn no_server_starts_where_they_are_turned_off() {
    for (file, text) in [("user", "lsp = false\n"), ("project", "")] {
        let place = unserved(text);
        if file == "project" {
            place.write(".haft/config.toml", "lsp = false\n");
        }
        let ran = place.run(&["tools", "call", "symbols", r#"{"path":"shapes.py"}"#]);
        assert!(ran.out.contains("unknown tool") || ran.out.contains("no tool"), "{ran:?}");
    }
}
