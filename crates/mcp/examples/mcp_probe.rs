//! Calls every tool of the MCP server at the address in its last argument, for outside conformance suites.
//!
//! Answers the server's questions with what the server proposes.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for tests")]
use futures::future::{BoxFuture, ready};
use haft_core::{
    Access, CallId, NoBackgroundTasks, NoSampler, NoSubagents, Person, Question, Registry, SessionId, Stage,
    ToolContext, ToolSource, ToolSpec, Tracking, View, schema,
};
use haft_mcp::client::{Mcp, McpServer, McpSettings, ServerRoots, Transport};
use serde_json::{Value, json};
use std::{
    path::Path,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

struct AsProposed;
impl Person for AsProposed {
    fn ask(&self, _: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(ready(Some(String::new())))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let url = std::env::args().next_back().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let failed = Arc::new(AtomicBool::default());
    let told = failed.clone();
    let mcp = Mcp::new(McpSettings {
        servers: vec![McpServer {
            name: "probe".into(),
            transport: Transport::Url { url, headers: Vec::new() },
            oauth: None,
            tools: None,
            trust_hints: false,
            roots: ServerRoots::default(),
            sampling: false,
            start_timeout: Duration::from_secs(20),
            call_timeout: Duration::from_secs(20),
        }],
        workspace: folder.path().to_owned(),
        environment: Arc::new([]),
        budget: usize::MAX,
        on_note: Arc::new(move |note| {
            println!("note: {note}");
            told.store(true, Ordering::Relaxed);
        }),
    });
    let tools = mcp.tools(&SessionId("probe".into())).await;
    let context = context(folder.path());
    for registered in tools.all() {
        let spec = registered.tool.spec();
        let called = registered.tool.call(arguments(&tools, spec), &context).await;
        println!("{} {:?}", spec.name, called.map(|output| output.for_model));
    }
    if failed.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// As the schema says. Where a tool wants a schema, it gets that of the first tool, as it reached us.
fn arguments(tools: &Registry, spec: &ToolSpec) -> Value {
    match spec.parameters["properties"].get("schema") {
        Some(_) => json!({"schema": tools.specs()[0].parameters}),
        None => schema::example(spec),
    }
}

fn context(folder: &Path) -> ToolContext {
    let stage = haft_stage::LocalStage::new(folder.join("blobs"));
    let view: Arc<dyn View> = stage.open(folder, &[]).unwrap().into();
    assert_eq!(view.how(), Tracking::Untracked);
    ToolContext {
        session: SessionId("probe".into()),
        message: "0".into(),
        agent: "haft".into(),
        call: CallId("1".into()),
        channel: None,
        workspace: folder.to_owned(),
        live: folder.to_owned(),
        access: Access::default(),
        readable: Arc::default(),
        artifacts: folder.join("artifacts"),
        jobs: Arc::new(NoBackgroundTasks),
        person: Arc::new(AsProposed),
        subagents: Arc::new(NoSubagents),
        sampler: Arc::new(NoSampler),
        cancel: Default::default(),
        on_progress: Arc::new(|chunk| println!("progress: {chunk}")),
        view,
    }
}
