//! `haft acp` as an editor starts it: what its person reads where the protocol has no field for it.
use crate::kit::{Place, UNTIL_GO, bash, call};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// A running `haft acp`, and an editor that answers each question alike.
struct Editor {
    child: Child,
    input: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    /// The session that is open in it.
    session: Value,
    /// Result or error with which it answers questions; it leaves them open if this is null.
    answer: Value,
    /// Whether it says what stands in files; it saves what it is given in any case.
    shows_files: bool,
    /// What Haft has said so far.
    heard: Vec<Value>,
    requests: u64,
}

impl Editor {
    /// With a session in `place`, and these arguments behind `haft acp`.
    fn open(place: &Place, arguments: &[&str], capabilities: Value) -> Self {
        let mut command = place.haft(&[&["acp"], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let input = child.stdin.take().unwrap();
        let (heard, answer) = (Vec::new(), allows("once"));
        let (session, shows_files, requests) = (Value::Null, true, 0);
        let mut editor = Self { child, input, lines, session, answer, shows_files, heard, requests };
        let met = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        editor.ask("initialize", met);
        let made = editor.ask("session/new", json!({"cwd": place.work(), "mcpServers": []}));
        editor.session = made["result"]["sessionId"].clone();
        editor
    }

    fn say(&mut self, message: Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request; returns its ID.
    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        self.say(json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    /// Sends a request; returns its answer.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(id)
    }

    fn begin_prompt(&mut self, text: &str) -> u64 {
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]});
        self.request("session/prompt", params)
    }

    /// Returns why the turn of a prompt stopped.
    fn prompt(&mut self, text: &str) -> Value {
        let id = self.begin_prompt(text);
        self.answer_to(id)["result"]["stopReason"].clone()
    }

    fn cancel(&mut self) {
        let params = json!({"sessionId": self.session});
        self.say(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
    }

    fn answer_to(&mut self, id: u64) -> Value {
        self.wait(|message| message["method"].is_null() && message["id"] == id)
    }

    /// Listens until Haft says this.
    fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message: Value = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
            if let Some(mut answer) = self.reply(&message) {
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = message["id"].clone();
                self.say(answer);
            }
            self.heard.push(message.clone());
            if is_it(&message) {
                return message;
            }
        }
    }

    /// What the editor answers to a request of Haft, if anything.
    fn reply(&self, request: &Value) -> Option<Value> {
        let file = request["params"]["path"].as_str().unwrap_or_default();
        match request["method"].as_str()? {
            "session/request_permission" => Some(self.answer.clone()).filter(|answer| !answer.is_null()),
            "fs/read_text_file" if self.shows_files => Some(match std::fs::read_to_string(file) {
                Ok(content) => json!({"result": {"content": content}}),
                Err(_) => json!({"error": {"code": -32002, "message": "not found"}}),
            }),
            "fs/write_text_file" => {
                std::fs::write(file, request["params"]["content"].as_str().unwrap()).unwrap();
                Some(json!({"result": {}}))
            }
            _ => None,
        }
    }

    /// The parameters of what Haft asked for or told.
    fn heard(&self, method: &str) -> Vec<&Value> {
        let is_it = |message: &&Value| message["method"] == method;
        self.heard.iter().filter(is_it).map(|message| &message["params"]).collect()
    }

    /// What the agent said, and Haft beside it.
    fn text(&self) -> String {
        let updates = self.heard("session/update").into_iter().map(|told| &told["update"]);
        let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    /// How each call ended, in order.
    fn ended(&self) -> Vec<&Value> {
        let updates = self.heard("session/update").into_iter().map(|told| &told["update"]);
        updates.filter(|update| update["status"] == "completed" || update["status"] == "failed").collect()
    }

    fn close(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}

fn allows(option: &str) -> Value {
    json!({"result": {"outcome": {"outcome": "selected", "optionId": option}}})
}

/// The texts among the contents of a call.
fn texts(call: &Value) -> String {
    let contents = call["content"].as_array().into_iter().flatten();
    contents.filter_map(|content| content["content"]["text"].as_str()).collect()
}

/// The diffs among them: each file with its text before and after.
fn diffs(call: &Value) -> Vec<(String, &Value, &Value)> {
    let contents = call["content"].as_array().into_iter().flatten();
    let diffs = contents.filter(|content| content["type"] == "diff");
    let name = |path: &Value| path.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    diffs.map(|diff| (name(&diff["path"]), &diff["oldText"], &diff["newText"])).collect()
}

#[test]
fn an_editor_shows_why_a_prompt_was_refused() {
    let place = Place::new();
    place.configure("[[hooks]]\nevent = \"turn_start\"\ncommand = \"echo 'not on a Sunday' >&2; exit 2\"\n");
    let model = place.script("m", &[json!({"say": "Done."})]);
    let mut editor = Editor::open(&place, &["--model", &model], json!({}));
    let made = editor.heard.iter().find_map(|said| said["result"]["configOptions"][0]["options"].as_array());
    assert!(made.unwrap().iter().all(|option| option["value"] != ""), "{made:?}");
    assert_eq!(editor.prompt("go"), "refusal");
    let told = editor.text();
    assert!(told.contains("the prompt was refused: a hook denied it: not on a Sunday"), "{told}");
    editor.close();
}

/// Neither the question nor the call that has run looks as if text were written where a link, a folder or a mode is.
#[test]
fn an_editor_shows_links_folders_and_modes_of_files() {
    let place = Place::new();
    place.write("tool", "run\n");
    let table = [
        ("ln -s /etc/passwd notes", "+ notes (link to /etc/passwd)", false),
        ("mkdir later", "+ later (folder)", false),
        ("chmod 777 tool", "becomes 777", false),
        ("echo new > open; chmod 777 open", "open: mode 777", true),
        ("echo new > plain", "", true),
    ];
    let script: Vec<Value> = table.iter().map(|(command, ..)| bash(command)).collect();
    let model = place.script("m", &[script, vec![json!({"say": "Done."})]].concat());
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "ask"], json!({}));
    assert_eq!(editor.prompt("go"), "end_turn");
    let asked = editor.heard("session/request_permission");
    let calls = asked.into_iter().map(|asked| &asked["toolCall"]).zip(editor.ended());
    assert_eq!(calls.len(), table.len());
    for ((question, ended), (command, line, has_text)) in calls.zip(table) {
        for call in [question, ended] {
            assert!(texts(call).contains(line), "{command}: {call}");
            assert_eq!(!diffs(call).is_empty(), has_text, "{command}: {call}");
        }
    }
    editor.close();
}

