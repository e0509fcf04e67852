//! [`NotAgain`]: the hook of a replay, which keeps calls from running that did not run when they were recorded, and those
//! that would do something outside of the copy a second time: it puts the files that they left into the copy.
use super::{
    moved::Moved,
    recording::{PUBLISH, RecordedCall},
};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{CallId, Hooked, Hooks, Moment, SessionId, ToolCall};
use serde_json::Value;
use std::collections::HashMap;

/// Denies calls by what was recorded of them.
pub(super) struct NotAgain {
    /// By the ID of a call, which sessions and later replies may share: its arguments, and whether it runs again.
    recorded: HashMap<CallId, Vec<(Value, bool)>>,
}

impl NotAgain {
    /// Of the calls of a session and its subagents.
    pub(super) fn of<'a>(calls: impl Iterator<Item = &'a RecordedCall>, moved: &Moved) -> Self {
        let mut recorded: HashMap<CallId, Vec<(Value, bool)>> = HashMap::new();
        for call in calls {
            let known = (moved.all_there_value(&call.arguments), call.runs_again());
            recorded.entry(call.id.clone()).or_default().push(known);
        }
        Self { recorded }
    }

    /// Where an ID is shared, the arguments tell which call it is, unless the tool has other names for them.
    fn runs_again(&self, call: &ToolCall) -> bool {
        let Some(known) = self.recorded.get(&call.id) else { return true };
        let mut alike = known.iter().filter(|(arguments, _)| *arguments == call.arguments).peekable();
        match alike.peek() {
            Some(_) => alike.any(|(_, runs_again)| *runs_again),
            None => known.iter().any(|(_, runs_again)| *runs_again),
        }
    }
}

impl Hooks for NotAgain {
    fn hear<'a>(&'a self, _: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        let said = match moment {
            Moment::BeforeCall { call, .. } if call.name == PUBLISH => {
                Hooked::deny("a replay delivers nothing")
            }
            Moment::BeforeCall { call, .. } if !self.runs_again(call) => {
                Hooked::deny("it did not run when it was recorded")
            }
            _ => Hooked::default(),
        };
        async { said }.boxed()
    }
}
