//! [`HARMONY`], the format of gpt-oss: each message has a header, with a channel and perhaps a recipient.
//!
//! ```text
//! <|channel|>analysis<|message|>I must look.<|end|><|start|>assistant<|channel|>commentary to=functions.look
//! <|constrain|>json<|message|>{"path":"a.txt"}<|call|>
//! ```
use crate::{
    Call, Dialect, Problem, Said, Setting,
    tokens::{self, Machine, recipient, say},
    writing::Writing,
};
use serde_json::Value;

pub(crate) static HARMONY: Dialect = Dialect::own(
    "harmony",
    &["gpt-oss"],
    |setting| {
        let within = match setting.begins_thinking {
            Some(true) => Within::Body(Body::Thoughts),
            _ => Within::Start(String::new()),
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

/// A header is short. What is longer is text.
const LONGEST_HEADER: usize = 1_000;

/// Recipients that are tools of the model's maker, unless a tool here has that name.
const BUILT_IN: [&str; 4] = ["python", "browser", "container", "assistant"];

struct Harmony {
    within: Within,
    setting: Setting,
}

enum Within {
    /// The beginning: the prompt may have ended within a header, of which this is the rest.
    Start(String),
    Header(Header),
    Body(Body),
    /// Between two messages.
    Outside,
}

#[derive(Default)]
struct Header {
    /// As it was written, delimiters included.
    raw: String,
    /// What stands in the latest part.
    part: String,
    /// In the channel's part or before it.
    recipient: Option<String>,
    in_channel: bool,
    channel: String,
}

enum Body {
    Text,
    Thoughts,
    Call {
        name: String,
        arguments: String,
    },
    /// For a recipient that is not here.
    Elsewhere {
        name: String,
    },
}

impl Machine for Harmony {
    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        match &mut self.within {
            Within::Outside | Within::Body(Body::Text) => say(said, Said::Text, text),
            Within::Body(Body::Thoughts) => self.think(text, said),
            Within::Body(Body::Call { arguments, .. }) => arguments.push_str(text),
            Within::Body(Body::Elsewhere { .. }) => {}
            Within::Start(start) => {
                start.push_str(text);
                let begun = start.trim_start();
                if !(begun.starts_with("to=") || "to=".starts_with(begun)) || start.len() > LONGEST_HEADER {
                    self.flush(said);
                }
            }
            Within::Header(header) => {
                header.raw.push_str(text);
                header.part.push_str(text);
                if header.raw.len() > LONGEST_HEADER {
                    self.flush(said);
                }
            }
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        match (delimiter, &mut self.within) {
            ("<|channel|>" | "<|constrain|>" | "<|message|>", Within::Start(start)) => {
                let start = std::mem::take(start);
                let header = Header { raw: start.clone(), part: start, ..Header::default() };
                self.within = Within::Header(header);
                self.delimiter(delimiter, said);
            }
            ("<|channel|>" | "<|constrain|>" | "<|message|>", Within::Header(header)) => {
                header.raw.push_str(delimiter);
                header.end_part();
                header.in_channel = delimiter == "<|channel|>";
                if delimiter == "<|message|>" {
                    self.open(said);
                }
            }
            ("<|constrain|>" | "<|message|>", Within::Body(_)) => self.text(delimiter, said),
            ("<|start|>" | "<|channel|>" | "<|message|>" | "<|constrain|>", _) => {
                self.finish("", said);
                self.within = Within::Header(Header { raw: delimiter.into(), ..Header::default() });
                if let ("<|channel|>", Within::Header(header)) = (delimiter, &mut self.within) {
                    header.in_channel = true;
                }
                if delimiter == "<|message|>" {
                    self.open(said);
                }
            }
            _ => self.finish(delimiter, said),
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.finish("", said);
    }
}

impl Header {
    fn end_part(&mut self) {
        let part = std::mem::take(&mut self.part);
        self.recipient = recipient(&part).map(str::to_owned).or(self.recipient.take());
        if self.in_channel {
            self.channel = part.split_whitespace().next().unwrap_or_default().to_owned();
            // A new channel has its own recipient.
            if recipient(&part).is_none() && self.channel == "final" {
                self.recipient = None;
            }
        }
    }
}

impl Harmony {
    /// The header is whole: what follows is what it says.
    fn open(&mut self, said: &mut Vec<Said>) {
        let Within::Header(header) = std::mem::replace(&mut self.within, Within::Outside) else { return };
        let recipient = header.recipient.as_deref().filter(|name| *name != "user");
        let is_known = |name: &str| self.setting.tool(name).is_some();
        self.within = Within::Body(match recipient {
            _ if !self.setting.find_calls && recipient.is_some() => {
                say(said, Said::Text, &header.raw);
                Body::Text
            }
            Some(name) => {
                let name = name.strip_prefix("functions.").unwrap_or(name).to_owned();
                let family = name.split('.').next().unwrap_or_default();
                match BUILT_IN.contains(&family) && !is_known(&name) {
                    true => Body::Elsewhere { name },
                    false => Body::Call { name, arguments: String::new() },
                }
            }
            None if header.channel == "analysis" => {
                if !self.setting.split_thinking {
                    say(said, Said::Text, &header.raw);
                }
                Body::Thoughts
            }
            None => Body::Text,
        });
    }

    fn think(&self, text: &str, said: &mut Vec<Said>) {
        let kind = if self.setting.split_thinking { Said::Thinking } else { Said::Text };
        say(said, kind, text);
    }

    /// The message is over, or the reply.
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
            Within::Start(text) | Within::Header(Header { raw: text, .. }) => say(said, Said::Text, &text),
            other => self.within = other,
        }
    }
}

/// Whatever its arguments are: the header says plainly that it is a call.
fn called(name: String, arguments: &str) -> Call {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => Call::new(name, value),
        Err(_) if arguments.is_empty() => Call::new(name, "{}"),
        Err(_) => Call::new(name, arguments),
    }
}
