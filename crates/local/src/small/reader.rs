//! From the line that a small model writes to deltas, while it writes.
use super::line::{Action, FINAL, Form, form_of, read_line, without_copied_mark};
use crate::listen::{Listen, Parsed};
use haft_core::{CallId, Delta, StopReason, ToolSpec};
use serde_json::Value;
use std::sync::Arc;

/// Waits for the whole line of a call; passes the text of an answer on as it comes.
pub(crate) struct LineReader {
    tools: Arc<[ToolSpec]>,
    wish: String,
    line: String,
    answering: bool,
}

impl LineReader {
    /// `wish`: what the person asked for.
    pub(crate) fn new(tools: Arc<[ToolSpec]>, wish: String) -> Self {
        Self { tools, wish, line: String::new(), answering: false }
    }

    /// The line as a call, or as text where it is none.
    fn settle(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason) {
        let line = std::mem::take(&mut self.line);
        match read_line(&line, &self.tools) {
            // Half a call is no call: the end of an argument that was cut off cannot be known.
            Action::Call(name, arguments) if is_whole => (self.call(name, arguments), StopReason::ToolUse),
            Action::Final(text) => (vec![Delta::Text(text)], StopReason::EndTurn),
            Action::Call(..) | Action::Unreadable => (vec![Delta::Text(line)], StopReason::EndTurn),
        }
    }

    fn call(&self, name: String, mut arguments: Value) -> Vec<Delta> {
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let last = tool.map(|tool| form_of(&tool.parameters)).and_then(|form| match form {
            Form::Value(last) | Form::Pair(_, last) => Some(last),
            Form::Json => None,
        });
        if let Some(Value::String(text)) = last.and_then(|last| arguments.get_mut(&last)) {
            *text = without_copied_mark(text, &self.wish).to_owned();
        }
        let start = Delta::CallStart { index: 0, id: CallId(String::new()), name };
        vec![start, Delta::CallArguments { index: 0, json: arguments.to_string() }]
    }
}

impl Listen for LineReader {
    fn hear(&mut self, text: &str) -> Parsed {
        if self.answering {
            return answer(text);
        }
        self.line.push_str(text);
        let line = self.line.trim_start();
        if let Some(text) = line.strip_prefix(FINAL).and_then(|rest| rest.strip_prefix(' ')) {
            self.answering = true;
            return answer(text);
        }
        Parsed { is_over: line.contains('\n'), ..Parsed::said(Vec::new()) }
    }

    fn end(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason) {
        match self.answering {
            true => (Vec::new(), StopReason::EndTurn),
            false => {
                let first = self.line.trim_start().split('\n').next().unwrap_or_default().to_owned();
                self.line = first;
                self.settle(is_whole)
            }
        }
    }
}

/// The answer ends with its line.
fn answer(text: &str) -> Parsed {
    let (text, is_over) = text.split_once('\n').map_or((text, false), |(text, _)| (text, true));
    Parsed { is_over, ..Parsed::said(vec![Delta::Text(text.to_owned())]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::four_tools;

    fn read(pieces: &[&str], wish: &str, is_whole: bool) -> (Vec<Delta>, StopReason) {
        let mut reader = LineReader::new(four_tools().into(), wish.into());
        let mut deltas = Vec::new();
        for piece in pieces {
            let heard = reader.hear(piece);
            deltas.extend(heard.deltas);
            if heard.is_over {
                break;
            }
        }
        let (rest, stop) = reader.end(is_whole);
        deltas.extend(rest);
        (deltas, stop)
    }

    #[test]
    fn a_line_is_a_call_an_answer_or_plain_text() {
        let text = |text: &str| Delta::Text(text.into());
        let call = |name: &str, json: &str| {
            let start = Delta::CallStart { index: 0, id: CallId(String::new()), name: name.into() };
            vec![start, Delta::CallArguments { index: 0, json: json.into() }]
        };
        let table: [(&[&str], bool, Vec<Delta>, StopReason); 6] = [
            (
                &["rea", "d no", "tes.txt."],
                true,
                call("read", r#"{"path":"notes.txt"}"#),
                StopReason::ToolUse,
            ),
            (&["bash ls\nfinal", " x"], true, call("bash", r#"{"command":"ls"}"#), StopReason::ToolUse),
            (
                &[" fin", "al It", " is 4.\nRequest"],
                true,
                vec![text("It"), text(" is 4.")],
                StopReason::EndTurn,
            ),
            (&["I would rather", " not"], true, vec![text("I would rather not")], StopReason::EndTurn),
            (&["bash rm -rf /tm"], false, vec![text("bash rm -rf /tm")], StopReason::EndTurn),
            (&[], true, vec![text("")], StopReason::EndTurn),
        ];
        for (pieces, is_whole, deltas, stop) in table {
            assert_eq!(read(pieces, "Read notes.txt.", is_whole), (deltas, stop), "{pieces:?}");
        }
    }
}
