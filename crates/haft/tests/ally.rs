//! The examples of Code Ally's document as a program that uses the library has them: a tool of one's own, the events of
//! its calls, and what a session remembers of a turn.
//!
//! A binary of its own: it lists all tools that are declared in its program.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use haft::{Activity, ActivityType, Profile, prelude::*, providers::Scripted};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// What my tool does
#[tool]
fn my_tool(param1: String, context: &ToolContext) -> Result<Value, ToolError> {
    // "Emit Events for Long Operations"
    context.progress("Searching 1000 files...\n");
    match param1.as_str() {
        "value" => Ok(json!({"result": "success", "count": 42})),
        "panic" => panic!("it fell over"),
        "system" => Err(ToolError::new(ToolErrorKind::System, "the disk is gone")),
        _ => {
            Err(ToolError::new(ToolErrorKind::User, "File not found")
                .hint("Check the file path and try again"))
        }
    }
}

fn ally(model: Arc<Scripted>) -> haft::Builder {
    Haft::builder().provider(model).profile(Profile::named("ally").unwrap()).in_memory()
}

fn scripted(all: &[(&str, Value)]) -> Arc<Scripted> {
    Arc::new(Scripted::new([]).calls(all.iter().cloned()).says("done"))
}

// "Creating a New Tool", "Test Your Tool", "Tool Result Format": C-08, C-11, C-15, C-20, C-47, C-49, C-50, C-52 to C-59
#[tokio::test]
async fn a_tool_of_ones_own_answers_in_the_form_of_the_document() {
    let call = |value: &str| ("my_tool", json!({"param1": value}));
    let all = [call("value"), ("my_tool", json!({})), call("other"), call("system"), call("panic")];
    let agent = ally(scripted(&all)).tool(my_tool).build().await.unwrap();
    let report = agent.session().unwrap().prompt("go").await.unwrap();
    let told: Vec<Value> =
        report.calls.iter().map(|call| serde_json::from_str(&call.result().content).unwrap()).collect();
    assert_eq!(told[0], json!({"success": true, "error": "", "result": "success", "count": 42}));
    let failed = |error: &str, kind: &str, suggestion: Value| {
        let mut failed = json!({"success": false, "error": error, "error_type": kind});
        if !suggestion.is_null() {
            failed["suggestion"] = suggestion;
        }
        failed
    };
    let example = json!("Example: my_tool(param1=\"…\")");
    assert_eq!(
        told[1],
        failed("my_tool(): cannot call my_tool: param1 is required", "validation_error", example)
    );
    let hint = json!("Check the file path and try again");
    assert_eq!(told[2], failed("my_tool(param1=\"other\"): File not found", "user_error", hint));
    assert_eq!(told[3], failed("my_tool(param1=\"system\"): the disk is gone", "system_error", Value::Null));
    let error = "my_tool(param1=\"panic\"): the tool panicked: it fell over";
    assert_eq!(told[4], failed(error, "system_error", Value::Null));
}

