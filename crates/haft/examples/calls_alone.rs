//! Calls without a session: a program reads a model's stream itself, runs the calls of a reply, and answers them.
use haft::{CallContext, CallTracker, Channel, SharedRegistry, prelude::*, result_messages};
use std::time::Duration;

/// Reads a file.
///
/// Args:
///     path: The file
#[tool(reads = "path")]
fn read(path: String, context: &ToolContext) -> Result<String, std::io::Error> {
    std::fs::read_to_string(context.path(path))
}

/// Bakes a cake in the background.
#[tool]
fn bake(context: &ToolContext) -> ToolOutput {
    let work = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(ToolOutput::for_both("the cake is ready"))
    };
    ToolOutput::running(context.jobs.start("a cake".into(), Box::pin(work), Default::default()))
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    // Clones are one registry: tools may come and go while others run.
    let tools = SharedRegistry::new();
    tools.register(read)?;
    tools.register(bake)?;

    // While the reply streams, its calls take shape.
    let mut tracker = CallTracker::default();
    tracker.start_call("call_1", "read");
    tracker.add_arguments("call_1", "{\"path\":");
    tracker.add_arguments("call_1", "\"Cargo.toml\"}");
    tracker.start_call("call_2", "bake");

    // Whose calls they are, where the conversation takes place, and who hears of work that goes on.
    let (sender, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let context = CallContext::new("session", "message", "agent")
        .workspace(env!("CARGO_MANIFEST_DIR"))
        .channel(Channel::new("telegram", "4711"))
        .on_end(move |job, result| sender.send((job, result.content)).expect("`main` listens"));
    let results = tools.execute_all(tracker.take_calls(), &context).await;
    assert!(results[0].result.content.contains("name = \"haft\""));
    assert!(results[1].result.job.is_some(), "it goes on");

    // What came of them goes into the conversation, behind the reply.
    let messages = result_messages(results);
    assert!(matches!(&messages[..], [Message::Tool { .. }, Message::Tool { .. }]));
    let (_, cake) = ended.recv().await.expect("the work ends");
    assert_eq!(cake, "the cake is ready");
    Ok(())
}
