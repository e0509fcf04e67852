//! [`UndoWish`]: parses the text after `/undo`, in the same way in all front-ends, and formats the result of an undo.
use crate::{
    cursor,
    diff::sign,
    safe,
    timeline::{UNDO_HINT, moved_by},
};
use futures::StreamExt;
use haft_core::{
    Command, Entry, Event, Fact, UndoCalls, Update, arguments_in_brief,
    changed::squash,
    past_calls::{PastCall, PastCalls},
};
use haft_engine::Session;
use std::{fmt, sync::Arc};

/// What to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoWish {
    /// The last turn.
    LastTurn,
    /// Lists the calls, to choose one.
    List,
    /// These calls.
    Calls(UndoCalls),
}

impl UndoWish {
    /// Parses the text after `/undo`: nothing, `list`, `merge` (merges what the last undo left alone), or the number of
    /// a call and `with-dependents` or `merge`. The error says what can be typed.
    pub fn read(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = words.first().and_then(|word| word.parse::<usize>().ok()).filter(|number| *number > 0);
        let calls = number.into_iter().collect();
        let (with_dependents, merge) = match (number, &words[..]) {
            (None, []) => return Ok(Self::LastTurn),
            (None, ["list"]) => return Ok(Self::List),
            (None, ["merge" | "--merge"]) => (false, true),
            (Some(_), [_]) => (false, false),
            (Some(_), [_, "with-dependents"]) => (true, false),
            (Some(_), [_, "merge"]) => (false, true),
            _ => {
                return Err(format!(
                    "`{text}` is no call; type `/undo list`, or `/undo 3`, `/undo 3 with-dependents` or `/undo 3 merge` \
                     with the number of a call, or `/undo merge` for what the last undo left alone"
                ));
            }
        };
        Ok(Self::Calls(UndoCalls { calls, with_dependents, merge }))
    }
}

/// A call that changed files and was not undone, described for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoableCall {
    /// Number of the call in the session, counted from 1.
    pub number: usize,
    /// The tool and its arguments in brief, as `edit a.txt`.
    pub title: String,
    /// Its change of each file, as a sign and a name such as `~ a.txt`, separated by two blanks.
    pub files: String,
}

/// Returns the calls that can be undone in a session with these entries, in order.
pub fn undoable(entries: &[Arc<Entry>]) -> Vec<UndoableCall> {
    let call = |call: &PastCall| {
        let files = squash(&call.changes);
        let files = files.iter().map(|change| format!("{} {}", sign(change.kind()), change.path.display()));
        let title = format!("{} {}", call.name, arguments_in_brief(&call.arguments));
        UndoableCall {
            number: call.number,
            title: safe::name(title.trim_end()).into_owned(),
            files: safe::name(&files.collect::<Vec<_>>().join("  ")).into_owned(),
        }
    };
    PastCalls::of(entries).changing().map(call).collect()
}

impl fmt::Display for UndoableCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}  {}", self.number, self.title, self.files)
    }
}

/// Says that single calls were undone, or `would be`; `None` if `calls` is empty.
pub fn sentence(calls: &[usize], is_dry: bool) -> Option<String> {
    let numbers: Vec<String> = calls.iter().map(ToString::to_string).collect();
    let (what, is) = match &numbers[..] {
        [] => return None,
        [number] => (format!("call {number}"), "is"),
        numbers => (format!("calls {}", numbers.join(", ")), "are"),
    };
    let is = if is_dry { "would be" } else { is };
    Some(format!("{what} {is} undone; the conversation stays as it is"))
}

/// The result of an undo or redo, for a front-end that shows text: the files, one line each, then the calls. `None` for
/// other facts.
pub fn told(fact: &Fact) -> Option<String> {
    let Fact::Rewound { calls, .. } = fact else { return None };
    let lines = moved_by(fact)?.into_iter().chain(sentence(calls, false));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// Why calls were not undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, a sentence without its period.
    pub why: String,
    /// The numbers of the later calls that depend on the calls to undo.
    pub depends: Vec<usize>,
    /// Whether an undo that merges texts is possible.
    pub can_merge: bool,
}

impl Refusal {
    /// The refusal in `update`; `None` for other updates.
    pub fn of(update: &Update) -> Option<Self> {
        let Update::UndoRefused { why, depends, can_merge } = update else { return None };
        Some(Self { why: why.clone(), depends: depends.clone(), can_merge: *can_merge })
    }
}

impl Refusal {
    /// The error for an undo of `calls`, with a hint what to type next.
    pub fn about(&self, calls: &[usize]) -> String {
        match (self.can_merge, calls) {
            (false, _) | (true, []) => self.why.clone(),
            (true, [call]) => format!("{}; {}", self.why, UNDO_HINT.replace("CALL", &call.to_string())),
            (true, _) => format!("{}; {UNDO_HINT}", self.why),
        }
    }
}

/// Undoes calls and waits until that is done; returns the entry with the result. Meanwhile, [`Command::Interrupt`]
/// cancels the undo without changes.
///
/// # Errors
/// Fails if later calls depend on these, changes of others are in the way, or the session closes.
pub async fn undo_calls(session: &Session, undo: UndoCalls) -> Result<Arc<Entry>, Refusal> {
    let wanted = undo.calls.clone();
    let is_it = |fact: &Fact| match fact {
        Fact::Rewound { calls, .. } => wanted.iter().all(|call| calls.contains(call)),
        _ => false,
    };
    let closed = || Refusal { why: "the session closed".to_owned(), depends: Vec::new(), can_merge: false };
    let mut events = Box::pin(session.events(cursor::next(session)));
    session.send(Command::UndoCalls(undo)).map_err(|_| closed())?;
    while let Some(event) = events.next().await {
        match event {
            Event::Live(update) => Refusal::of(&update).map_or(Ok(()), Err)?,
            Event::Recorded(entry) if is_it(&entry.fact) => return Ok(entry),
            Event::Recorded(_) => {}
        }
    }
    Err(closed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_undo_is_read() {
        let calls = |with_dependents, merge| {
            Ok(UndoWish::Calls(UndoCalls { calls: vec![3], with_dependents, merge }))
        };
        let left_alone = || Ok(UndoWish::Calls(UndoCalls { merge: true, ..UndoCalls::default() }));
        let table = [
            ("", Ok(UndoWish::LastTurn)),
            (" list ", Ok(UndoWish::List)),
            ("3", calls(false, false)),
            ("3  with-dependents", calls(true, false)),
            ("3 merge", calls(false, true)),
            ("merge", left_alone()),
            ("--merge", left_alone()),
            ("0", Err(())),
            ("3 merge with-dependents", Err(())),
            ("the last one", Err(())),
        ];
        for (text, expected) in table {
            let read = UndoWish::read(text);
            assert_eq!(read.clone().map_err(drop), expected, "{text:?}");
            assert!(read.err().is_none_or(|why| why.contains("type `/undo list`")), "{text:?}");
        }
    }

    #[test]
    fn undone_calls_are_told_in_a_sentence() {
        assert_eq!(sentence(&[], false), None);
        let table = [
            (&[2][..], false, "call 2 is undone; the conversation stays as it is"),
            (&[2, 4], false, "calls 2, 4 are undone; the conversation stays as it is"),
            (&[2, 4], true, "calls 2, 4 would be undone; the conversation stays as it is"),
        ];
        for (calls, is_dry, expected) in table {
            assert_eq!(sentence(calls, is_dry).as_deref(), Some(expected));
        }
    }
}
