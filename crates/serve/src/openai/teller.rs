//! [`Teller`]: converts the events of a turn to the pieces that a client of OpenAI's API expects: text, thoughts,
//! calls.
use haft_core::{CallId, Event, ToolCall, ToolResult};
use haft_present::timeline::{Call, Item, Replies, Timeline};
use serde_json::Value;

/// A piece of a turn for the client.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    /// More text of the reply.
    Text(String),
    /// More of the model's thoughts.
    Thinking(String),
    /// A call begins, with these arguments.
    Began { call: CallId, name: String, arguments: Value },
    /// A call has ended.
    Ended { call: CallId, name: String, result: Box<ToolResult> },
}

/// Turns events into pieces. The replies of one turn become one text, separated by blank lines.
pub(super) struct Teller {
    timeline: Timeline,
    /// Whether a part of the current reply was sent.
    is_begun: bool,
    /// All text that was sent.
    pub(super) text: String,
}

impl Default for Teller {
    fn default() -> Self {
        Self { timeline: Timeline::with(Replies::Anew), is_begun: false, text: String::new() }
    }
}

impl Teller {
    pub(super) fn tell(&mut self, event: &Event) -> Vec<Told> {
        self.timeline.apply(event).into_iter().flat_map(|item| self.item(item)).collect()
    }

    fn item(&mut self, item: Item) -> Vec<Told> {
        match item {
            Item::Text { text, is_anew: false } => vec![self.say(&text)],
            Item::Thought { text, is_anew: false, .. } => vec![Told::Thinking(text)],
            Item::Retrying { was_begun: true, .. } => {
                let note = "\n\n(The reply was cut off, and begins anew.)";
                self.is_begun = false;
                self.text += note;
                vec![Told::Text(note.to_owned())]
            }
            Item::Replied { .. } => {
                self.is_begun = false;
                Vec::new()
            }
            Item::Started { call, name, arguments } => vec![Told::Began { call, name, arguments }],
            Item::Call(ended) => {
                let Call { made: ToolCall { id, name, arguments, .. }, has_started, result, .. } = *ended;
                // A call that never began was refused or had invalid arguments: it is reported, too.
                let began =
                    (!has_started).then(|| Told::Began { call: id.clone(), name: name.clone(), arguments });
                let ended = Told::Ended { call: id, name, result: Box::new(result) };
                began.into_iter().chain([ended]).collect()
            }
            _ => Vec::new(),
        }
    }

    fn say(&mut self, text: &str) -> Told {
        let gap = if !self.is_begun && !self.text.is_empty() { "\n\n" } else { "" };
        self.is_begun = true;
        let said = format!("{gap}{text}");
        self.text += &said;
        Told::Text(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Entry, Fact, Part, Seq, StopReason, Update, Usage};
    use std::sync::Arc;

    fn live(text: &str) -> Event {
        Event::Live(Update::Text { text: text.into() })
    }

    fn replied(text: &str) -> Event {
        let fact = Fact::Replied {
            parts: vec![Part::text(text)],
            usage: Usage::default(),
            stop: StopReason::EndTurn,
        };
        Event::Recorded(Arc::new(Entry { seq: Seq(1), parent: None, at: 0, fact, chain: None }))
    }

    #[test]
    fn what_was_missed_is_told_at_the_end_of_the_reply() {
        let table = [
            ("all live", vec![live("One. "), live("Two."), replied("One. Two.")], "One. Two."),
            ("the end missed", vec![live("One. "), replied("One. Two.")], "One. Two."),
            ("nothing live", vec![replied("One. Two.")], "One. Two."),
            ("two replies", vec![live("One."), replied("One."), replied("Two.")], "One.\n\nTwo."),
        ];
        for (what, events, expected) in table {
            let mut teller = Teller::default();
            let told: Vec<Told> = events.iter().flat_map(|event| teller.tell(event)).collect();
            let text: String = told
                .iter()
                .map(|told| match told {
                    Told::Text(text) => text.as_str(),
                    _ => "",
                })
                .collect();
            assert_eq!((text.as_str(), teller.text.as_str()), (expected, expected), "{what}");
        }
    }
}
