//! [`Person`]: the user, whom a call may ask a question.
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// A question of a tool to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The text of the question.
    pub text: String,
    /// Answers to choose from; the user may give another answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// A text that the choices are about, which the user may edit: the answer is then a choice, an empty line, and the
    /// text as it was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

/// The user of the conversation.
pub trait Person: Send + Sync {
    /// Asks and waits for the answer. `None`: the user skipped the question, or no user can answer.
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>>;
}

/// A conversation without a user: every question stays unanswered.
pub struct NoPerson;

impl Person for NoPerson {
    fn ask(&self, _: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
