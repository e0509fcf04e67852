//! Gemma 4 and FunctionGemma, as their chat templates write it. Strings stand between delimiters, other values stand bare:
//!
//! ```text
//! <|channel>thought
//! I must look.<channel|><|tool_call>call:look{path:<|"|>a.txt<|"|>,lines:[1,20]}<tool_call|>
//! <start_function_call>call:look{path:<escape>a.txt<escape>}<end_function_call>
//! ```
use crate::{
    Dialect, Problem, Reader, Said, Setting,
    tokens::{self, Machine, say},
    writing::{ArgumentMap, Writing},
};
use serde_json::Value;

mod call;

pub(crate) static GEMMA4: Dialect = Dialect::own(
    "gemma4",
    &["gemma-4", "gemma4"],
    |setting| reader(&FOUR, setting),
    Writing::Own(|name, arguments| {
        format!("<|tool_call>call:{name}{}<tool_call|>", gemma(arguments, "<|\"|>"))
    }),
)
.signs(&[&["<|tool_call>call:"]]);

pub(crate) static FUNCTIONGEMMA: Dialect = Dialect::own(
    "functiongemma",
    &["functiongemma"],
    |setting| reader(&FUNCTION, setting),
    Writing::Own(|name, arguments| {
        format!("<start_function_call>call:{name}{}<end_function_call>", gemma(arguments, "<escape>"))
    }),
)
.signs(&[&["<start_function_call>"]]);

/// The delimiters of one Gemma.
struct Delimiters {
    all: &'static [&'static str],
    thought: &'static str,
    thought_end: &'static str,
    call: &'static str,
    call_end: &'static str,
    quote: &'static str,
    /// Whether every string stands in quotes, so that what is bare is none unless the schema says so.
    marks_strings: bool,
}

static FOUR: Delimiters = Delimiters {
    all: &[
        "<|channel>",
        "<channel|>",
        "<|tool_call>",
        "<tool_call|>",
        "<|\"|>",
        "<turn|>",
        "<|tool_response>",
        "<bos>",
        "<eos>",
    ],
    thought: "<|channel>",
    thought_end: "<channel|>",
    call: "<|tool_call>",
    call_end: "<tool_call|>",
    quote: "<|\"|>",
    marks_strings: false,
};

static FUNCTION: Delimiters = Delimiters {
    all: &[
        "<start_function_call>",
        "<end_function_call>",
        "<escape>",
        "<start_function_response>",
        "<end_of_turn>",
    ],
    thought: "",
    thought_end: "",
    call: "<start_function_call>",
    call_end: "<end_function_call>",
    quote: "<escape>",
    marks_strings: true,
};

/// The name of the channel of thoughts; it is not part of them.
const LABEL: &str = "thought\n";

fn reader(delimiters: &'static Delimiters, setting: &Setting) -> Box<dyn Reader> {
    let open = || {
        !delimiters.thought.is_empty()
            && tokens::is_open(&setting.prompt_end, delimiters.thought, delimiters.thought_end)
    };
    let within = match setting.split_thinking && setting.begins_thinking.unwrap_or_else(open) {
        true => Within::Thought,
        false => Within::Text,
    };
    tokens::reader(delimiters.all, Gemma { delimiters, within, setting: setting.clone() })
}

struct Gemma {
    delimiters: &'static Delimiters,
    within: Within,
    setting: Setting,
}

enum Within {
    Text,
    /// What a model says behind a call it says before it has read the result. vLLM drops it where the turn is closed;
    /// SGLang keeps it where it is not.
    AfterCall(String),
    /// What may still become the label.
    Label(String),
    Thought,
    Call {
        body: String,
        /// Whether a string was begun and not ended.
        quoted: bool,
    },
}

