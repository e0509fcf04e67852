//! [`CallOrder`]: puts the lines about calls in the order of the calls in the reply, whatever the order in which they
//! end.
use haft_core::{CallId, ToolCall};
use std::collections::VecDeque;

/// The calls of the last reply that were not shown yet, in order.
#[derive(Debug)]
pub struct CallOrder<T>(VecDeque<(CallId, Option<T>)>);

impl<T> Default for CallOrder<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> CallOrder<T> {
    /// Notes the calls of a reply. Returns what was held back so far.
    pub fn asked<'a>(&mut self, calls: impl IntoIterator<Item = &'a ToolCall>) -> Vec<T> {
        let rest = self.rest();
        self.0 = calls.into_iter().map(|call| (call.id.clone(), None)).collect();
        rest
    }

    /// Notes the end of a call. Returns what can be shown: nothing as long as an earlier call runs.
    pub fn ended(&mut self, call: &CallId, told: T) -> Vec<T> {
        match self.0.iter_mut().find(|(id, told)| id == call && told.is_none()) {
            None => return vec![told],
            Some((_, place)) => *place = Some(told),
        }
        let mut ready = Vec::new();
        while self.0.front().is_some_and(|(_, told)| told.is_some()) {
            ready.extend(self.0.pop_front().and_then(|(_, told)| told));
        }
        ready
    }

    /// Ends the order; returns what was held back.
    pub fn rest(&mut self) -> Vec<T> {
        std::mem::take(&mut self.0).into_iter().filter_map(|(_, told)| told).collect()
    }
}
