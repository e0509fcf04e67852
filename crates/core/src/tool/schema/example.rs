//! [`example`]: makes a call that passes, for a model to imitate.
use crate::ToolSpec;
use serde_json::{Value, json};

/// A correct call's arguments: the tool's own first example, otherwise one made from the schema.
pub fn example(spec: &ToolSpec) -> Value {
    match spec.examples.first() {
        Some(example) => example.arguments.clone(),
        None => sample(&spec.parameters),
    }
}

/// A value that passes, made from the schema alone.
fn sample(schema: &Value) -> Value {
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|all| all.first()).cloned();
    let given = first("examples").or_else(|| first("enum")).or_else(|| schema.get("default").cloned());
    given.unwrap_or_else(|| match schema.get("type").and_then(Value::as_str) {
        Some("object") => sample_object(schema),
        Some("array") => schema.get("items").map_or(json!([]), |each| json!([sample(each)])),
        Some("integer") | Some("number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        _ => json!("…"),
    })
}

fn sample_object(schema: &Value) -> Value {
    let names = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let named = names.iter().filter_map(Value::as_str).map(|name| {
        let inner = schema.get("properties").and_then(|all| all.get(name));
        (name.to_owned(), inner.map_or(json!("…"), sample))
    });
    Value::Object(named.collect())
}
