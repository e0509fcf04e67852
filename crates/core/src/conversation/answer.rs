//! [`AnswerSchema`]: the JSON Schema that the last reply of a turn must match, and the instructions for the model.
use crate::{Entry, Fact, active_path, json::spaced, schema::Schema};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;
use std::sync::Arc;

/// Maximum number of times per turn that a model is asked again for an answer that matches.
pub const MAX_ANSWER_RETRIES: u32 = 3;

/// The form that the answer of a turn must have.
#[derive(Clone)]
pub struct AnswerSchema {
    schema: Arc<Schema>,
}

impl AnswerSchema {
    /// Fails if `schema` is not a valid JSON Schema, refers to a schema outside of itself, which is never fetched, or
    /// has a pattern that cannot be checked.
    pub fn new(schema: Value) -> Result<Self, String> {
        let schema = Schema::new(schema);
        if let [pattern, ..] = schema.unchecked_patterns().map_err(str::to_owned)? {
            return Err(format!(
                "the pattern `{pattern}` is not valid, or has something that is not supported here: look-around or a \
                 back reference"
            ));
        }
        Ok(Self { schema: schema.into() })
    }

    /// Returns the answer in `reply`, which must be only JSON, or JSON in one code fence. The error lists everything
    /// that is wrong with it.
    pub fn check(&self, reply: &str) -> Result<Value, Vec<String>> {
        let text = without_fence(reply.trim());
        if text.is_empty() {
            return Err(vec!["the answer is empty".into()]);
        }
        let answer: Value =
            serde_json::from_str(text).map_err(|error| vec![format!("the answer is not JSON: {error}")])?;
        let problems = self.schema.answer_problems(&answer);
        if problems.is_empty() { Ok(answer) } else { Err(problems) }
    }
}

/// Returns the JSON Schema of answers of type `T`.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Returns the JSON Schema of the last reply of the last turn, according to the entries of a session; `None` if any
/// reply is allowed.
pub fn wanted_schema(entries: &[Arc<Entry>]) -> Option<Value> {
    active_path(entries).into_iter().rev().find_map(|entry| match &entry.fact {
        Fact::AnswerSchema { schema } => Some(schema.clone()),
        _ => None,
    })?
}

/// The text for the model after the prompt.
pub(crate) fn instructions(schema: &Value) -> String {
    format!(
        "\n\n[When all is done, your last reply must be one JSON value that matches this JSON Schema, and nothing else: \
         no prose, no code fence]\n{}",
        spaced(schema)
    )
}

/// The text for the model after a reply that does not match.
pub fn rejection(schema: &Value, problems: &[String]) -> String {
    format!(
        "[Your reply is not the JSON that was asked for]\n- {}\nReply with one JSON value that matches this JSON Schema, \
         and nothing else:\n{}",
        problems.join("\n- "),
        spaced(schema)
    )
}

fn without_fence(text: &str) -> &str {
    let inside = || {
        let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let is_json = ["", "json"].contains(&language.trim());
        rest.strip_suffix("```").filter(|_| is_json)
    };
    inside().map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_json_alone_that_matches() {
        let schema = json!({"type": "object", "properties": {"files": {"type": "array", "items": {"type": "string"}},
            "count": {"type": "integer", "minimum": 0}}, "required": ["files", "count"], "additionalProperties": false});
        let schema = AnswerSchema::new(schema).unwrap();
        let right = json!({"files": ["ü"], "count": 1});
        let wrong = |problems: &[&str]| Err(problems.iter().map(|problem| (*problem).to_owned()).collect());
        let table = [
            (r#"{"files": ["ü"], "count": 1}"#, Ok(right.clone())),
            ("\n```json\n{\"files\": [\"ü\"], \"count\": 1}\n```\n", Ok(right.clone())),
            ("```\n{\"files\": [\"ü\"], \"count\": 1}\n```", Ok(right)),
            ("", wrong(&["the answer is empty"])),
            ("[]", wrong(&["the answer must be an object, not an array"])),
            ("Done.", wrong(&["the answer is not JSON: expected value at line 1 column 1"])),
            (
                r#"{"files": [1], "count": -1, "cuont": 2}"#,
                wrong(&[
                    "there is no property `cuont`; did you mean `count`?",
                    "`files[0]` must be a string, not an integer",
                    "`count` must be at least 0, not -1",
                ]),
            ),
        ];
        for (reply, expected) in table {
            let mut found = schema.check(reply);
            let mut expected = expected;
            for problems in [&mut found, &mut expected].into_iter().filter_map(|each| each.as_mut().err()) {
                problems.sort();
            }
            assert_eq!(found, expected, "{reply}");
        }
    }

    #[test]
    fn an_invalid_schema_is_an_error() {
        let table = [
            (json!({"type": "text"}), false),
            (json!({"$ref": "https://example.org/other.json"}), false),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}), true),
            (json!([]), false),
            (json!(true), true),
        ];
        for (schema, is_valid) in table {
            assert_eq!(AnswerSchema::new(schema.clone()).is_ok(), is_valid, "{schema}");
        }
    }
}
