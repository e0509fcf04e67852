//! `--profile opencode` as its users meet it: the examples of the document of opencode-rs, in its order, and every value of
//! `opencode.toml`. The real binary against a server that speaks Anthropic's Messages, as the document has it.

use crate::kit::{Place, Ran, Reply, Server, anthropic};
use serde_json::{Value, json};

/// Runs with a model at Anthropic's wire, whose server answers with these replies, one after the other.
struct Scene {
    place: Place,
    server: Server,
    ran: Ran,
}

impl Scene {
    fn play(place: Place, replies: Vec<Reply>, words: &[&str]) -> Self {
        let server = Server::start(replies);
        let with = ["--profile", "opencode", "--model", "anthropic/any"];
        let mut haft = place.haft(&[&words[..1], &with, &words[1..]].concat());
        let ran = Ran::from(
            haft.env("ANTHROPIC_BASE_URL", &server.address).env("ANTHROPIC_API_KEY", "k").output().unwrap(),
        );
        Self { place, server, ran }
    }

    /// What the model reads of its calls, in their order.
    fn results(&self) -> Vec<Value> {
        let asked = self.server.asked();
        let messages = asked.last().unwrap()["messages"].as_array().unwrap().clone();
        let parts = messages.iter().filter_map(|message| message["content"].as_array());
        let results = parts.flatten().filter(|part| part["type"] == "tool_result");
        let read = |part: &Value| serde_json::from_str(part["content"].as_str().unwrap());
        results.map(|part| read(part).unwrap_or_else(|_| panic!("{part}"))).collect()
    }
}

/// A reply with one call, its arguments in two pieces.
fn call(name: &str, input: &Value) -> Reply {
    let text = input.to_string();
    let pieces: [&str; 2] = text.split_at(text.len() / 2).into();
    let deltas = pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
    let block = json!({"type": "tool_use", "id": "tool_1", "name": name, "input": {}});
    anthropic(block, &deltas, "tool_use")
}

fn says(text: &str) -> Reply {
    let block = json!({"type": "text", "text": ""});
    anthropic(block, &[json!({"type": "text_delta", "text": text})], "end_turn")
}

/// The messages of a request, without what tells the vendor's cache where to look.
fn messages(request: &Value) -> Vec<Value> {
    let mut messages = request["messages"].as_array().unwrap().clone();
    for part in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten() {
        part.as_object_mut().unwrap().remove("cache_control");
    }
    messages
}

// "CLI Example" and "Conversation Format", word for word: O-01, O-10, O-23 to O-30, O-33, O-43, O-45 to O-48
#[test]
fn the_documents_conversation_is_what_goes_over_the_wire() {
    let place = Place::new();
    let file = place.path().join("test.txt");
    std::fs::write(&file, "Hello World").unwrap();
    let file = file.to_str().unwrap();
    let replies = vec![call("read", &json!({"filePath": file})), says("The file contains 'Hello World'")];
    let prompt = format!("Read the file {file} and tell me what it says");
    let scene = Scene::play(place, replies, &["prompt", &prompt, "--permission", "full"]);
    assert_eq!(
        (scene.ran.code, scene.ran.out.as_str()),
        (0, "The file contains 'Hello World'\n"),
        "{:?}",
        scene.ran
    );
    let asked = scene.server.asked();
    let user = json!({"role": "user", "content": prompt});
    let assistant = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "tool_1", "name": "read", "input": {"filePath": file}},
    ]});
    let result = json!({"role": "user", "content": [{
        "type": "tool_result",
        "tool_use_id": "tool_1",
        "content": "{\"title\":\"Read file\",\"output\":\"Hello World\"}",
        "is_error": false,
    }]});
    assert_eq!(messages(&asked[0]), std::slice::from_ref(&user));
    assert_eq!(messages(&asked[1]), [user, assistant, result]);
}

// "Collect Events": O-05, O-08, O-12
#[test]
fn the_events_of_a_call_are_streamed() {
    let place = Place::new();
    place.write("test.txt", "Hello World");
    let replies = vec![call("read", &json!({"filePath": "test.txt"})), says("It is a greeting.")];
    let scene = Scene::play(place, replies, &["run", "--json", "go"]);
    let shown = |event: &Value| match event["type"].as_str().unwrap() {
        kind @ ("tool_call" | "tool_arguments" | "tool_call_end" | "tool_ended") => {
            assert_eq!((&event["call"], event["seq"].is_null()), (&json!("tool_1"), kind != "tool_ended"));
            let what = ["name", "delta", "arguments", "content"].map(|field| &event[field]);
            let what = what.iter().find(|what| !what.is_null()).map(|what| (*what).clone());
            Some((kind.to_owned(), what.unwrap_or_default()))
        }
        "text" => Some(("text".to_owned(), event["text"].clone())),
        "replied" => Some(("replied".to_owned(), Value::Null)),
        _ => None,
    };
    let events: Vec<(String, Value)> = scene.ran.events().iter().filter_map(shown).collect();
    let row = |kind: &str, what: Value| (kind.to_owned(), what);
    let expected = [
        row("tool_call", json!("read")),
        row("tool_arguments", json!("{\"filePath\"")),
        row("tool_arguments", json!(":\"test.txt\"}")),
        row("tool_call_end", json!({"filePath": "test.txt"})),
        row("replied", Value::Null),
        row("tool_ended", json!("read")),
        row("text", json!("It is a greeting.")),
        row("replied", Value::Null),
    ];
    assert_eq!(events, expected, "{:?}", scene.ran);
    // They are live: the journal has the whole reply.
    let journal = std::fs::read_to_string(scene.place.journal()).unwrap();
    assert!(!journal.contains("tool_arguments") && !journal.contains("tool_call_end"));
}

