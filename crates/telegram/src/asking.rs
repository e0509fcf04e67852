//! [`Ask`], [`Approval`], [`UndoChoices`] and [`keyboard`]: questions with buttons: approvals of calls, questions of
//! tools, and what to undo.
use super::{
    rich::{Rich, Style},
    types::{InlineKeyboardButton, InlineKeyboardMarkup},
};
use haft_core::{Answer, CallId, Command, Fact, Question, SessionId};
use haft_engine::Session;
use haft_present::{diff, proposal::Proposal, safe};

/// Maximum characters of a question; a longer one is also sent as a file.
const MAX_SHOWN_CHARACTERS: usize = 2_600;
/// Maximum characters of the text how a question ended.
const MAX_ENDED_CHARACTERS: usize = 800;
/// Maximum characters of a button's label.
const MAX_LABEL_CHARACTERS: usize = 60;

/// A question that is in the chat.
pub(super) struct Ask {
    /// ID in its buttons, never used for another question.
    pub(super) id: u64,
    pub(super) call: CallId,
    pub(super) text: Rich,
    pub(super) kind: Kind,
    /// Whether the user answered in this chat, and the session has not recorded the answer yet.
    pub(super) is_answered: bool,
}

pub(super) enum Kind {
    /// The approval of a call.
    Approval,
    /// A question of a tool.
    Question { choices: Vec<String> },
}

/// The meaning of a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Button {
    /// The answer to the approval with this ID.
    Answer(u64, Answer),
    /// A choice of the question with this ID: its index, from 0.
    Choice(u64, usize),
    /// Undo the item with this index, from 0, of the list with this ID.
    Undo(u64, usize),
    /// Continue with this session.
    Session(String),
}

/// The meaning of the buttons of the last list of `/undo`. They are valid until the session records another entry:
/// afterwards the same number may be that of another call.
pub(super) struct UndoChoices {
    /// ID in the buttons, never used for another list.
    pub(super) id: u64,
    pub(super) session: SessionId,
    /// Number of entries of the session when the list was made.
    pub(super) entries: usize,
    pub(super) commands: Vec<Command>,
}

/// The data of the buttons.
pub(super) fn data_of(keyboard: &InlineKeyboardMarkup) -> impl Iterator<Item = &str> {
    keyboard.inline_keyboard.iter().flatten().map(|button| button.callback_data.as_str())
}

impl Button {
    /// Data of a button: at most 64 bytes, Telegram's limit.
    fn data(&self) -> String {
        match self {
            Self::Answer(ask, Answer::Once) => format!("a:{ask}:once"),
            Self::Answer(ask, Answer::Always) => format!("a:{ask}:always"),
            Self::Answer(ask, Answer::No | Answer::Unanswered | Answer::NotUnderstood) => {
                format!("a:{ask}:no")
            }
            Self::Choice(ask, place) => format!("q:{ask}:{place}"),
            Self::Undo(list, place) => format!("u:{list}:{place}"),
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
            ("u", place) => Some(Self::Undo(ask, place.parse().ok()?)),
            _ => None,
        }
    }
}

/// Buttons, row by row.
pub(super) fn keyboard(rows: Vec<Vec<(String, Button)>>) -> InlineKeyboardMarkup {
    let button = |(label, button): (String, Button)| {
        let text = safe::name(&label).chars().take(MAX_LABEL_CHARACTERS).collect();
        InlineKeyboardButton { text, callback_data: button.data() }
    };
    let inline_keyboard = rows.into_iter().map(|row| row.into_iter().map(button).collect()).collect();
    InlineKeyboardMarkup { inline_keyboard }
}

/// A question about a call in the chat.
pub(super) struct Approval {
    pub(super) ask: Ask,
    pub(super) keys: InlineKeyboardMarkup,
    /// The complete text, if it does not fit into a message; sent before the buttons.
    pub(super) document: Option<Document>,
}

/// A text that is sent as a file, and the buttons for the question if the file cannot be sent.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) keys_without: InlineKeyboardMarkup,
}

