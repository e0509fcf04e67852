//! [`ask`]: asks the user at the terminal a question of a tool.
use crate::{Editor, asking::Asking, editor::NO_EDITOR};
use haft_core::{CallId, Command, Question};
use haft_engine::Session;
use haft_present::safe;
use std::{
    io::{BufRead, Write},
    path::Path,
};

/// Shows the question and reads the answer.
pub(crate) fn ask(session: &Session, call: &CallId, question: &Question, editor: Option<Editor>) -> Asking {
    let (session, call, question) = (session.clone(), call.clone(), question.clone());
    Asking::begin(
        move |input, output| read_answer(&question, editor.as_ref(), input, output),
        move |answer| {
            let _session_is_closed = session.send(Command::reply(call, answer));
        },
    )
}

/// Reads the answer: a number picks a choice, `e` edits the text that the choices are about, anything else is the
/// answer itself. The end of the input gives no answer.
fn read_answer(
    question: &Question,
    editor: Option<&Editor>,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Option<String> {
    let mut text = format!("{}\n", safe::text(&question.text));
    for (place, choice) in question.choices.iter().enumerate() {
        text += &format!("  {}. {}\n", place + 1, safe::text(choice));
    }
    if question.draft.is_some() {
        text += "  e edits it first\n";
    }
    let mut edited: Option<String> = None;
    loop {
        let _no_terminal = write!(output, "{text}> ").and_then(|()| output.flush());
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let said = line.trim();
        match (said, &question.draft) {
            (EDIT, Some(draft)) => match edit(editor, edited.as_deref().unwrap_or(draft)) {
                Ok(text) => edited = Some(text).filter(|text| !text.trim().is_empty()),
                Err(why) => {
                    let _no_terminal = writeln!(output, "{}", safe::text(&why));
                }
            },
            (said, _) => return Some(with_draft(question, said, edited)),
        }
    }
}

/// Edits the text that the choices are about.
pub(crate) const EDIT: &str = "e";
/// Name of that text in errors.
pub(crate) const DRAFT: &str = "the proposed text";

fn edit(editor: Option<&Editor>, draft: &str) -> Result<String, String> {
    editor.ok_or(NO_EDITOR)?.edit(DRAFT, draft, Path::new("draft.md"))
}

/// The answer for the input `said`, followed by the edited text.
pub(crate) fn with_draft(question: &Question, said: &str, edited: Option<String>) -> String {
    let chosen = said.parse::<usize>().ok().and_then(|number| question.choices.get(number.checked_sub(1)?));
    match (chosen, edited) {
        (Some(choice), Some(edited)) => format!("{choice}\n\n{}", edited.trim()),
        (Some(choice), None) => choice.clone(),
        (None, Some(edited)) => format!("{said}\n\nThe text as I have edited it:\n\n{}", edited.trim()),
        (None, None) => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_picks_a_choice_and_words_stand_for_themselves() {
        let question =
            Question { text: "Which?".into(), choices: vec!["red".into(), "blue".into()], draft: None };
        let table = [
            ("2\n", Some("blue")),
            ("3\n", Some("3")),
            ("0\n", Some("0")),
            (" green \n", Some("green")),
            ("", None),
        ];
        for (typed, expected) in table {
            let mut shown = Vec::new();
            let answer = read_answer(&question, None, &mut typed.as_bytes(), &mut shown);
            assert_eq!(answer.as_deref(), expected, "{typed:?}");
            assert_eq!(shown, b"Which?\n  1. red\n  2. blue\n> ");
        }
    }
}
