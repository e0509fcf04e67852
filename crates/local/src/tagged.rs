//! [`TagReader`]: finds calls and thinking in the text of large models while it arrives.
//!
//! Two forms of calls: Hermes and Qwen enclose a JSON object in `<tool_call>` and `</tool_call>`; the reply of Llama 3
//! is only the object. Thinking is between `<think>` and `</think>`.
use crate::listen::{Bond, Listen, Parsed};
use haft_core::{CallId, Delta, StopReason};
use serde_json::Value;

const CALL: &str = "<tool_call>";
const CALL_END: &str = "</tool_call>";
const THINK: &str = "<think>";
const THINK_END: &str = "</think>";

/// How a model writes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>`, anywhere in the reply.
    Tagged,
    /// `{"name": …, "parameters": …}` as the whole reply.
    Bare,
}

/// Finds thinking, text and calls in a reply.
pub(crate) struct TagReader {
    syntax: Syntax,
    place: Place,
    /// Text that may be the beginning of a tag, or an incomplete call.
    held: String,
    calls: usize,
    spoke: bool,
    thought: bool,
}

enum Place {
    Text,
    Thinking,
    Call(Body),
}

impl TagReader {
    /// `is_thinking`: whether the prompt ends with an open `<think>`.
    pub(crate) fn new(syntax: Syntax, is_thinking: bool) -> Self {
        let place = if is_thinking { Place::Thinking } else { Place::Text };
        Self { syntax, place, held: String::new(), calls: 0, spoke: false, thought: false }
    }

    /// Parses until more text is needed.
    fn advance(&mut self, heard: &mut Parsed) {
        loop {
            let before = (self.held.len(), std::mem::discriminant(&self.place));
            match &mut self.place {
                Place::Text => self.read_text(heard),
                Place::Thinking => self.read_thinking(heard),
                Place::Call(_) => self.read_call(heard),
            }
            if self.held.is_empty() || (self.held.len(), std::mem::discriminant(&self.place)) == before {
                return;
            }
        }
    }

    fn read_text(&mut self, heard: &mut Parsed) {
        if self.syntax == Syntax::Bare && !self.spoke && self.held.trim_start().starts_with('{') {
            self.begin_call(heard);
            return;
        }
        let tags = [CALL, THINK];
        match first_tag(&self.held, &tags) {
            Some((at, tag)) => {
                let before = take(&mut self.held, at, tag.len());
                self.say(before, heard);
                match tag {
                    CALL => self.begin_call(heard),
                    _ => self.place = Place::Thinking,
                }
            }
            None => {
                let sure = self.held.len() - open_tag(&self.held, &tags);
                let text = take(&mut self.held, sure, 0);
                self.say(text, heard);
            }
        }
    }

    /// Passes text on, except space before the first word and between calls.
    fn say(&mut self, text: String, heard: &mut Parsed) {
        let is_silent = text.trim().is_empty() && (!self.spoke || self.calls > 0);
        if !is_silent {
            let text = if self.spoke { text } else { text.trim_start().to_owned() };
            self.spoke = true;
            heard.deltas.push(Delta::Text(text));
        }
    }

    fn read_thinking(&mut self, heard: &mut Parsed) {
        let (text, is_over) = match self.held.find(THINK_END) {
            Some(at) => (take(&mut self.held, at, THINK_END.len()), true),
            None => {
                let sure = self.held.len() - open_tag(&self.held, &[THINK_END]);
                (take(&mut self.held, sure, 0), false)
            }
        };
        // Space before the first thought is removed; templates put empty thoughts before a quick answer.
        let text = if self.thought { text } else { text.trim_start().to_owned() };
        self.thought |= !text.is_empty();
        if !text.is_empty() {
            heard.deltas.push(Delta::Thinking(text));
        }
        if is_over {
            self.place = Place::Text;
        }
    }

    fn begin_call(&mut self, heard: &mut Parsed) {
        self.place = Place::Call(Body::default());
        heard.bond = Bond::Call(self.held.clone());
    }

    fn read_call(&mut self, heard: &mut Parsed) {
        let Place::Call(body) = &mut self.place else { return };
        let text = std::mem::take(&mut self.held);
        if let Some(rest) = body.hear(&text, self.calls, &mut heard.deltas) {
            self.held = rest;
            self.end_call(heard);
        }
    }

    fn end_call(&mut self, heard: &mut Parsed) {
        if let Place::Call(body) = std::mem::replace(&mut self.place, Place::Text) {
            self.calls += usize::from(body.settle(self.calls, &mut heard.deltas));
            heard.bond = Bond::Free;
        }
    }
}

