//! [`CallTracker`]: assembles calls by their ids while a model streams them.
use crate::{ToolCall, reply::MAX_ARGUMENTS};
use indexmap::IndexMap;

/// Assembles calls while a model streams them, for programs that read a stream themselves. [`crate::Reply`] does the
/// same for the deltas of a [`crate::Provider`].
///
/// ```
/// # use haft_core::CallTracker;
/// let mut tracker = CallTracker::default();
/// tracker.start_call("tool_1", "read");
/// tracker.add_arguments("tool_1", "{\"filePath\":");
/// tracker.add_arguments("tool_1", "\"/tmp/test.txt\"}");
/// let calls = tracker.take_calls();
/// assert_eq!(calls[0].arguments["filePath"], "/tmp/test.txt");
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallTracker {
    /// Names and arguments, in the order in which the calls began.
    pending: IndexMap<String, (String, String)>,
}

impl CallTracker {
    /// Begins a call, or continues the pending call with this ID.
    pub fn start_call(&mut self, id: impl Into<String>, name: impl Into<String>) {
        self.pending.entry(id.into()).or_insert_with(|| (name.into(), String::new()));
    }

    /// Adds more of the arguments: JSON text. Ignored if no such call is pending.
    pub fn add_arguments(&mut self, id: &str, delta: &str) {
        if let Some((_, arguments)) = self.pending.get_mut(id)
            && arguments.len() <= MAX_ARGUMENTS
        {
            arguments.push_str(delta);
        }
    }

    /// Removes and returns one call; `None` if no such call is pending.
    pub fn finish_call(&mut self, id: &str) -> Option<ToolCall> {
        let (id, (name, arguments)) = self.pending.shift_remove_entry(id)?;
        Some(ToolCall::parse(id, name, &arguments))
    }

    /// Removes and returns all pending calls, in the order in which they began.
    pub fn take_calls(&mut self) -> Vec<ToolCall> {
        let pending = std::mem::take(&mut self.pending).into_iter();
        pending.map(|(id, (name, arguments))| ToolCall::parse(id, name, &arguments)).collect()
    }
}
