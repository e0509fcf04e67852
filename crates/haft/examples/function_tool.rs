//! A tool from a function: its name, its doc comment and its types are what the model is told.
use haft::{prelude::*, providers::Scripted};
use serde_json::json;

/// Doubles a number.
///
/// Args:
///     x: The number
#[tool]
fn double(x: i64) -> i64 {
    2 * x
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    // A model that says what it was told to say: no key and no network.
    let model = Scripted::new([]).calls([("double", json!({"x": 21}))]).says("Twice 21 is 42.");
    let agent = Haft::builder().provider(model).tool(double).in_memory().build().await?;
    let report = agent.session()?.prompt("What is twice 21?").await?;
    assert_eq!(report.calls[0].result().content, "42");
    assert_eq!(report.text, "Twice 21 is 42.");
    assert_eq!(double(4), 8, "the function stays a function");
    Ok(())
}
