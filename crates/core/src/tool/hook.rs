//! [`Hooks`]: checks that the user adds to a session. Hooks may deny work or add context for the model, but never allow
//! more.
use crate::{Outcome, SessionId, ToolCall, ToolResult};
use futures::future::BoxFuture;
use std::path::PathBuf;

/// Receives the moments of a session, and may deny them.
///
/// The engine asks at each [`Moment`] and records the answer with the fact it belongs to, so that a session that is
/// opened again does not ask twice. If a hook cannot run, the implementation decides the answer: [`Hooked::deny`] for a
/// hook that guards.
pub trait Hooks: Send + Sync {
    /// Returns the answer of the hooks to `moment` in `session`. The future is dropped when the turn is interrupted.
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
    /// A checked call ended or was denied. Only [`Hooked::context`] and [`Hooked::notes`] have an effect here.
    AfterCall {
        /// The call.
        call: &'a ToolCall,
        /// Files that the call declared to write, absolute.
        writes: &'a [PathBuf],
        /// Result as the model is going to read it.
        result: &'a ToolResult,
    },
    /// The user sent a prompt. Context is added to the prompt; a denied prompt never reaches the model.
    TurnStarts {
        /// Text of the prompt.
        prompt: &'a str,
    },
    /// A turn ended. Answers of the hook are ignored.
    TurnEnds {
        /// How the turn ended.
        outcome: Outcome,
    },
}

/// Part of the reason of an approval that a hook asks for.
pub const HOOK_ASKS: &str = "a hook asks for approval";

/// The beginning of the note that hooks add to a result.
pub const HOOK_NOTE: &str = "\n[a hook says: ";

/// The beginning of each note on a folder that follows a result.
pub const FOLDER_NOTE: &str = "\n[notes on this folder, from ";

/// The answer of hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooked {
    /// Why the call or the prompt is denied.
    pub deny: Option<String>,
    /// Why the user must approve the call, if nothing denies it. Applies only before a call.
    pub ask: Option<String>,
    /// Context for the model.
    pub context: Option<String>,
    /// Notes for agents on the folders that the call used, each with the name and the text of its file. Applies only
    /// after a call.
    pub notes: Vec<(String, String)>,
}

impl Hooked {
    /// Returns a denial.
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
