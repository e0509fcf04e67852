//! [`OneReply`]: ends the reply of a small model after its first call, or after the line of its answer.
use crate::listen::{Listen, Parsed};
use haft_core::{CallForm, Delta, StopReason};

/// Passes text to the parser for the form of calls: an answer as it arrives, a call when it is complete. An incomplete
/// call is treated as text, because the end of its arguments is unknown.
pub(crate) struct OneReply {
    inner: Box<dyn Listen>,
    /// The first character of a call.
    first: char,
    /// The end of a call.
    behind: String,
    text: String,
    /// Number of bytes of the text that were passed on.
    passed: usize,
}

impl OneReply {
    pub(crate) fn new(form: &CallForm, inner: Box<dyn Listen>) -> Self {
        let (first, behind) = (first_character(form), form.behind.clone());
        Self { inner, first, behind, text: String::new(), passed: 0 }
    }

    fn is_call(&self) -> bool {
        self.text.starts_with(self.first)
    }
}

/// The first character of a call, which distinguishes it from an answer.
pub(super) fn first_character(form: &CallForm) -> char {
    form.before.chars().next().unwrap_or('{')
}

impl Listen for OneReply {
    fn hear(&mut self, text: &str) -> Parsed {
        self.text.push_str(if self.text.is_empty() { text.trim_start() } else { text });
        let line = self.text.strip_suffix('\n').map(str::trim_end);
        let (end, is_over) = match line.filter(|call| call.ends_with(&self.behind)) {
            Some(call) if self.is_call() => (call.len(), true),
            _ if self.is_call() => (0, false),
            _ => self.text.find('\n').map_or((self.text.len(), false), |end| (end, true)),
        };
        let new = self.text.get(self.passed..end).unwrap_or_default();
        self.passed = end.max(self.passed);
        let deltas = if new.is_empty() { Vec::new() } else { self.inner.hear(new).deltas };
        Parsed { is_over, ..Parsed::said(deltas) }
    }

    fn end(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason) {
        let (mut deltas, stop) = self.inner.end(is_whole);
        if self.is_call() && self.passed == 0 {
            deltas.push(Delta::Text(std::mem::take(&mut self.text)));
        }
        (deltas, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plain::Plain,
        prompt::form_of,
        tagged::{Syntax, TagReader},
    };
    use haft_core::CallId;

    fn heard(mut reader: OneReply, pieces: &[&str]) -> (Vec<Delta>, usize) {
        let (mut deltas, mut read) = (Vec::new(), 0);
        for piece in pieces {
            let heard = reader.hear(piece);
            deltas.extend(heard.deltas);
            read += 1;
            if heard.is_over {
                break;
            }
        }
        deltas.extend(reader.end(true).0);
        (deltas, read)
    }

    #[test]
    fn a_reply_is_one_call_or_one_line() {
        let form = form_of(Syntax::Tagged, &[].into());
        let call = "<tool_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>";
        let table: [(&[&str], &str, usize); 4] = [
            (&[" It", " is 4.", "\nRequest"], "It is 4.", 3),
            (&[" It is", " 4."], "It is 4.", 2),
            (&[" ", call, "\n", "Result"], call, 3),
            (&[" <tool", "_call>\n", "{"], "<tool_call>\n{", 3),
        ];
        for (pieces, expected, read) in table {
            let plain = OneReply::new(&form, Box::new(Plain::new(form.sign())));
            let text = |delta| if let Delta::Text(text) = delta { text } else { String::new() };
            let (deltas, count) = heard(plain, pieces);
            assert_eq!((deltas.into_iter().map(text).collect::<String>().as_str(), count), (expected, read));
        }
        let own = OneReply::new(&form, Box::new(TagReader::new(Syntax::Tagged, false)));
        let start = Delta::CallStart { index: 0, id: CallId(String::new()), name: "ls".into() };
        let arguments = Delta::CallArguments { index: 0, json: "{}".into() };
        assert_eq!(heard(own, &[" ", call, "\n"]).0, [start, arguments]);
    }
}
