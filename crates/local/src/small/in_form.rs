//! From what a small model writes to text, where calls have a form that somebody else reads.
use super::line::FINAL;
use crate::listen::{Listen, Parsed};
use haft_core::{Delta, StopReason};

/// Passes a call on as it is written, and an answer without the word before it.
pub(crate) struct InForm {
    /// What a call ends with.
    behind: String,
    text: String,
    state: State,
}

enum State {
    /// It may be either.
    Open,
    Answer,
    Call,
}

impl InForm {
    pub(crate) fn new(behind: String) -> Self {
        Self { behind, text: String::new(), state: State::Open }
    }

    fn open(&mut self) -> Parsed {
        let text = self.text.trim_start();
        let first = format!("{FINAL} ");
        if let Some(answer) = text.strip_prefix(&first) {
            self.state = State::Answer;
            return until_end(answer);
        }
        if first.starts_with(text) {
            return Parsed::default();
        }
        self.state = State::Call;
        let said = text.to_owned();
        self.call(&said)
    }

    fn call(&self, said: &str) -> Parsed {
        let is_over = self.text.strip_suffix('\n').is_some_and(|call| call.ends_with(&self.behind));
        // The end of the line only says that the call is over.
        let said = if is_over { said.trim_end_matches('\n') } else { said };
        Parsed { is_over, ..Parsed::said(vec![Delta::Text(said.to_owned())]) }
    }
}

/// An answer is one line.
fn until_end(text: &str) -> Parsed {
    let (text, is_over) = text.split_once('\n').map_or((text, false), |(text, _)| (text, true));
    Parsed { is_over, ..Parsed::said(vec![Delta::Text(text.to_owned())]) }
}

impl Listen for InForm {
    fn hear(&mut self, text: &str) -> Parsed {
        self.text.push_str(text);
        match self.state {
            State::Open => self.open(),
            State::Answer => until_end(text),
            State::Call => self.call(text),
        }
    }

    fn end(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason) {
        let stop = if is_whole { StopReason::EndTurn } else { StopReason::Length };
        let rest = match self.state {
            State::Open if !self.text.is_empty() => vec![Delta::Text(self.text.clone())],
            State::Open | State::Answer | State::Call => Vec::new(),
        };
        (rest, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> (String, usize) {
        let mut reader = InForm::new("}</c>".into());
        let (mut said, mut read) = (Vec::new(), 0);
        for piece in pieces {
            let heard = reader.hear(piece);
            said.extend(heard.deltas);
            read += 1;
            if heard.is_over {
                break;
            }
        }
        said.extend(reader.end(true).0);
        let text = |delta| if let Delta::Text(text) = delta { text } else { String::new() };
        (said.into_iter().map(text).collect(), read)
    }

    #[test]
    fn a_call_goes_on_as_it_is_and_an_answer_without_its_word() {
        let table: [(&[&str], &str, usize); 4] = [
            (&[" fi", "nal It", " is 4.", "\nRequest"], "It is 4.", 4),
            (&[" <c>\n{", "\"a\": 1", "}</c>", "\n", "Result"], "<c>\n{\"a\": 1}</c>", 4),
            (&[" fine, thanks"], "fine, thanks", 1),
            (&[" fin"], " fin", 1),
        ];
        for (pieces, expected, read) in table {
            assert_eq!(heard(pieces), (expected.to_owned(), read), "{pieces:?}");
        }
    }
}
