//! What the log tells of a call: that it starts, how it ends, and how long it took (T-29).
use haft_core::{ToolCall, ToolError, ToolResult};
use std::time::Instant;

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
