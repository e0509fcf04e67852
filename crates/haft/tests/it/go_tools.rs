//! What the document of the Go tools package shows, in Rust: the contract of a tool, its result, the registry, the loop.
use haft::{
    CallContext, Channel, Conversation, SharedRegistry, SplitResult, TaskId, ToolCall, ToolLoop, ToolResult,
    prelude::*, providers::Scripted, run_tool_loop,
};
use serde_json::{Value, json};
use std::{fs, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc},
    task::JoinSet,
};

/// Read the contents of a file at the given path.
///
/// Args:
///     path: Path to the file to read
#[tool(reads = "path")]
fn read_file(path: String, context: &ToolContext) -> Result<String, std::io::Error> {
    fs::read_to_string(context.path(path))
}

/// Says where the conversation takes place.
#[tool]
fn whereabouts(context: &ToolContext) -> String {
    context.channel.as_ref().map_or("nowhere".into(), |channel| format!("{}/{}", channel.kind, channel.chat))
}

/// Works in the background until it is told to end.
struct Slow(Arc<Notify>);

impl Tool for Slow {
    const NAME: &'static str = "slow";
    /// Work slowly.
    type Args = std::collections::BTreeMap<String, String>;

    fn effects(&self, _: &Self::Args, _: &std::path::Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, _: Self::Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let end = self.0.clone();
        let work = async move {
            end.notified().await;
            Ok(ToolOutput::text("all done"))
        };
        let job = ctx.jobs.start("slow work".into(), Box::pin(work), Default::default());
        Ok(ToolOutput::text("Task started, will report back").going_on(job))
    }
}

// T-01, T-02, T-03, T-07, T-08, T-30 to T-34: "What the LLM receives", word for word. The library has no tool of its own.
#[test]
fn a_tool_is_what_the_document_shows() {
    let tools = SharedRegistry::new();
    assert!(tools.snapshot().is_empty() && tools.snapshot().definitions().is_empty());
    tools.register(read_file).unwrap();
    let definitions = json!([{
        "type": "function",
        "function": {
            "name": "read_file",
            "description": "Read the contents of a file at the given path.",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string", "description": "Path to the file to read"}},
                "required": ["path"],
            },
        },
    }]);
    let now = tools.snapshot();
    assert_eq!(json!(now.definitions()), definitions);
    assert_eq!(now.summaries(), ["- `read_file` - Read the contents of a file at the given path."]);
    assert_eq!((now.len(), now.names().collect::<Vec<_>>()), (1, vec!["read_file"]));
    assert_eq!(now.specs()[0].definition(), definitions[0]);
}

/// The JSON of a result.
fn split(result: &ToolResult) -> Value {
    json!(SplitResult::from(result))
}

// T-09 to T-21: the constructors, and the JSON of each
#[tokio::test]
async fn a_result_is_for_the_model_for_people_and_for_the_system() {
    #[tool]
    fn new_tool_result() -> ToolOutput {
        ToolOutput::text("File saved")
    }
    #[tool]
    fn silent_result() -> ToolOutput {
        ToolOutput::text("File saved").silent()
    }
    #[tool]
    fn user_result() -> ToolOutput {
        ToolOutput::for_both("File saved")
    }
    #[tool]
    fn other_words_for_people() -> ToolOutput {
        ToolOutput::text("File saved").show("Saved!")
    }
    #[tool]
    fn error_result() -> Result<ToolOutput, ToolError> {
        Err(ToolError::new(ToolErrorKind::System, "failed").caused_by("the disk is full"))
    }
    let tools = SharedRegistry::new();
    tools.register(new_tool_result).unwrap();
    tools.register(silent_result).unwrap();
    tools.register(user_result).unwrap();
    tools.register(other_words_for_people).unwrap();
    tools.register(error_result).unwrap();
    let saved =
        |silent: bool| json!({"for_llm": "File saved", "silent": silent, "is_error": false, "async": false});
    let told = |text: &str| {
        let mut result = saved(false);
        result["for_user"] = json!(text);
        result
    };
    // What caused an error is for the log: it is in no JSON.
    let failed = json!({"for_llm": "failed", "silent": false, "is_error": true, "async": false});
    let table = [
        ("new_tool_result", saved(false)),
        ("silent_result", saved(true)),
        ("user_result", told("File saved")),
        ("other_words_for_people", told("Saved!")),
        ("error_result", failed),
    ];
    for (name, expected) in table {
        assert_eq!(split(&tools.execute(name, json!({})).await), expected, "{name}");
    }
    let unsaid =
        ToolResult { error: tools.execute("error_result", json!({})).await.error, ..ToolResult::default() };
    assert_eq!(split(&unsaid)["for_llm"], "failed", "where there is no text, the error is one");
}

