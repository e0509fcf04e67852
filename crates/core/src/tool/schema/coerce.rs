//! [`coerce`]: corrects arguments as small models write them, if the correction is unambiguous.
use serde_json::{Map, Value};

/// Puts right what is unambiguous; what it cannot read stays as it is, for the check to report.
pub(super) fn coerce(value: Value, schema: &Value) -> Value {
    let Some(wanted) = schema.get("type").and_then(Value::as_str) else { return value };
    match (wanted, value) {
        ("object", Value::String(text)) => reread(text, schema, Value::is_object),
        ("array", Value::String(text)) => reread(text, schema, Value::is_array),
        ("object", Value::Object(object)) => Value::Object(coerce_object(object, schema)),
        ("array", Value::Array(items)) => match schema.get("items") {
            Some(each) => items.into_iter().map(|item| coerce(item, each)).collect(),
            None => Value::Array(items),
        },
        ("integer", Value::Number(number)) => whole(number),
        ("integer", Value::String(text)) => {
            text.trim().parse::<i64>().map_or(Value::String(text), Value::from)
        }
        ("number", Value::String(text)) => {
            let number = text.trim().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map_or(Value::String(text), Value::Number)
        }
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("string", Value::Bool(truth)) => Value::String(truth.to_string()),
        (_, value) => value,
    }
}

fn coerce_object(object: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    };
    let given = object.into_iter().filter(|(name, value)| !value.is_null() || required(name));
    let coerced = given.map(|(name, value)| match schema.get("properties").and_then(|all| all.get(&name)) {
        Some(inner) => (name, coerce(value, inner)),
        None => (name, value),
    });
    coerced.collect()
}

fn reread(text: String, schema: &Value, fits: fn(&Value) -> bool) -> Value {
    match serde_json::from_str(&text) {
        Ok(value) if fits(&value) => coerce(value, schema),
        _ => Value::String(text),
    }
}

/// `3.0` where an integer is wanted is `3`.
fn whole(number: serde_json::Number) -> Value {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
            Value::from(float as i64)
        }
        _ => Value::Number(number),
    }
}
