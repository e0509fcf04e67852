//! A tool that goes on in the background: the call ends at once, and the end of the work opens a turn of its own.
use haft::{Seq, prelude::*, providers::Scripted};
use serde_json::json;
use std::time::Duration;

/// Bakes a cake in the background.
#[tool]
fn bake(context: &ToolContext) -> ToolOutput {
    let work = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(ToolOutput::text("the cake is ready"))
    };
    ToolOutput::running(context.jobs.start("a cake".into(), Box::pin(work), Default::default()))
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let model = Scripted::new([]).calls([("bake", json!({}))]).says("It is in the oven.").says("Cake!");
    let agent = Haft::builder().provider(model).tool(bake).in_memory().build().await?;
    let session = agent.session()?;
    let report = session.prompt("Bake a cake, please").await?;
    assert!(report.calls[0].result().job.is_some());
    // What comes now was not asked for, so it belongs to no handle: the session's events tell it.
    let mut events = Box::pin(session.events(Seq(0)));
    let (mut replies, mut ended) = (Vec::new(), None);
    while !(ended.is_some() && replies.len() == 3) {
        let Some(Event::Recorded(entry)) = events.next().await else { continue };
        match &entry.fact {
            Fact::Replied { parts, .. } => replies.push(haft::text_of(parts)),
            Fact::TaskEnded { result, .. } => ended = Some(result.content.clone()),
            _ => {}
        }
    }
    assert_eq!(ended.as_deref(), Some("the cake is ready"));
    assert_eq!(replies.last().map(String::as_str), Some("Cake!"));
    Ok(())
}
