//! [`fields`]: the fields by which a request constrains the form of a reply; each kind of server needs others.
use crate::quirks::{Answers, Holds, Quirks, is_among};
use haft_core::{AnswerForm, CallForm, Request, ToolSpec};
use serde_json::{Map, Value, json};

/// Fields of a chat request that constrain the reply to the form of its answer or of its calls; empty if the server
/// does not support that.
pub(crate) fn fields(request: &Request, quirks: &Quirks) -> Map<String, Value> {
    if let Some(schema) = answer(request, quirks) {
        return Map::from_iter([answer_format(schema, quirks)].into_iter().flatten());
    }
    let Some(form) = &request.form else { return Map::new() };
    let field = match quirks.holds {
        Holds::Nothing => None,
        Holds::Grammar => Some(grammar(form)),
        Holds::Tags => json_reply(form).or_else(|| tags(form)),
        Holds::Schema => json_reply(form),
    };
    field.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The JSON Schema to which the server must constrain this reply.
pub(crate) fn answer<'a>(request: &'a Request, quirks: &Quirks) -> Option<&'a Value> {
    let AnswerForm { schema, is_due } = request.answer.as_ref()?;
    let names = &quirks.models_with_answers;
    let is_able = names.is_empty() || is_among(&request.model, names);
    let is_held = match quirks.answers {
        Answers::Never => false,
        Answers::Alone => *is_due || request.tools.is_empty(),
        Answers::WithTools => true,
    };
    (is_able && is_held).then_some(schema)
}

/// The tools of a request. Empty if an answer is constrained and the server can do that only without tools.
pub(crate) fn tools<'a>(request: &'a Request, quirks: &Quirks) -> &'a [ToolSpec] {
    match quirks.answers {
        Answers::Alone if answer(request, quirks).is_some() => &[],
        Answers::Never | Answers::Alone | Answers::WithTools => &request.tools,
    }
}

fn answer_format(schema: &Value, quirks: &Quirks) -> Option<(String, Value)> {
    let format = match quirks.answers {
        Answers::Alone => json!({"name": "answer", "schema": schema}),
        Answers::Never | Answers::WithTools => named_schema(schema)?,
    };
    Some(("response_format".into(), json!({"type": "json_schema", "json_schema": format})))
}

/// A schema in the form that OpenAI requires for an answer: an object, and `strict` if that does not change what
/// matches. Source: platform.openai.com/docs/guides/structured-outputs, "Supported schemas", 2026-11.
pub(crate) fn named_schema(schema: &Value) -> Option<Value> {
    if schema.get("type") != Some(&json!("object")) {
        return None;
    }
    let is_strict = strict(schema).is_some_and(|strict| is_alike(schema, &strict));
    Some(json!({"name": "answer", "schema": schema, "strict": is_strict}))
}

/// Whether `schema` is already as strict as the result of [`strict`].
fn is_alike(schema: &Value, strict: &Value) -> bool {
    match (schema, strict) {
        (Value::Object(schema), Value::Object(strict)) => {
            let is_same = |(word, value): (&String, &Value)| match (word.as_str(), strict.get(word)) {
                ("title" | "description" | "$schema", _) => true,
                ("required", Some(strict)) => is_same_set(value, strict),
                ("properties", Some(strict)) => are_alike(value, strict),
                (_, Some(strict)) => is_alike(value, strict),
                (_, None) => false,
            };
            strict.keys().all(|word| schema.contains_key(word)) && schema.iter().all(is_same)
        }
        (Value::Array(schema), Value::Array(strict)) => {
            schema.len() == strict.len() && schema.iter().zip(strict).all(|(one, other)| is_alike(one, other))
        }
        (schema, strict) => schema == strict,
    }
}

fn are_alike(properties: &Value, strict: &Value) -> bool {
    let properties = properties.as_object().into_iter().flatten();
    properties.into_iter().all(|(name, schema)| is_alike(schema, &strict[name]))
}

fn is_same_set(one: &Value, other: &Value) -> bool {
    let names = |value: &Value| -> Vec<String> {
        let mut names: Vec<String> =
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        names.sort();
        names
    };
    names(one) == names(other)
}

