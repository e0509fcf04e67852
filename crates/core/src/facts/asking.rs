//! [`Asking`]: the calls that wait for a person.
use crate::{CallId, Fact};

/// The calls of a session that wait for a person, folded from its facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asking(Vec<CallId>);

impl Asking {
    /// Takes in what was recorded.
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

    /// The first to ask first.
    pub fn calls(&self) -> &[CallId] {
        &self.0
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
