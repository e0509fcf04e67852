//! [`Goal`]: a goal that a session pursues turn after turn, until the goal's check succeeds.
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A goal, and the call that checks it. Haft makes the call before the model begins, and each time the model has
/// finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The goal, as the user wrote it.
    pub text: String,
    /// The check, as the user wrote it: a command line, or the name of a tool that runs tests.
    pub check: String,
    /// The tool that runs it.
    pub tool: String,
    /// JSON of an object.
    pub arguments: Value,
    /// Whether the user wrote the check, so that it runs without approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_typed: bool,
    /// Number of attempts including the turn, from 2 to [`MAX_ATTEMPTS`](crate::MAX_ATTEMPTS): if the turn does not
    /// reach the goal, the others work in views of their own. `None` for the turn alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u8>,
    /// Whether all attempts run to their end and the user chooses among those that reach the goal; without an answer,
    /// the one with the lowest number wins. If not set, the first attempt that reaches the goal wins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub choose: bool,
    /// Number of the only attempt besides the turn. A replay repeats only the attempt that won.
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