/// Keywords of JSON Schema that Anthropic accepts for an answer.
const ANTHROPIC_WORDS: [&str; 7] = ["type", "description", "title", "enum", "const", "required", "$ref"];

/// The schema in the form that Anthropic accepts: closed objects, without limits on numbers and lengths, which Haft
/// checks itself. `None` if it allows values that cannot be expressed that way. Source: platform.claude.com/docs,
/// "Structured outputs", "JSON Schema limitations", 2026-11.
pub(crate) fn closed(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    let mut made = Map::new();
    for (word, value) in schema {
        match word.as_str() {
            "anyOf" | "oneOf" => {
                let choices = value.as_array()?.iter().map(closed).collect::<Option<Vec<_>>>()?;
                made.insert("anyOf".into(), choices.into());
            }
            "items" => _ = made.insert(word.clone(), closed(value)?),
            "properties" | "$defs" => {
                let inner =
                    value.as_object()?.iter().map(|(name, inner)| Some((name.clone(), closed(inner)?)));
                made.insert(word.clone(), inner.collect::<Option<Map<_, _>>>()?.into());
            }
            "additionalProperties" if !matches!(value, Value::Bool(_)) => return None,
            "allOf" | "not" | "patternProperties" | "prefixItems" | "if" => return None,
            word if ANTHROPIC_WORDS.contains(&word) => _ = made.insert(word.into(), value.clone()),
            _ => {}
        }
    }
    let is_object = schema.get("type") == Some(&json!("object"));
    let says_something =
        ["type", "enum", "const", "anyOf", "$ref"].iter().any(|word| made.contains_key(*word));
    if is_object {
        schema.get("properties")?;
        made.insert("additionalProperties".into(), false.into());
    }
    says_something.then(|| made.into())
}

/// Adds `value` to the object `name` of a request, unless an option already sets this field.
pub(crate) fn insert_into(body: &mut Map<String, Value>, name: &str, field: &str, value: Value) {
    let object = body.entry(name).or_insert_with(|| json!({}));
    if let Value::Object(object) = object {
        object.entry(field).or_insert(value);
    }
}

