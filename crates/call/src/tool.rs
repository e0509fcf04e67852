//! [`run_tool`]: runs a tool within its time limit. [`effects_of`]: asks it for its effects. [`CallLog`]: logs the call.
use crate::errors::{panicked, timed_out};
use futures::FutureExt;
use haft_core::{AnyTool, Effect, ToolCall, ToolContext, ToolError, ToolOutput, ToolResult};
use serde_json::Value;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

/// Runs `tool` for at most `seconds`. There is no limit if `seconds` is 0 or the tool limits the time of its calls
/// itself ([`AnyTool::ends_itself`]). A panic becomes an error for the model. If the call times out or is dropped, its
/// [`ToolContext::cancel`] is cancelled, which ends work that it started in other tasks.
///
/// # Errors
/// Fails if the tool does, panics, or takes too long.
pub(crate) async fn run_tool(
    tool: &dyn AnyTool,
    arguments: Value,
    ctx: &ToolContext,
    seconds: u64,
) -> Result<ToolOutput, ToolError> {
    let cancel = ctx.cancel.child_token();
    let given_up = cancel.clone().drop_guard();
    let ctx = &ToolContext { cancel, ..ctx.clone() };
    let running = AssertUnwindSafe(tool.call(arguments, ctx)).catch_unwind();
    let ran = if seconds > 0 && !tool.ends_itself() {
        match tokio::time::timeout(Duration::from_secs(seconds), running).await {
            Ok(ran) => ran,
            Err(_) => return Err(timed_out(&tool.spec().name, seconds)),
        }
    } else {
        running.await
    };
    given_up.disarm();
    ran.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// The effects of a call of `tool`. A panic becomes an error for the model.
///
/// # Errors
/// Fails if the tool does, or panics.
pub fn effects_of(tool: &dyn AnyTool, arguments: &Value, workspace: &Path) -> Result<Vec<Effect>, ToolError> {
    let effects = catch_unwind(AssertUnwindSafe(|| tool.effects(arguments, workspace)));
    effects.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// The log lines of one call. Arguments and results are not logged: they may hold secrets.
pub(crate) struct CallLog {
    call: String,
    tool: String,
    began: Instant,
}

impl CallLog {
    /// Logs that `call` starts.
    pub(crate) fn start(call: &ToolCall) -> Self {
        tracing::debug!(%call.id, tool = call.name, "the call starts");
        Self { call: call.id.0.clone(), tool: call.name.clone(), began: Instant::now() }
    }

    /// Excludes the time that the user took to answer from the call's duration.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.began += time;
    }

    /// Logs why the call fails, with the cause, which the model does not see.
    pub(crate) fn cause(&self, error: ToolError) -> ToolError {
        tracing::warn!(call.id = %self.call, tool = self.tool, ?error, "the call failed");
        error
    }

    /// Logs the end of the call and returns how long it took, in milliseconds.
    pub(crate) fn end(&self, result: &ToolResult) -> u64 {
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
