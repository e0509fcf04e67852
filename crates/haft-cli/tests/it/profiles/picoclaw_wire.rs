//! `--profile picoclaw` on the wire: "How the LLM invokes a specific tool" of the Go tools package's document, and every
//! value of `picoclaw.toml` that a model sees. The real binary against a server that speaks the API of the examples.

use crate::kit::{Place, Ran, Reply, Server, openai, openai_text};
use serde_json::{Value, json};

/// Runs with a model at a server that answers with these replies, one after the other.
struct Scene {
    server: Server,
    ran: Ran,
}

impl Scene {
    fn play(place: &Place, replies: Vec<Reply>, more: &[&str]) -> Self {
        let server = Server::start(replies);
        let with = ["run", "--profile", "picoclaw", "--permission", "full", "--model", "openai/gpt-4o"];
        let mut haft = place.haft(&[&with, more, &["go"]].concat());
        haft.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", format!("{}/v1", server.address));
        let ran = Ran::from(haft.output().unwrap());
        Self { server, ran }
    }

    /// The messages of the last request behind the prompt.
    fn messages(&self) -> Vec<Value> {
        self.server.asked().last().unwrap()["messages"].as_array().unwrap()[2..].to_vec()
    }
}

/// A reply with these calls.
fn calls(text: &str, all: &[(&str, Value)]) -> Reply {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"index": index, "id": format!("call_abc{index}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = all.iter().enumerate().map(call).collect();
    openai(&[json!({"content": text}), json!({"tool_calls": calls})], "tool_calls")
}

// "What the LLM returns", "How the loop dispatches", "How the result is fed back": T-35 to T-39, T-41 to T-46, T-48, T-52, T-56, word for word
#[test]
fn a_call_and_its_result_are_those_of_the_document() {
    let place = Place::new();
    let file = place.path().join("foo");
    std::fs::write(&file, "Hello from /tmp/foo\n").unwrap();
    let read = calls("I'll read that file for you.", &[("read_file", json!({"path": file}))]);
    let scene = Scene::play(&place, vec![read, openai_text("It says hello.")], &["--output", "json"]);
    let object: Value = serde_json::from_str(&scene.ran.out).unwrap();
    let [content, iterations] = ["text", "rounds"].map(|field| &object[field]);
    assert_eq!(
        (scene.ran.code, content, iterations),
        (0, &json!("It says hello."), &json!(2)),
        "{:?}",
        scene.ran
    );
    let messages = scene.messages();
    let said = &messages[0];
    assert_eq!(
        (&said["role"], &said["content"]),
        (&json!("assistant"), &json!("I'll read that file for you."))
    );
    let called = json!([{
        "id": "call_abc0",
        "type": "function",
        "function": {"name": "read_file", "arguments": json!({"path": file}).to_string()},
    }]);
    assert_eq!(said["tool_calls"], called);
    let result = json!({"role": "tool", "content": "Hello from /tmp/foo\n", "tool_call_id": "call_abc0"});
    let mut answered = messages[1].as_object().unwrap().clone();
    answered.retain(|field, _| result.get(field).is_some());
    assert_eq!((Value::Object(answered), messages.len()), (result, 2));
}

// "What the LLM receives": T-07, T-08, T-30, T-31, T-35, T-55, and what a request shows of the profile
#[test]
fn a_request_has_the_tools_and_the_options_of_the_profile() {
    let place = Place::new();
    place.write("AGENTS.md", "Call me sir.");
    let scene = Scene::play(&place, vec![openai_text("Hello.")], &[]);
    let request = &scene.server.asked()[0];
    let limit = request.get("max_completion_tokens").or(request.get("max_tokens"));
    assert_eq!(
        (&request["model"], limit, &request["temperature"]),
        (&json!("gpt-4o"), Some(&json!(4096)), &json!(0.7))
    );
    let system = request["messages"][0]["content"].as_str().unwrap();
    let prompt =
        "You are a helpful assistant with tools. Use `message` to tell the person something while you work.";
    assert!(system.starts_with(prompt) && !system.contains("Call me sir."), "{system}");
    let tools = request["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    let expected =
        ["read_file", "write_file", "edit_file", "list_dir", "exec", "web_fetch", "message", "subagent"];
    assert_eq!(names, expected);
    let read = &tools[0];
    assert_eq!(
        (&read["type"], &read["function"]["parameters"]["required"]),
        (&json!("function"), &json!(["path"]))
    );
    let listed = place.run(&["profiles", "list"]).out;
    let title = "as the Go tools package's document describes it: a result for the model and one for people, twenty rounds, the last text counts";
    assert!(listed.lines().any(|line| line.starts_with("picoclaw") && line.contains(title)), "{listed}");
}

// `validation = "off"`, `error = "bare"`: T-19, T-28, T-40, T-45. Arguments go to the tool as they are.
#[test]
fn what_goes_wrong_is_told_in_the_tools_own_words() {
    let place = Place::new();
    let wrong = [
        ("read_file", json!({"path": 7, "more": true}), "cannot use the arguments: "),
        ("read_file", json!({"path": "nope"}), "cannot read `nope`: no such file"),
        ("no_such", json!({}), "there is no tool `no_such`"),
    ];
    let made: Vec<(&str, Value)> =
        wrong.iter().map(|(name, arguments, _)| (*name, arguments.clone())).collect();
    let scene = Scene::play(&place, vec![calls("", &made), openai_text("done")], &[]);
    for ((_, _, told), message) in wrong.iter().zip(&scene.messages()[1..]) {
        assert!(message["content"].as_str().unwrap().starts_with(told), "{message}");
    }
}

// `parallel = false`: "for each tool call it runs ExecuteWithContext": T-48, and in call order, T-46
#[test]
fn calls_run_one_after_the_other() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.write("b.txt", "two\n");
    let read = |path: &str| ("read_file", json!({"path": path}));
    let two = calls("", &[read("a.txt"), read("b.txt")]);
    let scene = Scene::play(&place, vec![two, openai_text("done")], &["--json"]);
    let recorded: Vec<String> = scene.ran.recorded();
    let expected = ["tool_started", "tool_ended", "tool_started", "tool_ended"];
    assert_eq!(recorded[3..7], expected, "{:?}", scene.ran);
    let told: Vec<Value> = scene.messages()[1..].iter().map(|message| message["content"].clone()).collect();
    assert_eq!(told, ["one\n", "two\n"]);
}

// `max_rounds`, `job_rounds`: T-49, T-54, T-56, X-02, X-03
#[test]
fn the_loop_ends_after_twenty_iterations() {
    let place = Place::new();
    let list = |n: usize| json!({"say": format!("round {n}"), "calls": [{"name": "list_dir", "arguments": {"path": ".", "n": n}}]});
    let model = place.script("m", &(1..30).map(list).collect::<Vec<_>>());
    let with = ["--profile", "picoclaw", "--permission", "full", "--model", &model, "--output", "json"];
    for words in [&["run", "go"][..], &["triage", "--description", "Look."]] {
        let ran = place.run(&[words, &with].concat());
        let object: Value = serde_json::from_str(ran.out.lines().next().unwrap_or_default()).unwrap();
        let told = ["outcome", "rounds", "text"].map(|field| object[field].clone());
        assert_eq!(told, [json!("round_limit"), json!(20), json!("round 20")], "{words:?}: {ran:?}");
    }
}

// `clip`: `lines`, `bytes`, `keep`; X-21
#[test]
fn a_long_result_is_cut_in_the_middle() {
    for (what, path, kept) in [
        ("bytes", "x".repeat(60_000), 56_000..57_000),
        ("lines", "a/\n".repeat(3_000), 2_200 * 3..2_200 * 3 + 200),
    ] {
        let read = calls("", &[("read_file", json!({"path": path}))]);
        let scene = Scene::play(&Place::new(), vec![read, openai_text("done")], &[]);
        let content = scene.messages()[1]["content"].as_str().unwrap().to_owned();
        assert!(kept.contains(&content.len()), "{what}: {}", content.len());
        assert!(content.starts_with("cannot read `") && content.contains("ask for a part of it"), "{what}");
        assert!(content.ends_with("`: File name too long (os error 36)"), "{what}");
    }
}

// "ToolLoopConfig … can be reused (e.g. main agent vs subagent)": T-50, T-51
#[test]
fn a_subagent_works_with_the_same_loop_and_the_same_tools() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let task = calls("", &[("subagent", json!({"task": "Read a.txt."}))]);
    let read = calls("", &[("read_file", json!({"path": "a.txt"}))]);
    let replies = vec![task, read, openai_text("It says one."), openai_text("one, then")];
    let scene = Scene::play(&place, replies, &[]);
    assert_eq!((scene.ran.code, scene.ran.out.as_str()), (0, "one, then\n"), "{:?}", scene.ran);
    let asked = scene.server.asked();
    let names = |request: &Value| -> Vec<Value> {
        request["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone()).collect()
    };
    assert!(
        names(&asked[1]).contains(&json!("read_file")) && asked[1]["max_tokens"] == asked[0]["max_tokens"]
    );
    assert!(scene.messages()[1]["content"].as_str().unwrap().contains("It says one."));
}