#[test]
fn an_editor_shows_what_a_call_says_beside_what_it_does_to_files() {
    let place = Place::new();
    let writes = call("write", json!({"path": "made.txt", "content": "made\n"}));
    let model = place.script("helper", &[writes, json!({"say": "The helper wrote it."})]);
    let helper = place.path().join("person/.config/haft/agents/helper.md");
    std::fs::create_dir_all(helper.parent().unwrap()).unwrap();
    std::fs::write(helper, format!("---\nname: helper\ndescription: h\nmodel: {model}\n---\nHelp.\n"))
        .unwrap();
    let fails = bash("echo three tests FAILED; echo log > out.log; exit 1");
    let delegates = call("delegate", json!({"task": "write it", "agent": "helper"}));
    let model = place.script("m", &[fails, delegates, json!({"say": "Done."})]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "accept-edits"], json!({}));
    assert_eq!(editor.prompt("go"), "end_turn");
    let table = [
        ("failed", vec!["three tests FAILED", "[exit code: 1]"], ("out.log", "log\n")),
        ("completed", vec!["The helper wrote it."], ("made.txt", "made\n")),
    ];
    let ended = editor.ended();
    assert_eq!(ended.len(), table.len());
    for (call, (status, said, (file, text))) in ended.into_iter().zip(table) {
        assert_eq!(call["status"], status, "{call}");
        assert!(said.iter().all(|words| texts(call).contains(words)), "{said:?}: {call}");
        assert_eq!(diffs(call), [(file.to_owned(), &Value::Null, &json!(text))]);
    }
    editor.close();
}

