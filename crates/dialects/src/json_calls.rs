//! [`calls`]: parses calls as JSON, `{"name": …, "arguments": {…}}`, and the other keys that models use.
use super::Call;
use serde_json::{Map, Value};

/// Finds the end of a JSON value in a text that arrives in pieces. Each byte is visited once.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonEnd {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl JsonEnd {
    /// Continues with the next bytes. Returns the position after the value in `bytes`; `None` if it is not reached.
    pub(super) fn go(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether a text may be JSON, by its first byte, since a parser's error is more expensive than a value.
pub(super) fn may_be_json(text: &str) -> bool {
    let begins = |first: &u8| matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n');
    text.trim_start().as_bytes().first().is_some_and(begins)
}

const NAMES: [&str; 4] = ["name", "tool_name", "function", "tool"];
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "args", "input", "tool_input"];
const IDS: [&str; 3] = ["id", "tool_call_id", "call_id"];

/// A call whose arguments are still a JSON value.
pub(super) struct Parsed {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// Parses an object, an array of objects, or several of them in a row. The error says why it is not a call.
pub(super) fn calls(text: &str) -> Result<Vec<Call>, String> {
    let mut values = serde_json::Deserializer::from_str(text.trim()).into_iter::<Value>();
    let first = values.next().ok_or("it is empty")?;
    let mut calls = Vec::new();
    for value in std::iter::once(first).chain(values) {
        let value = value.map_err(|error| format!("it is not valid JSON: {error}"))?;
        calls.extend(calls_of(value)?);
    }
    Ok(calls)
}

/// Like [`calls`], for JSON that was already parsed.
pub(super) fn calls_of(value: Value) -> Result<Vec<Call>, String> {
    let calls = parsed(value)?.into_iter().map(|Parsed { id, name, arguments }| {
        let call = match arguments {
            Value::Null => Call::new(name, "{}"),
            // Some models write the object as a string.
            Value::String(text) => Call::new(name, text),
            arguments @ Value::Object(_) => return Ok(Call { id, ..Call::new(name, arguments) }),
            arguments => Call::new(name, arguments),
        };
        call.object()?;
        Ok(Call { id, ..call })
    });
    calls.collect()
}

/// Like [`calls_of`], with the arguments unchanged.
pub(super) fn parsed(value: Value) -> Result<Vec<Parsed>, String> {
    match value {
        Value::Array(items) => items.into_iter().map(call).collect(),
        object => Ok(vec![call(object)?]),
    }
}

fn call(value: Value) -> Result<Parsed, String> {
    let Value::Object(mut object) = value else { return Err("a call must be an object".into()) };
    // The OpenAI form `{"type":"function","function":{"name":…,"arguments":…}}`.
    if let Some(Value::Object(inner)) = object.get_mut("function") {
        let mut inner = std::mem::take(inner);
        inner.extend(object.into_iter().filter(|(name, _)| IDS.contains(&name.as_str())));
        object = inner;
    }
    let name = taken(&mut object, &NAMES);
    let Some(Value::String(name)) = name else { return Err("it has no `name`".into()) };
    let id = match taken(&mut object, &IDS) {
        Some(Value::String(id)) => id,
        Some(Value::Number(id)) => id.to_string(),
        _ => String::new(),
    };
    let arguments = taken(&mut object, &ARGUMENTS).unwrap_or_default();
    Ok(Parsed { id, name, arguments })
}

fn taken(object: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| object.get_mut(*name).map(Value::take))
}
