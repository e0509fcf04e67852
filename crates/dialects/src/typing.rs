//! The type of a value that was written without quotes: as the tool's schema says, else as it looks.
use super::{json::may_be_json, typed::kind_named};
use serde_json::Value;

/// What the schema says about a property of the object that it describes.
pub(super) fn property<'a>(schema: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    let schema = schema?;
    schema["properties"]
        .get(name)
        .or_else(|| schema.get("additionalProperties"))
        .filter(|found| found.is_object())
}

/// What the schema says about the items of a list.
pub(super) fn items(schema: Option<&Value>) -> Option<&Value> {
    schema?.get("items").filter(|found| found.is_object())
}

/// A string where only that may stand; otherwise JSON, if it is JSON.
pub(super) fn typed(text: &str, schema: Option<&Value>) -> Value {
    let string = || Value::String(text.to_owned());
    let kinds = schema.map(kinds).unwrap_or_default();
    if kinds.contains(&"boolean") && ["True", "False"].contains(&text) {
        return Value::Bool(text == "True");
    }
    if !may_be_json(text) {
        return string();
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return string() };
    let fits = kinds.is_empty() || kinds.iter().any(|kind| is_of(&value, kind));
    if kinds.contains(&"string") && !fits { string() } else { value }
}

/// The names of the types that may stand there; empty: any.
pub(super) fn kinds(schema: &Value) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = match &schema["type"] {
        Value::String(kind) => kind_named(kind).into_iter().collect(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).filter_map(kind_named).collect(),
        _ => Vec::new(),
    };
    for choice in ["anyOf", "oneOf"].iter().filter_map(|name| schema[*name].as_array()).flatten() {
        kinds.extend(self::kinds(choice));
    }
    if kinds.is_empty() && schema["enum"].as_array().is_some_and(|values| values.iter().all(Value::is_string))
    {
        kinds.push("string");
    }
    kinds
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" | "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // A string that has quotes of its own keeps them.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_what_its_schema_says() {
        let table = [
            ("1", json!({"type": "string"}), json!("1")),
            ("1", json!({"type": "integer"}), json!(1)),
            ("null", json!({"type": ["string", "null"]}), json!(null)),
            ("true", json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!("true")),
            ("\"a\"", json!({"type": "string"}), json!("\"a\"")),
            ("1", json!({"enum": ["1", "2"]}), json!("1")),
            ("much", json!({"type": "number"}), json!("much")),
            ("[1]", json!({}), json!([1])),
        ];
        for (text, schema, expected) in table {
            assert_eq!(typed(text, Some(&schema)), expected, "{text} {schema}");
        }
        assert_eq!(typed("-1.5", None), json!(-1.5));
        assert_eq!(typed("Paris", None), json!("Paris"));
    }
}
