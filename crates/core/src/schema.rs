//! Arguments checked against a tool's JSON Schema: every problem at once, with an example call.
use crate::{ToolError, ToolErrorKind, ToolSpec, reply::kind_of};
use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use known::Known;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

mod known;

/// How arguments are held against their schema (X-09).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validation {
    /// As they came.
    Strict,
    /// After what small models get wrong is put right where it is unambiguous: `"3"` for `3`, an object written
    /// as a string, `null` for "not given".
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
    known: Known,
    validator: OnceLock<Result<Validator, String>>,
}

impl Schema {
    /// `parameters`: JSON Schema of an object.
    pub fn new(parameters: Value) -> Self {
        Self { parameters, known: Known::default(), validator: OnceLock::new() }
    }

    /// As [`Schema::new`], where `parameters` may refer to these schemas by their URI. Others are never fetched: a
    /// schema that refers to one cannot be used.
    pub fn with_known(parameters: Value, known: Arc<HashMap<String, Value>>) -> Self {
        Self { parameters, known: Known(known), validator: OnceLock::new() }
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
            Validation::Coerce => coerce(arguments.clone(), &self.parameters),
        };
        let problems = self.problems(&arguments)?;
        if problems.is_empty() {
            return Ok(arguments);
        }
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        let message = format!("cannot call `{}`: {}", spec.name, messages.join("; "));
        let hint = format!("for example: {} {}", spec.name, example(spec));
        Err(ToolError::new(ToolErrorKind::Validation, message).hint(hint))
    }

    /// Everything that is wrong with `arguments`. Fails if the schema itself is no schema.
    pub fn problems(&self, arguments: &Value) -> Result<Vec<Problem>, ToolError> {
        let built = self.validator.get_or_init(|| {
            let options = jsonschema::options().with_retriever(self.known.clone());
            options.build(&self.parameters).map_err(|error| error.to_string())
        });
        let validator = built.as_ref().map_err(|error| {
            ToolError::new(ToolErrorKind::System, format!("the tool's own schema cannot be used: {error}"))
        })?;
        Ok(validator.iter_errors(arguments).flat_map(|error| self.explain(&error)).collect())
    }

    fn explain(&self, error: &ValidationError<'_>) -> Vec<Problem> {
        let path = path_of(error);
        let whole = path.is_empty();
        let at = if whole { "the arguments".to_owned() } else { format!("`{}`", dotted(&path)) };
        let problem = |message: String| vec![Problem { path: path.clone(), message }];
        match error.kind() {
            Kind::Required { property } => {
                let inner: Vec<Value> = path.iter().cloned().chain([property.clone()]).collect();
                let message = format!("`{}` is required", dotted(&inner));
                vec![Problem { path: inner, message }]
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                unexpected.iter().map(|name| self.unexpected(&path, name)).collect()
            }
            Kind::Type { kind } => {
                let got = kind_of(error.instance());
                problem(format!("{at} must be {}, not {got}", expected(kind)))
            }
            Kind::Enum { options } => {
                problem(format!("{at} must be one of {options}, not {}", error.instance()))
            }
            Kind::Constant { expected_value } => problem(format!("{at} must be {expected_value}")),
            Kind::Minimum { limit } => {
                problem(format!("{at} must be at least {limit}, not {}", error.instance()))
            }
            Kind::Maximum { limit } => {
                problem(format!("{at} must be at most {limit}, not {}", error.instance()))
            }
            _ => problem(format!("{at}: {error}")),
        }
    }

    fn unexpected(&self, path: &[Value], name: &str) -> Problem {
        let known = self.parameters.get("properties").and_then(Value::as_object).filter(|_| path.is_empty());
        let known: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let near = nearest(name, &known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let path: Vec<Value> = path.iter().cloned().chain([json!(name)]).collect();
        Problem { message: format!("there is no parameter `{}`{near}", dotted(&path)), path }
    }
}

/// A correct call's arguments: the tool's own first example, else one made from the schema.
pub fn example(spec: &ToolSpec) -> Value {
    match spec.examples.first() {
        Some(example) => example.arguments.clone(),
        None => sample(&spec.parameters),
    }
}

/// What the type of a tool's arguments says.
pub(crate) struct Described {
    /// Its doc comment.
    pub(crate) description: String,
    /// The parameters that a model is told of.
    pub(crate) told: Value,
    /// Those that it may give. Nothing beside them: what is misspelt would be lost in silence.
    pub(crate) accepted: Value,
}

/// Description and parameters of `A`: no references, no `$schema`, and `Option<T>` as the schema of `T` (A-09).
pub(crate) fn describe<A: JsonSchema>() -> Described {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    let description = schema.as_object_mut().and_then(|object| object.shift_remove("description"));
    plain(&mut schema);
    let (mut told, mut accepted) = (schema.clone(), schema);
    conceal(&mut told);
    reveal(&mut accepted);
    if let (Some(told), Some(accepted)) = (told.as_object_mut(), accepted.as_object_mut()) {
        told.entry("properties").or_insert_with(|| json!({}));
        accepted.entry("properties").or_insert_with(|| json!({}));
        accepted.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    let description = description.and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default();
    Described { description, told, accepted }
}

/// A property with this mark is accepted, but no model is told of it.
const HIDDEN: &str = "x-hidden";
/// The schema that is accepted in place of the one around it.
const ACCEPTS: &str = "x-accepts";

/// Leaves out what models are not told of, and what they know: a number of lines is not negative.
fn conceal(schema: &mut Value) {
    each_property(schema, |properties| {
        properties.retain(|_, property| property.get(HIDDEN).is_none());
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.shift_remove(ACCEPTS);
            if property.get("minimum").is_some_and(|least| *least == 0) {
                property.shift_remove("minimum");
            }
        }
    });
}

