//! [`parameters`]: reduces JSON Schema to what Gemini accepts: a subset of OpenAPI 3.0. Unknown keywords are left out,
//! since Gemini refuses the whole request otherwise. Arguments are checked against the full schema here in any case.
use crate::json::text;
use serde_json::{Map, Value, json};

/// Keywords that are passed on unchanged. Source: ai.google.dev, API reference, "Schema", 2026-11.
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
/// Formats that Gemini accepts.
const FORMATS: &[&str] = &["float", "double", "int32", "int64", "date-time"];
/// Maximum depth; recursive schemas are cut there.
const MAX_DEPTH: usize = 12;
/// Keywords that belong to one type; they are removed from all others.
const OF_TYPES: &[(&str, &[&str])] = &[
    ("array", &["items", "minItems", "maxItems"]),
    ("object", &["properties", "required", "minProperties", "maxProperties"]),
];

/// The parameters of a tool in the form that Gemini accepts, which is one object. Several alternative objects are
/// merged: the result has all their properties, and requires those that each of them requires. `None` if there are no
/// properties: the wire refuses an empty object.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let mut taken = reduced(schema, schema, 0);
    if let Some(Value::Array(forms)) = taken.remove("anyOf") {
        let forms = forms.into_iter().filter_map(|form| match form {
            Value::Object(form) if form.get("type").is_some_and(|name| name == "object") => Some(form),
            _ => None,
        });
        taken = forms.reduce(united).unwrap_or_default();
    }
    let has_properties =
        taken.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    has_properties.then(|| taken.into())
}

fn united(mut all: Map<String, Value>, mut form: Map<String, Value>) -> Map<String, Value> {
    let of_form = form.remove("required").unwrap_or_default();
    let of_form = of_form.as_array().map_or(&[][..], Vec::as_slice);
    if let Some(Value::Array(required)) = all.get_mut("required") {
        required.retain(|name| of_form.contains(name));
        if required.is_empty() {
            all.shift_remove("required");
        }
    }
    merge(&mut all, form);
    all
}

fn reduced(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    settled(gathered(schema, root, depth))
}

/// The known keywords of `schema`, with its references and `allOf` merged. Alternatives stay beside the other keywords.
fn gathered(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    let mut taken = Map::new();
    if depth > MAX_DEPTH {
        taken.insert("type".into(), "object".into());
        return taken;
    }
    if let Some(target) = text(&schema["$ref"]).strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
        taken = gathered(target, root, depth + 1);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        merge(&mut taken, gathered(part, root, depth + 1));
    }
    let mut own = Map::new();
    for (name, value) in schema.as_object().into_iter().flatten() {
        if KNOWN.contains(&name.as_str()) {
            own.insert(name.clone(), value.clone());
        }
    }
    take_values(schema, &mut own);
    take_inner(schema, root, depth, &mut own);
    take_types(&mut own);
    take_choices(schema, root, depth, &mut own);
    merge(&mut taken, own);
    taken
}

/// Merges `more` into `taken`, so that both apply.
fn merge(taken: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, value) in more {
        match (taken.get_mut(&name), value) {
            (Some(Value::Object(all)), Value::Object(more)) if name == "properties" => all.extend(more),
            (Some(Value::Array(all)), Value::Array(more)) if name == "required" => {
                let new: Vec<Value> = more.into_iter().filter(|name| !all.contains(name)).collect();
                all.extend(new);
            }
            (_, value) => _ = taken.insert(name, value),
        }
    }
}

/// Copies the allowed values if all are strings, otherwise only their type: the wire allows no other values.
fn take_values(schema: &Value, taken: &mut Map<String, Value>) {
    let constant = schema.get("const").map(|constant| vec![constant.clone()]);
    let values = schema["enum"].as_array().cloned().or(constant).unwrap_or_default();
    if !values.is_empty() && values.iter().all(Value::is_string) {
        taken.insert("type".into(), "string".into());
        taken.insert("enum".into(), values.into());
    } else if let Some(name) = values.first().and_then(type_of)
        && values.iter().all(|value| type_of(value) == Some(name))
    {
        taken.entry("type").or_insert_with(|| name.into());
    }
    if FORMATS.contains(&text(&schema["format"])) {
        taken.insert("format".into(), schema["format"].clone());
    }
}

