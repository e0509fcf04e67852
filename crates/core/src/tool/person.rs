//! [`Person`]: the person whom a call may ask something.
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// Something that a tool wants to know from a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// What is asked.
    pub text: String,
    /// Answers to choose from; the person may say something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// A text that the choices are about, which the person may edit: the answer is then a choice, an empty line, and the text
    /// as it was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

/// The person at the other end of the conversation.
pub trait Person: Send + Sync {
    /// Asks and waits. `None`: the person skips the question, or no person can answer.
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>>;
}

/// A conversation without a person: every question goes unanswered.
pub struct NoPerson;

impl Person for NoPerson {
    fn ask(&self, _: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
