//! [`Subagents`]: work that another agent does in a session of its own.
use crate::{ToolError, ToolErrorKind, ToolOutput};
use futures::future::BoxFuture;

/// The beginning of the note after the answer of a subagent that lists the background commands that ended with it.
pub const ENDED_WITH_SUBAGENT: &str = "\n[ended with the subagent, unfinished: ";

/// Starts subagents, which do a part of the work of a call.
pub trait Subagents: Send + Sync {
    /// Runs `task` in the agent named `agent`, or in one like the caller, and returns its last answer. The agent gets
    /// only the task. Its activity is reported to `progress`. Dropping the future interrupts the agent.
    fn run(
        &self,
        task: String,
        agent: Option<String>,
        progress: Box<dyn Fn(String) + Send + Sync>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// No agent to delegate to: every task is refused.
pub struct NoSubagents;

impl Subagents for NoSubagents {
    fn run(
        &self,
        _: String,
        _: Option<String>,
        _: Box<dyn Fn(String) + Send + Sync>,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let error = ToolError::new(ToolErrorKind::User, "cannot delegate: there are no subagents here");
        Box::pin(std::future::ready(Err(error.hint("do it yourself"))))
    }
}
