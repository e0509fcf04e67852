//! Calls as JSON: `{"name": …, "arguments": {…}}`, under the names that models give these.
use super::Call;
use serde_json::{Map, Value};

/// Where a JSON value ends in a text that comes piece by piece. Each byte is looked at once.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonEnd {
    depth: usize,
    in_string: bool,
    escaped: bool,
    at: usize,
}

impl JsonEnd {
    /// Goes on from where it stopped. The byte after the value, counted in all the text that it was shown; `None`: not
    /// yet. `text` is the whole text so far.
    pub(super) fn find(&mut self, text: &str) -> Option<usize> {
        for &byte in &text.as_bytes()[self.at..] {
            self.at += 1;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(self.at);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

const NAMES: [&str; 4] = ["name", "tool_name", "function", "tool"];
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "args", "input", "tool_input"];
const IDS: [&str; 3] = ["id", "tool_call_id", "call_id"];

/// One object, or an array of them. Fails with why it is no call.
pub(super) fn calls(text: &str) -> Result<Vec<Call>, String> {
    let value: Value =
        serde_json::from_str(text.trim()).map_err(|error| format!("it is no JSON: {error}"))?;
    match value {
        Value::Array(items) => items.into_iter().map(call).collect(),
        object => Ok(vec![call(object)?]),
    }
}

fn call(value: Value) -> Result<Call, String> {
    let Value::Object(mut object) = value else { return Err("a call must be an object".into()) };
    // `{"type":"function","function":{"name":…,"arguments":…}}`
    if let Some(Value::Object(inner)) = object.get("function") {
        let mut inner = inner.clone();
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
    let arguments = match taken(&mut object, &ARGUMENTS) {
        // Some models write the object as a string.
        Some(Value::String(text)) => text,
        Some(Value::Null) | None => "{}".into(),
        Some(arguments) => arguments.to_string(),
    };
    Ok(Call { id, name, arguments })
}

fn taken(object: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| object.shift_remove(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_value_is_found_however_it_comes() {
        let text = r#"{"a": "}\"]", "b": [1, {"c": 2}]} rest"#;
        let end = text.find(" rest").unwrap();
        assert_eq!(JsonEnd::default().find(text), Some(end));
        let mut found = JsonEnd::default();
        let first = (0..text.len()).find(|length| found.find(&text[..*length]).is_some());
        assert_eq!(first, Some(end));
    }

    #[test]
    fn a_call_is_understood_under_several_names() {
        let table = [
            (r#"{"name":"f","arguments":{"a":1}}"#, Ok(vec![Call::new("f", r#"{"a":1}"#)])),
            (
                r#" [{"name":"f","parameters":{}},{"tool":"g"}] "#,
                Ok(vec![Call::new("f", "{}"), Call::new("g", "{}")]),
            ),
            (
                r#"{"id":7,"function":{"name":"f","arguments":"{}"}}"#,
                Ok(vec![Call { id: "7".into(), ..Call::new("f", "{}") }]),
            ),
            ("[1]", Err("a call must be an object".to_owned())),
            (r#"{"a":1}"#, Err("it has no `name`".to_owned())),
        ];
        for (text, expected) in table {
            assert_eq!(calls(text), expected, "{text}");
        }
    }
}