// "Tool Infrastructure", and every value of the profile that a request shows: O-02, O-03, O-26
#[test]
fn a_request_has_six_tools_and_the_numbers_of_the_profile() {
    let place = Place::new();
    place.write("AGENTS.md", "Call me sir.");
    let scene = Scene::play(place, vec![says("done")], &["run", "go"]);
    let request = &scene.server.asked()[0];
    assert_eq!((&request["max_tokens"], request.get("temperature")), (&json!(8192), None));
    let system = request["system"].to_string();
    let prompt = "You are a coding agent in a terminal. Work through the tools until the task is complete, then say what you did.";
    assert!(system.contains(prompt) && !system.contains("Call me sir."), "{system}");
    let tools = request["tools"].as_array().unwrap().iter().map(|tool| {
        let parameters = tool["input_schema"]["properties"].as_object().unwrap();
        format!(
            "{} {}",
            tool["name"].as_str().unwrap(),
            parameters.keys().cloned().collect::<Vec<_>>().join(" ")
        )
    });
    let expected = [
        "read filePath offset limit",
        "write filePath content",
        "edit filePath oldString newString replaceAll",
        "bash command timeout description",
        "glob pattern path",
        "grep pattern path glob",
    ];
    let told: Vec<String> = tools.collect();
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected), "{told}");
    }
    assert_eq!(told.len(), expected.len());
    let listed = scene.place.run(&["profiles", "list"]).out;
    let title = "as opencode-rs' document describes it: six tools, results with a title, rounds until the task is done";
    assert!(listed.lines().any(|line| line.starts_with("opencode") && line.contains(title)), "{listed}");
}

// `{title, output}` of each tool, and of what fails; "Tool execution timeouts": O-39, O-03, O-04, O-18 to O-22, O-28, O-48
#[test]
fn a_result_has_a_title_and_an_output() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let table = [
        ("read", json!({"filePath": "a.txt"}), "Read file", "one\n"),
        ("write", json!({"filePath": "b.txt", "content": "x\n"}), "Write file", "Wrote 2 bytes to `b.txt`."),
        (
            "edit",
            json!({"filePath": "a.txt", "oldString": "one", "newString": "two"}),
            "Edit file",
            "Replaced",
        ),
        ("bash", json!({"command": "echo hi", "description": "Say hi"}), "Run command", "hi"),
        ("glob", json!({"pattern": "*.txt"}), "Find files", "a.txt\nb.txt"),
        ("grep", json!({"pattern": "tw."}), "Search files", "Found 1 match in 1 file\n\na.txt\n1:two"),
        ("read", json!({"filePath": "nope"}), "read", "Error: cannot read `nope`: no such file"),
        ("raed", json!({}), "raed", "Error: Tool 'raed' not found"),
        ("read", json!({}), "read", "Error: cannot call `read`: `filePath` is required"),
        ("bash", json!({"command": "sleep 60", "timeout": 1}), "bash", "Error: timed out after 1 s"),
    ];
    let mut replies: Vec<Reply> = table.iter().map(|(name, input, ..)| call(name, input)).collect();
    replies.push(says("done"));
    let scene = Scene::play(place, replies, &["run", "--permission", "full", "go"]);
    let results = scene.results();
    for ((name, _, title, output), result) in table.iter().zip(&results) {
        assert_eq!(result["title"], *title, "{name}: {result}");
        assert!(result["output"].as_str().unwrap().starts_with(output), "{name}: {result}");
        assert_eq!(result.as_object().unwrap().len(), 2, "{result}");
    }
    assert_eq!(results.len(), table.len());
}

// The profile's clip: `lines`, `bytes`, `keep`. What is wrapped is cut before, so that it stays JSON: X-21
#[test]
fn a_long_result_is_cut_in_the_middle_and_stays_an_object() {
    for (what, path, kept) in [
        ("bytes", "x".repeat(60_000), 56_000..57_000),
        ("lines", "a/\n".repeat(3_000), 2_200 * 3..2_200 * 3 + 200),
    ] {
        let place = Place::new();
        let replies = vec![call("read", &json!({"filePath": path})), says("done")];
        let scene = Scene::play(place, replies, &["run", "--permission", "full", "go"]);
        let result = scene.results().remove(0);
        let output = result["output"].as_str().unwrap();
        assert!(kept.contains(&output.len()), "{what}: {} {}", output.len(), &output[..200]);
        assert!(
            output.starts_with("Error: cannot read `") && output.contains("ask for a part of it"),
            "{what}"
        );
        assert!(output.ends_with("`: File name too long (os error 36)"), "{what}");
    }
}

