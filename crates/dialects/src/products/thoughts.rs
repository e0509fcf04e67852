//! Calls in JSON objects with a key `tool_calls`: PedroCLI's second form, bare or fenced, and Alfred's, fenced or behind
//! `[TOOL_CALLS]`.
//!
//! ````text
//! {"thoughts": "I must look.", "tool_calls": [{"tool": "file", "args": {"path": "a.txt"}}]}
//!
//! ```json
//! {"tool_calls": [{"id": "1", "function": {"name": "read", "arguments": "{\"path\": \"a.txt\"}"}}]}
//! ```
//!
//! [TOOL_CALLS][{"id": "1", "name": "read", "arguments": {"path": "a.txt"}}]
//! ````
use super::{
    fences::{self, Blocks},
    shell,
};
use crate::{
    Call, Dialect, Reader, Results, Said, Setting,
    delimiters::{Delimiters, Found},
    json_calls::{self, JsonEnd, Parsed},
    tokens::say,
    writing::{JsonCall, Writing},
};
use serde_json::Value;

pub(crate) static THOUGHTS_JSON: Dialect = Dialect::own(
    "thoughts_json",
    &[],
    |setting| fences::reader(Objects { setting: setting.clone(), style: Style::Pedro, count: 0 }),
    Writing::Json(JsonCall {
        keys: ["tool", "args"],
        is_reply: true,
        ..JsonCall::between("```json\n{\"tool_calls\": [", "]}\n```")
    }),
)
.results(Results::Numbered);

pub(crate) static ALFRED: Dialect = Dialect::own(
    "alfred",
    &[],
    |setting| {
        let objects = Objects { setting: setting.clone(), style: Style::Alfred, count: 0 };
        let inner = fences::reader(objects);
        let delimiters = Delimiters::new([SENTINEL]);
        Box::new(Sentinel { inner, delimiters, find: setting.find_calls, held: String::new(), list: None })
    },
    Writing::Json(JsonCall { id: Some("id"), ..JsonCall::between("[TOOL_CALLS][", "]") }),
);

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Pedro,
    Alfred,
}

struct Objects {
    setting: Setting,
    style: Style,
    /// How many calls were read.
    count: usize,
}

impl Blocks for Objects {
    fn fits(&self, language: &str) -> bool {
        let plain = self.style == Style::Pedro && language.is_empty();
        self.setting.find_calls && (plain || language == "json")
    }

    fn begins(&self, body: &str) -> Option<bool> {
        Some(body.trim_start().chars().next()? == '{')
    }

    /// Without a fence the first key must be one of ours.
    fn begins_bare(&self, line: &str) -> Option<bool> {
        if self.style == Style::Alfred || !self.setting.find_calls {
            return Some(false);
        }
        let begun = line.strip_prefix('{')?.trim_start();
        let keys = ["\"thoughts\"", "\"thought\"", "\"tool_calls\""];
        if keys.iter().any(|key| begun.starts_with(key)) {
            return Some(true);
        }
        let may_become_one = keys.iter().any(|key| key.starts_with(begun));
        if may_become_one { None } else { Some(false) }
    }

    fn read(&mut self, body: &str, raw: &str) -> Option<Vec<Said>> {
        let mut said = Vec::new();
        let mut object = match serde_json::from_str::<Value>(body.trim()) {
            Ok(Value::Object(object)) if object.contains_key("tool_calls") => object,
            // It was meant as calls.
            Err(error) if body.contains("\"tool_calls\"") => {
                return Some(vec![
                    Said::Text(raw.into()),
                    Said::problem(format!("it is not valid JSON: {error}")),
                ]);
            }
            _ => return None,
        };
        let list = object.get_mut("tool_calls").map(Value::take).unwrap_or_default();
        match self.calls(list) {
            Ok(calls) => {
                let thoughts =
                    object.get("thoughts").or_else(|| object.get("thought")).and_then(Value::as_str);
                // Thoughts that lead to no call are the answer.
                let is_thinking = self.setting.split_thinking && !calls.is_empty();
                let kind = if is_thinking { Said::Thinking } else { Said::Text };
                say(&mut said, kind, thoughts.unwrap_or_default());
                said.extend(calls.into_iter().map(Said::Call));
            }
            Err(why) => said.extend([Said::Text(raw.into()), Said::problem(why)]),
        }
        Some(said)
    }
}

