//! Servers that hold a model to a form: what each wants to be sent.
use crate::quirks::{Holds, Quirks};
use haft_core::{CallForm, Request, ToolSpec};
use serde_json::{Map, Value, json};

/// Fields of a chat request that hold the reply to the form of its calls; none where the server knows no such thing.
pub(crate) fn fields(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    let Some(form) = &request.form else { return Map::new() };
    let field = match quirks.holds {
        Holds::Nothing => None,
        Holds::Grammar => Some(grammar(form)),
        Holds::Tags => json_reply(form).or_else(|| tags(form)),
        Holds::Schema => json_reply(form),
    };
    field.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

type Field = (&'static str, Value);

/// Source: llama.cpp, `tools/server/README.md`, 2026-11.
fn grammar(form: &CallForm) -> Field {
    json_reply(form).unwrap_or_else(|| ("grammar", form.reply_grammar().into()))
}

/// Source: platform.openai.com/docs/guides/structured-outputs, 2026-11; vLLM, SGLang, llama.cpp, Ollama (as its
/// `format`) and LM Studio take the same field.
fn json_reply(form: &CallForm) -> Option<Field> {
    let schema = json!({"name": "reply", "schema": form.reply_schema()?});
    Some(("response_format", json!({"type": "json_schema", "json_schema": schema})))
}

/// Source: docs.vllm.ai, "Structured Outputs", 2026-11; SGLang takes the same field.
fn tags(form: &CallForm) -> Option<Field> {
    let tags = form.tags()?;
    let structures: Vec<Value> = tags
        .into_iter()
        .map(|tag| json!({"begin": tag.begin, "schema": tag.schema, "end": tag.end}))
        .collect();
    let format = json!({"type": "structural_tag", "structures": structures, "triggers": [form.sign()]});
    Some(("response_format", format))
}

/// A tool as OpenAI's format has it; `strict` where the server holds to schemas and this one can be put that way.
pub(crate) fn definition(tool: &ToolSpec, quirks: &Quirks) -> Value {
    let mut definition = tool.definition();
    if let Some(schema) = quirks.strict_tools.then(|| strict(&tool.parameters)).flatten() {
        definition["function"]["parameters"] = schema;
        definition["function"]["strict"] = true.into();
    }
    definition
}

/// Words of JSON Schema that strict schemas may have besides those that are put in anew.
const KNOWN_WORDS: [&str; 7] = ["type", "description", "enum", "const", "minimum", "maximum", "pattern"];

/// The same schema with all properties required, those that were not nullable, and nothing else allowed: `null` then
/// means "not given". `None` where it leaves open what a value may be.
/// Source: platform.openai.com/docs/guides/structured-outputs, "Supported schemas", 2026-11.
pub(crate) fn strict(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    let mut made: Map<String, Value> = Map::new();
    for (word, value) in schema {
        match word.as_str() {
            "anyOf" | "oneOf" => {
                let choices = value.as_array()?.iter().map(strict).collect::<Option<Vec<_>>>()?;
                made.insert("anyOf".into(), choices.into());
            }
            "items" => _ = made.insert("items".into(), strict(value)?),
            "properties" => made.extend(properties(schema, value.as_object()?)?),
            "$ref" | "allOf" | "not" | "patternProperties" => return None,
            "additionalProperties" if !matches!(value, Value::Bool(false)) => return None,
            word if KNOWN_WORDS.contains(&word) => _ = made.insert(word.into(), value.clone()),
            _ => {}
        }
    }
    let is_a = |kind: &str| match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|known| known == kind),
        only => only == Some(&json!(kind)),
    };
    let is_open_object = is_a("object") && !schema.contains_key("properties");
    let is_open_list = is_a("array") && !schema.contains_key("items");
    let says_something = ["type", "enum", "const", "anyOf"].iter().any(|word| made.contains_key(*word));
    (says_something && !is_open_object && !is_open_list).then(|| made.into())
}

fn properties(schema: &Map<String, Value>, own: &Map<String, Value>) -> Option<Map<String, Value>> {
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut made = Map::new();
    for (name, property) in own {
        let property = strict(property)?;
        let is_required = required.iter().any(|known| known == name);
        made.insert(name.clone(), if is_required { property } else { nullable(property) });
    }
    let names: Vec<Value> = own.keys().map(|name| name.as_str().into()).collect();
    let rest =
        [("properties", made.into()), ("required", names.into()), ("additionalProperties", false.into())];
    Some(rest.into_iter().map(|(word, value): (&str, Value)| (word.to_owned(), value)).collect())
}

fn nullable(schema: Value) -> Value {
    match schema.get("type") {
        Some(Value::String(only)) if schema.get("enum").is_none() && schema.get("const").is_none() => {
            let types = json!([only, "null"]);
            let mut schema = schema;
            schema["type"] = types;
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_schemas_require_everything_and_allow_null() {
        let (text, count) =
            (json!({"type": "string", "minLength": 1}), json!({"type": "integer", "minimum": 1}));
        let table = [
            (
                json!({"type": "object", "title": "x", "properties": {"a": text, "b": count}, "required": ["a"]}),
                Some(json!({
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"], "minimum": 1}},
                    "required": ["a", "b"], "additionalProperties": false,
                })),
            ),
            (
                json!({"type": "object", "properties": {"k": {"type": "string", "enum": ["x"]}}}),
                Some(json!({
                    "type": "object",
                    "properties": {"k": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]}},
                    "required": ["k"], "additionalProperties": false,
                })),
            ),
            (
                json!({"type": "object", "properties": {}}),
                Some(json!({
                    "type": "object", "properties": {}, "required": [], "additionalProperties": false,
                })),
            ),
            (json!({"type": "object"}), None),
            (json!({"type": ["object", "null"]}), None),
            (json!({"type": "object", "properties": {"any": {}}}), None),
            (
                json!({"type": "object", "properties": {"map": {"type": "object", "additionalProperties": count}}}),
                None,
            ),
            (json!({"type": "array", "items": {"$ref": "#/x"}}), None),
        ];
        for (schema, expected) in table {
            assert_eq!(strict(&schema), expected, "{schema}");
        }
    }
}
