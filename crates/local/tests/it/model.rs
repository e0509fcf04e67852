//! The whole crate with a real model: SmolLM2 135M from the folder named by `HAFT_MODELS`, or from `models` in the
//! workspace. Without it, each test is left out.
use futures::{StreamExt, executor::block_on};
use haft_core::{
    Delta, Message, Part, Provider, ProviderError, Reply, Request, StopReason, ToolCall, ToolResult,
    ToolSpec, Usage, text_of,
};
use haft_local::{LocalModel, Settings, models};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

fn model_file() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let folder = std::env::var_os("HAFT_MODELS").map_or(beside, PathBuf::from);
    let found = models::find(models::DEFAULT, &folder);
    if let Err(problem) = &found {
        haft_testing::left_out(&format!("the embedded model: {problem}"));
    }
    found.ok()
}

fn open(settings: Settings) -> Option<LocalModel> {
    let settings = Settings { threads: Some(1), ..settings };
    model_file().map(|path| LocalModel::open(path, settings).expect("the file is a model"))
}

fn request(messages: &[Message], tools: Vec<ToolSpec>, max_output: u32) -> Request {
    let messages = messages.iter().cloned().map(Arc::new).collect();
    Request { messages, tools: tools.into(), max_output, ..Request::default() }
}

/// `read`, `write`, `edit` and `bash` with their worked examples.
fn four_tools() -> Vec<ToolSpec> {
    let four = ["read", "write", "edit", "bash"].map(str::to_owned);
    haft_tools::builtin(&haft_tools::Settings::default()).only(&four).specs().to_vec()
}

fn user(text: &str) -> Message {
    Message::User { parts: vec![Part::text(text)] }
}

fn ask(model: &LocalModel, request: Request) -> Result<(Vec<Part>, StopReason, Usage), ProviderError> {
    let mut stream = model.stream(request);
    let mut reply = Reply::default();
    while let Some(delta) = block_on(stream.next()) {
        reply.push(delta?);
    }
    let (stop, usage) = (reply.stop(), reply.usage());
    Ok((reply.into_parts(), stop, usage))
}

fn calls(parts: &[Part]) -> Vec<ToolCall> {
    parts.iter().filter_map(Part::as_call).cloned().collect()
}

#[test]
fn a_small_model_reads_a_file_and_answers_from_it() {
    let Some(model) = open(Settings::default()) else { return };
    assert!(model.is_small());
    let table = [
        (
            "Read notes.txt and tell me the launch code.",
            "notes.txt",
            "Lunch at noon.\nThe launch code is 7421.",
            "7421",
        ),
        (
            "What port is set in config.json?",
            "config.json",
            "     1\t{\"host\": \"a\", \"port\": 8081}",
            "8081",
        ),
    ];
    for (wish, file, content, expected) in table {
        let mut messages = vec![user(wish)];
        let (parts, stop, first) = ask(&model, request(&messages, four_tools(), 60)).unwrap();
        let expected_call = ToolCall::new("call_0", "read", json!({"path": file}));
        assert_eq!((calls(&parts), stop), (vec![expected_call.clone()], StopReason::ToolUse), "{wish}");
        messages.push(Message::Assistant { parts });
        let result = ToolResult { content: content.into(), ..ToolResult::default() };
        messages.push(Message::Tool { call: expected_call.id, name: "read".into(), result });
        let (parts, stop, second) = ask(&model, request(&messages, four_tools(), 60)).unwrap();
        assert_eq!(stop, StopReason::EndTurn);
        assert!(text_of(&parts).contains(expected), "{wish}: {parts:?}");
        // The second round reads what came since the first one, and no more.
        assert!(second.cache_read >= first.input && second.input < 60, "{first:?} {second:?}");
    }
}

#[test]
fn a_reply_that_nobody_reads_is_cancelled() {
    let Some(model) = open(Settings::default()) else { return };
    let story = request(&[user("Tell me a very long story.")], vec![], 4_000);
    let mut stream = model.stream(story);
    for _ in 0..3 {
        assert!(matches!(block_on(stream.next()), Some(Ok(Delta::Text(_)))));
    }
    drop(stream);
    // If the story went on, this would come minutes later.
    let (parts, ..) = ask(&model, request(&[user("Say yes.")], vec![], 8)).unwrap();
    assert!(!text_of(&parts).is_empty());
}

