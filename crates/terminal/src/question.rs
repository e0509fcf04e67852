//! [`ask`]: asks the person at the terminal a question of a tool.
use crate::asking::Asking;
use haft_core::{CallId, Command, Question};
use haft_engine::Session;
use haft_present::safe;
use std::io::{BufRead, Write};

/// Shows the question and reads the answer.
pub(crate) fn ask(session: &Session, call: &CallId, question: &Question) -> Asking {
    let (session, call, question) = (session.clone(), call.clone(), question.clone());
    Asking::begin(
        move |input, output| read_answer(&question, input, output),
        move |answer| {
            let _session_is_closed = session.send(Command::Reply { call, answer });
        },
    )
}

/// A number picks one of the choices, anything else stands for itself. The end of the input is no answer.
fn read_answer(question: &Question, input: &mut dyn BufRead, output: &mut dyn Write) -> Option<String> {
    let mut text = format!("{}\n", safe::text(&question.text));
    for (place, choice) in question.choices.iter().enumerate() {
        text += &format!("  {}. {}\n", place + 1, safe::text(choice));
    }
    let _no_terminal = write!(output, "{text}> ").and_then(|()| output.flush());
    let mut line = String::new();
    input.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let said = line.trim();
    let chosen = said.parse::<usize>().ok().and_then(|number| question.choices.get(number.checked_sub(1)?));
    Some(chosen.cloned().unwrap_or_else(|| said.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_picks_a_choice_and_words_stand_for_themselves() {
        let question = Question { text: "Which?".into(), choices: vec!["red".into(), "blue".into()] };
        let table = [
            ("2\n", Some("blue")),
            ("3\n", Some("3")),
            ("0\n", Some("0")),
            (" green \n", Some("green")),
            ("", None),
        ];
        for (typed, expected) in table {
            let mut shown = Vec::new();
            let answer = read_answer(&question, &mut typed.as_bytes(), &mut shown);
            assert_eq!(answer.as_deref(), expected, "{typed:?}");
            assert_eq!(shown, b"Which?\n  1. red\n  2. blue\n> ");
        }
    }
}
