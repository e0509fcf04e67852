//! Muse and Muse Glimmer: each message goes to someone, and calls are XML of their own.
//!
//! ```text
//!  to=self<|message|>I must look.<|eom|><|start|>assistant to=look<|message|><atem:function_calls>
//! <atem:invoke name="look">
//! <atem:parameter name="path">a.txt</atem:parameter>
//! </atem:invoke>
//! </atem:function_calls><|eot|>
//! ```
use super::{
    Call, Dialect, Reader, Said, Setting,
    tokens::{self, Grammar, recipient, say},
    typed::{Schema, typed_by_looks},
    writing::{ArgumentMap, Writing, bare},
};
use serde_json::{Map, Value};

pub(super) static MUSE: Dialect = Dialect {
    name: "muse",
    models: &["muse"],
    reader: |setting| reader(Kind::Muse, setting),
    signs: &[&["<atem:function_calls>"]],
    writing: Writing::Own(written),
    ..Dialect::BASE
};

pub(super) static MUSE_GLIMMER: Dialect = Dialect {
    name: "muse_glimmer",
    models: &["muse-glimmer", "muse_glimmer"],
    reader: |setting| reader(Kind::Glimmer, setting),
    writing: Writing::Own(written),
    ..Dialect::BASE
};

const CALLS: &str = "<atem:function_calls>";
const CALLS_END: &str = "</atem:function_calls>";
const INVOKE: &str = "<atem:invoke name=\"";
const PARAMETER: &str = "<atem:parameter name=\"";
static SIGNS: &[&str] = &["<|start|>", "<|message|>", "<|eom|>", "<|eot|>", CALLS, CALLS_END];

/// A header is short. What is longer is text.
const LONGEST_HEADER: usize = 1_000;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Strings stay strings where the schema says so; a message to nobody is a thought.
    Muse,
    /// Whatever is JSON is JSON; a message to nobody is text.
    Glimmer,
}

fn reader(kind: Kind, setting: &Setting) -> Box<dyn Reader> {
    let within = match setting.begins_thinking {
        Some(true) => Within::Thoughts,
        _ => Within::Header { raw: String::new(), at_start: true },
    };
    tokens::reader(SIGNS, Muse { kind, within, setting: setting.clone() })
}

struct Muse {
    kind: Kind,
    within: Within,
    setting: Setting,
}

enum Within {
    /// At the start there is perhaps none.
    Header {
        raw: String,
        at_start: bool,
    },
    Text,
    Thoughts,
    /// For someone who is not here: the harness itself.
    Hidden,
    /// Right behind `<|message|>`: blanks may stand before calls. Then it goes on with this.
    Opened {
        blanks: String,
        then: Box<Within>,
    },
    /// Between the delimiters of calls.
    Calls(String),
    /// Between messages.
    Outside,
}

impl Grammar for Muse {
    fn opens_calls(&self) -> Vec<&'static str> {
        if self.setting.find_calls { vec![CALLS] } else { Vec::new() }
    }

    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        match &mut self.within {
            Within::Text => say(said, Said::Text, text),
            Within::Outside => {
                let text = text.trim_start();
                if !text.is_empty() {
                    self.within = Within::Text;
                    say(said, Said::Text, text);
                }
            }
            Within::Thoughts => say(said, self.of_thoughts(), text),
            Within::Hidden => {}
            Within::Calls(body) => body.push_str(text),
            Within::Opened { blanks, .. } => {
                blanks.push_str(text);
                if !blanks.trim().is_empty() {
                    self.go_on(said);
                }
            }
            Within::Header { raw, at_start } => {
                raw.push_str(text);
                let begun = raw.trim_start();
                let fits = !*at_start || begun.starts_with("to=") || "to=".starts_with(begun);
                if !fits || raw.len() > LONGEST_HEADER {
                    self.flush(said);
                }
            }
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        if let Within::Calls(body) = &mut self.within {
            match delimiter {
                CALLS_END => self.close(delimiter, said),
                "<|start|>" | "<|eom|>" | "<|eot|>" => {
                    self.close("", said);
                    self.delimiter(delimiter, said);
                }
                _ => body.push_str(delimiter),
            }
            return;
        }
        match (delimiter, &mut self.within) {
            (CALLS, Within::Header { raw, at_start: true }) if raw.trim().is_empty() => {
                self.begin_calls(said)
            }
            (CALLS, Within::Opened { .. } | Within::Outside) => self.begin_calls(said),
            ("<|message|>", Within::Header { .. }) => self.open(),
            ("<|message|>", Within::Thoughts) => {
                // The end of the message was forgotten, and its next header is among the thoughts.
                let then = Box::new(Within::Thoughts);
                self.within = Within::Opened { blanks: String::new(), then };
            }
            ("<|start|>", _) => {
                self.leave(said);
                self.within = Within::Header { raw: String::new(), at_start: false };
            }
            ("<|eom|>" | "<|eot|>", _) => self.leave(said),
            _ => {
                self.go_on(said);
                self.text(delimiter, said);
            }
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        match &self.within {
            Within::Calls(_) => self.close("", said),
            // Thoughts that the reply ends in were never closed.
            Within::Thoughts => {}
            _ => self.leave(said),
        }
    }
}

