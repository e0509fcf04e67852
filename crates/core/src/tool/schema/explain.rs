//! [`problems`]: describes the errors in arguments so that a model can correct them.
use super::Problem;
use crate::reply::kind_of;
use boon::{ErrorKind as Kind, InstanceLocation, InstanceToken, Type, Types, ValidationError};
use serde_json::{Map, Value, json};

/// What is checked against a schema, for the wording of problems.
#[derive(Clone, Copy)]
pub(super) enum Subject {
    Arguments,
    Answer,
}

impl Subject {
    fn whole(self) -> &'static str {
        match self {
            Self::Arguments => "the arguments",
            Self::Answer => "the answer",
        }
    }

    fn property(self) -> &'static str {
        match self {
            Self::Arguments => "parameter",
            Self::Answer => "property",
        }
    }
}

/// Every problem in `error`, in the order of the schema's keywords. `parameters`: a schema with the known names, for
/// suggestions.
pub(super) fn problems(
    subject: Subject,
    error: &ValidationError<'_, '_>,
    arguments: &Value,
    parameters: &Value,
) -> Vec<Problem> {
    let path = path_of(&error.instance_location);
    let at = if path.is_empty() { subject.whole().to_owned() } else { format!("`{}`", dotted(&path)) };
    let value = value_at(arguments, &error.instance_location);
    let problem = |message: String| vec![Problem { path: path.clone(), message }];
    match &error.kind {
        // These kinds only contain other errors.
        Kind::Group | Kind::Schema { .. } | Kind::Reference { .. } | Kind::AllOf | Kind::ContentSchema => {
            error.causes.iter().flat_map(|cause| problems(subject, cause, arguments, parameters)).collect()
        }
        Kind::Required { want } => want.iter().map(|name| required(&path, name)).collect(),
        Kind::AdditionalProperties { got } => {
            got.iter().map(|name| unexpected(subject, &path, name, parameters)).collect()
        }
        Kind::FalseSchema => match path.split_last() {
            Some((Value::String(name), object)) => vec![unexpected(subject, object, name, parameters)],
            _ => problem(format!("{at} must not be given")),
        },
        Kind::Type { want, .. } => {
            problem(format!("{at} must be {}, not {}", expected(*want), kind_of(value)))
        }
        Kind::Enum { want } => {
            problem(format!("{at} must be one of {}, not {value}", Value::Array((*want).clone())))
        }
        Kind::Const { want } => problem(format!("{at} must be {want}")),
        Kind::Minimum { want, .. } => problem(format!("{at} must be at least {want}, not {value}")),
        Kind::Maximum { want, .. } => problem(format!("{at} must be at most {want}, not {value}")),
        Kind::MinLength { want, got } => {
            problem(format!("{at} must have at least {}, not {got}", many(*want, "character")))
        }
        Kind::MaxLength { want, got } => {
            problem(format!("{at} must have at most {}, not {got}", many(*want, "character")))
        }
        Kind::MinItems { want, got } => {
            problem(format!("{at} must have at least {}, not {got}", many(*want, "item")))
        }
        Kind::MaxItems { want, got } => {
            problem(format!("{at} must have at most {}, not {got}", many(*want, "item")))
        }
        Kind::AnyOf | Kind::OneOf(None) => problem(alternatives(subject, &at, error, arguments, parameters)),
        kind => problem(format!("{at}: {kind}")),
    }
}

/// A number of things, such as `1 item` or `2 items`.
fn many(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn required(path: &[Value], name: &str) -> Problem {
    let path: Vec<Value> = path.iter().cloned().chain([json!(name)]).collect();
    Problem { message: format!("`{}` is required", dotted(&path)), path }
}

fn unexpected(subject: Subject, path: &[Value], name: &str, parameters: &Value) -> Problem {
    let known = parameters.get("properties").and_then(Value::as_object).filter(|_| path.is_empty());
    let known = known.into_iter().flat_map(Map::keys).map(String::as_str);
    let known: Vec<&str> = known.filter(|known| *known != name).collect();
    let near = nearest(name, &known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let path: Vec<Value> = path.iter().cloned().chain([json!(name)]).collect();
    Problem { message: format!("there is no {} `{}`{near}", subject.property(), dotted(&path)), path }
}

/// The problems of the value with each alternative.
fn alternatives(
    subject: Subject,
    at: &str,
    error: &ValidationError<'_, '_>,
    arguments: &Value,
    parameters: &Value,
) -> String {
    let against = |cause| {
        let problems = problems(subject, cause, arguments, parameters);
        problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join(" and ")
    };
    // An enum whose variants have descriptions.
    let constant = |cause: &ValidationError<'_, '_>| match &cause.kind {
        Kind::Const { want } => Some((*want).clone()),
        _ => None,
    };
    if let Some(constants) = error.causes.iter().map(constant).collect::<Option<Vec<_>>>() {
        let value = value_at(arguments, &error.instance_location);
        return format!("{at} must be one of {}, not {value}", Value::Array(constants));
    }
    let mut all: Vec<String> = error.causes.iter().map(against).collect();
    all.dedup();
    match all.as_slice() {
        [only] => only.clone(),
        all => format!("{at} fits none of {} alternatives: {}", error.causes.len(), all.join("; or ")),
    }
}

/// The known name that `name` was probably meant to be.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(&name.to_lowercase(), candidate);
    let near = known.iter().copied().map(|candidate| (distance(candidate), candidate)).min()?;
    let length = near.1.chars().count();
    (near.0 < length && near.0 <= length.div_ceil(3)).then_some(near.1)
}

fn path_of(location: &InstanceLocation<'_>) -> Vec<Value> {
    let step = |token: &InstanceToken<'_>| match token {
        InstanceToken::Prop(name) => json!(name),
        InstanceToken::Item(index) => json!(index),
    };
    location.tokens.iter().map(step).collect()
}

fn value_at<'a>(arguments: &'a Value, location: &InstanceLocation<'_>) -> &'a Value {
    let inside = |value: &'a Value, token: &InstanceToken<'_>| match token {
        InstanceToken::Prop(name) => value.get(name.as_ref()),
        InstanceToken::Item(index) => value.get(index),
    };
    location.tokens.iter().try_fold(arguments, inside).unwrap_or(&Value::Null)
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

fn expected(types: Types) -> String {
    let article = |one: Type| match one {
        Type::Null => "null".to_owned(),
        Type::Integer | Type::Object | Type::Array => format!("an {one}"),
        Type::Boolean | Type::Number | Type::String => format!("a {one}"),
    };
    types.iter().map(article).collect::<Vec<_>>().join(" or ")
}
