//! Runs a tool, stops it where it takes too long, and tells the log of its call (T-29).
use super::errors::{panicked, timed_out};
use futures::FutureExt;
use haft_core::{AnyTool, ToolCall, ToolContext, ToolError, ToolOutput, ToolResult};
use serde_json::Value;
use std::{
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

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

/// The lines of one call. Arguments and results are not logged: they may hold what nobody else should read.
pub struct CallLog {
    call: String,
    tool: String,
    began: Instant,
}

impl CallLog {
    /// Logs that `call` starts.
    pub fn start(call: &ToolCall) -> Self {
        tracing::debug!(%call.id, tool = call.name, "the call starts");
        Self { call: call.id.0.clone(), tool: call.name.clone(), began: Instant::now() }
    }

    /// The time that a person took to answer is not the call's.
    pub fn waited(&mut self, time: Duration) {
        self.began += time;
    }

    /// Logs why the call fails, with what caused it: the model is not told of that.
    pub fn cause(&self, error: ToolError) -> ToolError {
        tracing::warn!(call.id = %self.call, tool = self.tool, ?error, "the call failed");
        error
    }

    /// Logs the end of the call and returns how long it took, in milliseconds.
    pub fn end(&self, result: &ToolResult) -> u64 {
        let (id, tool, duration_ms) = (&self.call, &self.tool, self.began.elapsed().as_millis() as u64);
        match (&result.error, &result.job) {
            (Some(_), _) => tracing::debug!(call.id = %id, tool, duration_ms, "the call ended with an error"),
            (None, Some(job)) => {
                tracing::debug!(call.id = %id, tool, duration_ms, %job, "the call goes on in the background");
            }
            (None, None) => tracing::debug!(call.id = %id, tool, duration_ms, "the call went well"),
        }
        duration_ms
    }
}
