//! [`Heard`]: what was shown of the reply that is being written. A watcher that starts in the middle gets that first.
use haft_core::{Fact, Update};

/// Updates in their order, those that go on from one another as one.
#[derive(Default)]
pub(super) struct Heard(Vec<Update>);

impl Heard {
    /// Something was shown.
    pub(super) fn shown(&mut self, update: &Update) {
        match (self.0.last_mut(), update) {
            (_, Update::Retrying { .. } | Update::Connected { is_at_rest: true }) => self.0.clear(),
            // The whole of it is recorded with the end of its call.
            (
                _,
                Update::ToolOutput { .. }
                | Update::Summarizing
                | Update::Undoing
                | Update::UndoRefused { .. }
                | Update::Refused { .. }
                | Update::Disconnected { .. }
                | Update::Connected { is_at_rest: false },
            ) => {}
            (Some(Update::Text { text: last }), Update::Text { text })
            | (Some(Update::Thinking { text: last }), Update::Thinking { text }) => last.push_str(text),
            (
                Some(Update::ToolArguments { call: of, delta: last }),
                Update::ToolArguments { call, delta },
            ) if of == call => last.push_str(delta),
            (
                _,
                Update::Text { .. }
                | Update::Thinking { .. }
                | Update::ToolCall { .. }
                | Update::ToolArguments { .. }
                | Update::ToolCallEnd { .. },
            ) => self.0.push(update.clone()),
        }
    }

    /// Something was recorded: a reply is recorded whole.
    pub(super) fn recorded(&mut self, fact: &Fact) {
        if matches!(fact, Fact::Replied { .. } | Fact::ModelFailed { .. } | Fact::TurnEnded { .. }) {
            self.0.clear();
        }
    }

    /// All of them.
    pub(super) fn updates(&self) -> Vec<Update> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Outcome, Usage};

    #[test]
    fn pieces_of_a_reply_are_one_until_it_is_recorded() {
        let text = |text: &str| Update::Text { text: text.into() };
        let mut heard = Heard::default();
        for update in [text("One "), text("two."), Update::Thinking { text: "Hm.".into() }, text(" Three.")] {
            heard.shown(&update);
        }
        let expected = [text("One two."), Update::Thinking { text: "Hm.".into() }, text(" Three.")];
        assert_eq!(heard.updates(), expected);
        heard.shown(&Update::Retrying { reason: "cut off".into(), after_ms: 1 });
        assert!(heard.updates().is_empty());
        heard.shown(&text("Anew."));
        let (outcome, usage) = (Outcome::Finished, Usage::default());
        heard.recorded(&Fact::TurnEnded { outcome, rounds: 1, usage, cost_usd: None });
        assert!(heard.updates().is_empty());
    }
}
