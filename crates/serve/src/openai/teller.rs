//! [`Teller`]: turns the events of a turn into what a client of OpenAI's expects: text, thoughts, calls.
use haft_core::{CallId, Event, Fact, Part, ToolCall, ToolResult, Update, text_of};
use serde_json::Value;

/// Something to tell.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    /// More of what is said.
    Text(String),
    /// More of what is thought.
    Thinking(String),
    /// A call begins, with what it is called with.
    Began { call: CallId, name: String, arguments: Value },
    /// It ended.
    Ended { call: CallId, name: String, result: Box<ToolResult> },
}

/// Folds events. Replies of one turn are told as one text, a blank line between them.
#[derive(Default)]
pub(super) struct Teller {
    /// Of the reply that is being written.
    heard: String,
    thought: String,
    /// Calls of the last reply that have not begun.
    written: Vec<ToolCall>,
    /// All text that was told.
    pub(super) text: String,
}

impl Teller {
    pub(super) fn tell(&mut self, event: &Event) -> Vec<Told> {
        match event {
            Event::Live(Update::Text { text }) => self.say(text).into_iter().collect(),
            Event::Live(Update::Thinking { text }) => {
                self.thought += text;
                vec![Told::Thinking(text.clone())]
            }
            Event::Live(Update::Retrying { .. }) => {
                let was_begun = !self.heard.is_empty();
                self.forget();
                let note = "\n\n(The reply was cut off, and begins anew.)";
                if was_begun {
                    self.text += note;
                }
                was_begun.then(|| Told::Text(note.to_owned())).into_iter().collect()
            }
            Event::Live(_) => Vec::new(),
            Event::Recorded(entry) => self.fact(&entry.fact),
        }
    }

    fn fact(&mut self, fact: &Fact) -> Vec<Told> {
        match fact {
            Fact::Replied { parts, .. } => self.replied(parts),
            Fact::ToolStarted { call, name, arguments, .. } => {
                self.written.retain(|written| written.id != *call);
                vec![Told::Began { call: call.clone(), name: name.clone(), arguments: arguments.clone() }]
            }
            Fact::ToolEnded { call, name, result, .. } => {
                // One that never began was refused, or its arguments were wrong: it is told all the same.
                let written = self.written.iter().position(|written| written.id == *call);
                let made = written.map(|place| self.written.remove(place));
                let began = made.map(|ToolCall { id, name, arguments, .. }| Told::Began {
                    call: id,
                    name,
                    arguments,
                });
                let ended =
                    Told::Ended { call: call.clone(), name: name.clone(), result: Box::new(result.clone()) };
                began.into_iter().chain([ended]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What was not heard live comes now.
    fn replied(&mut self, parts: &[Part]) -> Vec<Told> {
        let thought: String = parts
            .iter()
            .filter_map(|part| match part {
                Part::Thinking { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let mut told = Vec::new();
        if let Some(rest) = thought.strip_prefix(&self.thought).filter(|rest| !rest.is_empty()) {
            told.push(Told::Thinking(rest.to_owned()));
        }
        let text = text_of(parts);
        if let Some(rest) = text.strip_prefix(&self.heard).map(str::to_owned) {
            told.extend(self.say(&rest));
        }
        self.forget();
        self.written = parts.iter().filter_map(Part::as_call).cloned().collect();
        told
    }

    fn say(&mut self, text: &str) -> Option<Told> {
        if text.is_empty() {
            return None;
        }
        let gap = if self.heard.is_empty() && !self.text.is_empty() { "\n\n" } else { "" };
        self.heard += text;
        let said = format!("{gap}{text}");
        self.text += &said;
        Some(Told::Text(said))
    }

    fn forget(&mut self) {
        self.heard.clear();
        self.thought.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Entry, Seq, StopReason, Usage};
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
        Event::Recorded(Arc::new(Entry { seq: Seq(1), parent: None, at: 0, fact }))
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