#[test]
fn an_editor_shows_what_was_not_accepted_of_a_call() {
    let place = Place::new();
    let model = place.script("m", &[bash("echo 1 > a.txt; echo 2 > b.txt"), json!({"say": "Done."})]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "ask"], json!({}));
    editor.answer = allows("part-0");
    assert_eq!(editor.prompt("go"), "end_turn");
    let ended = editor.ended();
    assert_eq!(diffs(ended[0]), [("a.txt".to_owned(), &Value::Null, &json!("1\n"))]);
    assert!(texts(ended[0]).contains("Not accepted:]"), "{ended:?}");
    editor.close();
}

#[test]
fn a_canceled_prompt_that_waits_behind_a_reaction_is_dropped() {
    let place = Place::new();
    place.hold();
    let waits = call("bash", json!({"command": UNTIL_GO, "background": true}));
    let reacts = call("write", json!({"path": "a.txt", "content": "1\n"}));
    let (started, again) = (json!({"say": "Started."}), json!({"expect": "again", "say": "Done."}));
    let model = place.script("m", &[waits, started, reacts, again]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "ask"], json!({}));
    assert_eq!(editor.prompt("go"), "end_turn");
    editor.answer = Value::Null;
    place.let_go();
    editor.wait(|said| said["params"]["toolCall"]["title"] == "write a.txt" && !said["id"].is_null());
    let dropped = editor.begin_prompt("do not begin");
    editor.cancel();
    assert_eq!(editor.answer_to(dropped)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.prompt("again"), "end_turn");
    editor.close();
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let prompts = entries.filter(|entry| entry["type"] == "prompted");
    let prompts: Vec<Value> = prompts.map(|prompt| prompt["parts"][0]["text"].clone()).collect();
    assert_eq!(prompts, ["go", "again"]);
}

/// Capabilities of an editor that shows and saves files.
fn files() -> Value {
    json!({"fs": {"readTextFile": true, "writeTextFile": true}})
}

#[test]
fn a_canceled_undo_leaves_everything_as_it_was_and_asks_once_for_a_file() {
    let place = Place::new();
    let write = |name: &str| call("write", json!({"path": name, "content": "new\n"}));
    let model = place.script("m", &[write("a.txt"), write("b.txt"), json!({"say": "Done."})]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "full"], files());
    assert_eq!(editor.prompt("go"), "end_turn");
    let (new, old) = (["a.txt", "b.txt"].map(|_| Some("new\n".to_owned())), [None, None]);
    for (typed, before, after) in [("/undo", &new, &old), ("/redo", &old, &new)] {
        editor.shows_files = false;
        editor.heard.clear();
        let undo = editor.begin_prompt(typed);
        // It is asked for both before either is moved.
        for _ in 0..2 {
            editor.wait(|said| said["method"] == "fs/read_text_file");
        }
        editor.cancel();
        assert_eq!(editor.answer_to(undo)["result"]["stopReason"], "cancelled", "{typed}");
        assert_eq!(&["a.txt", "b.txt"].map(|name| place.read(name)), before, "{typed}");
        let asked = editor.heard("fs/read_text_file");
        assert_eq!(asked.len(), 2, "{typed}: {asked:?}");
        assert_ne!(asked[0]["path"], asked[1]["path"], "{typed}");
        editor.shows_files = true;
        assert_eq!(editor.prompt(typed), "end_turn", "{typed}");
        assert_eq!(&["a.txt", "b.txt"].map(|name| place.read(name)), after, "{typed}");
    }
    editor.close();
}

#[test]
fn a_notice_is_a_message_of_its_own() {
    let place = Place::new();
    place.hold();
    let writes = call("write", json!({"path": "a.txt", "content": "1\n"}));
    let waits = call("bash", json!({"command": UNTIL_GO, "background": true}));
    let said = ["Done.", "Second.", "Started.", "I react."].map(|words| json!({"say": words}));
    let [done, second, started, reacts] = said;
    let model = place.script("m", &[writes, done, second, waits, started, reacts]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "full"], json!({}));
    for typed in ["go", "/undo 1", "/redo", "/undo list", "go on", "wait"] {
        assert_eq!(editor.prompt(typed), "end_turn", "{typed}");
    }
    place.let_go();
    editor.wait(|said| said["params"]["update"]["content"]["text"].to_string().contains("react."));
    let mut messages = BTreeMap::<String, String>::new();
    for update in editor.heard("session/update").into_iter().map(|told| &told["update"]) {
        if update["sessionUpdate"] == "agent_message_chunk" {
            let text = update["content"]["text"].as_str().unwrap();
            *messages.entry(update["messageId"].to_string()).or_default() += text;
        }
    }
    let is_notice = |text: &&str| !["Done.", "Second.", "Started.", "I react."].contains(text);
    let (notices, replies): (Vec<&str>, Vec<&str>) =
        messages.values().map(|text| text.trim()).partition(is_notice);
    assert_eq!(replies.len(), 4, "{messages:?}");
    // An undo, a redo, a list, and the end of the task.
    let seen = |words: &str| notices.iter().filter(|notice| notice.contains(words)).count();
    assert_eq!(["- a.txt", "+ a.txt", "1  write", "task 1 ended"].map(seen), [1, 2, 1, 1], "{messages:?}");
    for words in ["\n\nSecond.", "\n\nI react."] {
        assert!(editor.text().contains(words), "{words}: {}", editor.text());
    }
    editor.close();
}