/// Puts what is accepted in place of what models are told.
fn reveal(schema: &mut Value) {
    each_property(schema, |properties| {
        for property in properties.values_mut() {
            let Some(object) = property.as_object_mut() else { continue };
            object.shift_remove(HIDDEN);
            if let Some(accepted) = object.shift_remove(ACCEPTS) {
                *property = accepted;
            }
        }
    });
}

/// The properties of the object itself, then those inside it.
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

/// Removes what a model need not read: titles, Rust's number formats, nullability.
fn plain(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(object) => {
            if object.get("title").is_some_and(Value::is_string) {
                object.shift_remove("title");
            }
            if object.get("format").and_then(Value::as_str).is_some_and(is_rust_number) {
                object.shift_remove("format");
            }
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
            object.values_mut().for_each(plain);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The one schema of `anyOf: [schema, null]`.
fn one_or_null(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    match object.get("anyOf")?.as_array()?.as_slice() {
        [Value::Object(only), null] if null == &json!({"type": "null"}) => Some(only.clone()),
        _ => None,
    }
}

fn is_rust_number(format: &str) -> bool {
    format.starts_with("uint") || format.starts_with("int") || format == "float" || format == "double"
}

/// The known name that `name` was probably meant to be.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(&name.to_lowercase(), candidate);
    let near = known.iter().copied().map(|candidate| (distance(candidate), candidate)).min()?;
    let length = near.1.chars().count();
    (near.0 < length && near.0 <= length.div_ceil(3)).then_some(near.1)
}

fn path_of(error: &ValidationError<'_>) -> Vec<Value> {
    let pointer = error.instance_path().as_str();
    let steps = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
    steps.map(|step| step.parse::<u64>().map_or_else(|_| json!(step), |index| json!(index))).collect()
}

fn dotted(path: &[Value]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Value::Number(index) => text += &format!("[{index}]"),
            step => {
                let dot = if text.is_empty() { "" } else { "." };
                text += dot;
                text += step.as_str().unwrap_or_default();
            }
        }
    }
    text
}

fn expected(kind: &TypeKind) -> String {
    let article = |name: &str| match name {
        "null" => "null".to_owned(),
        "integer" | "object" | "array" => format!("an {name}"),
        _ => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(one) => article(&one.to_string()),
        TypeKind::Multiple(many) => {
            many.iter().map(|one| article(&one.to_string())).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// Puts right what is unambiguous; what it cannot read stays as it is, for the check to report.
fn coerce(value: Value, schema: &Value) -> Value {
    let Some(wanted) = schema.get("type").and_then(Value::as_str) else { return value };
    match (wanted, value) {
        ("object", Value::String(text)) => reread(text, schema, Value::is_object),
        ("array", Value::String(text)) => reread(text, schema, Value::is_array),
        ("object", Value::Object(object)) => Value::Object(coerce_object(object, schema)),
        ("array", Value::Array(items)) => match schema.get("items") {
            Some(each) => items.into_iter().map(|item| coerce(item, each)).collect(),
            None => Value::Array(items),
        },
        ("integer", Value::Number(number)) => whole(number),
        ("integer", Value::String(text)) => {
            text.trim().parse::<i64>().map_or(Value::String(text), Value::from)
        }
        ("number", Value::String(text)) => {
            let number = text.trim().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map_or(Value::String(text), Value::Number)
        }
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        ("string", Value::Number(number)) => Value::String(number.to_string()),
        ("string", Value::Bool(truth)) => Value::String(truth.to_string()),
        (_, value) => value,
    }
}

fn coerce_object(object: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    };
    let given = object.into_iter().filter(|(name, value)| !value.is_null() || required(name));
    let coerced = given.map(|(name, value)| match schema.get("properties").and_then(|all| all.get(&name)) {
        Some(inner) => (name, coerce(value, inner)),
        None => (name, value),
    });
    coerced.collect()
}

fn reread(text: String, schema: &Value, fits: fn(&Value) -> bool) -> Value {
    match serde_json::from_str(&text) {
        Ok(value) if fits(&value) => coerce(value, schema),
        _ => Value::String(text),
    }
}

/// `3.0` where an integer is wanted is `3`.
fn whole(number: serde_json::Number) -> Value {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
            Value::from(float as i64)
        }
        _ => Value::Number(number),
    }
}

/// A value that passes, made from the schema alone.
fn sample(schema: &Value) -> Value {
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|all| all.first()).cloned();
    let given = first("examples").or_else(|| first("enum")).or_else(|| schema.get("default").cloned());
    given.unwrap_or_else(|| match schema.get("type").and_then(Value::as_str) {
        Some("object") => sample_object(schema),
        Some("array") => schema.get("items").map_or(json!([]), |each| json!([sample(each)])),
        Some("integer") | Some("number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        _ => json!("…"),
    })
}

fn sample_object(schema: &Value) -> Value {
    let names = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let named = names.iter().filter_map(Value::as_str).map(|name| {
        let inner = schema.get("properties").and_then(|all| all.get(name));
        (name.to_owned(), inner.map_or(json!("…"), sample))
    });
    Value::Object(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        checked.map_err(|error| format!("{} [{}]", error.message, error.hint.unwrap_or_default()))
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
        let example = r#"[for example: move {"path":"…"}]"#;
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