impl Muse {
    fn of_thoughts(&self) -> fn(String) -> Said {
        Said::Thinking
    }

    /// The header is whole.
    fn open(&mut self) {
        let Within::Header { raw, .. } = &self.within else { return };
        let then = match recipient(raw) {
            Some("self") => Within::Thoughts,
            Some("developer" | "system") => Within::Hidden,
            None if self.kind == Kind::Muse => Within::Thoughts,
            _ => Within::Text,
        };
        self.within = match recipient(raw) {
            Some("self" | "user" | "commentary" | "developer" | "system") | None => then,
            // A message to a tool.
            Some(_) => Within::Opened { blanks: String::new(), then: Box::new(then) },
        };
    }

    fn begin_calls(&mut self, said: &mut Vec<Said>) {
        if self.setting.find_calls {
            self.within = Within::Calls(String::new());
        } else {
            self.go_on(said);
            self.within = Within::Text;
            say(said, Said::Text, CALLS);
        }
    }

    /// No call came behind `<|message|>`, or no message behind a header.
    fn go_on(&mut self, said: &mut Vec<Said>) {
        match std::mem::replace(&mut self.within, Within::Outside) {
            Within::Opened { blanks, then } => {
                self.within = *then;
                self.text(&blanks, said);
            }
            header @ Within::Header { .. } => {
                self.within = header;
                self.flush(said);
            }
            other => self.within = other,
        }
    }

    fn leave(&mut self, said: &mut Vec<Said>) {
        self.go_on(said);
        if let Within::Thoughts = std::mem::replace(&mut self.within, Within::Outside) {
            said.push(Said::Thinking(String::new()));
        }
    }

    /// What looked like a header is none.
    fn flush(&mut self, said: &mut Vec<Said>) {
        let Within::Header { raw, at_start } = std::mem::replace(&mut self.within, Within::Text) else {
            return;
        };
        if !at_start {
            say(said, Said::Text, "<|start|>");
        }
        say(said, Said::Text, &raw);
    }

    /// What cannot be read stays text.
    fn close(&mut self, delimiter: &str, said: &mut Vec<Said>) {
        let Within::Calls(body) = std::mem::replace(&mut self.within, Within::Outside) else { return };
        match self.calls(&body, !delimiter.is_empty()) {
            Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
            Err(why) => {
                say(said, Said::Text, &format!("{CALLS}{body}{delimiter}"));
                said.push(Said::Problem(why));
            }
        }
    }

    /// `closed`: the model wrote the end of the calls; what ends within them ends there at the latest.
    fn calls(&self, body: &str, closed: bool) -> Result<Vec<Call>, String> {
        let mut calls = Vec::new();
        let mut rest = body.trim();
        while !rest.is_empty() {
            let (name, after) = opened(rest, INVOKE)?;
            let (inner, after) = upto(after, "</atem:invoke>", INVOKE, closed)
                .ok_or_else(|| format!("the call of `{name}` does not end with `</atem:invoke>`"))?;
            calls.push(self.call(name, inner)?);
            rest = after.trim();
        }
        match calls.is_empty() {
            true => Err("it holds no call".into()),
            false => Ok(calls),
        }
    }

