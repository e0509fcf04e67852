//! [`Schema`]: checks arguments against a tool's JSON Schema. Reports every problem at once, with an example call.
use crate::{ToolError, ToolErrorKind, ToolSpec};
use explain::Subject;
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

pub use describe::merge_alternatives;
pub(crate) use describe::{Described, describe};
pub use example::example;
pub use explain::nearest;

/// How arguments are checked against their schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// Arguments are checked without coercion.
    Strict,
    /// Arguments are checked after the correction of frequent mistakes of small models, if the correction is
    /// unambiguous: `"3"` for `3`, an object written as a string, `null` for "not given".
    #[default]
    Coerce,
    /// Arguments are not checked: the tool checks them itself.
    Off,
}

/// A mistake in the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The place of the mistake: parameter names and array indices; empty for the arguments as a whole.
    pub path: Vec<Value>,
    /// What is wrong, naming the parameter.
    pub message: String,
}

/// The schema of a tool's parameters. The validator is built at the first call, because that takes milliseconds.
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

    /// Like [`Schema::new`], but `parameters` may refer to the schemas in `known` by their URI. Other URIs are never
    /// fetched: a schema that refers to one is invalid.
    pub fn with_known(parameters: Value, known: Arc<HashMap<String, Value>>) -> Self {
        Self { parameters, known, validator: OnceLock::new() }
    }

    /// The schema as it was given.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// Returns the arguments for the tool, or an error for the model that lists every problem.
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
        match problems.is_empty() {
            true => Ok(coerce::with_integers(arguments, &self.parameters)),
            false => Err(refused(spec, &problems)),
        }
    }

    /// Returns everything that is wrong with `arguments`. Fails if the schema itself is not a valid schema.
    pub fn problems(&self, arguments: &Value) -> Result<Vec<Problem>, ToolError> {
        self.problems_among(arguments, &self.parameters)
    }

    /// Like [`Self::problems`]; suggestions for misspelled names are taken from `told`, a schema of parameters.
    pub(crate) fn problems_among(&self, arguments: &Value, told: &Value) -> Result<Vec<Problem>, ToolError> {
        let validator = self.validator().map_err(|error| {
            ToolError::new(ToolErrorKind::System, format!("the tool's own schema cannot be used: {error}"))
        })?;
        let error = validator.error_of(arguments);
        let explain = |error| explain::problems(Subject::Arguments, &error, arguments, told);
        Ok(error.map_or_else(Vec::new, explain))
    }

    /// The patterns in it that are not checked. Fails if it is not a valid schema.
    pub(crate) fn unchecked_patterns(&self) -> Result<&[String], &str> {
        self.validator().map(|validator| validator.unchecked.as_slice())
    }

    /// Returns everything that is wrong with an answer, or with the schema itself.
    pub(crate) fn answer_problems(&self, answer: &Value) -> Vec<String> {
        let validator = match self.validator() {
            Ok(validator) => validator,
            Err(error) => return vec![format!("the schema cannot be used: {error}")],
        };
        let explain = |error| explain::problems(Subject::Answer, &error, answer, &self.parameters);
        let problems = validator.error_of(answer).map_or_else(Vec::new, explain);
        problems.into_iter().map(|problem| problem.message).collect()
    }

    fn validator(&self) -> Result<&Validator, &str> {
        let built = self.validator.get_or_init(|| Validator::new(&self.parameters, self.known.clone()));
        built.as_ref().map_err(String::as_str)
    }
}

/// An error for the model with every problem and an example of a correct call.
pub(crate) fn refused(spec: &ToolSpec, problems: &[Problem]) -> ToolError {
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    let message = format!("cannot call `{}`: {}", spec.name, messages.join("; "));
    ToolError::new(ToolErrorKind::Validation, message).example(&spec.name, example(spec))
}
