//! JSON Schema as far as Gemini takes it: a subset of OpenAPI 3.0. What it does not know is left out, as it refuses the
//! whole request otherwise; arguments are checked against the full schema here in any case.
use crate::json::text;
use serde_json::{Map, Value, json};

/// Passed on as they are. Source: ai.google.dev, API reference, "Schema", 2026-11.
const KNOWN: &[&str] = &[
    "type",
    "title",
    "description",
    "nullable",
    "default",
    "example",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
];
/// Other formats are refused.
const FORMATS: &[&str] = &["float", "double", "int32", "int64", "date-time"];
/// Schemas that hold themselves are cut here.
const MAX_DEPTH: usize = 12;

/// What Gemini takes of `schema`, with its references put in.
pub(super) fn subset(schema: &Value) -> Value {
    reduced(schema, schema, 0).into()
}

fn reduced(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    let mut taken = Map::new();
    if depth > MAX_DEPTH {
        taken.insert("type".into(), "object".into());
        return taken;
    }
    if let Some(target) = text(&schema["$ref"]).strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
        taken = reduced(target, root, depth + 1);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        taken.extend(reduced(part, root, depth + 1));
    }
    for (name, value) in schema.as_object().into_iter().flatten() {
        if KNOWN.contains(&name.as_str()) {
            taken.insert(name.clone(), value.clone());
        }
    }
    take_values(schema, &mut taken);
    take_inner(schema, root, depth, &mut taken);
    take_types(&mut taken);
    take_choices(schema, root, depth, &mut taken);
    taken
}

/// Only texts can be listed.
fn take_values(schema: &Value, taken: &mut Map<String, Value>) {
    let constant = schema.get("const").map(|constant| vec![constant.clone()]);
    let values = schema["enum"].as_array().cloned().or(constant).unwrap_or_default();
    if !values.is_empty() && values.iter().all(Value::is_string) {
        taken.insert("type".into(), "string".into());
        taken.insert("enum".into(), values.into());
    }
    if FORMATS.contains(&text(&schema["format"])) {
        taken.insert("format".into(), schema["format"].clone());
    }
}

fn take_inner(schema: &Value, root: &Value, depth: usize, taken: &mut Map<String, Value>) {
    if let Some(properties) = schema["properties"].as_object() {
        let required = schema["required"].as_array().into_iter().flatten();
        let required: Vec<Value> =
            required.filter(|name| properties.contains_key(text(name))).cloned().collect();
        let reduce =
            |(name, inner): (&String, &Value)| (name.clone(), reduced(inner, root, depth + 1).into());
        let properties: Map<String, Value> = properties.iter().map(reduce).collect();
        taken.insert("properties".into(), properties.into());
        if !required.is_empty() {
            taken.insert("required".into(), required.into());
        }
    }
    if schema["items"].is_object() {
        taken.insert("items".into(), reduced(&schema["items"], root, depth + 1).into());
    }
}

/// One type each: of several, each becomes a choice. A list must say what it holds.
fn take_types(taken: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = taken.get("type").cloned() {
        taken.remove("type");
        let (null, mut types): (Vec<Value>, Vec<Value>) = types.into_iter().partition(|name| name == "null");
        if !null.is_empty() {
            taken.insert("nullable".into(), true.into());
        }
        match types.len() {
            1 => _ = taken.insert("type".into(), types.remove(0)),
            _ => {
                let choices: Vec<Value> = types.into_iter().map(|name| typed(&name)).collect();
                taken.insert("anyOf".into(), choices.into());
            }
        }
    }
    if taken.get("type").is_some_and(|name| name == "array") {
        taken.entry("items").or_insert_with(|| json!({"type": "string"}));
    }
}

fn typed(name: &Value) -> Value {
    match text(name) {
        "array" => json!({"type": name, "items": {"type": "string"}}),
        _ => json!({"type": name}),
    }
}

/// Choices, without null, which is a property of a type here; a single one is none.
fn take_choices(schema: &Value, root: &Value, depth: usize, taken: &mut Map<String, Value>) {
    let choices = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    let Some(choices) = choices else { return };
    let (null, choices): (Vec<&Value>, Vec<&Value>) =
        choices.iter().partition(|choice| choice["type"] == "null");
    let mut choices: Vec<Map<String, Value>> =
        choices.into_iter().map(|choice| reduced(choice, root, depth + 1)).collect();
    if choices.len() == 1 {
        let only = choices.remove(0);
        only.into_iter().for_each(|(name, value)| _ = taken.entry(name).or_insert(value));
    } else {
        taken.insert("anyOf".into(), choices.into_iter().map(Value::from).collect());
    }
    if !null.is_empty() {
        taken.insert("nullable".into(), true.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn what_gemini_does_not_take_is_left_out() {
        let table = [
            (
                json!({"$schema": "x", "type": "object", "additionalProperties": false, "x-hidden": true,
                    "properties": {"n": {"type": ["integer", "null"], "format": "uint32", "minimum": 0}},
                    "required": ["n", "gone"]}),
                json!({"type": "object", "required": ["n"],
                    "properties": {"n": {"type": "integer", "minimum": 0, "nullable": true}}}),
            ),
            (
                json!({"$defs": {"K": {"enum": ["a", "b"]}}, "type": "object", "properties": {
                    "k": {"$ref": "#/$defs/K", "description": "kind"},
                    "o": {"anyOf": [{"$ref": "#/$defs/K"}, {"type": "null"}], "default": null}}}),
                json!({"type": "object", "properties": {
                    "k": {"type": "string", "enum": ["a", "b"], "description": "kind"},
                    "o": {"default": null, "type": "string", "enum": ["a", "b"], "nullable": true}}}),
            ),
            (
                json!({"oneOf": [{"type": "string", "const": "a"}, {"type": "integer", "enum": [1]}]}),
                json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer"}]}),
            ),
            (
                json!({"type": ["string", "array"], "description": "one or more"}),
                json!({"description": "one or more",
                    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            ),
            (
                json!({"allOf": [{"type": "array"}], "title": "t"}),
                json!({"type": "array", "items": {"type": "string"}, "title": "t"}),
            ),
            (json!(true), json!({})),
        ];
        for (schema, expected) in table {
            assert_eq!(subset(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_holds_itself_is_cut() {
        let tree = json!({"type": "object", "properties": {"inner": {"$ref": "#"}}});
        assert!(subset(&tree).to_string().len() < 1_000);
        let endless = json!({"$ref": "#"});
        assert_eq!(subset(&endless), json!({"type": "object"}));
    }
}