    fn call(&self, name: &str, inner: &str) -> Result<Call, String> {
        let name = self.name(name);
        let schema = match self.kind {
            Kind::Muse => Schema::of(&self.setting, name),
            Kind::Glimmer => Schema::ANYTHING,
        };
        let mut arguments = Map::new();
        let mut rest = inner.trim();
        while !rest.is_empty() {
            let (key, after) = opened(rest, PARAMETER)?;
            let (text, after) = upto(after, "</atem:parameter>", PARAMETER, true).unwrap_or((after, ""));
            arguments.insert(key.to_owned(), typed_by_looks(text, schema.property(key).kinds()));
            rest = after.trim();
        }
        Ok(Call::new(name, Value::Object(arguments)))
    }

    /// A tool may be called by its namespace and its name.
    fn name<'a>(&self, name: &'a str) -> &'a str {
        let short = name.split_once('.').map_or(name, |(_, short)| short);
        let is_tool = |name: &str| self.setting.tool(name).is_some();
        if !is_tool(name) && is_tool(short) { short } else { name }
    }
}

/// What stands before `end`, and what behind it. Where that was forgotten, it ends before `next`, or with a text that is whole.
fn upto<'a>(text: &'a str, end: &str, next: &str, is_whole: bool) -> Option<(&'a str, &'a str)> {
    let next = text.find(next).unwrap_or(text.len());
    match text[..next].find(end) {
        Some(at) => Some((&text[..at], &text[at + end.len()..])),
        None => (is_whole || next < text.len()).then(|| text.split_at(next)),
    }
}

/// The name in a tag, and what comes behind the tag.
fn opened<'a>(text: &'a str, tag: &str) -> Result<(&'a str, &'a str), String> {
    let named = text.strip_prefix(tag).and_then(|rest| rest.split_once("\">"));
    named.ok_or_else(|| {
        format!("`{tag}…\">` should stand there: `{}`", text.chars().take(40).collect::<String>())
    })
}

fn written(name: &str, arguments: &ArgumentMap) -> String {
    let parameter = |(key, value): (&String, &Value)| {
        format!("<atem:parameter name=\"{key}\">{}</atem:parameter>\n", bare(value))
    };
    let parameters: String = arguments.iter().map(parameter).collect();
    format!(
        "<|start|>assistant to={name}<|message|><atem:function_calls>\n<atem:invoke \
         name=\"{name}\">\n{parameters}</atem:invoke>\n</atem:function_calls><|eom|>"
    )
}

#[cfg(test)]
mod tests {
    use super::{super::read, *};

    #[test]
    fn each_message_is_for_whom_it_says() {
        let text = |text: &str| Said::Text(text.into());
        let call = |arguments: &str| Said::Call(Call::new("look", arguments));
        let table = [
            ("to the < point", vec![text("to the < point")]),
            ("to=nobody", vec![text("to=nobody")]),
            (" to=user<|message|>A <|b <atem:function_calls>", vec![text("A <|b <atem:function_calls>")]),
            (
                " to=self<|message|>hm<|eom|><|start|>assistant to=look<|message|>\n<atem:function_calls>\n<atem:invoke \
                 name=\"look\"><atem:parameter name=\"a\">1 <b</atem:parameter>\n<atem:parameter \
                 name=\"n\">2</atem:parameter></atem:invoke></atem:function_calls><|eot|>",
                vec![Said::Thinking("hm".into()), call(r#"{"a":"1 <b","n":2}"#)],
            ),
            (
                "to=look<|message|><atem:function_calls><atem:invoke name=\"look\">",
                vec![
                    text("<atem:function_calls><atem:invoke name=\"look\">"),
                    Said::Problem("the call of `look` does not end with `</atem:invoke>`".into()),
                ],
            ),
            ("to=look<|message|> just words<|eot|>", vec![text(" just words")]),
            ("<|start|>assistant to=us", vec![text("<|start|>assistant to=us")]),
        ];
        for (text, expected) in table {
            let setting = Setting::default();
            assert_eq!(read(&MUSE, &setting, [text]), expected, "{text}");
            let letters: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(read(&MUSE, &setting, letters.iter().map(String::as_str)), expected, "{text}");
        }
    }
}
