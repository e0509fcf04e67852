//! [`HARMONY`], the format of gpt-oss: each message has a header, with a channel and perhaps a recipient.
//!
//! ```text
//! <|channel|>analysis<|message|>I must look.<|end|><|start|>assistant<|channel|>commentary to=functions.look
//! <|constrain|>json<|message|>{"path":"a.txt"}<|call|>
//! ```
use crate::{
    Call, Dialect, Problem, Said, Setting,
    tokens::{self, Header, Machine, recipient, say},
    writing::Writing,
};
use serde_json::Value;

pub(crate) static HARMONY: Dialect = Dialect::own(
    "harmony",
    &["gpt-oss"],
    |setting| {
        let within = match setting.begins_thinking {
            Some(true) => Within::Body(Body::Thoughts),
            _ => Within::Header(Header::at_start()),
        };
        tokens::reader(SIGNS, Harmony { within, setting: setting.clone() })
    },
    Writing::Named([
        "<|start|>assistant<|channel|>commentary to=functions.",
        " <|constrain|>json<|message|>",
        "<|call|>",
    ]),
)
.signs(&[&["<|channel|>", "<|message|>"]])
.ambiguous();

static SIGNS: &[&str] =
    &["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"];

/// Recipients that are built-in tools of the model's vendor, unless a tool has that name.
const BUILT_IN: [&str; 4] = ["python", "browser", "container", "assistant"];

struct Harmony {
    within: Within,
    setting: Setting,
}

enum Within {
    /// A header, with its delimiters.
    Header(Header),
    Body(Body),
    /// Between two messages.
    Outside,
}

enum Body {
    Text,
    Thoughts,
    Call {
        name: String,
        arguments: String,
    },
    /// A message to an unknown recipient.
    Elsewhere {
        name: String,
    },
}

impl Machine for Harmony {
    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        match &mut self.within {
            Within::Outside | Within::Body(Body::Text) => say(said, Said::Text, text),
            Within::Body(Body::Thoughts) if self.setting.split_thinking => say(said, Said::Thinking, text),
            Within::Body(Body::Thoughts) => say(said, Said::Text, text),
            Within::Body(Body::Call { arguments, .. }) => arguments.push_str(text),
            Within::Body(Body::Elsewhere { .. }) => {}
            Within::Header(header) => {
                if !header.push(text) {
                    self.flush(said);
                }
            }
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        match (delimiter, &mut self.within) {
            ("<|channel|>" | "<|constrain|>" | "<|message|>", Within::Header(header)) => {
                header.raw.push_str(delimiter);
                header.at_start = false;
            }
            ("<|constrain|>" | "<|message|>", Within::Body(_)) => return self.text(delimiter, said),
            ("<|start|>" | "<|channel|>" | "<|message|>" | "<|constrain|>", _) => {
                self.finish("", said);
                self.within = Within::Header(Header::behind(delimiter));
            }
            _ => return self.finish(delimiter, said),
        }
        if delimiter == "<|message|>" {
            self.open(said);
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.finish("", said);
    }
}

/// The recipient and the channel in a header.
fn named(header: &str) -> (Option<&str>, &str) {
    let (mut to, mut channel) = (None, "");
    for part in header.split("<|") {
        let (kind, part) = part.split_once("|>").unwrap_or(("", part));
        to = recipient(part).or(to);
        if kind == "channel" {
            channel = part.split_whitespace().next().unwrap_or_default();
            // A new channel has its own recipient.
            to = to.filter(|_| channel != "final" || recipient(part).is_some());
        }
    }
    (to.filter(|name| *name != "user"), channel)
}

impl Harmony {
    /// Ends the header, and begins the body that it announces.
    fn open(&mut self, said: &mut Vec<Said>) {
        let Within::Header(Header { raw, .. }) = std::mem::replace(&mut self.within, Within::Outside) else {
            return;
        };
        let is_known = |name: &str| self.setting.tool(name).is_some();
        let header = raw.strip_suffix("<|message|>").unwrap_or(&raw);
        self.within = Within::Body(match named(header) {
            (Some(_), _) if !self.setting.find_calls => {
                say(said, Said::Text, &raw);
                Body::Text
            }
            (Some(name), _) => {
                let name = name.strip_prefix("functions.").unwrap_or(name).to_owned();
                let family = name.split('.').next().unwrap_or_default();
                match BUILT_IN.contains(&family) && !is_known(&name) {
                    true => Body::Elsewhere { name },
                    false => Body::Call { name, arguments: String::new() },
                }
            }
            (None, "analysis") => {
                if !self.setting.split_thinking {
                    say(said, Said::Text, &raw);
                }
                Body::Thoughts
            }
            (None, _) => Body::Text,
        });
    }

    /// Ends the message, at a delimiter or at the end of the reply.
    fn finish(&mut self, delimiter: &str, said: &mut Vec<Said>) {
        match std::mem::replace(&mut self.within, Within::Outside) {
            Within::Body(Body::Call { name, arguments }) => {
                let is_blank = arguments.trim().is_empty();
                let why = Problem::cut_off(format!("the arguments of `{name}`"));
                said.push(Said::Call(called(name, arguments.trim())));
                said.extend((is_blank && delimiter.is_empty()).then_some(Said::problem(why)));
            }
            Within::Body(Body::Elsewhere { name }) if name != "assistant" => {
                said.push(Said::problem(format!("there is no tool `{name}` here")));
            }
            Within::Body(Body::Thoughts) if !self.setting.split_thinking => say(said, Said::Text, delimiter),
            Within::Body(_) | Within::Outside => {}
            unfinished => {
                self.within = unfinished;
                self.flush(said);
                say(said, Said::Text, delimiter);
            }
        }
    }

    /// Handles text that looked like a header and is not.
    fn flush(&mut self, said: &mut Vec<Said>) {
        match std::mem::replace(&mut self.within, Within::Outside) {
            Within::Header(Header { raw, .. }) => say(said, Said::Text, &raw),
            other => self.within = other,
        }
    }
}

/// A call with any arguments, since the header says that it is one.
fn called(name: String, arguments: &str) -> Call {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => Call::new(name, value),
        Err(_) if arguments.is_empty() => Call::new(name, "{}"),
        Err(_) => Call::new(name, arguments),
    }
}