fn type_of(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
    }
}

fn take_inner(schema: &Value, root: &Value, depth: usize, taken: &mut Map<String, Value>) {
    if let Some(properties) = schema["properties"].as_object() {
        let reduce =
            |(name, inner): (&String, &Value)| (name.clone(), reduced(inner, root, depth + 1).into());
        let properties: Map<String, Value> = properties.iter().map(reduce).collect();
        taken.insert("properties".into(), properties.into());
    }
    if schema["required"].is_array() {
        taken.insert("required".into(), schema["required"].clone());
    }
    if schema["items"].is_object() {
        taken.insert("items".into(), reduced(&schema["items"], root, depth + 1).into());
    }
}

/// Copies the type. Several types become alternatives with one type each.
fn take_types(taken: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = taken.get("type").cloned() else { return };
    taken.remove("type");
    let (null, mut types): (Vec<Value>, Vec<Value>) = types.into_iter().partition(|name| name == "null");
    if !null.is_empty() {
        taken.insert("nullable".into(), true.into());
    }
    match types.len() {
        0 => {}
        1 => _ = taken.insert("type".into(), types.remove(0)),
        _ => {
            let choices: Vec<Value> = types.into_iter().map(|name| json!({"type": name})).collect();
            taken.insert("anyOf".into(), choices.into());
        }
    }
}

/// Copies the alternatives without null, which is a property of a type in this format.
fn take_choices(schema: &Value, root: &Value, depth: usize, taken: &mut Map<String, Value>) {
    let choices = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
    let Some(choices) = choices else { return };
    let is_null =
        |choice: &&Value| choice["type"] == "null" || choice.get("const").is_some_and(Value::is_null);
    let (null, choices): (Vec<&Value>, Vec<&Value>) = choices.iter().partition(is_null);
    if !choices.is_empty() {
        let choices = choices.into_iter().map(|choice| gathered(choice, root, depth + 1));
        taken.insert("anyOf".into(), choices.map(Value::from).collect());
    }
    if !null.is_empty() {
        taken.insert("nullable".into(), true.into());
    }
}

/// Either alternatives and nothing else, or one type with its keywords: the wire refuses any other form.
fn settled(mut taken: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(choices)) = taken.remove("anyOf") else { return of_one_type(taken) };
    let mut choices: Vec<Map<String, Value>> = choices
        .into_iter()
        .filter_map(|choice| match choice {
            Value::Object(choice) => Some(choice),
            _ => None,
        })
        .collect();
    if let [only] = choices.as_mut_slice() {
        let mut only = std::mem::take(only);
        merge(&mut only, taken);
        return settled(only);
    }
    for name in ["default", "example", "title"] {
        taken.shift_remove(name);
    }
    let mut settled_choices: Vec<Value> = Vec::new();
    for choice in choices {
        let mut whole = taken.clone();
        merge(&mut whole, choice);
        let mut whole = settled(whole);
        let inner = match whole.remove("anyOf") {
            Some(Value::Array(inner)) => inner,
            _ => vec![whole.into()],
        };
        for choice in inner {
            if !settled_choices.contains(&choice) {
                settled_choices.push(choice);
            }
        }
    }
    match settled_choices.as_mut_slice() {
        [Value::Object(only)] => std::mem::take(only),
        _ => Map::from_iter([("anyOf".to_owned(), settled_choices.into())]),
    }
}

