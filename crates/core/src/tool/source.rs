//! [`ToolSource`]: tools that come and go while sessions are open, for example those of other programs.
use crate::{Part, Registry, SessionId};
use futures::{FutureExt, future::BoxFuture};
use std::sync::Arc;

/// A source of tools that are unknown when the program starts.
pub trait ToolSource: Send + Sync {
    /// Returns the tools that there are for `session` at the moment. Asked for before each round, so it answers at once
    /// where nothing happened, and with the same [`Arc`]: then a request begins as the one before it, byte for byte,
    /// which is what vendors' prompt caches want. What cannot be had is left out. Dropped when the turn is interrupted.
    fn tools<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Arc<Registry>>;

    /// Returns the parts that take the place of `prompt`, the text that a person typed, if it names something else that this
    /// source has, such as a prompt or a resource of a server; `None` if it does not. Asked for each prompt of a session that
    /// is neither a job nor another agent's. Dropped when the turn is interrupted.
    ///
    /// # Errors
    ///
    /// Why what is named cannot be had, for the person. The model then does not read the prompt.
    fn resolve<'a>(&'a self, _prompt: &'a str) -> BoxFuture<'a, Result<Option<Vec<Part>>, String>> {
        async { Ok(None) }.boxed()
    }

    /// Returns what the end of `typed` can become, the text of a prompt up to the cursor, if it names something that
    /// this source has; `None` if it does not, or if the source does not answer. A person waits for it, and continues
    /// typing meanwhile.
    fn complete<'a>(&'a self, _typed: &'a str) -> BoxFuture<'a, Option<Completions>> {
        async { None }.boxed()
    }
}

/// What the end of a text that is being typed can become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions {
    /// Where the values begin in the text, in bytes.
    pub start: usize,
    /// What can be there.
    pub values: Vec<String>,
}
