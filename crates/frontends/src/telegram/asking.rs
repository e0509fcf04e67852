//! Questions with buttons: what a call wants to do, and what a tool wants to know.
use super::{
    rich::{Rich, Style},
    types::{InlineKeyboardButton, InlineKeyboardMarkup},
};
use crate::{diff, safe};
use haft_core::{Answer, CallId, Change, Question};
use haft_engine::{Session, called};

/// Of a diff so many characters are shown.
const DIFF: usize = 2_600;
/// Of a reason or a question.
const REASON: usize = 800;
/// Of a button.
const LABEL: usize = 60;

/// A question that stands in the chat.
pub(super) struct Ask {
    /// What its buttons name it; never used for another one.
    pub(super) id: u64,
    pub(super) call: CallId,
    pub(super) text: Rich,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// May this call do what it wants?
    Approval,
    /// What a tool wants to know.
    Question { choices: Vec<String> },
}

/// What a button stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Button {
    /// The answer to the approval of this number.
    Answer(u64, Answer),
    /// A choice of the question of this number, counted from 0.
    Choice(u64, usize),
    /// A session to go on with.
    Session(String),
}

impl Button {
    /// At most 64 bytes, as Telegram wants it.
    fn data(&self) -> String {
        match self {
            Self::Answer(ask, Answer::Once) => format!("a:{ask}:once"),
            Self::Answer(ask, Answer::Always) => format!("a:{ask}:always"),
            Self::Answer(ask, Answer::No | Answer::Nobody) => format!("a:{ask}:no"),
            Self::Choice(ask, place) => format!("q:{ask}:{place}"),
            Self::Session(id) => format!("s:{}", id.chars().take(62).collect::<String>()),
        }
    }

    pub(super) fn read(data: &str) -> Option<Self> {
        let (kind, rest) = data.split_once(':')?;
        if kind == "s" {
            return Some(Self::Session(rest.to_owned()));
        }
        let (ask, what) = rest.split_once(':')?;
        let ask = ask.parse().ok()?;
        match (kind, what) {
            ("a", "once") => Some(Self::Answer(ask, Answer::Once)),
            ("a", "always") => Some(Self::Answer(ask, Answer::Always)),
            ("a", "no") => Some(Self::Answer(ask, Answer::No)),
            ("q", place) => Some(Self::Choice(ask, place.parse().ok()?)),
            _ => None,
        }
    }
}

/// Buttons, row by row.
pub(super) fn keyboard(rows: Vec<Vec<(String, Button)>>) -> InlineKeyboardMarkup {
    let button = |(label, button): (String, Button)| {
        let text = safe::text(&label).chars().take(LABEL).collect();
        InlineKeyboardButton { text, callback_data: button.data() }
    };
    let inline_keyboard = rows.into_iter().map(|row| row.into_iter().map(button).collect()).collect();
    InlineKeyboardMarkup { inline_keyboard }
}

/// With the diff, or what the call is called with.
pub(super) fn approval(
    session: &Session,
    id: u64,
    call: &CallId,
    reason: &str,
    changes: &[Change],
) -> (Ask, InlineKeyboardMarkup) {
    let mut text = Rich::default().with("Allow this?", &[Style::Bold]).with("\n", &[]);
    text.push(&clipped(reason, REASON), &[]);
    let (about, language) = match changes {
        [] => (safe::text(&called::with(session, call, reason)).into_owned(), None),
        changes => (diff::of_changes(session, changes), Some("diff".to_owned())),
    };
    text.block(Rich::default().with(clipped(&about, DIFF).trim_end(), &[Style::Pre(language)]), "\n");
    let button = |label: &str, answer| (label.to_owned(), Button::Answer(id, answer));
    let keys = keyboard(vec![
        vec![button("Allow once", Answer::Once), button("No", Answer::No)],
        vec![button("Always in this session", Answer::Always)],
    ]);
    (Ask { id, call: call.clone(), text, kind: Kind::Approval }, keys)
}

/// A button for each choice; the person may also write something else.
pub(super) fn question(id: u64, call: &CallId, question: &Question) -> (Ask, Option<InlineKeyboardMarkup>) {
    let mut text = Rich::default().with(&clipped(&question.text, DIFF), &[Style::Bold]);
    let way =
        if question.choices.is_empty() { "Write your answer." } else { "Choose, or write your answer." };
    text.push(&format!("\n{way}"), &[Style::Italic]);
    let rows = question.choices.iter().enumerate();
    let rows: Vec<_> =
        rows.map(|(place, choice)| vec![(choice.clone(), Button::Choice(id, place))]).collect();
    let keys = (!rows.is_empty()).then(|| keyboard(rows));
    let kind = Kind::Question { choices: question.choices.clone() };
    (Ask { id, call: call.clone(), text, kind }, keys)
}

impl Ask {
    /// How it reads when it is over.
    pub(super) fn ended(self, how: &str) -> Rich {
        self.text.with("\n\n", &[]).with(&clipped(how, REASON), &[Style::Bold])
    }
}

/// What was answered, in words.
pub(super) fn said(answer: Answer) -> &'static str {
    match answer {
        Answer::Once => "Allowed once.",
        Answer::Always => "Allowed in this session.",
        Answer::No => "Not allowed.",
        Answer::Nobody => "Refused: nobody could be asked.",
    }
}

/// Whole lines as far as they fit.
fn clipped(text: &str, most: usize) -> String {
    let text = safe::text(text);
    if text.chars().count() <= most {
        return text.into_owned();
    }
    let head: String = text.chars().take(most).collect();
    let whole = head.rfind('\n').filter(|at| *at > head.len() / 2).unwrap_or(head.len());
    format!("{}\n… {} more characters", &head[..whole], text[whole..].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_says_in_64_bytes_what_it_stands_for() {
        let table = [
            Button::Answer(7, Answer::Once),
            Button::Answer(u64::MAX, Answer::Always),
            Button::Answer(0, Answer::No),
            Button::Choice(u64::MAX, 1_000),
            Button::Session("20260101-000000-abcd".into()),
        ];
        for button in table {
            assert!(button.data().len() <= 64, "{button:?}");
            assert_eq!(Button::read(&button.data()), Some(button));
        }
        for odd in ["", "a", "a:1", "a:x:once", "a:1:yes", "q:1:-1", "z:1:1"] {
            assert_eq!(Button::read(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_long_diff_is_clipped_at_a_line() {
        assert_eq!(clipped("short", 10), "short");
        assert_eq!(clipped("12345\n67890", 8), "12345\n… 6 more characters");
        assert_eq!(clipped(&"x".repeat(12), 8), "xxxxxxxx\n… 4 more characters");
    }
}