type Field = (&'static str, Value);

/// The field for a grammar. Source: llama.cpp, `tools/server/README.md`, 2026-11.
fn grammar(form: &CallForm) -> Field {
    json_reply(form).unwrap_or_else(|| ("grammar", form.reply_grammar().into()))
}

/// The field for a reply in JSON. Source: platform.openai.com/docs/guides/structured-outputs, 2026-11; vLLM, SGLang,
/// llama.cpp, Ollama (as its `format`) and LM Studio accept the same field.
fn json_reply(form: &CallForm) -> Option<Field> {
    let schema = json!({"name": "reply", "schema": form.reply_schema()?});
    Some(("response_format", json!({"type": "json_schema", "json_schema": schema})))
}

/// The field for calls inside tags. Source: docs.vllm.ai, "Structured Outputs", 2026-11; SGLang accepts the same field.
fn tags(form: &CallForm) -> Option<Field> {
    let tags = form.tags()?;
    let structures: Vec<Value> = tags
        .into_iter()
        .map(|tag| json!({"begin": tag.begin, "schema": tag.schema, "end": tag.end}))
        .collect();
    let format = json!({"type": "structural_tag", "structures": structures, "triggers": [form.sign()]});
    Some(("response_format", format))
}

/// A tool in OpenAI's format; `strict` if the server enforces schemas and this schema has a strict form.
pub(crate) fn definition(tool: &ToolSpec, quirks: &Quirks) -> Value {
    let mut definition = tool.definition();
    if let Some(schema) = quirks.strict_tools.then(|| strict(&tool.parameters)).flatten() {
        definition["function"]["parameters"] = schema;
        definition["function"]["strict"] = true.into();
    }
    definition
}

/// Keywords of JSON Schema that are copied to strict schemas; the others are generated.
const KNOWN_WORDS: [&str; 7] = ["type", "description", "enum", "const", "minimum", "maximum", "pattern"];

/// The schema in the strict form: all properties are required, those that were optional may be `null` ("not given"),
/// and no other property is allowed. `None` if the schema leaves open what a value may be. Source:
/// platform.openai.com/docs/guides/structured-outputs, "Supported schemas", 2026-11.
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
    use crate::{anthropic, gemini, openai_chat, openai_responses, vendor};

    /// The fields for an answer that each kind of server is sent, before the work is done and when the answer is due.
    #[test]
    fn servers_are_told_the_form_of_the_answer() {
        let schema = json!({"type": "object", "properties": {"title": {"type": "string"}},
            "required": ["title"], "additionalProperties": false});
        let tool = ToolSpec {
            name: "read".into(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            examples: Vec::new().into(),
        };
        let named = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}});
        let alone = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
        let table = [
            ("openai", "gpt-5", "/response_format", [Some(&named), Some(&named)], [true, true]),
            ("openai", "gpt-3.5-turbo", "/response_format", [None, None], [true, true]),
            ("kimi", "kimi-k2", "/response_format", [None, None], [true, true]),
            ("ollama", "qwen3", "/response_format", [None, Some(&alone)], [true, false]),
            ("llamacpp", "any", "/response_format", [None, Some(&alone)], [true, false]),
            (
                "openai-responses",
                "gpt-5",
                "/text/format/schema",
                [Some(&schema), Some(&schema)],
                [true, true],
            ),
            (
                "anthropic",
                "claude-sonnet-4-5",
                "/output_config/format/schema",
                [Some(&schema); 2],
                [true, true],
            ),
            ("anthropic", "claude-3-haiku", "/output_config/format/schema", [None, None], [true, true]),
            (
                "gemini-native",
                "gemini-2.5-pro",
                "/generationConfig/responseJsonSchema",
                [None, Some(&schema)],
                [true, false],
            ),
        ];
        for (name, model, place, expected, has_tools) in table {
            for (is_due, (expected, has_tools)) in
                [false, true].into_iter().zip(expected.into_iter().zip(has_tools))
            {
                let vendor = vendor(name).unwrap();
                let request = Request {
                    model: model.into(),
                    tools: vec![tool.clone()].into(),
                    answer: Some(AnswerForm { schema: schema.clone().into(), is_due }),
                    options: Map::from_iter([("output_config".to_owned(), json!({"effort": "low"}))]),
                    ..Request::default()
                };
                let body = match vendor.wire {
                    crate::Wire::OpenaiChat => openai_chat::body(&request, &vendor.quirks, true),
                    crate::Wire::OpenaiResponses => openai_responses::body(&request, &vendor.quirks, true),
                    crate::Wire::Anthropic => anthropic::body(&request, &vendor.quirks, true),
                    crate::Wire::Gemini => gemini::body(&request, &vendor.quirks),
                    crate::Wire::Converse => crate::converse::body(&request, &vendor.quirks),
                };
                assert_eq!(body.pointer(place), expected, "{name} {model} {is_due}");
                assert_eq!(body.get("tools").is_some(), has_tools, "{name} {model} {is_due}");
            }
        }
    }

    #[test]
    fn a_schema_is_strict_only_where_that_changes_nothing() {
        let closed = json!({"type": "object", "properties": {"title": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["b", "title"], "additionalProperties": false});
        let with = |place: &str, value: Value| {
            let mut schema = closed.clone();
            *schema.pointer_mut(place).unwrap() = value;
            schema
        };
        let table = [
            (closed.clone(), Some(true)),
            (with("/required", json!(["b"])), Some(false)),
            (with("/additionalProperties", json!(true)), Some(false)),
            (with("/properties/title", json!({"type": "string", "minLength": 1})), Some(false)),
            (json!({"type": "array", "items": {"type": "string"}}), None),
        ];
        for (schema, expected) in table {
            let strict = named_schema(&schema).map(|named| named["strict"].as_bool().unwrap());
            assert_eq!(strict, expected, "{schema}");
        }
    }

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