/// The question about the call of `fact`, with everything that the call would do; `None` if `fact` asks for no
/// approval.
pub(super) fn approval(session: &Session, id: u64, fact: &Fact) -> Option<Approval> {
    let Fact::ApprovalAsked { call, changes, .. } = fact else { return None };
    let proposal = Proposal::of(session, fact)?;
    let diff = diff::of_all(session, changes);
    let end = format!("{}\n{}", proposal.always_line(), proposal.reason);
    let mut text = Rich::default().with("Allow this?", &[Style::Bold]);
    let brief = proposal.brief(&diff);
    let is_whole = brief.is_whole && brief.text.chars().count() <= MAX_SHOWN_CHARACTERS;
    match is_whole {
        true => {
            let head = if changes.is_empty() { proposal.head() } else { String::new() };
            let (called, below) = (proposal.called_with(&diff).text, proposal.below_diff());
            let parts = [(head, None), (called, None), (diff.clone(), Some("diff")), (below, None)];
            for (part, language) in parts.into_iter().filter(|(part, _)| !part.is_empty()) {
                let language = language.map(str::to_owned);
                text.block(Rich::default().with(part.trim_end(), &[Style::Pre(language)]), "\n");
            }
            text.block(Rich::plain_text(&end), "\n");
        }
        false => {
            text.block(
                Rich::default()
                    .with(clipped(&brief.text, MAX_SHOWN_CHARACTERS).trim_end(), &[Style::Pre(None)]),
                "\n",
            );
            text.block(Rich::plain_text(&end), "\n");
        }
    }
    let button = |label: &str, answer| (label.to_owned(), Button::Answer(id, answer));
    let no = button("No", Answer::No);
    let keys = keyboard(vec![
        vec![button("Allow once", Answer::Once), no.clone()],
        vec![button("Always in this session", Answer::Always)],
    ]);
    let document = (!is_whole).then(|| Document {
        name: format!("question-{id}.txt"),
        text: format!("{}\n{end}\n", proposal.whole(&diff)),
        keys_without: keyboard(vec![vec![no]]),
    });
    let ask = Ask { id, call: call.clone(), text, kind: Kind::Approval, is_answered: false };
    Some(Approval { ask, keys, document })
}

/// A tool's question with a button for each choice; the user may also write another answer. Text that does not fit is
/// sent as a file before it.
pub(super) fn question(
    id: u64,
    call: &CallId,
    question: &Question,
) -> (Ask, Option<InlineKeyboardMarkup>, Option<Document>) {
    let whole = format!("{}{}", question.text, choices(question));
    let mut text = Rich::default().with(&clipped(&whole, MAX_SHOWN_CHARACTERS), &[Style::Bold]);
    let way =
        if question.choices.is_empty() { "Write your answer." } else { "Choose, or write your answer." };
    text.push(&format!("\n{way}"), &[Style::Italic]);
    // Telegram accepts no button without text.
    let rows = question.choices.iter().enumerate().filter(|(_, choice)| !choice.trim().is_empty());
    let rows: Vec<_> =
        rows.map(|(place, choice)| vec![(choice.clone(), Button::Choice(id, place))]).collect();
    let document = (whole.chars().count() > MAX_SHOWN_CHARACTERS).then(|| Document {
        name: format!("question-{id}.txt"),
        text: safe::text(&whole).into_owned(),
        keys_without: keyboard(Vec::new()),
    });
    let keys = (!rows.is_empty()).then(|| keyboard(rows));
    let kind = Kind::Question { choices: question.choices.clone() };
    (Ask { id, call: call.clone(), text, kind, is_answered: false }, keys, document)
}

/// The choices that do not fit on their buttons.
fn choices(question: &Question) -> String {
    let is_long = |choice: &String| choice.chars().count() > MAX_LABEL_CHARACTERS || choice.contains('\n');
    if !question.choices.iter().any(is_long) {
        return String::new();
    }
    let lines = question.choices.iter().enumerate();
    lines.map(|(place, choice)| format!("\n{}. {choice}", place + 1)).collect()
}

impl Ask {
    /// The text of the question once it is answered or withdrawn.
    pub(super) fn ended(self, how: &str) -> Rich {
        self.text.with("\n\n", &[]).with(&clipped(how, MAX_ENDED_CHARACTERS), &[Style::Bold])
    }
}

/// The answer in words.
pub(super) fn said(answer: Answer) -> &'static str {
    match answer {
        Answer::Once => "Allowed once.",
        Answer::Always => "Allowed in this session.",
        Answer::No => "Not allowed.",
        Answer::Unanswered => "Refused: no person could be asked.",
        Answer::NotUnderstood => "Refused: the answer was not understood.",
    }
}

/// As many whole lines as fit.
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
            Button::Undo(u64::MAX, 8),
            Button::Session("20260101-000000-0123456789abcdef".into()),
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
