//! [`made`]: finds the call that a person is asked about.
use super::Recorded;
use haft_core::{CallId, Fact, Part, ToolCall};

/// `call` as it runs, or else as the model made it. Names of calls come again in other rounds: the last one is meant.
pub fn made(session: &dyn Recorded, call: &CallId) -> Option<ToolCall> {
    session.entries().iter().rev().find_map(|entry| match &entry.fact {
        Fact::ToolStarted { call: started, name, arguments, .. } if started == call => {
            Some(ToolCall::new(call.0.clone(), name.clone(), arguments.clone()))
        }
        Fact::Replied { parts, .. } => {
            parts.iter().filter_map(Part::as_call).find(|made| made.id == *call).cloned()
        }
        Fact::Called { made } => Some(made).filter(|made| made.id == *call).cloned(),
        _ => None,
    })
}