#[test]
fn limits_are_told() {
    let Some(model) = open(Settings { context_tokens: Some(256), ..Settings::default() }) else { return };
    let long = "all work and no play makes a dull model ".repeat(60);
    let error = ask(&model, request(&[user(&long)], vec![], 8)).unwrap_err();
    assert!(matches!(error, ProviderError::ContextTooLong { .. }), "{error}");
    let (_, stop, usage) = ask(&model, request(&[user("Count from one to a hundred.")], vec![], 5)).unwrap();
    assert_eq!((stop, usage.output), (StopReason::Length, 5));
}

#[test]
fn drawn_tokens_make_no_malformed_call() {
    let Some(model) = open(Settings::default()) else { return };
    // Without examples and at a high temperature the model writes nonsense, but well formed.
    let tools: Vec<ToolSpec> =
        four_tools().into_iter().map(|tool| ToolSpec { examples: vec![].into(), ..tool }).collect();
    let wishes = ["Fix it.", "edit {\"path\"", "Read a.txt, then b.txt", "write write write", "¿Qué? 你好"];
    let mut called = 0;
    for (place, wish) in wishes.iter().enumerate() {
        for seed in 0..10 {
            let mut request = request(&[user(wish)], tools.clone(), 120);
            request.options =
                json!({"temperature": 1.5, "seed": seed * 7 + place}).as_object().unwrap().clone();
            let (parts, stop, _) = ask(&model, request).unwrap();
            for call in calls(&parts) {
                called += 1;
                let tool = tools.iter().find(|tool| tool.name == call.name).expect("the tool exists");
                assert_eq!((call.problem, stop), (None, StopReason::ToolUse));
                let required = tool.parameters["required"].as_array().unwrap();
                assert!(required.iter().all(|name| call.arguments[name.as_str().unwrap()].is_string()));
            }
        }
    }
    assert!(called > 0);
}

#[test]
fn a_static_beginning_is_kept_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { cache_folder: Some(folder.path().into()), ..Settings::default() };
    // A new model each time, as in a new process.
    let reply = |wish: &str| {
        let model = open(settings.clone())?;
        let system = "You are a patient assistant who answers in one short sentence. ".repeat(8);
        let request = Request { system, ..request(&[user(wish)], vec![], 12) };
        Some(ask(&model, request).unwrap())
    };
    let Some((_, _, first)) = reply("What is the capital of France?") else { return };
    assert!(first.cache_read == 0 && first.cache_write > 64, "{first:?}");
    let (whole, _, second) = reply("What is the capital of Italy?").unwrap();
    assert!(second.cache_read == first.cache_write && second.cache_write == 0, "{second:?}");
    // A damaged file is not believed, and is replaced.
    let state = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let state =
        state.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "state")).unwrap();
    let mut bytes = std::fs::read(&state).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&state, bytes).unwrap();
    let (again, _, third) = reply("What is the capital of Italy?").unwrap();
    assert_eq!((third.cache_write, again), (first.cache_write, whole));
}

/// The part of Qwen's template that matters here: a place for tools, and calls in tags.
const TAGGED: &str = "{%- if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}\
    Calls: <tool_call>\n{\"name\": NAME, \"arguments\": ARGUMENTS}\n</tool_call><|im_end|>\n{% endif %}\
    {%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>\n\
    {\"name\": \"{{ call.function.name }}\", \"arguments\": {{ call.function.arguments | tojson }}}\n</tool_call>\
    {% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

#[test]
fn calls_in_tags_are_held_to_the_schema_once_they_begin() {
    let settings = Settings { small: Some(false), template: Some(TAGGED.into()), ..Settings::default() };
    let Some(model) = open(settings) else { return };
    // Seven calls in the conversation make even this model go on with an eighth.
    let mut messages = Vec::new();
    for place in 0..7 {
        let id = format!("c{place}");
        messages.push(user(&format!("Read file{place}.txt")));
        let call = ToolCall::new(&id, "read", json!({"path": format!("file{place}.txt")}));
        messages.push(Message::Assistant { parts: vec![Part::ToolCall(call.clone())] });
        let result = ToolResult { content: "ok".into(), ..ToolResult::default() };
        messages.push(Message::Tool { call: call.id, name: "read".into(), result });
    }
    messages.push(user("Read file8.txt"));
    let tools = four_tools().into_iter().take(1).collect();
    let (parts, stop, _) = ask(&model, request(&messages, tools, 60)).unwrap();
    let calls = calls(&parts);
    assert!(!calls.is_empty(), "{parts:?}");
    assert!(
        calls.iter().all(|call| call.problem.is_none() && call.arguments["path"].is_string()),
        "{calls:?}"
    );
    assert!(matches!(stop, StopReason::ToolUse | StopReason::Length), "{stop:?}");
}
