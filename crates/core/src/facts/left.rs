//! [`Left`]: what is left to do if a turn is ended early, as far as its own facts show.
use serde::{Deserialize, Serialize};

/// What is left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Steps of the last list that are not done, in its order.
    pub steps: Vec<String>,
    /// What the model said last, or the calls that it made last; empty where there is neither.
    pub last: String,
}

impl Left {
    /// As people read it: a sentence without its dot, or nothing.
    pub fn sentence(&self) -> Option<String> {
        match (self.steps.is_empty(), self.last.is_empty()) {
            (false, _) => Some(format!("left to do: {}", self.steps.join("; "))),
            (true, false) => Some(format!("last of all: {}", self.last)),
            (true, true) => None,
        }
    }
}
