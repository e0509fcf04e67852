//! `muse` and `muse_glimmer`: each message has a recipient, and calls have their own XML format.
//!
//! ```text
//!  to=self<|message|>I must look.<|eom|><|start|>assistant to=look<|message|><atem:function_calls>
//! <atem:invoke name="look">
//! <atem:parameter name="path">a.txt</atem:parameter>
//! </atem:invoke>
//! </atem:function_calls><|eot|>
//! ```
use crate::{
    Dialect, Reader, Said, Setting,
    tagged_calls::{Reading, Shape, Tag, TagOptions, named_tag},
    tokens::{self, Header, Machine, recipient, say},
    writing::{ArgumentMap, Writing, bare},
};
use serde_json::Value;

pub(crate) static DIALECTS: [Dialect; 2] = [
    Dialect::own(
        "muse_glimmer",
        &["muse-glimmer", "muse_glimmer"],
        |setting| reader(Kind::Glimmer, setting),
        Writing::Own(written),
    ),
    Dialect::own("muse", &["muse"], |setting| reader(Kind::Muse, setting), Writing::Own(written))
        .signs(&[&["<atem:function_calls>"]]),
];

const CALLS: &str = "<atem:function_calls>";
const CALLS_END: &str = "</atem:function_calls>";
static SHAPE: Shape = Shape::new(named_tag!("atem:invoke"), named_tag!("atem:parameter")).with(OPTIONS);
static UNTYPED: Shape = SHAPE.with(TagOptions { ignores_schema: true, ..OPTIONS });
const OPTIONS: TagOptions = TagOptions { by_looks: true, has_namespaces: true, ..TagOptions::PLAIN };
static SIGNS: &[&str] = &["<|start|>", "<|message|>", "<|eom|>", "<|eot|>", CALLS, CALLS_END];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Strings stay strings if the schema says so; a message without a recipient is a thought.
    Muse,
    /// Values that are valid JSON are parsed; a message without a recipient is text.
    Glimmer,
}

fn reader(kind: Kind, setting: &Setting) -> Box<dyn Reader> {
    let within = match setting.begins_thinking {
        Some(true) => Within::Thoughts,
        _ => Within::Header(Header::at_start()),
    };
    let calls = Reading::new(if kind == Kind::Muse { &SHAPE } else { &UNTYPED }, &[CALLS_END]);
    tokens::reader(SIGNS, Muse { calls, kind, within, setting: setting.clone() })
}

struct Muse {
    calls: Reading,
    kind: Kind,
    within: Within,
    setting: Setting,
}

enum Within {
    /// In a header. The first message of a reply may have none.
    Header(Header),
    Text,
    Thoughts,
    /// In a message to an unknown recipient: the harness itself.
    Hidden,
    /// Directly after `<|message|>`: blanks may come before calls. The reader continues in the state `then`.
    Opened {
        blanks: String,
        then: Box<Within>,
    },
    /// Between the delimiters of calls.
    Calls(String),
    /// Between messages.
    Outside,
}

impl Machine for Muse {
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
            Within::Thoughts => say(said, Said::Thinking, text),
            Within::Hidden => {}
            Within::Calls(body) => body.push_str(text),
            Within::Opened { blanks, .. } => {
                blanks.push_str(text);
                if !blanks.trim().is_empty() {
                    self.go_on(said);
                }
            }
            Within::Header(header) => {
                if !header.push(text) {
                    self.flush(said);
                }
            }
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        match (delimiter, &mut self.within) {
            (CALLS_END, Within::Calls(_)) => self.close(delimiter, said),
            ("<|start|>" | "<|eom|>" | "<|eot|>", Within::Calls(_)) => {
                self.close("", said);
                self.delimiter(delimiter, said);
            }
            (_, Within::Calls(body)) => body.push_str(delimiter),
            (CALLS, Within::Header(Header { raw, at_start: true })) if raw.trim().is_empty() => {
                self.begin_calls(said)
            }
            (CALLS, Within::Opened { .. } | Within::Outside) => self.begin_calls(said),
            ("<|message|>", Within::Header(_)) => self.open(),
            // The end of the message is missing, and its next header is among the thoughts.
            ("<|message|>", Within::Thoughts) => self.within = opened(Within::Thoughts),
            ("<|start|>", _) => {
                self.leave(said);
                self.within = Within::Header(Header::behind(""));
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
            // Thoughts at the end of the reply were never closed.
            Within::Thoughts => {}
            _ => self.leave(said),
        }
    }
}

/// A message that may contain calls; otherwise the reader continues in `then`.
fn opened(then: Within) -> Within {
    Within::Opened { blanks: String::new(), then: Box::new(then) }
}

impl Muse {
    /// Ends the header. In a message to a tool, calls may follow after blanks.
    fn open(&mut self) {
        let Within::Header(Header { raw, .. }) = &self.within else { return };
        self.within = match recipient(raw) {
            Some("self") => Within::Thoughts,
            Some("developer" | "system") => Within::Hidden,
            None if self.kind == Kind::Muse => Within::Thoughts,
            None | Some("user" | "commentary") => Within::Text,
            Some(_) => opened(Within::Text),
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

    /// Continues after `<|message|>` without a call, or after a header without a message.
    fn go_on(&mut self, said: &mut Vec<Said>) {
        match std::mem::replace(&mut self.within, Within::Outside) {
            Within::Opened { blanks, then } => {
                self.within = *then;
                self.text(&blanks, said);
            }
            header @ Within::Header(_) => {
                self.within = header;
                self.flush(said);
            }
            other => self.within = other,
        }
    }

    fn leave(&mut self, said: &mut Vec<Said>) {
        self.go_on(said);
        if let Within::Thoughts = std::mem::replace(&mut self.within, Within::Outside) {
            said.push(Said::ThinkingEnd);
        }
    }

    /// Handles text that looked like a header and is not.
    fn flush(&mut self, said: &mut Vec<Said>) {
        let Within::Header(Header { raw, at_start }) = std::mem::replace(&mut self.within, Within::Text)
        else {
            return;
        };
        if !at_start {
            say(said, Said::Text, "<|start|>");
        }
        say(said, Said::Text, &raw);
    }

    /// Parses calls; if that fails, they stay text.
    fn close(&mut self, delimiter: &str, said: &mut Vec<Said>) {
        let Within::Calls(body) = std::mem::replace(&mut self.within, Within::Outside) else { return };
        self.calls.read(CALLS, &body, delimiter, &self.setting, said);
    }
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
