//! [`Schema`]: checks arguments against a tool's JSON Schema: every problem at once, with an example call.
use crate::{ToolError, ToolErrorKind, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};
use validator::Validator;

mod coerce;
mod describe;
mod example;
mod explain;
mod plain;
mod validator;

pub(crate) use describe::{Described, describe};
pub use example::example;
pub use explain::nearest;

/// How arguments are held against their schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// As they came.
    Strict,
    /// After what small models get wrong is corrected if that is unambiguous: `"3"` for `3`, an object written as a
    /// string, `null` for "not given".
    #[default]
    Coerce,
    /// Not at all, for tools that check by themselves.
    Off,
}

/// One thing that is wrong with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: names of parameters and places in arrays; empty for the arguments as a whole.
    pub path: Vec<Value>,
    /// What is wrong, naming the parameter.
    pub message: String,
}

/// A tool's parameters, made ready for checking at the first call: building a validator takes milliseconds.
pub struct Schema {
    parameters: Value,
    known: Arc<HashMap<String, Value>>,
    validator: OnceLock<Result<Validator, String>>,
}

impl Schema {
    /// `parameters`: JSON Schema of an object.
    pub fn new(parameters: Value) -> Self {
        Self::with_known(parameters, Arc::default())
    }

    /// As [`Schema::new`], where `parameters` may refer to these schemas by their URI. Others are never fetched: a
    /// schema that refers to one cannot be used.
    pub fn with_known(parameters: Value, known: Arc<HashMap<String, Value>>) -> Self {
        Self { parameters, known, validator: OnceLock::new() }
    }

    /// As it was given.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// The arguments as the tool may have them, or an error for the model that lists every problem.
    pub fn check(
        &self,
        spec: &ToolSpec,
        arguments: &Value,
        validation: Validation,
    ) -> Result<Value, ToolError> {
        let arguments = match validation {
            Validation::Off => return Ok(arguments.clone()),
            Validation::Strict => arguments.clone(),
            Validation::Coerce => coerce::coerce(arguments.clone(), &self.parameters),
        };
        let problems = self.problems_among(&arguments, &spec.parameters)?;
        if problems.is_empty() { Ok(arguments) } else { Err(refused(spec, &problems)) }
    }

    /// Returns everything that is wrong with `arguments`. Fails if the schema itself is not a valid schema.
    pub fn problems(&self, arguments: &Value) -> Result<Vec<Problem>, ToolError> {
        self.problems_among(arguments, &self.parameters)
    }

    /// The same, with the names of `told` for those that were probably meant: a schema of parameters.
    pub(crate) fn problems_among(&self, arguments: &Value, told: &Value) -> Result<Vec<Problem>, ToolError> {
        let built = self.validator.get_or_init(|| Validator::new(&self.parameters, self.known.clone()));
        let validator = built.as_ref().map_err(|error| {
            ToolError::new(ToolErrorKind::System, format!("the tool's own schema cannot be used: {error}"))
        })?;
        let error = validator.error_of(arguments);
        Ok(error.map_or_else(Vec::new, |error| explain::problems(&error, arguments, told)))
    }
}

/// An error for the model with every problem and a call that would have been right.
pub(crate) fn refused(spec: &ToolSpec, problems: &[Problem]) -> ToolError {
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    let message = format!("cannot call `{}`: {}", spec.name, messages.join("; "));
    ToolError::new(ToolErrorKind::Validation, message).example(&spec.name, example(spec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde_json::json;

    /// Move some files.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema matters here")]
    struct Args {
        /// Where to.
        path: String,
        /// How many.
        count: Option<u32>,
        force: Option<bool>,
        ratio: Option<f64>,
        /// Which ones.
        #[serde(default)]
        files: Vec<File>,
        how: Option<How>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters here")]
    struct File {
        name: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum How {
        Fast,
        Slow,
    }

    fn check(arguments: Value, validation: Validation) -> Result<Value, String> {
        let spec = ToolSpec::of::<Args>("move");
        let checked = Schema::new(describe::<Args>().accepted).check(&spec, &arguments, validation);
        checked.map_err(|error| {
            let (name, arguments) = *error.example.unwrap_or_default();
            format!("{} [{name} {arguments}]", error.message)
        })
    }

    #[test]
    fn the_schema_is_what_a_model_should_read() {
        let spec = ToolSpec::of::<Args>("move");
        assert_eq!(spec.description, "Move some files.");
        insta::assert_snapshot!(spec.parameters, @r#"{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"Where to."},"count":{"type":"integer","description":"How many."},"force":{"type":"boolean"},"ratio":{"type":"number"},"files":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"description":"Which ones."},"how":{"type":"string","enum":["fast","slow"]}},"required":["path"]}"#);
    }

    // C-68, C-71, C-20, C-21, C-22, C-23, C-24, C-48, C-53, C-57, C-64, A06 to A09
    #[test]
    fn every_problem_is_told_at_once_with_an_example() {
        let example = r#"[move {"path":"…"}]"#;
        let table = [
            (json!({}), "cannot call `move`: `path` is required"),
            (
                json!({"path": "a", "pth": 1}),
                "cannot call `move`: there is no parameter `pth`; did you mean `path`?",
            ),
            (
                json!({"count": -1, "force": "maybe", "files": [{"nme": 1}]}),
                "cannot call `move`: `path` is required; `count` must be at least 0, not -1; \
                 `force` must be a boolean, not a string; `files[0].name` is required",
            ),
            (json!({"path": {"a": 1}}), "cannot call `move`: `path` must be a string, not an object"),
            (json!([1]), "cannot call `move`: the arguments must be an object, not an array"),
        ];
        for (arguments, expected) in table {
            let mut told = check(arguments.clone(), Validation::Coerce).unwrap_err();
            assert!(told.ends_with(example), "{told}");
            told.truncate(told.len() - example.len() - 1);
            let sorted = |text: &str| {
                let mut all: Vec<_> = text
                    .trim_start_matches("cannot call `move`: ")
                    .split("; `")
                    .map(|p| p.trim_start_matches('`').to_owned())
                    .collect();
                all.sort();
                all
            };
            assert_eq!(sorted(&told), sorted(expected), "{arguments}");
        }
    }

    // X-09
    #[test]
    fn what_small_models_get_wrong_is_put_right() {
        let table = [
            (json!({"path": "a", "count": "3"}), json!({"path": "a", "count": 3})),
            (
                json!({"path": "a", "ratio": "0.5", "force": "True"}),
                json!({"path": "a", "ratio": 0.5, "force": true}),
            ),
            (json!({"path": 7, "count": null}), json!({"path": "7"})),
            (
                json!({"path": "a", "files": "[{\"name\":\"b\"}]"}),
                json!({"path": "a", "files": [{"name": "b"}]}),
            ),
            (json!("{\"path\":\"a\"}"), json!({"path": "a"})),
        ];
        for (arguments, expected) in table {
            assert_eq!(check(arguments.clone(), Validation::Coerce), Ok(expected), "{arguments}");
            assert!(check(arguments.clone(), Validation::Strict).is_err(), "{arguments}");
            assert_eq!(check(arguments.clone(), Validation::Off), Ok(arguments));
        }
    }
}