impl Listen for TagReader {
    fn hear(&mut self, text: &str) -> Parsed {
        let mut heard = Parsed::default();
        self.held.push_str(text);
        self.advance(&mut heard);
        heard
    }

    fn end(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason) {
        let mut heard = Parsed::default();
        let rest = std::mem::take(&mut self.held);
        match &self.place {
            Place::Text => self.say(rest, &mut heard),
            Place::Thinking if rest.is_empty() => {}
            Place::Thinking => heard.deltas.push(Delta::Thinking(rest)),
            Place::Call(_) => self.end_call(&mut heard),
        }
        let stop = match (is_whole, self.calls) {
            (false, _) => StopReason::Length,
            (true, 0) => StopReason::EndTurn,
            (true, _) => StopReason::ToolUse,
        };
        (heard.deltas, stop)
    }
}

/// The text of one call.
#[derive(Default)]
struct Body {
    text: String,
    /// Up to where the arguments were passed on; `None` before they begin.
    passed: Option<usize>,
    scan: Scan,
}

impl Body {
    /// Adds text; returns the text after the closing tag once that has arrived.
    fn hear(&mut self, text: &str, index: usize, deltas: &mut Vec<Delta>) -> Option<String> {
        self.text.push_str(text);
        if self.passed.is_none()
            && let Some((name, arguments)) = head_of(&self.text)
        {
            deltas.push(Delta::CallStart { index, id: CallId(String::new()), name });
            self.passed = Some(arguments);
        }
        if let Some(passed) = self.passed {
            let end = passed + self.scan.length(&self.text[passed..]);
            if end > passed {
                deltas.push(Delta::CallArguments { index, json: self.text[passed..end].to_owned() });
            }
            self.passed = Some(end);
            if !self.scan.is_done {
                return None;
            }
        }
        let from = self.passed.unwrap_or(0);
        let at = from + self.text[from..].find(CALL_END)?;
        let rest = self.text.split_off(at);
        Some(rest[CALL_END.len()..].to_owned())
    }

    /// Ends a call; returns whether it was one. If the beginning of a call could not be parsed, the whole text is
    /// parsed as a call, otherwise passed on as text.
    fn settle(self, index: usize, deltas: &mut Vec<Delta>) -> bool {
        if self.passed.is_some() {
            return true;
        }
        let Some((name, arguments)) = whole_call(&self.text) else {
            deltas.push(Delta::Text(self.text));
            return false;
        };
        deltas.push(Delta::CallStart { index, id: CallId(String::new()), name });
        deltas.push(Delta::CallArguments { index, json: arguments });
        true
    }
}

/// The name, and the position of the arguments, in `{"name": "…", "arguments": {`.
fn head_of(text: &str) -> Option<(String, usize)> {
    let after = |text: &'_ str, word: &str| -> Option<usize> {
        let space = text.len() - text.trim_start().len();
        text.trim_start().starts_with(word).then_some(space + word.len())
    };
    let mut at = 0;
    for word in ["{", "\"name\"", ":", "\""] {
        at += after(&text[at..], word)?;
    }
    let name = &text[at..at + text[at..].find('"')?];
    at += name.len() + 1;
    at += after(&text[at..], ",")?;
    at += after(&text[at..], "\"arguments\"").or_else(|| after(&text[at..], "\"parameters\""))?;
    at += after(&text[at..], ":")?;
    let brace = after(&text[at..], "{")?;
    Some((name.to_owned(), at + brace - 1))
}

fn whole_call(text: &str) -> Option<(String, String)> {
    let call: Value = serde_json::from_str(text.trim()).ok()?;
    let name = call.get("name")?.as_str()?.to_owned();
    let arguments = call.get("arguments").or_else(|| call.get("parameters"));
    Some((name, arguments.map_or_else(|| "{}".into(), Value::to_string)))
}

/// Finds the end of a JSON object.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    is_done: bool,
}

impl Scan {
    /// Number of bytes of `text` that belong to the object, which is complete if `is_done`.
    fn length(&mut self, text: &str) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            if self.is_done {
                return at;
            }
            self.step(byte);
        }
        text.len()
    }

    fn step(&mut self, byte: u8) {
        match (self.in_string, byte) {
            (true, _) if self.escaped => self.escaped = false,
            (true, b'\\') => self.escaped = true,
            (_, b'"') => self.in_string = !self.in_string,
            (false, b'{') => self.depth += 1,
            (false, b'}') => {
                self.depth = self.depth.saturating_sub(1);
                self.is_done = self.depth == 0;
            }
            _ => {}
        }
    }
}

fn first_tag<'a>(text: &str, tags: &[&'a str]) -> Option<(usize, &'a str)> {
    tags.iter().filter_map(|tag| text.find(tag).map(|at| (at, *tag))).min()
}

