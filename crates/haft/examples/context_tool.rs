//! A tool that needs context: it reads a file of the workspace, says so beforehand, and tells how far it is.
use haft::{prelude::*, providers::Scripted};
use serde_json::json;
use std::fs;

/// Counts the lines of a file.
///
/// Args:
///     path: The file
#[tool(reads = "path")]
fn count_lines(path: String, context: &ToolContext) -> Result<usize, std::io::Error> {
    context.progress(format!("reading {path}\n"));
    // The call has a view of the workspace of its own: paths go through the context.
    Ok(fs::read_to_string(context.path(&path))?.lines().count())
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a file");
    fs::write(folder.path().join("poem.txt"), "one\ntwo\nthree\n").expect("there is room for a file");
    let model = Scripted::new([])
        .calls([("count_lines", json!({"path": "poem.txt"}))])
        .calls([("count_lines", json!({"path": "/etc/hostname"}))])
        .says("Three.");
    let agent = Haft::builder()
        .provider(model)
        .tool(count_lines)
        .workspace(folder.path())
        .in_memory()
        .build()
        .await?;
    let report = agent.session()?.prompt("How many lines has poem.txt?").await?;
    assert_eq!(report.calls[0].result().content, "3");
    // Outside the workspace a person would have to allow it, and none is asked here.
    assert_eq!(report.outcome, Some(Outcome::Refused));
    assert!(!report.calls[1].result().is_ok());
    Ok(())
}