/// Adds a type to a schema without one: the type to which its keywords belong, or alternatives of all types. A list
/// without `items` becomes a list of strings.
fn of_one_type(mut taken: Map<String, Value>) -> Map<String, Value> {
    let has = |names: &[&str]| names.iter().any(|name| taken.contains_key(*name));
    let implied = match () {
        () if has(&["type"]) => None,
        () if has(&["properties"]) => Some("object"),
        () if has(&["items", "minItems", "maxItems"]) => Some("array"),
        () if has(&["pattern", "minLength", "maxLength"]) => Some("string"),
        () if has(&["minimum", "maximum"]) => Some("number"),
        () => {
            let types = ["string", "number", "boolean", "array", "object"];
            taken.insert("anyOf".into(), types.map(|name| json!({"type": name})).to_vec().into());
            return settled(taken);
        }
    };
    if let Some(name) = implied {
        taken.insert("type".into(), name.into());
    }
    let name = taken["type"].clone();
    for (_, fields) in OF_TYPES.iter().filter(|(of_type, _)| name != *of_type) {
        fields.iter().for_each(|field| _ = taken.shift_remove(*field));
    }
    if name == "array" {
        taken.entry("items").or_insert_with(|| json!({"type": "string"}));
    }
    let known = taken.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(Value::Array(required)) = taken.get_mut("required") {
        required.retain(|name| known.contains_key(text(name)));
        if required.is_empty() {
            taken.shift_remove("required");
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subset(schema: &Value) -> Value {
        reduced(schema, schema, 0).into()
    }

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
                json!({"allOf": [{"type": "array"}], "title": "t"}),
                json!({"type": "array", "items": {"type": "string"}, "title": "t"}),
            ),
        ];
        for (schema, expected) in table {
            assert_eq!(subset(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn choices_stand_alone() {
        let strings = || json!({"type": "array", "items": {"type": "string"}});
        let table = [
            (
                json!({"type": ["string", "array", "null"], "description": "one or more", "default": null,
                    "items": {"type": "integer"}}),
                json!({"anyOf": [{"type": "string", "description": "one or more", "nullable": true},
                    {"type": "array", "items": {"type": "integer"}, "description": "one or more", "nullable": true}]}),
            ),
            (
                json!({"description": "all", "anyOf": [{"type": "string", "description": "own"},
                    {"anyOf": [{"type": "integer"}, {"type": "string", "description": "own"}]}]}),
                json!({"anyOf": [{"type": "string", "description": "own"},
                    {"type": "integer", "description": "all"}]}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "anyOf": [{"required": ["a"]}, {"required": ["a"]}]}),
                json!({"type": "object", "required": ["a"],
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            ),
            (
                json!({"type": "string", "oneOf": [{"const": "a"}, {"pattern": "^b"}]}),
                json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "pattern": "^b"}]}),
            ),
            (json!({"anyOf": [{"type": "array"}, {"const": null}]}), {
                let mut nullable = strings();
                nullable["nullable"] = true.into();
                nullable
            }),
        ];
        for (schema, expected) in table {
            assert_eq!(subset(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_has_a_type_in_any_case() {
        let any = json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"},
            {"type": "array", "items": {"type": "string"}}, {"type": "object"}]});
        let table = [
            (json!(true), any.clone()),
            (json!({}), any.clone()),
            (json!({"title": "t", "enum": [1, "a"]}), any),
            (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
            (json!({"const": 1}), json!({"type": "integer"})),
            (json!({"const": true}), json!({"type": "boolean"})),
            (json!({"enum": [1.5, 2.5]}), json!({"type": "number"})),
            (json!({"minimum": 1}), json!({"type": "number", "minimum": 1})),
            (
                json!({"properties": {"a": {"maxLength": 1}}}),
                json!({"type": "object",
                "properties": {"a": {"type": "string", "maxLength": 1}}}),
            ),
        ];
        for (schema, expected) in table {
            assert_eq!(subset(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn parameters_are_one_object() {
        let text = || json!({"type": "string"});
        let part = |name: &str| json!({"properties": {name: {"type": "string"}}, "required": [name]});
        let both = json!({"type": "object", "properties": {"x": text(), "y": text()}});
        let mut required = both.clone();
        required["required"] = json!(["x", "y"]);
        let mut with_x = part("x");
        with_x["anyOf"] = json!([part("y"), {}]);
        let mut x_required = both.clone();
        x_required["required"] = json!(["x"]);
        let table = [
            (json!({"allOf": [part("x"), part("y")]}), Some(required.clone())),
            (json!({"allOf": [part("x"), {"required": ["y"]}], "properties": {"y": text()}}), Some(required)),
            (json!({"oneOf": [part("x"), part("y")]}), Some(both)),
            (with_x, Some(x_required)),
            (json!({"type": "object"}), None),
            (json!({}), None),
        ];
        for (schema, expected) in table {
            assert_eq!(parameters(&schema), expected, "{schema}");
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
