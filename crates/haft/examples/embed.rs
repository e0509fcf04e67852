//! A program with a tool of its own: a plain function, a scripted model, one turn. Runs without a key.
//!
//! ```sh
//! cargo run -p haft --example embed
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use futures::StreamExt;
use haft::{prelude::*, providers::Scripted, stage::Declared};
use std::{path::Path, sync::Arc};

/// Double a number.
///
/// Args:
///     x: The number
#[tool]
fn double(x: i64) -> i64 {
    2 * x
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (workspace, home) = (folder.path().join("work"), folder.path().join("home"));
    std::fs::create_dir(&workspace)?;
    let script = Scripted::new([]).calls([("double", serde_json::json!({"x": 5}))]).says("Result is 10");
    let engine = Engine::new(Setup {
        model: Model::plain("script/demo", Arc::new(script)),
        tools: Registry::default().with(double {}),
        sources: Vec::new(),
        agents: vec![Agent { name: "counter".into(), system: "You count.".into(), ..Agent::default() }],
        policy: Policy::default(),
        ceiling: None,
        stages: Arc::new(|blobs: &Path| Arc::new(Declared::new(blobs.to_owned())) as _),
        workspace,
        home: Home(home),
        profile: Profile::standard(),
        knowledge: Default::default(),
        hooks: Arc::new(haft::core::NoHooks),
        models: None,
        access: haft::core::Access::default(),
    });
    let session = engine.create("counter")?;
    session.send(Command::Prompt { parts: vec![Part::text("Double 5")], channel: None })?;
    let mut events = Box::pin(session.events(Seq(0)));
    while let Some(event) = events.next().await {
        println!("{}", haft::present::lines::event(&event));
        if matches!(&event, Event::Recorded(entry) if matches!(entry.fact, Fact::TurnEnded { .. })) {
            break;
        }
    }
    engine.shut_down().await;
    Ok(())
}