/// Nothing.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}
struct Still;
impl Tool for Still {
    const NAME: &'static str = "still";
    const SUPPRESS_ANIMATION: bool = true;
    type Args = Nothing;
    fn effects(&self, _: &Nothing, _: &std::path::Path) -> Vec<Effect> {
        Vec::new()
    }
    async fn run(&self, _: Nothing, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

// `suppressExecutionAnimation`: C-10, C-13, C-14
#[test]
fn a_tool_says_whether_something_moves_while_it_runs() {
    let tools = Registry::declared().with(Still);
    let still = |name: &str| tools.get(name).map(|registered| registered.tool.suppresses_animation());
    assert_eq!((still("my_tool"), still("still"), still("missing")), (Some(false), Some(true), None));
    let told: Vec<String> = tools.specs().iter().map(|spec| spec.name.clone()).collect();
    assert_eq!(told, ["my_tool", "count_lines", "empty", "forget", "still"]);
}

// "Subscribing to Events", "Streaming Output": C-04, C-25 to C-34, C-62, C-63, C-66
#[tokio::test]
async fn functions_subscribe_to_one_type_or_to_all_and_can_leave() {
    let all = [("my_tool", json!({"param1": "value"})), ("my_tool", json!({"param1": "other"}))];
    let agent = ally(scripted(&all)).tool(my_tool).build().await.unwrap();
    let session = agent.session().unwrap();
    let (starts, everything, left) =
        (Arc::new(AtomicUsize::new(0)), Arc::default(), Arc::new(AtomicUsize::new(0)));
    let heard: Arc<Mutex<Vec<Activity>>> = everything;
    let count = |counter: &Arc<AtomicUsize>| {
        let counter = counter.clone();
        move |activity: &Activity| {
            assert_eq!(activity.data["toolName"], "my_tool");
            counter.fetch_add(1, Ordering::SeqCst);
        }
    };
    let _starts = session.subscribe(ActivityType::ToolCallStart, count(&starts));
    let _all = session.subscribe_all({
        let heard = heard.clone();
        move |activity| heard.lock().unwrap().push(activity.clone())
    });
    session.subscribe(ActivityType::ToolCallStart, count(&left)).unsubscribe();
    session.prompt("go").await.unwrap();
    while heard.lock().unwrap().len() < 7 {
        tokio::task::yield_now().await;
    }
    let heard = heard.lock().unwrap().clone();
    let kinds: Vec<Value> = heard.iter().map(|activity| json!(activity)["type"].clone()).collect();
    let (start, chunk, end) = ("tool_call_start", "tool_output_chunk", "tool_call_end");
    assert_eq!(json!(kinds), json!([start, chunk, end, start, chunk, "error", end]));
    assert_eq!(heard[0].data["arguments"], json!({"param1": "value"}));
    assert_eq!(heard[1].data["chunk"], "Searching 1000 files...\n");
    assert_eq!((&heard[2].data["success"], &heard[2].data["result"]["count"]), (&json!(true), &json!(42)));
    assert_eq!(
        (&heard[5].data["message"], &heard[6].data["success"]),
        (&json!("File not found"), &json!(false))
    );
    assert_eq!((starts.load(Ordering::SeqCst), left.load(Ordering::SeqCst)), (2, 0));
}

/// Counts the lines of a file.
#[tool(reads = "path")]
fn count_lines(path: String, context: &ToolContext) -> Result<usize, std::io::Error> {
    RUNS.fetch_add(1, Ordering::SeqCst);
    Ok(std::fs::read_to_string(context.path(path))?.lines().count())
}
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Empties a file.
#[tool(writes = "path")]
fn empty(path: String, context: &ToolContext) -> Result<&'static str, std::io::Error> {
    std::fs::write(context.path(path), "").map(|()| "emptied")
}

/// Forgets what the session remembers.
#[tool]
async fn forget(all: bool) -> &'static str {
    let session = SESSION.get().unwrap();
    let forgotten = if all { session.clear_state() } else { session.clear_current_turn() };
    forgotten.unwrap();
    // The session hears of it while this runs.
    tokio::time::sleep(Duration::from_millis(200)).await;
    "forgotten"
}
static SESSION: OnceLock<Session> = OnceLock::new();

// `clearCurrentTurn`, `clearState`: C-16, C-17, C-18
#[tokio::test]
async fn what_a_session_remembers_can_be_cleared() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "one\n").unwrap();
    let count = || ("count_lines", json!({"path": "a"}));
    let all = [count(), count(), ("forget", json!({"all": false})), count()];
    let unread = [
        ("forget", json!({"all": true})),
        ("empty", json!({"path": "a"})),
        count(),
        ("empty", json!({"path": "a"})),
    ];
    let model = scripted(&[&all[..], &unread].concat());
    let tools = ally(model).tool(count_lines).tool(empty).tool(forget);
    let agent = tools.workspace(folder.path()).approve(|_| Answer::Once).build().await.unwrap();
    let session = agent.session().unwrap();
    assert!(SESSION.set(session.clone()).is_ok());
    let report = session.prompt("go").await.unwrap();
    let told: Vec<&str> = report.calls.iter().map(|call| call.result().content.as_str()).collect();
    assert!(told[1].contains("not called again") && !told[3].contains("not called again"), "{told:?}");
    assert!(told[5].contains("content that was not read yet") && told[7].contains("emptied"), "{told:?}");
    assert_eq!(RUNS.load(Ordering::SeqCst), 3);
}
