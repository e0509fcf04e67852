//! What the document of opencode-rs shows of its library: the tracker, the executor, the messages, and what it owes.
use haft::{
    CallContext, CallTracker, Channel, Executed, Limits, SharedRegistry, ToolCall, prelude::*,
    providers::Scripted, result_messages,
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Barrier;

/// How long a test waits for what does not come.
const LONG: Duration = Duration::from_secs(60);

/// Reads a file.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ReadArgs {
    /// The file.
    #[serde(rename = "filePath")]
    file_path: PathBuf,
}

struct Read;

impl Tool for Read {
    const NAME: &'static str = "read";
    type Args = ReadArgs;

    fn effects(&self, args: &ReadArgs, _: &Path) -> Vec<Effect> {
        vec![Effect::Read(args.file_path.clone())]
    }

    async fn run(&self, args: ReadArgs, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let text = fs::read_to_string(ctx.path(args.file_path));
        let text =
            text.map_err(|error| ToolError::new(ToolErrorKind::User, format!("cannot read: {error}")))?;
        Ok(ToolOutput::text(text))
    }
}

/// Says whose call it is.
#[tool]
fn who(context: &ToolContext) -> String {
    let ToolContext { session, message, agent, call, .. } = context;
    format!("{session}/{message}/{agent}/{call}")
}

fn tools() -> SharedRegistry {
    let tools = SharedRegistry::new();
    tools.register(Read).and_then(|()| tools.register(who)).expect("both are tools");
    tools
}

// O-02, O-04, O-06 to O-09, O-13 to O-18, O-21, O-22, O-31, O-32: the document's code example
#[tokio::test]
async fn calls_are_tracked_executed_and_answered() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("test.txt"), "Hello World").unwrap();
    // During streaming
    let mut tracker = CallTracker::default();
    // On ToolCallStart event
    tracker.start_call("tool_1", "read");
    tracker.start_call("tool_2", "who");
    // On ToolCallDelta event
    tracker.add_arguments("tool_1", "{\"filePath\":");
    tracker.add_arguments("tool_2", "{}");
    tracker.add_arguments("tool_1", "\"test.txt\"}");
    // After stream ends
    let pending_calls = tracker.take_calls();
    let mut messages = vec![Message::User { parts: vec![Part::text("Read the file.")] }];
    if !pending_calls.is_empty() {
        let ctx = CallContext::new("session", "msg", "agent").workspace(folder.path());
        let parts = pending_calls.iter().cloned().map(Part::ToolCall).collect();
        messages.push(Message::Assistant { parts });
        let results = tools().execute_all(pending_calls, &ctx).await;
        // Add results to conversation and continue
        messages.extend(result_messages(results));
    }
    let told = messages[2..].iter().map(|message| match message {
        Message::Tool { call, name, result } => (call.0.as_str(), name.as_str(), result.content.as_str()),
        other => panic!("{other:?}"),
    });
    let expected = [("tool_1", "read", "Hello World"), ("tool_2", "who", "session/msg/agent/tool_2")];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert!(tracker.take_calls().is_empty(), "they are taken out");
}

// O-14 to O-17, X-33
#[test]
fn a_tracker_keeps_the_order_and_gives_each_call_once() {
    let mut tracker = CallTracker::default();
    for (id, name) in [("b", "read"), ("a", "who"), ("c", "read"), ("a", "again")] {
        tracker.start_call(id, name);
    }
    tracker.add_arguments("c", "{\"x\":1}");
    tracker.add_arguments("missing", "{}");
    assert_eq!(tracker.finish_call("c"), Some(ToolCall::new("c", "read", json!({"x": 1}))));
    assert_eq!(tracker.finish_call("c"), None);
    let rest = [ToolCall::new("b", "read", json!({})), ToolCall::new("a", "who", json!({}))];
    assert_eq!(tracker.take_calls(), rest);
}

// O-18 to O-22, O-42: arguments are text; what is wrong with them, or with the name, is a result
#[tokio::test]
async fn a_call_with_arguments_as_text_is_executed() {
    let ctx = CallContext::new("session", "msg", "agent");
    let table = [
        ("who", "{}", "session/msg/agent/tool_1"),
        ("who", "", "session/msg/agent/tool_1"),
        ("who", "{oops", "cannot call `who`: the arguments are not JSON"),
        ("read", "{}", "cannot call `read`: `filePath` is required"),
        ("raed", "{}", "there is no tool `raed`\nhint: did you mean `read`?"),
    ];
    for (name, arguments, expected) in table {
        let result = tools().execute_in(&ctx, ToolCall::parse("tool_1", name, arguments)).await;
        assert!(result.content.starts_with(expected), "{name} {arguments}: {result:?}");
        assert_eq!(result.is_ok(), expected.starts_with("session"));
    }
}

/// Reads once all have come that it waits for.
struct Meets(Arc<Barrier>);

impl Tool for Meets {
    const NAME: &'static str = "meets";
    /// Meet the others.
    type Args = std::collections::BTreeMap<String, String>;

    fn effects(&self, _: &Self::Args, _: &Path) -> Vec<Effect> {
        vec![Effect::Read(".".into())]
    }

