//! [`Asking`]: the calls that wait for an answer of the user.
use crate::{CallId, Fact};

/// The calls of a session that wait for an answer of the user, folded from its facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asking(Vec<CallId>);

impl Asking {
    /// Folds one more fact.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            // A call that is made again after a crash asks again.
            Fact::ApprovalAsked { call, .. } | Fact::QuestionAsked { call, .. } if self.0.contains(call) => {}
            Fact::ApprovalAsked { call, .. } | Fact::QuestionAsked { call, .. } => self.0.push(call.clone()),
            Fact::ApprovalAnswered { call, .. }
            | Fact::QuestionAnswered { call, .. }
            | Fact::ToolEnded { call, .. } => self.0.retain(|asked| asked != call),
            Fact::TurnEnded { .. } | Fact::Rewound { .. } => self.0.clear(),
            _ => {}
        }
    }

    /// The calls, in the order in which they asked.
    pub fn calls(&self) -> &[CallId] {
        &self.0
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