#[test]
fn an_editor_shows_the_last_state_of_a_line_that_is_written_anew() {
    let place = Place::new();
    let model = place.script("m", &[bash("printf ' 10%%\\r100%%\\ndone\\n'"), json!({"say": "Done."})]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "full"], json!({}));
    assert_eq!(editor.prompt("go"), "end_turn");
    let shown = texts(editor.ended()[0]);
    assert!(shown.contains("100%\ndone") && !shown.contains("10%100%"), "{shown}");
    editor.close();
}

#[test]
fn an_editor_is_told_with_which_number_to_undo_dependents() {
    let place = Place::new();
    let writes = call("write", json!({"path": "a.txt", "content": "one\n"}));
    let edits = call("edit", json!({"path": "a.txt", "old_text": "one", "new_text": "two"}));
    let model = place.script("m", &[writes, edits, json!({"say": "Done."})]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "full"], json!({}));
    for typed in ["go", "/undo 1"] {
        assert_eq!(editor.prompt(typed), "end_turn", "{typed}");
    }
    assert!(editor.text().contains("`/undo 1 with-dependents` also undoes"), "{}", editor.text());
    editor.close();
}

#[test]
fn an_answer_of_an_editor_that_is_not_understood_allows_nothing_and_is_no_refusal() {
    let unknown = json!({"error": {"code": -32603, "message": "boom"}});
    for answer in [allows("bogus"), json!({"result": {}}), unknown] {
        let place = Place::new();
        let writes = call("write", json!({"path": "a.txt", "content": "one\n"}));
        let model = place.script("m", &[writes, json!({"say": "Done."})]);
        let mut editor = Editor::open(&place, &["--model", &model, "--permission", "ask"], json!({}));
        editor.answer = answer.clone();
        assert_eq!(editor.prompt("go"), "end_turn", "{answer}");
        let not_understood = "the front-end's answer";
        // The model reads why, and the person sees it.
        let (told, seen) = (texts(editor.ended()[0]), editor.text());
        assert!(told.contains(not_understood) && !told.contains("said no"), "{answer}: {told}");
        assert!(seen.contains(not_understood), "{answer}: {seen}");
        assert_eq!(place.read("a.txt"), None, "{answer}");
        editor.close();
    }
}

#[test]
fn what_an_undo_left_alone_is_merged_from_the_editor() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let reads = call("read", json!({"path": "a.txt"}));
    let edits = call("edit", json!({"path": "a.txt", "old_text": "one", "new_text": "two"}));
    let model = place.script("m", &[reads, edits, json!({"say": "Done."})]);
    let mut editor = Editor::open(&place, &["--model", &model, "--permission", "full"], json!({}));
    assert_eq!(editor.prompt("go"), "end_turn");
    place.write("a.txt", "mine\n");
    assert_eq!(editor.prompt("/undo"), "end_turn");
    assert!(editor.text().contains("`/undo merge` merges both"), "{}", editor.text());
    assert_eq!(place.read("a.txt").unwrap(), "mine\n");
    assert_eq!(editor.prompt("/undo merge"), "end_turn");
    let merged = place.read("a.txt").unwrap();
    assert!(["<<<<<<<", "mine\n", "one\n"].iter().all(|part| merged.contains(part)), "{merged}");
    editor.close();
}
