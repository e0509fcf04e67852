//! [`Repeated`]: recognizes live updates of the current reply that a reconnect repeats.
//!
//! A client that joins in the middle of a reply first receives its beginning. After a reconnect, a part of that was
//! already shown, and only the rest is passed on.
use haft_core::{Event, Update};
use std::collections::VecDeque;

/// Live updates that were shown before the connection was lost and were not repeated yet.
#[derive(Debug, Default)]
pub(super) struct Repeated(VecDeque<Update>);

impl Repeated {
    /// `shown`: the reply so far, as it was shown.
    pub(super) fn new(shown: Vec<Update>) -> Self {
        Self(shown.into())
    }

    /// Returns the events to show for `event`. If another reply arrives than before, an update first voids the earlier
    /// one.
    pub(super) fn fresh(&mut self, event: Event) -> Vec<Event> {
        let Some(before) = self.0.front_mut() else { return vec![event] };
        let update = match event {
            Event::Live(update) if is_of_reply(&update) => update,
            // It ends the reply.
            Event::Recorded(_) | Event::Live(Update::Retrying { .. }) => {
                self.0.clear();
                return vec![event];
            }
            Event::Live(_) => return vec![event],
        };
        match rest(before, &update) {
            Some(Rest::OfBefore(left)) => {
                *before = left;
                Vec::new()
            }
            Some(Rest::OfUpdate(new)) => {
                self.0.pop_front();
                new.into_iter().map(Event::Live).collect()
            }
            None => {
                self.0.clear();
                let void = Update::Retrying { reason: "the connection was lost".to_owned(), after_ms: 0 };
                vec![Event::Live(void), Event::Live(update)]
            }
        }
    }
}

/// The remainder if one of two updates is the beginning of the other.
enum Rest {
    OfBefore(Update),
    OfUpdate(Option<Update>),
}

fn is_of_reply(update: &Update) -> bool {
    matches!(
        update,
        Update::Text { .. }
            | Update::Thinking { .. }
            | Update::ToolCall { .. }
            | Update::ToolArguments { .. }
            | Update::ToolCallEnd { .. }
    )
}

/// `None` if neither is the beginning of the other.
fn rest(before: &Update, update: &Update) -> Option<Rest> {
    let text = |text: String| Update::Text { text };
    let thinking = |text: String| Update::Thinking { text };
    match (before, update) {
        (Update::Text { text: old }, Update::Text { text: new }) => rest_of(old, new, text),
        (Update::Thinking { text: old }, Update::Thinking { text: new }) => rest_of(old, new, thinking),
        (Update::ToolArguments { call, delta: old }, Update::ToolArguments { call: same, delta: new })
            if call == same =>
        {
            rest_of(old, new, |delta| Update::ToolArguments { call: call.clone(), delta })
        }
        (before, update) => (before == update).then_some(Rest::OfUpdate(None)),
    }
}

fn rest_of(old: &str, new: &str, of: impl Fn(String) -> Update) -> Option<Rest> {
    match (new.strip_prefix(old), old.strip_prefix(new)) {
        (Some(""), _) => Some(Rest::OfUpdate(None)),
        (Some(more), _) => Some(Rest::OfUpdate(Some(of(more.to_owned())))),
        (None, Some(left)) => Some(Rest::OfBefore(of(left.to_owned()))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Update {
        Update::Text { text: text.into() }
    }

    #[test]
    fn only_what_was_not_shown_passes() {
        let void = Update::Retrying { reason: "the connection was lost".into(), after_ms: 0 };
        let thought = |text: &str| Update::Thinking { text: text.into() };
        let table = [
            ("all of it again", vec![text("Hel")], vec![text("Hel")], vec![]),
            ("more at once", vec![text("Hel")], vec![text("Hello")], vec![text("lo")]),
            ("in pieces", vec![text("Hel")], vec![text("H"), text("el"), text("lo")], vec![text("lo")]),
            (
                "a thought before",
                vec![thought("Hm"), text("Hel")],
                vec![thought("Hm"), text("Hello")],
                vec![text("lo")],
            ),
            ("another reply", vec![text("Hel")], vec![text("Good")], vec![void.clone(), text("Good")]),
            ("nothing before", vec![], vec![text("Hel")], vec![text("Hel")]),
        ];
        for (what, shown, comes, expected) in table {
            let mut repeated = Repeated::new(shown);
            let passed: Vec<_> =
                comes.into_iter().flat_map(|update| repeated.fresh(Event::Live(update))).collect();
            assert_eq!(passed, expected.into_iter().map(Event::Live).collect::<Vec<_>>(), "{what}");
        }
    }
}
