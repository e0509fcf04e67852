//! Runs a tool, and stops it where it takes too long.
use super::errors::{panicked, timed_out};
use futures::FutureExt;
use haft_core::{AnyTool, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use std::{panic::AssertUnwindSafe, time::Duration};

/// Runs `tool` for `seconds` at most; 0, and a tool that ends its calls by itself, for no limit. A panic is an error for
/// the model.
///
/// # Errors
/// Fails where the tool does, panics, or takes too long.
pub async fn run_tool(
    tool: &dyn AnyTool,
    arguments: Value,
    ctx: &ToolContext,
    seconds: u64,
) -> Result<ToolOutput, ToolError> {
    let running = AssertUnwindSafe(tool.call(arguments, ctx)).catch_unwind();
    let ran = match seconds > 0 && !tool.ends_itself() {
        false => running.await,
        true => match tokio::time::timeout(Duration::from_secs(seconds), running).await {
            Ok(ran) => ran,
            Err(_) => return Err(timed_out(&tool.spec().name, seconds)),
        },
    };
    ran.unwrap_or_else(|panic| Err(panicked(&*panic)))
}
