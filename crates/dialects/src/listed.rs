//! Llama 3.2, Llama 4, LFM2, OLMo 3 and others that write calls as Python would:
//!
//! ```text
//! [look(path='a.txt'), add(x=1)]
//! <|python_start|>[look(path='a.txt')]<|python_end|>
//! <|tool_call_start|>[look(path="a.txt")]<|tool_call_end|>
//! <function_calls>look(path='a.txt')
//! add(x=1)</function_calls>
//! ```
use super::{
    Call, Dialect, Problem, Said, Setting,
    blocks::{self, Block, Grammar, Json},
    bodies::read_or_text,
    json, pythonic,
    tokens::{self, Machine, say},
    writing::{ArgumentMap, Writing},
};
use serde_json::Value;

mod prose;

pub(super) static PYTHONIC: Dialect = Dialect {
    name: "pythonic",
    models: &["llama-3.2", "llama3.2", "toolace"],
    reader: |setting| prose::reader(setting),
    writing: Writing::Own(|name, arguments| format!("[{}]", python_call(name, arguments))),
    ..Dialect::BASE
};

pub(super) static LLAMA4_PYTHONIC: Dialect = Dialect {
    name: "llama4_pythonic",
    models: &["llama-4", "llama4"],
    reader: |setting| prose::reader(setting),
    signs: &[&["<|python_start|>"]],
    writing: Writing::Own(|name, arguments| {
        format!("<|python_start|>[{}]<|python_end|>", python_call(name, arguments))
    }),
    ..Dialect::BASE
};

pub(super) static OLMO3: Dialect = Dialect {
    name: "olmo3",
    models: &["olmo-3", "olmo3"],
    reader: |setting| blocks::reader(&OLMO3_GRAMMAR, setting),
    signs: &[&["<function_calls>"]],
    writing: Writing::Own(|name, arguments| {
        format!("<function_calls>{}</function_calls>", python_call(name, arguments))
    }),
    ..Dialect::BASE
};

static OLMO3_GRAMMAR: Grammar = Grammar {
    blocks: &[Block {
        json: Json::None,
        ..Block::new("<function_calls>", &["</function_calls>"], |body, _, said| match body.cut {
            true => body.stays(Problem::cut_off("the end of a call"), said),
            false => read_or_text(body, calls(body.text), said),
        })
    }],
    noise: &["<|im_end|>"],
    ..Grammar::NONE
};

pub(super) static LFM2: Dialect = Dialect {
    name: "lfm2",
    models: &["lfm2", "lfm-2"],
    reader: |setting| {
        let open = || tokens::is_open(&setting.prompt_end, "<think>", "</think>");
        let thinks = setting.split_thinking && setting.begins_thinking.unwrap_or_else(open);
        let within = if thinks { Within::Thought } else { Within::Text };
        tokens::reader(LFM2_SIGNS, Lfm2 { within, after_call: None, setting: setting.clone() })
    },
    signs: &[&["<|tool_call_start|>"]],
    writing: Writing::Own(|name, arguments| {
        format!("<|tool_call_start|>[{}]<|tool_call_end|>", python_call(name, arguments))
    }),
    ..Dialect::BASE
};

static LFM2_SIGNS: &[&str] =
    &["<think>", "</think>", "<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"];

struct Lfm2 {
    within: Within,
    /// The text after the latest call: between two calls it is none, as with the parser that SGLang has for this model.
    after_call: Option<String>,
    setting: Setting,
}

enum Within {
    Text,
    Thought,
    Call(String),
}

impl Machine for Lfm2 {
    fn opens_calls(&self) -> Vec<&'static str> {
        if self.setting.find_calls { vec!["<|tool_call_start|>"] } else { Vec::new() }
    }

    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        match (&mut self.within, &mut self.after_call) {
            (Within::Text, Some(after)) => after.push_str(text),
            (Within::Text, None) => say(said, Said::Text, text),
            (Within::Thought, _) => say(said, Said::Thinking, text),
            (Within::Call(body), _) => body.push_str(text),
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        let Setting { split_thinking, find_calls, .. } = self.setting;
        match (&self.within, delimiter) {
            (Within::Call(_), "<|tool_call_end|>") => self.close(delimiter, said),
            (Within::Thought, "</think>") => {
                self.within = Within::Text;
                said.push(Said::ThinkingEnd);
            }
            (Within::Text, "<think>") if split_thinking => self.within = Within::Thought,
            (Within::Text, "</think>") if split_thinking => {}
            (Within::Text, "<|tool_call_start|>") if find_calls => self.within = Within::Call(String::new()),
            (Within::Text, "<|tool_call_end|>") if find_calls => {}
            (Within::Text | Within::Thought, "<|im_end|>") => {}
            _ => self.text(delimiter, said),
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.close("", said);
        say(said, Said::Text, &self.after_call.take().unwrap_or_default());
    }
}

impl Lfm2 {
    /// What cannot be read stays text.
    fn close(&mut self, delimiter: &str, said: &mut Vec<Said>) {
        let Within::Call(body) = std::mem::replace(&mut self.within, Within::Text) else { return };
        let before = self.after_call.take().unwrap_or_default();
        let calls = match delimiter.is_empty() {
            true => Err(Problem::cut_off("the end of a call")),
            false => calls(&body).map_err(Problem::from),
        };
        match calls {
            Ok(calls) => {
                if !before.trim().is_empty() {
                    said.push(Said::problem(format!("text between calls: `{}`", before.trim())));
                }
                said.extend(calls.into_iter().map(Said::Call));
                self.after_call = Some(String::new());
            }
            Err(why) => {
                say(said, Said::Text, &format!("{before}<|tool_call_start|>{body}{delimiter}"));
                said.push(Said::problem(why));
            }
        }
    }
}

/// Python's calls; JSON is understood too, for some were trained with both.
fn calls(body: &str) -> Result<Vec<Call>, String> {
    let body = body.trim();
    let first = body.trim_start_matches(['[', ' ', '\n', '\t']);
    if first.starts_with('{') {
        return json::calls(body);
    }
    let read = match pythonic::read(body) {
        pythonic::Beginning::Calls { calls, length } if length == body.len() => calls,
        pythonic::Beginning::Unfinished { .. } if !body.ends_with(')') => {
            return Err("it ends too early".into());
        }
        _ => pythonic::read_loosely(body).map_err(|at| match body.get(at..) {
            None | Some("") => "it ends too early".to_owned(),
            Some(rest) => {
                format!("it cannot be read from here on: `{}`", rest.chars().take(40).collect::<String>())
            }
        })?,
    };
    match read.is_empty() {
        true => Err("it holds no call".into()),
        false => Ok(read.into_iter().map(call).collect()),
    }
}

fn call(call: pythonic::Call) -> Call {
    Call::new(call.name, Value::Object(call.arguments))
}

fn python_call(name: &str, arguments: &ArgumentMap) -> String {
    let argument = |(key, value): (&String, &Value)| format!("{key}={}", python(value));
    format!("{name}({})", arguments.iter().map(argument).collect::<Vec<_>>().join(", "))
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        // JSON's strings and numbers are Python's.
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let entry =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), python(value));
            format!("{{{}}}", object.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}
