//! [`Timeline::asking`]: tracks the questions to the user, and their answers.
use super::{Asked, Item, Timeline};
use crate::{notes, safe};
use haft_core::{Answer, CallId, Fact};

impl Timeline {
    /// Applies a question to the user, or an answer.
    pub(super) fn asking(&mut self, fact: &Fact) -> Vec<Item> {
        match fact {
            Fact::ApprovalAsked { call, changes, .. } => {
                self.with_call(call, |call| call.proposed.clone_from(changes));
                self.asked.push_back(Asked::Approval { call: call.clone(), fact: Box::new(fact.clone()) });
                vec![Item::Asked { call: call.clone(), has_changes: !changes.is_empty() }]
            }
            Fact::QuestionAsked { call, question } => {
                self.asked.push_back(Asked::Question { call: call.clone(), question: question.clone() });
                vec![Item::Asked { call: call.clone(), has_changes: false }]
            }
            Fact::AcceptedPart { call, accepted } => {
                let proposed = self.call(call).map(|call| &call.proposed[..]).unwrap_or_default();
                notes::not_taken(proposed, accepted).map(Item::Note).into_iter().collect()
            }
            Fact::ApprovalAnswered { call, .. } | Fact::QuestionAnswered { call, .. } => {
                self.answered(call);
                let mut note = notes::of(fact);
                match fact {
                    Fact::ApprovalAnswered {
                        answer: Answer::No | Answer::Unanswered | Answer::NotUnderstood,
                        ..
                    } => {
                        self.with_call(call, |call| call.refused.append(&mut call.proposed));
                    }
                    Fact::QuestionAnswered { answer: Some(answer), .. } => {
                        let answer = safe::text(answer).into_owned();
                        match self.calls.iter_mut().find(|known| known.id == *call) {
                            Some(call) => call.answer = Some(answer),
                            // The question was about a plan, or from an MCP server.
                            None => note = Some(format!("answered: {answer}")),
                        }
                    }
                    _ => {}
                }
                note.map(Item::Note).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn answered(&mut self, call: &CallId) {
        self.asked.retain(|asked| asked.call() != call);
    }
}