// T-22, T-23, T-24, T-25, T-28
#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_shared_and_changed_while_others_run_its_tools() {
    /// Says one thing.
    #[tool]
    fn say() -> &'static str {
        "one"
    }
    let tools = SharedRegistry::new();
    tools.register(say).unwrap();
    assert!(tools.snapshot().get("say").is_some() && tools.snapshot().get("shout").is_none());
    assert_eq!(tools.execute("say", json!({})).await.content, "one");
    let unknown = tools.execute("shout", json!({})).await;
    assert!(!unknown.is_ok() && unknown.content.starts_with("there is no tool `shout`"), "{unknown:?}");
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let tools = tools.clone();
        tasks.spawn(async move {
            for _ in 0..50 {
                if number % 2 == 0 {
                    /// Says another thing.
                    #[tool]
                    fn say() -> &'static str {
                        "two"
                    }
                    tools.register(say).unwrap();
                }
                let said = tools.execute("say", json!({})).await.content;
                assert!(["one", "two"].contains(&said.as_str()), "{said}");
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(tools.execute("say", json!({})).await.content, "two", "a later one replaces an earlier one");
    tools.remove("say");
    assert!(tools.snapshot().is_empty());
}

// T-04, T-26, T-27
#[tokio::test]
async fn a_tool_is_told_channel_and_chat_before_it_runs() {
    let tools = SharedRegistry::new();
    tools.register(whereabouts).unwrap();
    let call = || ToolCall::new("call_1", "whereabouts", json!({}));
    let context = CallContext::new("session", "msg", "agent");
    assert_eq!(tools.execute_in(&context, call()).await.content, "nowhere");
    let context = context.channel(Channel::new("telegram", "4711"));
    assert_eq!(tools.execute_in(&context, call()).await.content, "telegram/4711");
}

// T-05, T-14, T-18, T-26, T-27
#[tokio::test]
async fn an_async_tool_answers_at_once_and_calls_back_when_it_is_done() {
    let end = Arc::new(Notify::new());
    let tools = SharedRegistry::new();
    tools.register(Slow(end.clone())).unwrap();
    let (sender, mut ended) = mpsc::unbounded_channel();
    let context = CallContext::new("session", "msg", "agent")
        .on_end(move |job, result| sender.send((job, result.content)).unwrap());
    let result = tools.execute_in(&context, ToolCall::new("call_1", "slow", json!({}))).await;
    let started = json!({"for_llm": "Task started, will report back", "silent": false, "is_error": false, "async": true});
    assert_eq!((split(&result), result.job), (started, Some(TaskId("1".into()))));
    assert!(ended.try_recv().is_err());
    end.notify_one();
    assert_eq!(ended.recv().await, Some((TaskId("1".into()), "all done".into())));
}

// T-25, T-26: without a callback, the call gives what its work came to
#[tokio::test]
async fn without_a_callback_a_call_waits_for_its_work() {
    let end = Arc::new(Notify::new());
    let tools = SharedRegistry::new();
    tools.register(Slow(end.clone())).unwrap();
    end.notify_one();
    assert_eq!(tools.execute("slow", json!({})).await.content, "all done");
}

/// Notes that it was dropped.
struct Dropped(mpsc::UnboundedSender<&'static str>, &'static str);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _nobody_listens = self.0.send(self.1);
    }
}

