//! [`Heard`]: what was shown of the reply that is being written. A watcher that starts in the middle gets that first, and one
//! that falls behind gets [the rest](Heard::rest) of it.
use haft_core::{Fact, Update};

/// Updates in their order, those that continue from one another as one.
#[derive(Default)]
pub(super) struct Heard {
    updates: Vec<Update>,
    /// How often what was shown became void, and the last update that said so.
    voids: usize,
    void: Option<Update>,
}

/// How much of [`Heard`] a watcher has.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    weight: usize,
    voids: usize,
}

impl Seen {
    /// The watcher gets this update.
    pub(super) fn shown(&mut self, update: &Update) {
        match is_void(update) {
            true => *self = Self { weight: 0, voids: self.voids + 1 },
            false => self.weight += weight(update),
        }
    }

    /// The watcher gets this entry.
    pub(super) fn recorded(&mut self, fact: &Fact) {
        if is_whole(fact) {
            self.weight = 0;
        }
    }
}

/// Whether what was shown of the reply so far counts no more.
fn is_void(update: &Update) -> bool {
    matches!(update, Update::Retrying { .. } | Update::Connected { is_at_rest: true })
}

/// Whether what was shown of the reply so far is recorded, or never will be.
fn is_whole(fact: &Fact) -> bool {
    matches!(fact, Fact::Replied { .. } | Fact::ModelFailed { .. } | Fact::TurnEnded { .. })
}

/// Bytes of a text that may continue; 1 for other parts of a reply, 0 for what is no part of it.
fn weight(update: &Update) -> usize {
    match update {
        Update::Text { text } | Update::Thinking { text } | Update::ToolArguments { delta: text, .. } => {
            text.len()
        }
        Update::ToolCall { .. } | Update::ToolCallEnd { .. } => 1,
        _ => 0,
    }
}

/// `update` without the first `seen` of its weight.
fn behind(update: &Update, seen: usize) -> Update {
    let rest = |text: &str| text.get(seen..).unwrap_or_default().to_owned();
    match update {
        Update::Text { text } => Update::Text { text: rest(text) },
        Update::Thinking { text } => Update::Thinking { text: rest(text) },
        Update::ToolArguments { call, delta } => {
            Update::ToolArguments { call: call.clone(), delta: rest(delta) }
        }
        other => other.clone(),
    }
}

impl Heard {
    /// Adds a live update that was shown.
    pub(super) fn shown(&mut self, update: &Update) {
        if is_void(update) {
            (self.voids, self.void) = (self.voids + 1, Some(update.clone()));
            return self.updates.clear();
        }
        match (self.updates.last_mut(), update) {
            // The whole of it is recorded with the end of its call.
            (
                _,
                Update::ToolOutput { .. }
                | Update::Summarizing
                | Update::Undoing
                | Update::UndoRefused { .. }
                | Update::Refused { .. }
                | Update::Disconnected { .. }
                | Update::Retrying { .. }
                | Update::Connected { .. },
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
            ) => self.updates.push(update.clone()),
        }
    }

    /// Drops the updates of a reply once it is recorded.
    pub(super) fn recorded(&mut self, fact: &Fact) {
        if is_whole(fact) {
            self.updates.clear();
        }
    }

    /// All of them.
    pub(super) fn updates(&self) -> Vec<Update> {
        self.updates.clone()
    }

    /// The updates that a watcher has not seen; they count as seen afterwards.
    pub(super) fn rest(&self, seen: &mut Seen) -> Vec<Update> {
        let mut rest = Vec::new();
        if seen.voids < self.voids {
            *seen = Seen { weight: 0, voids: self.voids };
            rest.extend(self.void.clone());
        }
        let mut left = seen.weight;
        for update in &self.updates {
            let weight = weight(update);
            if weight > left {
                rest.push(behind(update, left));
            }
            left = left.saturating_sub(weight);
        }
        seen.weight = self.updates.iter().map(weight).sum();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Outcome, Usage};

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

    #[test]
    fn a_watcher_gets_the_rest_of_a_reply_and_hears_that_it_is_void() {
        let text = |text: &str| Update::Text { text: text.into() };
        let void = Update::Retrying { reason: "cut off".into(), after_ms: 1 };
        let call = || Update::ToolCall { call: CallId("c".into()), name: "read".into() };
        let (mut heard, mut seen) = (Heard::default(), Seen::default());
        for update in [text("One "), text("two.")] {
            heard.shown(&update);
        }
        seen.shown(&text("One "));
        assert_eq!(heard.rest(&mut seen), [text("two.")]);
        assert!(heard.rest(&mut seen).is_empty());
        heard.shown(&call());
        assert_eq!(heard.rest(&mut seen), [call()]);
        heard.shown(&void);
        heard.shown(&text("Anew."));
        assert_eq!(heard.rest(&mut seen), [void, text("Anew.")]);
        assert!(heard.rest(&mut seen).is_empty());
    }
}
