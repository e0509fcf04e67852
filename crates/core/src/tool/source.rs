//! [`ToolSource`]: provides tools that may change while sessions are open, for example those of MCP servers.
use crate::{Part, Registry, SessionId};
use futures::{FutureExt, future::BoxFuture};
use std::sync::Arc;

/// A source of tools that are unknown when the program starts.
pub trait ToolSource: Send + Sync {
    /// Returns the current tools of `session`, without those that are unavailable. Called before each round: if nothing
    /// changed, it must return at once, and with the same [`Arc`], so that requests begin with the same bytes, as
    /// vendors' prompt caches require. The future is dropped when the turn is interrupted.
    fn tools<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Arc<Registry>>;

    /// Returns the parts that replace `prompt`, the text that the user typed, if it names something else of this
    /// source, such as a prompt or a resource of a server; `None` otherwise. Called for each prompt of a session that
    /// is neither a job nor a subagent's. The future is dropped when the turn is interrupted.
    ///
    /// # Errors
    ///
    /// Says to the user why the named prompt or resource is not available. The model then does not read the prompt.
    fn resolve<'a>(&'a self, _prompt: &'a str) -> BoxFuture<'a, Result<Option<Vec<Part>>, String>> {
        async { Ok(None) }.boxed()
    }

    /// Returns completions for the end of `typed`, the text of a prompt up to the cursor, if it names something of this
    /// source; `None` otherwise, or if the source does not answer. The user waits for the result while typing.
    fn complete<'a>(&'a self, _typed: &'a str) -> BoxFuture<'a, Option<Completions>> {
        async { None }.boxed()
    }
}

/// Completions for the end of a text that the user types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// Where the values begin in the text, in bytes.
    pub start: usize,
    /// The possible values.
    pub values: Vec<String>,
}