/// Waits for ever, in the call or in the background.
struct Endless(mpsc::UnboundedSender<&'static str>);

impl Tool for Endless {
    const NAME: &'static str = "endless";
    type Args = std::collections::BTreeMap<String, bool>;

    fn effects(&self, _: &Self::Args, _: &std::path::Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, args: Self::Args, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let in_background = args.get("background") == Some(&true);
        let dropped = Dropped(self.0.clone(), if in_background { "work" } else { "call" });
        let work = async move {
            let _dropped = dropped;
            std::future::pending().await
        };
        if in_background {
            return Ok(ToolOutput::running(ctx.jobs.start("".into(), Box::pin(work), Default::default())));
        }
        work.await
    }
}

// T-58: what is no longer waited for ends, in the call and behind its callback
#[tokio::test]
async fn a_call_and_its_work_end_with_whoever_wanted_them() {
    let (sender, mut dropped) = mpsc::unbounded_channel();
    let tools = SharedRegistry::new();
    tools.register(Endless(sender)).unwrap();
    let context = CallContext::new("session", "msg", "agent").on_end(|_, _| panic!("it does not end"));
    let call = |background: bool| ToolCall::new("call_1", "endless", json!({"background": background}));
    let soon = Duration::from_millis(20);
    assert!(tokio::time::timeout(soon, tools.execute_in(&context, call(false))).await.is_err());
    assert_eq!(dropped.recv().await, Some("call"));
    assert!(tools.execute_in(&context, call(true)).await.is_ok());
    drop(context);
    assert_eq!(dropped.recv().await, Some("work"));
}

// T-45 to T-57: `RunToolLoop(ctx, config, messages, channel, chatID)` over the caller's own messages
#[tokio::test]
async fn the_loop_runs_over_messages_of_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("foo"), "Hello from /tmp/foo\n").unwrap();
    let model = Arc::new(
        Scripted::new([])
            .calls([("read_file", json!({"path": "foo"})), ("whereabouts", json!({}))])
            .says("It says hello."),
    );
    let tools = SharedRegistry::new();
    tools.register(read_file).unwrap();
    tools.register(whereabouts).unwrap();
    let config = ToolLoop {
        tools,
        max_iterations: 10,
        max_output: 4096,
        options: serde_json::Map::from_iter([("temperature".to_owned(), json!(0.7))]),
        workspace: folder.path().to_owned(),
        ..ToolLoop::new(model.clone(), "gpt-4o")
    };
    let messages = Conversation::new("Be brief.").user("What does it say?");
    let result = run_tool_loop(&config, messages, Channel::new("telegram", "4711")).await.unwrap();
    assert_eq!((result.content.as_str(), result.iterations), ("It says hello.", 2));
    let requests = model.requests();
    let (first, second) = (&requests[0], &requests[1]);
    assert_eq!(
        (first.model.as_str(), first.system.as_str(), first.max_output),
        ("gpt-4o", "Be brief.", 4096)
    );
    assert_eq!((&first.options["temperature"], first.tools.len()), (&json!(0.7), 2));
    let told = second.messages.iter().filter_map(|message| match &**message {
        Message::Tool { call, result, .. } => Some((call.0.as_str(), result.content.as_str())),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let made = |place: usize| match &*second.messages[1] {
        Message::Assistant { parts } => {
            parts.iter().filter_map(Part::as_call).nth(place).unwrap().id.0.clone()
        }
        other => panic!("{other:?}"),
    };
    let (one, two) = (made(0), made(1));
    let expected = [(one.as_str(), "Hello from /tmp/foo\n"), (two.as_str(), "telegram/4711")];
    assert_eq!(told.collect::<Vec<_>>(), expected, "each tied to its call, in call order");
}

/// Registers another tool while the loop runs.
struct Teach(SharedRegistry);

impl Tool for Teach {
    const NAME: &'static str = "teach";
    type Args = std::collections::BTreeMap<String, String>;

    fn effects(&self, _: &Self::Args, _: &std::path::Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, _: Self::Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.register(whereabouts).expect("it has `#[tool]`");
        Ok(ToolOutput::text("taught"))
    }
}

// T-22, T-23, T-35, T-43, T-48: definitions are built anew for each request, in the loop and in a session
#[tokio::test]
async fn a_tool_that_is_registered_meanwhile_is_told_with_the_next_request() {
    let model = || {
        let model = Scripted::new([]).calls([("teach", json!({}))]).calls([("whereabouts", json!({}))]);
        Arc::new(model.says("done"))
    };
    let names = |model: &Scripted| -> Vec<Vec<String>> {
        let requests = model.requests();
        requests.iter().map(|asked| asked.tools.iter().map(|spec| spec.name.clone()).collect()).collect()
    };
    let registry = || {
        let tools = SharedRegistry::new();
        tools.register(Teach(tools.clone())).unwrap();
        tools
    };
    let (asked, config) = (model(), registry());
    let config = ToolLoop { tools: config, ..ToolLoop::new(asked.clone(), "m") };
    run_tool_loop(&config, Conversation::default().user("go"), None).await.unwrap();
    let expected = [vec!["teach"], vec!["teach", "whereabouts"], vec!["teach", "whereabouts"]];
    assert_eq!(names(&asked), expected);
    let asked = model();
    let agent =
        Haft::builder().provider(asked.clone()).tool_source(registry()).in_memory().build().await.unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    assert_eq!(
        (names(&asked), report.calls.last().unwrap().result().content.as_str()),
        (expected.map(|names| names.iter().map(|name| name.to_string()).collect()).to_vec(), "nowhere")
    );
}
