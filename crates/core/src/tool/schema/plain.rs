//! [`is_plain`]: recognizes common schemas as valid without the metaschema, whose compilation takes longer than a call.
use serde_json::Value;
use std::collections::HashSet;

/// Whether `schema` has only well-known keywords with valid values. Other schemas may be valid, too.
pub(super) fn is_plain(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(keywords) => keywords.iter().all(|(keyword, value)| is_plain_keyword(keyword, value)),
        _ => false,
    }
}

fn is_plain_keyword(keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => {
            is_type(value)
                || value.as_array().is_some_and(|types| !types.is_empty() && types.iter().all(is_type))
        }
        "properties" | "$defs" => value.as_object().is_some_and(|schemas| schemas.values().all(is_plain)),
        "items" | "additionalProperties" | "not" => is_plain(value),
        "anyOf" | "oneOf" | "allOf" => {
            value.as_array().is_some_and(|schemas| !schemas.is_empty() && schemas.iter().all(is_plain))
        }
        "required" => {
            value.as_array().is_some_and(|names| names.iter().all(Value::is_string) && are_unlike(names))
        }
        "enum" | "examples" => value.is_array(),
        "description" | "title" | "format" | "$comment" => value.is_string(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "deprecated" | "readOnly" | "writeOnly" | "uniqueItems" => value.is_boolean(),
        "const" | "default" => true,
        // The library checks schemas with a `$schema`, a pattern or a reference.
        own => own.starts_with("x-"),
    }
}

fn is_type(value: &Value) -> bool {
    let types = ["array", "boolean", "integer", "null", "number", "object", "string"];
    value.as_str().is_some_and(|name| types.contains(&name))
}

fn are_unlike(names: &[Value]) -> bool {
    let mut seen = HashSet::new();
    names.iter().all(|name| seen.insert(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_seen_to_be_valid_is_not_plain() {
        let table = [
            (
                json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "x-hidden": true}}}),
                true,
            ),
            (json!({"type": "object", "required": ["a"], "additionalProperties": false}), true),
            (json!({"anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["a"]}]}), true),
            (json!({"type": "text"}), false),
            (json!({"type": []}), false),
            (json!({"properties": {"a": 1}}), false),
            (json!({"required": ["a", "a"]}), false),
            (json!({"required": "a"}), false),
            (json!({"minLength": -1}), false),
            (json!({"pattern": "a(?=b)"}), false),
            (json!({"$ref": "#/$defs/a"}), false),
            (json!({"$schema": "http://json-schema.org/draft-04/schema#"}), false),
            (json!([]), false),
        ];
        for (schema, expected) in table {
            assert_eq!(is_plain(&schema), expected, "{schema}");
        }
        assert!(is_plain(&json!({})));
    }
}
