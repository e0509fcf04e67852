//! [`Subagents`]: work that another agent does in a session of its own.
use crate::{ToolError, ToolErrorKind, ToolOutput};
use futures::future::BoxFuture;

/// How the note begins that follows the answer of a subagent: which commands in the background ended with it.
pub const ENDED_WITH_SUBAGENT: &str = "\n[ended with the subagent, unfinished: ";

/// Starts subagents, which do a part of the work of a call.
pub trait Subagents: Send + Sync {
    /// Lets the agent called `agent`, or one like the caller, do `task` from its beginning to its end. It is given
    /// nothing but the task. What it does is reported to `progress`; what came of it is its last answer. Dropped, it is
    /// interrupted.
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
