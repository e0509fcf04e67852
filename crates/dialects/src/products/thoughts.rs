//! Calls in JSON objects with a key `tool_calls`: PedroCLI's second form, bare or fenced, and Alfred's, fenced or after
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
    bodies::mended,
    json_calls::{self, JsonEnd, Parsed},
    leading::behind_thoughts,
    tokens::{self, Machine, say},
    writing::{JsonCall, Writing, bare},
};
use serde_json::Value;

pub(crate) static THOUGHTS_JSON: Dialect = Dialect::own(
    "thoughts_json",
    &[],
    |setting| behind_thoughts(Objects::reader(setting, Style::Pedro), setting),
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
        let inner = Objects::reader(setting, Style::Alfred);
        let sentinel = Sentinel { inner, find: setting.find_calls, list: None, is_in_line: false };
        behind_thoughts(tokens::reader(&[SENTINEL], sentinel), setting)
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
    /// Number of parsed calls.
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

    /// Without a fence, the first key must be a known one.
    fn begins_bare(&self, line: &str) -> Option<bool> {
        if self.style == Style::Alfred || !self.setting.find_calls {
            return Some(false);
        }
        let begun = line.strip_prefix('{')?.trim_start();
        let keys = ["\"thoughts\"", "\"thought\"", "\"tool_calls\""];
        match keys.iter().any(|key| begun.starts_with(key)) {
            false if keys.iter().any(|key| key.starts_with(begun)) => None,
            is_ours => Some(is_ours),
        }
    }

    fn read(&mut self, body: &str, raw: &str) -> Option<Vec<Said>> {
        // Alfred uses the first block; a further one is an example or an alternative.
        if self.style == Style::Alfred && self.count > 0 {
            return None;
        }
        let broken = |why: String| Some(vec![Said::Text(raw.into()), Said::problem(why)]);
        let mut object = match mended(body) {
            Ok(Value::Object(object)) if object.contains_key("tool_calls") => object,
            // The text was meant as calls.
            Err(error) if body.contains("\"tool_calls\"") => {
                return broken(format!("it is not valid JSON: {error}"));
            }
            _ => return None,
        };
        let list = object.get_mut("tool_calls").map(Value::take).unwrap_or_default();
        let calls = match json_calls::parsed(list) {
            Ok(calls) => calls.into_iter().map(|call| self.call(call)).collect::<Result<Vec<Call>, _>>(),
            Err(why) => Err(why),
        };
        let calls = match calls {
            Ok(calls) => calls,
            Err(why) => return broken(why),
        };
        let thoughts = object.get("thoughts").or_else(|| object.get("thought")).and_then(Value::as_str);
        // Thoughts without calls are the answer.
        let is_thinking = self.setting.split_thinking && !calls.is_empty();
        let mut said = Vec::new();
        say(&mut said, if is_thinking { Said::Thinking } else { Said::Text }, thoughts.unwrap_or_default());
        said.extend(calls.into_iter().map(Said::Call));
        Some(said)
    }
}

impl Objects {
    fn reader(setting: &Setting, style: Style) -> Box<dyn Reader> {
        fences::reader(Self { setting: setting.clone(), style, count: 0 })
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
        let arguments = match arguments {
            Value::Object(arguments) => Value::Object(shell::from_flags(&name, arguments)?).to_string(),
            Value::Null => "{}".to_owned(),
            arguments => bare(&arguments),
        };
        Ok(Call { id, ..Call::new(name, arguments) })
    }
}

/// The text before a list of calls in the dialect `alfred`. Neither this text nor the list is shown to the user.
pub const SENTINEL: &str = "[TOOL_CALLS]";

/// Parses the list after [`SENTINEL`], and passes the rest to another reader.
struct Sentinel {
    inner: Box<dyn Reader>,
    find: bool,
    list: Option<(String, JsonEnd)>,
    /// Whether other text precedes it on the same line.
    is_in_line: bool,
}

impl Sentinel {
    fn prose(&mut self, text: &str, said: &mut Vec<Said>) {
        self.is_in_line = match text.rsplit_once('\n') {
            Some((_, line)) => !line.trim().is_empty(),
            None => self.is_in_line || !text.trim().is_empty(),
        };
        self.inner.push(text, said);
    }
}

impl Machine for Sentinel {
    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        let Some((list, end)) = &mut self.list else { return self.prose(text, said) };
        let from = list.len();
        list.push_str(text);
        let begun = list.trim_start();
        if self.is_in_line && !begun.is_empty() && !begun.starts_with(['[', '{']) {
            // A sentence that mentions the sentinel.
            let spoken = format!("{SENTINEL}{list}");
            self.list = None;
            return self.prose(&spoken, said);
        }
        // A partial list at the end of the reply is invalid.
        let is_list = begun.starts_with('[') || begun.is_empty();
        if let Some(after) = if is_list { end.go(text.as_bytes()) } else { None } {
            let rest = list.split_off(from + after);
            finish(list, said);
            self.list = None;
            self.prose(&rest, said);
        }
    }

    fn delimiter(&mut self, delimiter: &'static str, said: &mut Vec<Said>) {
        match self.find && self.list.is_none() {
            true => self.list = Some(Default::default()),
            false => self.text(delimiter, said),
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.inner.end(said);
        if let Some((list, _)) = self.list.take() {
            finish(&list, said);
        }
    }
}

/// Parses the list. Invalid text is reported only to the model: nothing after the sentinel is shown (A-36).
fn finish(list: &str, said: &mut Vec<Said>) {
    match json_calls::calls(list) {
        Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
        Err(why) => said.push(Said::problem(format!("{why}: `{SENTINEL}{list}`"))),
    }
}