impl Machine for Gemma {
    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        match &mut self.within {
            Within::Text => say(said, Said::Text, text),
            Within::AfterCall(after) => after.push_str(text),
            Within::Thought => say(said, Said::Thinking, text),
            Within::Call { body, .. } => body.push_str(text),
            Within::Label(label) => {
                label.push_str(text);
                if !LABEL.starts_with(label.as_str()) {
                    say(said, Said::Thinking, label.strip_prefix(LABEL).unwrap_or(label));
                    self.within = Within::Thought;
                }
            }
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        if let Within::Call { body, quoted } = &mut self.within {
            if delimiter == self.delimiters.quote {
                *quoted = !*quoted;
                body.push_str(delimiter);
            } else if *quoted {
                body.push_str(delimiter);
            } else if delimiter == self.delimiters.call_end {
                self.close(delimiter, said);
            }
            return;
        }
        let begins_call = delimiter == self.delimiters.call && self.setting.find_calls;
        if begins_call {
            self.leave(said);
            self.within = Within::Call { body: String::new(), quoted: false };
        } else if delimiter == self.delimiters.thought && self.setting.split_thinking {
            self.leave(said);
            self.within = Within::Label(String::new());
        } else if delimiter == self.delimiters.thought_end && self.setting.split_thinking {
            self.leave(said);
        } else if let (Within::AfterCall(after), "<turn|>" | "<end_of_turn>") = (&self.within, delimiter) {
            if !after.trim().is_empty() {
                said.push(Said::problem(format!("text behind the calls: `{}`", after.trim())));
            }
            self.within = Within::Text;
        } else if self.keeps(delimiter) {
            self.text(delimiter, said);
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        match self.within {
            Within::Call { .. } => self.close("", said),
            _ => self.leave(said),
        }
    }
}

impl Gemma {
    /// Whether a delimiter that does nothing here is text. Those that end turns mean nothing.
    fn keeps(&self, delimiter: &str) -> bool {
        let Delimiters { thought, thought_end, call, call_end, quote, .. } = self.delimiters;
        let of_thoughts = [thought, thought_end].contains(&&delimiter);
        let of_calls = [call, call_end].contains(&&delimiter);
        delimiter == *quote
            || (of_thoughts && !self.setting.split_thinking)
            || (of_calls && !self.setting.find_calls)
    }

    /// Back to the text.
    fn leave(&mut self, said: &mut Vec<Said>) {
        match std::mem::replace(&mut self.within, Within::Text) {
            Within::Label(label) => say(said, Said::Thinking, label.strip_prefix(LABEL).unwrap_or(&label)),
            Within::AfterCall(text) => say(said, Said::Text, &text),
            Within::Text | Within::Thought | Within::Call { .. } => {}
        }
    }

    /// What cannot be read stays text. Without a delimiter the reply ended there: strings and objects end with it.
    fn close(&mut self, delimiter: &str, said: &mut Vec<Said>) {
        let Within::Call { body, .. } = std::mem::replace(&mut self.within, Within::Text) else { return };
        if body.trim().is_empty() && !delimiter.is_empty() {
            return;
        }
        match call::read(&body, self.delimiters, !delimiter.is_empty(), &self.setting) {
            Ok((call, is_whole)) => {
                let why = Problem::cut_off(format!("the end of the call of `{}`", call.name));
                said.push(Said::Call(call));
                said.extend((!is_whole && delimiter.is_empty()).then_some(Said::problem(why)));
                self.within = Within::AfterCall(String::new());
            }
            Err(why) => {
                say(said, Said::Text, &format!("{}{body}{delimiter}", self.delimiters.call));
                said.push(Said::problem(why));
            }
        }
    }
}

fn gemma(arguments: &ArgumentMap, quote: &str) -> String {
    let entry = |(key, value): (&String, &Value)| format!("{key}:{}", gemma_value(value, quote));
    format!("{{{}}}", arguments.iter().map(entry).collect::<Vec<_>>().join(","))
}

fn gemma_value(value: &Value, quote: &str) -> String {
    match value {
        Value::String(text) => format!("{quote}{text}{quote}"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| gemma_value(item, quote)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(object) => gemma(object, quote),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
