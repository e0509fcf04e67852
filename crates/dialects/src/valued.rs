//! Values that a dialect writes without their types: the schema of the tool says what they are.
use super::{Setting, json::may_be_json, typed::kind_named};
use serde_json::Value;

/// The value of an argument, from its text. Where no schema tells, the text itself does.
pub(super) fn valued(setting: &Setting, tool: &str, argument: &str, text: &str) -> Value {
    let schema = setting.tool(tool).map(|tool| &tool.parameters["properties"][argument]);
    let kinds = schema.map(kinds).unwrap_or_default();
    let fits = |kind: &str| kinds.is_empty() || kinds.contains(&kind);
    let parsed = || if may_be_json(text) { serde_json::from_str::<Value>(text.trim()).ok() } else { None };
    let read = || parsed().filter(|value| fits_value(value, &fits));
    let plain = || Value::String(text.to_owned());
    if kinds == ["string"] {
        return plain();
    }
    match text.trim().to_ascii_lowercase().as_str() {
        "true" if fits("boolean") => Value::Bool(true),
        "false" if fits("boolean") => Value::Bool(false),
        "null" | "none" if fits("null") && !kinds.is_empty() => Value::Null,
        _ => read().unwrap_or_else(plain),
    }
}

fn fits_value(value: &Value, fits: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Null => fits("null"),
        Value::Bool(_) => fits("boolean"),
        Value::Number(number) => fits("number") || (fits("integer") && number.as_f64().is_some_and(is_whole)),
        Value::String(_) => fits("string"),
        Value::Array(_) => fits("array"),
        Value::Object(_) => fits("object"),
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0
}

/// The types that a schema allows; none: any.
fn kinds(schema: &Value) -> Vec<&'static str> {
    let several = ["anyOf", "oneOf"].iter().filter_map(|name| schema[*name].as_array());
    let mut found: Vec<&'static str> = several.flatten().flat_map(kinds).collect();
    match &schema["type"] {
        Value::String(kind) => found.extend(kind_named(kind)),
        Value::Array(more) => found.extend(more.iter().filter_map(Value::as_str).filter_map(kind_named)),
        _ if schema["enum"].as_array().is_some_and(|all| all.iter().all(Value::is_string)) => {
            found.push("string");
        }
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::ToolSpec;
    use serde_json::json;

    #[test]
    fn a_value_is_what_the_schema_says() {
        let parameters = json!({"properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "size": {"type": "number"},
            "on": {"type": "boolean"}, "list": {"type": "array"}, "map": {"type": "object"},
            "maybe": {"type": ["integer", "null"]}, "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "one": {"enum": ["1", "2"]}, "any": {},
        }});
        let tool = ToolSpec {
            name: "f".into(),
            description: String::new(),
            parameters,
            examples: Default::default(),
        };
        let setting = Setting { tools: [tool].into(), ..Setting::default() };
        let table = [
            ("text", "1", json!("1")),
            ("text", "{\"a\": 1}", json!("{\"a\": 1}")),
            ("count", " 7 ", json!(7)),
            ("count", "7.5", json!("7.5")),
            ("size", "2.5", json!(2.5)),
            ("on", "True", json!(true)),
            ("list", "[1]", json!([1])),
            ("list", "a", json!("a")),
            ("map", "{\"a\": 1}", json!({"a": 1})),
            ("maybe", "null", json!(null)),
            ("either", "12", json!(12)),
            ("one", "1", json!("1")),
            ("any", "12", json!(12)),
            ("unknown", "x", json!("x")),
        ];
        for (argument, text, expected) in table {
            assert_eq!(valued(&setting, "f", argument, text), expected, "{argument}: {text}");
        }
        assert_eq!(valued(&setting, "g", "x", "true"), json!(true));
    }
}
