//! [`describe`]: derives the schema of a tool's parameters from the type of its arguments.
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments, derived from their type.
pub(crate) struct Described {
    /// The doc comment of the type.
    pub(crate) description: String,
    /// The parameters that models are shown.
    pub(crate) told: Value,
    /// Parameters that models may give. Others are refused: a misspelled one would be ignored silently.
    pub(crate) accepted: Value,
}

/// Derives the description and the parameters of `A`: without references, without `$schema`, and with `Option<T>` as
/// the schema of `T`.
pub(crate) fn describe<A: JsonSchema>() -> Described {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    let description = schema.as_object_mut().and_then(|object| object.shift_remove("description"));
    plain(&mut schema, false);
    let (mut told, mut accepted) = (schema.clone(), schema);
    let has_alternatives = told.as_object_mut().is_some_and(merge_alternatives);
    conceal(&mut told);
    reveal(&mut accepted);
    if let (Some(told), Some(accepted)) = (told.as_object_mut(), accepted.as_object_mut()) {
        told.entry("properties").or_insert_with(|| json!({}));
        told.entry("required").or_insert_with(|| json!([]));
        accepted.entry("properties").or_insert_with(|| json!({}));
        // The first of them knows no properties of alternatives.
        let others = if has_alternatives { "unevaluatedProperties" } else { "additionalProperties" };
        accepted.entry(others).or_insert(Value::Bool(false));
    }
    let description = description.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default();
    Described { description, told, accepted }
}

/// Merges alternatives at the top, as those of an enum, into one object, because providers refuse requests with a tool
/// that has any there. What all alternatives require is required. Returns whether there were any.
pub fn merge_alternatives(schema: &mut Map<String, Value>) -> bool {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let parts: Vec<(&str, Vec<Value>)> = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| Some((key, schema.shift_remove(key)?.as_array()?.clone())))
        .collect();
    if parts.is_empty() {
        return false;
    }
    let mut properties = match schema.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut required = list(schema.get("required"));
    for (key, parts) in &parts {
        for (name, property) in parts.iter().filter_map(|part| part["properties"].as_object()).flatten() {
            match properties.get_mut(name) {
                Some(known) if *key != "allOf" => merge_values(known, property),
                Some(_) => {}
                None => drop(properties.insert(name.clone(), property.clone())),
            }
        }
        let of_each = parts.iter().map(|part| list(part.get("required")));
        let is_of_all = |name: &Value| *key == "allOf" || of_each.clone().all(|names| names.contains(name));
        for name in of_each.clone().flatten().filter(is_of_all) {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
    schema.shift_remove("required");
    for (key, value) in
        [("type", json!("object")), ("properties", properties.into()), ("required", required.into())]
    {
        schema.insert(key.into(), value);
    }
    true
}

/// Adds what `other` allows to `known`: the values that it names, or the whole of it.
fn merge_values(known: &mut Value, other: &Value) {
    let values = |schema: &Value| match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value.clone()]),
        (None, values) => values.and_then(Value::as_array).cloned(),
    };
    if known == other {
        return;
    }
    let (Some(mut all), Some(more)) = (values(known), values(other)) else {
        match known.as_object_mut().filter(|known| known.len() == 1).and_then(|known| known.get_mut("anyOf"))
        {
            Some(Value::Array(all)) if all.contains(other) => {}
            Some(Value::Array(all)) => all.push(other.clone()),
            _ => *known = json!({"anyOf": [known.clone(), other]}),
        }
        return;
    };
    for value in more {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    if let Some(known) = known.as_object_mut() {
        known.shift_remove("const");
        known.insert("enum".into(), all.into());
    }
}

/// A property with this mark is accepted, but not shown to models.
const HIDDEN_KEY: &str = "x-hidden";
/// The schema that is accepted in place of the one that contains this key.
const ACCEPTS_KEY: &str = "x-accepts";

/// Removes what models are not shown, and limits that are obvious: a number of lines is never negative.
fn conceal(schema: &mut Value) {
    each_property(schema, |properties| {
        properties.retain(|_, property| property.get(HIDDEN_KEY).is_none());
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.shift_remove(ACCEPTS_KEY);
            if property.get("minimum").is_some_and(|least| *least == 0) {
                property.shift_remove("minimum");
            }
        }
    });
}

/// Replaces the schemas that models are shown by those that are accepted.
fn reveal(schema: &mut Value) {
    each_property(schema, |properties| {
        for property in properties.values_mut() {
            let Some(object) = property.as_object_mut() else { continue };
            object.shift_remove(HIDDEN_KEY);
            if let Some(accepted) = object.shift_remove(ACCEPTS_KEY) {
                *property = accepted;
            }
        }
    });
}

/// Applies `change` to the properties of the object itself, then to those inside of it.
fn each_property(schema: &mut Value, change: impl Fn(&mut Map<String, Value>) + Copy) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        change(properties);
        properties.values_mut().for_each(|property| each_property(property, change));
    }
    if let Some(each) = object.get_mut("items") {
        each_property(each, change);
    }
}

/// Removes what a model need not read: titles, Rust's number formats, and that a property may be null, since it can be
/// left out. Items of a list and values of a map cannot be left out, so their null stays.
fn plain(schema: &mut Value, is_property: bool) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| plain(item, false)),
        Value::Object(object) => {
            if object.get("title").is_some_and(Value::is_string) {
                object.shift_remove("title");
            }
            if object.get("format").and_then(Value::as_str).is_some_and(is_rust_number) {
                object.shift_remove("format");
            }
            if is_property {
                remove_null(object);
            }
            for (keyword, value) in object.iter_mut() {
                match value {
                    Value::Object(properties) if keyword == "properties" => {
                        properties.values_mut().for_each(|property| plain(property, true));
                    }
                    value => plain(value, false),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `Option<T>` as the schema of `T`.
fn remove_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    if let Some(only) = one_or_null(object) {
        object.shift_remove("anyOf");
        object.extend(only);
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.shift_remove("default");
    }
}

/// The other schema in `anyOf: [schema, null]`.
fn one_or_null(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    match object.get("anyOf")?.as_array()?.as_slice() {
        [Value::Object(only), null] if null == &json!({"type": "null"}) => Some(only.clone()),
        _ => None,
    }
}

fn is_rust_number(format: &str) -> bool {
    format.starts_with("uint") || format.starts_with("int") || format == "float" || format == "double"
}
