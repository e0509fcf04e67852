//! [`example`]: makes the arguments of a valid call, as an example for a model.
use super::coerce::wanted;
use crate::ToolSpec;
use serde_json::{Value, json};

/// A correct call's arguments: the tool's own first example, otherwise one made from the schema.
pub fn example(spec: &ToolSpec) -> Value {
    match spec.examples.first() {
        Some(example) => example.arguments.clone(),
        None => sample(&spec.parameters),
    }
}

/// A valid value, made only from the schema.
fn sample(schema: &Value) -> Value {
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|all| all.first()).cloned();
    let constant = || schema.get("const").or_else(|| schema.get("default")).cloned();
    let given = first("examples").or_else(|| first("enum")).or_else(constant);
    if let Some(given) = given {
        return given;
    }
    if let Some(alternative) = first("oneOf").or_else(|| first("anyOf")) {
        return sample(&alternative);
    }
    match wanted(schema) {
        Some("object") => sample_object(schema),
        Some("array") => sample_array(schema),
        Some("integer") | Some("number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        _ => json!("…"),
    }
}

fn sample_array(schema: &Value) -> Value {
    let first: Vec<Value> = schema["prefixItems"].as_array().into_iter().flatten().map(sample).collect();
    let least = schema["minItems"].as_u64().unwrap_or(1).max(u64::from(first.is_empty())) as usize;
    let more = least.saturating_sub(first.len());
    let each = schema.get("items").filter(|each| each.is_object()).map(sample);
    first.into_iter().chain(each.into_iter().cycle().take(more)).collect()
}

fn sample_object(schema: &Value) -> Value {
    let names = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let named = names.iter().filter_map(Value::as_str).map(|name| {
        let inner = schema.get("properties").and_then(|all| all.get(name));
        (name.to_owned(), inner.map_or(json!("…"), sample))
    });
    Value::Object(named.collect())
}