/// Number of bytes at the end of `text` that may be the beginning of a tag.
fn open_tag(text: &str, tags: &[&str]) -> usize {
    let longest = tags.iter().map(|tag| tag.len() - 1).max().unwrap_or(0).min(text.len());
    let fits = |length: &usize| {
        let end = &text.as_bytes()[text.len() - length..];
        tags.iter().any(|tag| tag.as_bytes().starts_with(end))
    };
    (1..=longest).rev().find(fits).unwrap_or(0)
}

/// Removes and returns the first `length` bytes; also drops `skip` more.
fn take(text: &mut String, length: usize, skip: usize) -> String {
    let rest = text.split_off(length + skip);
    let mut taken = std::mem::replace(text, rest);
    taken.truncate(length);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Part, Reply};

    /// The parts of the reply. They must be the same however the text is split into pieces.
    fn parts(syntax: Syntax, text: &str) -> Vec<Part> {
        let whole = read(syntax, &[text]);
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(read(syntax, &pieces), whole, "{text}");
        whole
    }

    fn read(syntax: Syntax, pieces: &[&str]) -> Vec<Part> {
        let mut reader = TagReader::new(syntax, false);
        let mut reply = Reply::default();
        for piece in pieces {
            reader.hear(piece).deltas.into_iter().for_each(|delta| drop(reply.push(delta)));
        }
        reader.end(true).0.into_iter().for_each(|delta| drop(reply.push(delta)));
        reply.into_parts()
    }

    fn shown(parts: Vec<Part>) -> Vec<String> {
        let show = |part: Part| match part {
            Part::Text { text } => format!("text {text}"),
            Part::Thinking { text, .. } => format!("thinking {text}"),
            Part::ToolCall(call) => format!("{} {}", call.name, call.arguments),
            Part::Image(_) => "image".into(),
            Part::Document(_) => "document".into(),
        };
        parts.into_iter().map(show).collect()
    }

    #[test]
    fn text_thinking_and_calls_are_told_apart() {
        let table: [(Syntax, &str, &[&str]); 9] = [
            (Syntax::Tagged, "a < b <tool", &["text a < b <tool"]),
            (Syntax::Tagged, "<think>\nhm <b>\n</think>\n\nYes.", &["thinking hm <b>\n", "text Yes."]),
            (
                Syntax::Tagged,
                "So:\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"}</tool_call>\"}}\n</tool_call>",
                &["text So:\n", "a {\"x\":\"}</tool_call>\"}"],
            ),
            (
                Syntax::Tagged,
                "<tool_call>{\"name\":\"a\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"b\",\"arguments\":{\"y\":[{}]}}</tool_call>",
                &["a {}", "b {\"y\":[{}]}"],
            ),
            (
                Syntax::Tagged,
                "<tool_call>{\"arguments\": {\"x\": 1}, \"name\": \"a\"}</tool_call>",
                &["a {\"x\":1}"],
            ),
            (Syntax::Tagged, "<tool_call>nonsense</tool_call>", &["text nonsense"]),
            (Syntax::Tagged, "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": 1}}", &["a {\"x\":1}"]),
            (Syntax::Bare, "{\"name\": \"a\", \"parameters\": {\"x\": 1}}", &["a {\"x\":1}"]),
            (Syntax::Bare, "The JSON is {\"name\": 1}.", &["text The JSON is {\"name\": 1}."]),
        ];
        for (syntax, text, expected) in table {
            assert_eq!(shown(parts(syntax, text)), expected, "{text}");
        }
    }

    #[test]
    fn the_grammar_begins_with_the_call_and_ends_with_it() {
        let mut reader = TagReader::new(Syntax::Tagged, false);
        assert_eq!(reader.hear("Well. <tool").bond, Bond::Unchanged);
        assert_eq!(reader.hear("_call>\n").bond, Bond::Call("\n".into()));
        let heard = reader.hear("{\"name\": \"a\", \"arguments\": {\"b\"");
        let start = Delta::CallStart { index: 0, id: CallId(String::new()), name: "a".into() };
        assert_eq!(heard.deltas, [start, Delta::CallArguments { index: 0, json: "{\"b\"".into() }]);
        assert_eq!(reader.hear(": 1}}\n</tool_call>").bond, Bond::Free);
        assert_eq!(reader.end(true), (vec![], StopReason::ToolUse));
    }

    #[test]
    fn a_call_that_was_cut_off_is_left_to_the_core() {
        let mut reader = TagReader::new(Syntax::Tagged, false);
        reader.hear("<tool_call>{\"name\": \"a\", \"arguments\": {\"b\": \"c");
        let (deltas, stop) = reader.end(false);
        assert_eq!((deltas, stop), (vec![], StopReason::Length));
    }
}
