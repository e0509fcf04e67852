//! [`Hooks`]: checks that a person adds to a session. They may stop work or add to what the model reads, never allow
//! more.
use crate::{Outcome, SessionId, ToolCall, ToolResult};
use futures::future::BoxFuture;
use std::path::PathBuf;

/// Hears what happens in a session, and may object.
///
/// The engine asks at each [`Moment`] and records the answer with the fact it belongs to, so that a session that is
/// opened again does not ask twice. A hook that cannot be asked answers for itself: one that guards says
/// [`Hooked::deny`].
pub trait Hooks: Send + Sync {
    /// Returns what the hooks say to `moment` in `session`. Dropped when the turn is interrupted.
    fn hear<'a>(&'a self, session: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked>;
}

/// When hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment<'a> {
    /// A call was checked and is not judged yet. It has the tool's own name and its own names of parameters.
    BeforeCall {
        /// The call.
        call: &'a ToolCall,
        /// Files that the call declares to write, absolute.
        writes: &'a [PathBuf],
    },
    /// A checked call ended or was denied. Only [`Hooked::context`] has an effect here.
    AfterCall {
        /// The call.
        call: &'a ToolCall,
        /// Files that the call declared to write, absolute.
        writes: &'a [PathBuf],
        /// Result as the model is going to read it.
        result: &'a ToolResult,
    },
    /// A person spoke. Context goes into the prompt; a prompt that is denied never reaches the model.
    TurnStarts {
        /// Text of the prompt.
        prompt: &'a str,
    },
    /// A turn is over. Answers of the hook are ignored.
    TurnEnds {
        /// How.
        outcome: Outcome,
    },
}

/// Stands in the reason of an approval that a hook asks for.
pub const HOOK_ASKS: &str = "a hook asks for approval";

/// How the note begins that hooks add behind a result.
pub const HOOK_NOTE: &str = "\n[a hook says: ";

/// What hooks say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooked {
    /// Why it must not happen.
    pub deny: Option<String>,
    /// Why a person must approve the call, if nothing denies it. Has an effect before a call only.
    pub ask: Option<String>,
    /// What the model should know.
    pub context: Option<String>,
}

impl Hooked {
    /// Returns a refusal: it must not happen.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { deny: Some(reason.into()), ..Self::default() }
    }
}

/// Asks no hook.
pub struct NoHooks;

impl Hooks for NoHooks {
    fn hear<'a>(&'a self, _: &'a SessionId, _: Moment<'a>) -> BoxFuture<'a, Hooked> {
        Box::pin(std::future::ready(Hooked::default()))
    }
}
