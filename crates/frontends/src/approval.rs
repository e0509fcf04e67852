//! A question to the person at the terminal: may this call do what it wants?
use crate::{asking::Asking, diff, safe};
use haft_core::{Answer, CallId, Change, Command};
use haft_engine::{Session, called};
use std::io::{BufRead, Write};

/// A call that asks.
pub struct Question<'a> {
    /// The call.
    pub call: &'a CallId,
    /// Why it asks.
    pub reason: &'a str,
    /// What it would do to files.
    pub changes: &'a [Change],
}

/// Answers in place of a person who is not there.
pub fn refuse(session: &Session, call: &CallId) {
    let _session_is_closed = session.send(Command::Answer { call: call.clone(), answer: Answer::Nobody });
}

/// Shows the question with its diff and reads the answer.
pub fn ask(session: &Session, question: &Question<'_>) -> Asking {
    let diff = diff::of_changes(session, question.changes);
    let about = match question.changes {
        [] => safe::text(&called::with(session, question.call, question.reason)).into_owned(),
        _ => diff,
    };
    let text =
        format!("{about}{}\nallow? [y]es, [a]lways in this session, [n]o: ", safe::text(question.reason));
    let (session, call) = (session.clone(), question.call.clone());
    Asking::begin(
        move |input, output| read_answer(&text, input, output),
        move |answer| {
            let _session_is_closed = session.send(Command::Answer { call, answer });
        },
    )
}

/// Asks until it understands. The end of the input is a no.
fn read_answer(text: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> Answer {
    loop {
        let _no_terminal = write!(output, "{text}").and_then(|()| output.flush());
        let mut line = String::new();
        if !input.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return Answer::No;
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Answer::Once,
            "a" | "always" => return Answer::Always,
            "n" | "no" | "" => return Answer::No,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_letter_or_word_and_silence_is_no() {
        let table = [
            ("y\n", Answer::Once),
            ("Always\n", Answer::Always),
            ("\n", Answer::No),
            ("", Answer::No),
            ("what?\nyes\n", Answer::Once),
        ];
        for (typed, expected) in table {
            assert_eq!(read_answer("ok? ", &mut typed.as_bytes(), &mut Vec::new()), expected, "{typed:?}");
        }
    }
}
