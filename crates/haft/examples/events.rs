//! Events as they come: a turn is a stream, and the code that reads it answers what it asks.
use haft::{prelude::*, providers::Scripted};
use serde_json::json;
use std::fs;

/// Writes a text to a new file.
#[tool(writes = "path")]
fn write_note(path: String, text: String, context: &ToolContext) -> Result<&'static str, std::io::Error> {
    fs::write(context.path(path), text).map(|()| "written")
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a file");
    let model = Scripted::new([])
        .calls([("write_note", json!({"path": "a.txt", "text": "hello"}))])
        .says("It is there.");
    let agent =
        Haft::builder().provider(model).tool(write_note).workspace(folder.path()).in_memory().build().await?;
    let mut turn = agent.session()?.prompt("Write a note");
    let mut live = String::new();
    while let Some(event) = turn.next().await {
        match event {
            // Seen while it happens, gone afterwards.
            Event::Live(Update::Text { text }) => live += &text,
            Event::Live(_) => {}
            // A line of the journal.
            Event::Recorded(entry) => {
                if let Fact::ApprovalAsked { call, .. } = &entry.fact {
                    turn.answer(call.clone(), Answer::Once)?;
                }
            }
        }
    }
    let report = turn.await?;
    assert_eq!((live.as_str(), report.text.as_str()), ("It is there.", "It is there."));
    assert!(folder.path().join("a.txt").exists());
    Ok(())
}
