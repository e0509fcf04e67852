//! [`Goal`]: what a session works towards, turn after turn, until its check shows that it is reached.
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a session works towards, and the call that checks it. Haft makes the call: before the model begins, and each time the
/// model has no more to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// In the words of the person.
    pub text: String,
    /// The check as the person wrote it: a command line, or the name of a tool that runs tests.
    pub check: String,
    /// The tool that runs it.
    pub tool: String,
    /// JSON of an object.
    pub arguments: Value,
    /// Whether a person wrote the check, so that it runs unasked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_typed: bool,
    /// How many attempts are made in all, from 2 to [`MAX_ATTEMPTS`](crate::MAX_ATTEMPTS): where the turn does not reach the
    /// goal, the others work in views of their own. `None` for the turn alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u8>,
    /// Whether all attempts are made to their ends, and a person chooses among those that reach the goal. Without an
    /// answer the one with the lowest number is taken. If this is not set, the first one that reaches the goal is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub choose: bool,
    /// The only attempt that is made besides the turn. A replay makes the one that was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<u8>,
}

impl Goal {
    /// Whether a call with these arguments is the check.
    pub(super) fn is_checked_by(&self, name: &str, arguments: &Value) -> bool {
        let (Some(own), Some(others)) = (self.arguments.as_object(), arguments.as_object()) else {
            return false;
        };
        name == self.tool && own.iter().all(|(key, value)| others.get(key) == Some(value))
    }
}