    async fn run(&self, args: Self::Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.wait().await;
        // The last one to begin is the first one to end.
        let late = if args["name"] == "one" { 30 } else { 0 };
        tokio::time::sleep(Duration::from_millis(late)).await;
        Ok(ToolOutput::text(args["name"].clone()))
    }
}

// O-07, O-12, O-36, O-38: calls that wait for each other all run at the same time, and their order is kept
#[tokio::test]
async fn calls_that_read_run_at_the_same_time() {
    let meet = |name: &str| ("meets", json!({"name": name}));
    let (three, tools) = (["one", "two", "three"], SharedRegistry::new());
    tools.register(Meets(Arc::new(Barrier::new(3)))).unwrap();
    let calls = three.iter().map(|name| ToolCall::new(*name, "meets", json!({"name": name}))).collect();
    let ctx = CallContext::new("session", "msg", "agent");
    let results = tokio::time::timeout(LONG, tools.execute_all(calls, &ctx)).await.unwrap();
    let said = |executed: &Executed| executed.result.content.clone();
    assert_eq!(results.iter().map(said).collect::<Vec<_>>(), three);
    // The same in a session.
    let model = Arc::new(Scripted::new([]).calls(three.map(meet)).says("done"));
    let builder = Haft::builder().provider(model.clone()).tool(Meets(Arc::new(Barrier::new(3))));
    let agent = builder.in_memory().build().await.unwrap();
    let turn = agent.session().unwrap().prompt("go");
    assert_eq!(tokio::time::timeout(LONG, turn).await.unwrap().unwrap().outcome, Some(Outcome::Finished));
    let requests = model.requests();
    let told = requests[1].messages.iter().filter_map(|message| match &**message {
        Message::Tool { result, .. } => Some(result.content.clone()),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), three);
}

/// Never ends.
#[tool]
async fn endless() {
    std::future::pending().await
}

// O-38, O-39: a tool that the program brings along, in a session and without one
#[tokio::test]
async fn a_call_of_any_tool_ends_in_time() {
    let timed_out = "`endless` timed out after 1 s; the call was stopped\nhint: ask for less at a time";
    let model = Scripted::new([]).calls([("endless", json!({}))]).says("It took too long.");
    let limits = Limits { call_seconds: 1, ..Limits::default() };
    let builder = Haft::builder().provider(model).tool(endless).limits(limits);
    let agent = builder.in_memory().build().await.unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    assert_eq!(
        (report.outcome, report.calls[0].result().content.as_str()),
        (Some(Outcome::Finished), &*format!("error: {timed_out}"))
    );
    let tools = SharedRegistry::new();
    tools.register(endless).unwrap();
    let ctx = CallContext::new("session", "msg", "agent").call_seconds(1);
    let result = tools.execute_in(&ctx, ToolCall::new("tool_1", "endless", json!({}))).await;
    assert_eq!(result.content, timed_out);
    assert_eq!(Limits::default().call_seconds, 600);
}

/// How far the work is.
struct Poll(AtomicUsize, usize);

impl Tool for Poll {
    const NAME: &'static str = "poll";
    type Args = std::collections::BTreeMap<String, String>;

    fn effects(&self, _: &Self::Args, _: &Path) -> Vec<Effect> {
        Vec::new()
    }

    async fn run(&self, _: Self::Args, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let done = self.0.fetch_add(self.1, Ordering::Relaxed);
        Ok(ToolOutput::text(format!("{done} percent")))
    }
}

// O-41: to ask again how far something is, is no loop while it goes on
#[tokio::test]
async fn the_same_call_is_a_loop_only_with_the_same_result() {
    for (step, outcome, calls) in [(10, Outcome::Finished, 8), (0, Outcome::Repeating, 6)] {
        let asks = |model: Scripted, _| model.calls([("poll", json!({}))]);
        let model = (0..8).fold(Scripted::new([]), asks).says("It is done.");
        let builder = Haft::builder().provider(model).tool(Poll(AtomicUsize::new(0), step));
        let agent = builder.in_memory().build().await.unwrap();
        let report = agent.session().unwrap().prompt("go").await.unwrap();
        assert_eq!((report.outcome, report.calls.len()), (Some(outcome), calls));
        let warned =
            report.calls.iter().filter(|call| call.result().content.contains("same as before")).count();
        assert_eq!(warned > 0, outcome == Outcome::Repeating);
    }
}

// O-31: in a session a tool knows its context as well
#[tokio::test]
async fn a_tool_knows_whose_call_it_is() {
    let model = Scripted::new([]).calls([("who", json!({}))]).says("done");
    let agent = Haft::builder().provider(model).tool(who).in_memory().build().await.unwrap();
    let session = agent.session().unwrap();
    let channel = Some(Channel::new("telegram", "4711"));
    let report = session.start(Command::Prompt { parts: vec![Part::text("go")], channel }).await.unwrap();
    let call = &report.calls[0];
    assert_eq!(call.result().content, format!("{}/2/haft/{}", session.id(), call.id()));
    assert!(matches!(session.entries()[2].fact, Fact::Replied { .. }));
}
