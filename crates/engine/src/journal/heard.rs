//! [`Heard`]: the live updates of the current reply. A follower that starts in the middle of the reply gets them first,
//! and a follower that falls behind gets [the rest](Heard::rest) of them.
use haft_core::{Fact, Update};

/// Updates in their order; updates that continue one another are merged.
#[derive(Default)]
pub(super) struct Heard {
    updates: Vec<Update>,
    /// Number of times that the updates became void, and the last update that voided them.
    voids: usize,
    void: Option<Update>,
}

/// The part of [`Heard`] that a follower has received.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    weight: usize,
    voids: usize,
}

impl Seen {
    /// Records that the follower receives this update.
    pub(super) fn shown(&mut self, update: &Update) {
        match is_void(update) {
            true => *self = Self { weight: 0, voids: self.voids + 1 },
            false => self.weight += weight(update),
        }
    }

    /// Records that the follower receives this entry.
    pub(super) fn recorded(&mut self, fact: &Fact) {
        if is_whole(fact) {
            self.weight = 0;
        }
    }
}

/// Whether the update voids the earlier updates of the reply.
fn is_void(update: &Update) -> bool {
    matches!(update, Update::Retrying { .. } | Update::Connected { is_at_rest: true })
}

/// Whether the fact ends the reply: it records the reply, or the reply failed.
fn is_whole(fact: &Fact) -> bool {
    matches!(fact, Fact::Replied { .. } | Fact::ModelFailed { .. } | Fact::TurnEnded { .. })
}

/// Bytes of an update that continues a text; 1 for other updates of a reply, 0 for updates that are not part of it.
fn weight(update: &Update) -> usize {
    match update {
        Update::Text { text } | Update::Thinking { text } | Update::ToolArguments { delta: text, .. } => {
            text.len()
        }
        Update::ToolCall { .. } | Update::ToolCallEnd { .. } => 1,
        _ => 0,
    }
}

/// Returns `update` without its first `seen` bytes.
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
            // The end of the call has the complete arguments.
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

    /// All updates of the current reply.
    pub(super) fn updates(&self) -> Vec<Update> {
        self.updates.clone()
    }

    /// Returns the updates that a follower has not seen, and marks them as seen.
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
