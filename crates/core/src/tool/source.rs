//! [`ToolSource`]: tools that come and go while sessions are open, for example those of other programs.
use crate::{Registry, SessionId};
use futures::future::BoxFuture;
use std::sync::Arc;

/// A source of tools that are unknown when the program starts.
pub trait ToolSource: Send + Sync {
    /// Returns the tools that there are for `session` at the moment. Asked for before each round, so it answers at once
    /// where nothing happened, and with the same [`Arc`]: then a request begins as the one before it, byte for byte,
    /// which is what vendors' prompt caches want. What cannot be had is left out. Dropped when the turn is interrupted.
    fn tools<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Arc<Registry>>;
}
