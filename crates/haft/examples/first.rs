//! The smallest program: a model, a tool, a prompt.
#![expect(clippy::print_stdout, reason = "the program prints the answer")]
use haft::prelude::*;

/// Doubles a number.
#[tool]
fn double(x: i64) -> i64 {
    2 * x
}

#[tokio::main]
async fn main() -> haft::Result<()> {
    let agent = Haft::builder().model("openai/gpt-5-mini").tool(double).build().await?;
    let report = agent.session()?.prompt("What is twice 21?").await?;
    println!("{}", report.text);
    Ok(())
}
