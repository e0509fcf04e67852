//! [`coerce`]: corrects frequent mistakes of small models in arguments, if the correction is unambiguous.
use serde_json::{Map, Value};

/// Corrects what is unambiguous. Other values stay unchanged, and the check reports them.
pub(super) fn coerce(value: Value, schema: &Value) -> Value {
    let Some(wanted) = wanted(schema) else { return value };
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
            let number = text.trim().parse::<i64>().map(Value::from);
            number.or_else(|_| text.trim().parse::<u64>().map(Value::from)).unwrap_or(Value::String(text))
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

/// The single type that a value must have unless it is null; `None` if the schema allows several types, or any.
pub(super) fn wanted(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::Array(types) => match types.iter().filter_map(Value::as_str).collect::<Vec<_>>()[..] {
            [only] | [only, "null"] | ["null", only] => Some(only),
            _ => None,
        },
        only => only.as_str(),
    }
}

/// Leaves out optional properties that are null and must not be: models write null for values that they do not specify.
fn coerce_object(object: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    };
    let means_something = |name: &str| match inner(schema, name) {
        Some(Value::Bool(is_allowed)) => *is_allowed,
        Some(inner) => required(name) || takes_null(inner),
        None => true,
    };
    let given = object.into_iter().filter(|(name, value)| !value.is_null() || means_something(name));
    let coerced = given.map(|(name, value)| match inner(schema, &name) {
        Some(inner) => (name, coerce(value, inner)),
        None => (name, value),
    });
    coerced.collect()
}

/// The schema of a property: its own, or the one of all other properties.
fn inner<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let own = schema.get("properties").and_then(|all| all.get(name));
    own.or_else(|| schema.get("additionalProperties"))
}

/// Whether a schema says that a value may be null.
fn takes_null(schema: &Value) -> bool {
    let is_null = |alternative: &Value| alternative["type"] == "null";
    match &schema["type"] {
        Value::Array(types) => types.iter().any(|name| name == "null"),
        Value::Null => ["anyOf", "oneOf"]
            .iter()
            .any(|key| schema[key].as_array().is_some_and(|all| all.iter().any(is_null))),
        only => only == "null",
    }
}

fn reread(text: String, schema: &Value, fits: fn(&Value) -> bool) -> Value {
    match serde_json::from_str(&text) {
        Ok(value) if fits(&value) => coerce(value, schema),
        _ => Value::String(text),
    }
}

/// Writes `3.0` as `3` where an integer is wanted: JSON Schema accepts it as an integer, serde does not.
pub(super) fn with_integers(value: Value, schema: &Value) -> Value {
    match value {
        Value::Number(number) if wanted(schema) == Some("integer") => whole(number),
        Value::Array(items) => match schema.get("items") {
            Some(each) => items.into_iter().map(|item| with_integers(item, each)).collect(),
            None => Value::Array(items),
        },
        Value::Object(object) => {
            let whole = object.into_iter().map(|(name, value)| match inner(schema, &name) {
                Some(schema) => (name, with_integers(value, schema)),
                None => (name, value),
            });
            whole.collect()
        }
        value => value,
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