impl Objects {
    fn calls(&mut self, list: Value) -> Result<Vec<Call>, String> {
        json_calls::parsed(list)?.into_iter().map(|call| self.call(call)).collect()
    }

    fn call(&mut self, Parsed { mut id, name, arguments }: Parsed) -> Result<Call, String> {
        if self.style == Style::Alfred && id.is_empty() {
            id = format!("call_{}", self.count);
        }
        self.count += 1;
        // Some models write the object as a string.
        let arguments = match arguments {
            Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            arguments => arguments,
        };
        let call = match arguments {
            Value::Object(arguments) => {
                let arguments = shell::from_flags(&name, arguments)?;
                Call::new(name, Value::Object(arguments))
            }
            Value::Null => Call::new(name, "{}"),
            Value::String(text) => Call::new(name, text),
            arguments => Call::new(name, arguments),
        };
        Ok(Call { id, ..call })
    }
}

/// What comes before a list of calls that is not shown.
pub(crate) const SENTINEL: &str = "[TOOL_CALLS]";

/// Looks for [`SENTINEL`], and leaves the rest to another reader.
struct Sentinel {
    inner: Box<dyn Reader>,
    delimiters: Delimiters,
    find: bool,
    /// What may be the beginning of the sentinel.
    held: String,
    /// The list behind it.
    list: Option<(String, JsonEnd)>,
}

impl Reader for Sentinel {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        if !self.find {
            return self.inner.push(text, said);
        }
        let joined;
        let mut rest = text;
        if !self.held.is_empty() {
            joined = std::mem::take(&mut self.held) + text;
            rest = &joined;
        }
        while !rest.is_empty() {
            rest = match self.list {
                Some(_) => self.in_list(rest, said),
                None => self.in_text(rest, said),
            };
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.inner.push(&std::mem::take(&mut self.held), said);
        if let Some((list, _)) = self.list.take() {
            self.inner.end(said);
            return finish(&list, said);
        }
        self.inner.end(said);
    }
}

impl Sentinel {
    fn in_text<'a>(&mut self, text: &'a str, said: &mut Vec<Said>) -> &'a str {
        let (before, length) = match self.delimiters.find(text, 0, false) {
            Found::Delimiter { at, .. } => (at, SENTINEL.len()),
            Found::Open(at) => (at, 0),
        };
        let (certain, rest) = text.split_at(before);
        self.inner.push(certain, said);
        if length > 0 {
            self.list = Some(Default::default());
            return &rest[length..];
        }
        rest.clone_into(&mut self.held);
        ""
    }

    fn in_list<'a>(&mut self, text: &'a str, said: &mut Vec<Said>) -> &'a str {
        let Some((list, end)) = &mut self.list else { return text };
        // What is not a list after all ends with the reply.
        let mut begun = list.trim_start().chars().chain(text.trim_start().chars());
        let after = match begun.next() {
            Some('[') | None => end.go(text.as_bytes()),
            Some(_) => None,
        };
        let (taken, rest) = text.split_at(after.unwrap_or(text.len()));
        list.push_str(taken);
        if after.is_some() {
            let (list, _) = self.list.take().unwrap_or_default();
            finish(&list, said);
        }
        rest
    }
}

/// What cannot be read is for the model alone: nothing behind the sentinel is shown (A-36).
fn finish(list: &str, said: &mut Vec<Said>) {
    match json_calls::calls(list) {
        Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
        Err(why) => said.push(Said::problem(format!("{why}: `{SENTINEL}{list}`"))),
    }
}
