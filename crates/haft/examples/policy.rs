//! A policy: rules say what is allowed and denied, and the program answers for what they ask.
use haft::{Rule, Ruling, prelude::*, providers::Scripted};
use serde_json::json;
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Writes a text to a file.
#[tool(writes = "path")]
fn write_note(path: String, text: String, context: &ToolContext) -> Result<&'static str, std::io::Error> {
    fs::write(context.path(path), text).map(|()| "written")
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a file");
    let note = |path: &str| ("write_note", json!({"path": path, "text": "hello"}));
    let model =
        Scripted::new([]).calls([note("notes/a.txt"), note("secret.txt"), note("b.txt")]).says("Done.");
    let rule = |ruling, rule| Rule::parse(ruling, rule).expect("the rule is well formed");
    let rules = vec![rule(Ruling::Allow, "write:notes/*"), rule(Ruling::Deny, "write:secret.txt")];
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let agent = Haft::builder()
        .provider(model)
        .tool(write_note)
        .workspace(folder.path())
        .in_memory()
        .policy(Policy { rules, mode: Mode::Ask })
        .approve(move |approval: &Approval| {
            counted.fetch_add(1, Ordering::Relaxed);
            // The call ran in a view of its own: what it would change is known before anything is.
            if approval.changes.len() == 1 { Answer::Once } else { Answer::No }
        })
        .build()
        .await?;
    let report = agent.session()?.prompt("Write three notes").await?;
    let ok: Vec<bool> = report.calls.iter().map(|call| call.result().is_ok()).collect();
    assert_eq!(ok, [true, false, true]);
    assert_eq!(asked.load(Ordering::Relaxed), 1, "only b.txt is asked for");
    assert_eq!(report.changes.len(), 2);
    assert!(folder.path().join("b.txt").exists() && !folder.path().join("secret.txt").exists());
    Ok(())
}