// "Execute Tools (in parallel)": O-12, O-36, O-37, O-38. Each call waits in its hook until the other one has begun.
#[test]
fn calls_that_read_run_at_the_same_time_and_hooks_are_asked() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.write("b.txt", "two\n");
    let hook = place.path().join("hook.sh");
    let met = place.path().join("met");
    let both = format!(
        "mktemp -p {0} >/dev/null; until [ $(ls {0} | wc -l) = 2 ]; do sleep 0.05; done",
        met.display()
    );
    std::fs::create_dir(&met).unwrap();
    std::fs::write(&hook, both).unwrap();
    let command = format!("sh {}", hook.display());
    place.configure(&format!(
        "[[hooks]]\nevent = \"before_tool\"\ncommand = {command:?}\non_failure = \"deny\"\n"
    ));
    let model = place.script(
        "m",
        &[
            json!({"calls": [
                {"id": "tool_1", "name": "read", "arguments": {"filePath": "a.txt"}},
                {"id": "tool_2", "name": "read", "arguments": {"filePath": "b.txt"}},
            ]}),
            json!({"say": "done"}),
        ],
    );
    let ran = place.run(&["run", "--profile", "opencode", "--model", &model, "--json", "go"]);
    let ended: Vec<Value> = ran.events().into_iter().filter(|event| event["type"] == "tool_ended").collect();
    assert!(ended.len() == 2 && ended.iter().all(|ended| ended["ok"] == true), "{ran:?}");
}

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "bash", "arguments": {"command": command, "description": "Look"}}]})
}

fn run(place: &Place, lines: &[Value], more: &[&str]) -> Ran {
    let model = place.script("m", lines);
    let with = ["run", "--profile", "opencode", "--permission", "full", "--model", &model];
    place.run(&[&with, more, &["go"]].concat())
}

// "Doom loop detection (repetitive tool calls)": O-41; polling is none
#[test]
fn the_same_call_with_the_same_result_is_a_loop_and_polling_is_not() {
    let place = Place::new();
    let (same, poll) = (bash("echo same"), bash("echo x >> n; wc -l < n"));
    let lines = |line: Value| vec![line; 8].into_iter().chain([json!({"say": "done"})]).collect::<Vec<_>>();
    let ran = run(&place, &lines(poll), &["--output", "json"]);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &object["rounds"]), (0, &json!(9)), "{ran:?}");
    // The same, with other words for the person and in another spelling.
    let spelled = |n: usize| {
        let (name, command) =
            if n.is_multiple_of(2) { ("bash", "echo same") } else { ("Bash", "echo same ") };
        let arguments = json!({"command": command, "description": format!("try {n}"), "timeout": 60 + n});
        json!({"calls": [{"name": name, "arguments": arguments}]})
    };
    for lines in [lines(same), (0..8).map(spelled).collect()] {
        let ran = run(&Place::new(), &lines, &["--output", "json"]);
        let object: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(
            (ran.code, &object["outcome"], &object["rounds"]),
            (3, &json!("repeating"), &json!(6)),
            "{ran:?}"
        );
    }
}

// "until the task is complete": `max_rounds = 0`; O-01, O-10
#[test]
fn a_turn_has_as_many_rounds_as_it_needs() {
    let rounds = (0..205).map(|n| bash(&format!("echo {n}"))).chain([json!({"say": "done"})]);
    let ran = run(&Place::new(), &rounds.collect::<Vec<_>>(), &["--output", "json"]);
    let object: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &object["outcome"], &object["rounds"]), (0, &json!("finished"), &json!(206)));
}

// "Permission system integration", "No complex session/message storage (yet)": O-35, O-40
#[test]
fn what_runs_is_asked_for_and_the_conversation_is_kept() {
    let place = Place::new();
    let model = place.script(
        "m",
        &[bash("touch x"), json!({"say": "I may not."}), json!({"say": "Go on.", "expect": "again"})],
    );
    let with = ["--profile", "opencode", "--model", &model];
    let ran = place.run(&[&["run"][..], &with, &["go"]].concat());
    assert_eq!((ran.code, ran.out.as_str(), place.read("x")), (4, "I may not.\n", None), "{ran:?}");
    let folder = place.journal().parent().unwrap().to_owned();
    let id = folder.file_name().unwrap().to_str().unwrap();
    let ran = place.run(&[&["run", "--session", id][..], &with, &["again"]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "Go on.\n"), "{ran:?}");
    let journal = std::fs::read_to_string(place.journal()).unwrap();
    assert!(journal.contains("I may not.") && journal.contains("Go on."));
}
