//! [`typed`]: converts a value without a type to the type in the tool's [`Schema`].
use super::{Setting, json_calls::may_be_json, pythonic};
use serde_json::{Map, Number, Value};

/// Maximum depth of nested schemas that are followed.
const DEEPEST: usize = 16;

/// The JSON Schema of a part of a tool's parameters, and that of all parameters, to which references lead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schema<'a> {
    whole: &'a Value,
    part: Option<&'a Value>,
}

impl<'a> Schema<'a> {
    /// `parameters`: of a tool; `Value::Null` if unknown.
    pub(super) fn new(parameters: &'a Value) -> Self {
        Self { whole: parameters, part: Some(parameters) }
    }

    /// The schema that allows anything.
    pub(super) const ANYTHING: Self = Self { whole: &Value::Null, part: Some(&Value::Null) };

    /// The schema of this tool's arguments.
    pub(super) fn of(setting: &'a Setting, tool: &str) -> Self {
        Self::new(setting.tool(tool).map_or(&Value::Null, |tool| &tool.parameters))
    }

    /// The schema of the property with this name.
    pub(super) fn property(self, name: &str) -> Self {
        let listed = self.within(&|part| part.get("properties")?.get(name));
        let others = || self.within(&|part| part.get("additionalProperties").filter(|part| part.is_object()));
        if listed.is_known() { listed } else { others() }
    }

    /// The schema of the elements.
    pub(super) fn items(self) -> Self {
        self.within(&|part| part.get("items"))
    }

    /// The schema of the elements, or one that allows anything.
    pub(super) fn items_or_anything(self) -> Self {
        let items = self.items();
        if items.is_known() { items } else { Self::ANYTHING }
    }

    /// Whether any properties are listed.
    pub(super) fn lists_properties(self) -> bool {
        self.within(&|part| part.get("properties")).is_known()
    }

    /// Whether it is an object without listed properties.
    pub(super) fn is_open(self) -> bool {
        self.is_known()
            && self.within(&|part| part.get("properties")?.as_object()?.values().next()).part.is_none()
    }

    /// Whether the schema is known.
    pub(super) fn is_known(self) -> bool {
        self.part.is_some()
    }

    /// The types that it allows.
    pub(super) fn kinds(self) -> Kinds {
        let mut kinds = Kinds::default();
        self.visit(0, &mut |part| {
            kinds.0 |= Kinds::of(part).0;
            false
        });
        kinds
    }

    fn within(self, step: &dyn Fn(&'a Value) -> Option<&'a Value>) -> Self {
        let mut found = None;
        self.visit(0, &mut |part| {
            found = step(part);
            found.is_some()
        });
        Self { whole: self.whole, part: found }
    }

    /// Visits this part and its alternatives, following references, until `done` returns true.
    fn visit(self, depth: usize, done: &mut dyn FnMut(&'a Value) -> bool) -> bool {
        let Some(part) = self.part else { return false };
        if depth > DEEPEST {
            return false;
        }
        let reference = part.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
        let referred = reference.and_then(|place| self.whole.pointer(place));
        let choices = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|word| part.get(word)?.as_array());
        done(part)
            || referred
                .into_iter()
                .chain(choices.flatten())
                .any(|part| Self { whole: self.whole, part: Some(part) }.visit(depth + 1, done))
    }
}

/// Allowed types, by their names in JSON Schema; empty if nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kinds(u8);

const KINDS: [&str; 7] = ["string", "array", "object", "number", "integer", "boolean", "null"];

impl Kinds {
    /// The kinds of a type's name, which some models write beside the value.
    pub(super) fn named(name: &str) -> Self {
        kind_named(name).map_or(Self(0), Self::only)
    }

    fn only(kind: &str) -> Self {
        Self(KINDS.iter().position(|known| *known == kind).map_or(0, |place| 1 << place))
    }

    /// The kinds that a schema names, or those of its allowed values.
    fn of(schema: &Value) -> Self {
        let all = |names: &[&str]| Self(names.iter().fold(0, |all, name| all | Self::named(name).0));
        match schema.get("type") {
            Some(Value::String(name)) => Self::named(name),
            Some(Value::Array(names)) => all(&names.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
            _ => {
                let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
                let kinds = values.chain(schema.get("const")).map(kind_of);
                let parts = [("properties", "object"), ("items", "array")].into_iter();
                let implied = parts.filter(|(part, _)| schema.get(part).is_some()).map(|(_, kind)| kind);
                all(&kinds.chain(implied).collect::<Vec<_>>())
            }
        }
    }

    /// Whether this type is allowed.
    pub(super) fn has(self, name: &str) -> bool {
        self.0 & Self::only(name).0 != 0
    }

    pub(super) fn are_known(self) -> bool {
        self.0 != 0
    }
}

/// The JSON Schema name of a type that a schema names as in some language: `float`, `dict[str, int]`, `STRING`. `None`
/// if any value fits it, or it is unknown.
pub(super) fn kind_named(name: &str) -> Option<&'static str> {
    let lower = name.trim().to_ascii_lowercase();
    let word = lower.split(['[', '<', '(']).next().unwrap_or_default().trim_end();
    Some(match word.rsplit('.').next().unwrap_or_default() {
        "string" | "str" | "text" | "char" | "varchar" | "enum" => "string",
        "array" | "arr" | "list" | "tuple" | "set" | "vec" | "vector" | "sequence" => "array",
        "object" | "dict" | "dictionary" | "map" | "mapping" | "hashmap" | "struct" | "record" => "object",
        "number" | "num" | "numeric" | "decimal" | "double" | "real" => "number",
        "boolean" | "bool" => "boolean",
        "null" | "none" | "nil" | "nonetype" => "null",
        "long" | "short" => "integer",
        word if word.starts_with("float") => "number",
        word if ["int", "uint", "unsigned"].iter().any(|begins| word.starts_with(begins)) => "integer",
        _ => return None,
    })
}

/// The JSON Schema name of the value's type.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The text as a value of one of these types; as a string if it fits none of them or the types are unknown.
pub(super) fn typed(text: &str, kinds: Kinds) -> Value {
    let word = text.trim();
    let words =
        [("null", "null", Value::Null), ("boolean", "true", true.into()), ("boolean", "false", false.into())];
    if let Some((.., value)) =
        words.into_iter().find(|(kind, known, _)| kinds.has(kind) && word.eq_ignore_ascii_case(known))
    {
        return value;
    }
    let is_whole = |number: &Number| number.as_f64().is_some_and(|number| number.fract() == 0.0);
    let fits = |number: &Number| kinds.has("number") || (kinds.has("integer") && is_whole(number));
    let structure = || structure(word).filter(|value| allowed(value, kinds));
    let value = number(word).filter(fits).map(Value::Number).or_else(structure);
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Like [`typed`]; if the kinds are unknown, with the type that the text looks like.
pub(super) fn typed_by_looks(text: &str, kinds: Kinds) -> Value {
    match (kinds.are_known(), text.trim()) {
        (true, _) => typed(text, kinds),
        (false, word) if word.eq_ignore_ascii_case("true") => Value::Bool(true),
        (false, word) if word.eq_ignore_ascii_case("false") => Value::Bool(false),
        (false, _) => shown(text),
    }
}

/// The text parsed as JSON; as a string if it is not JSON.
pub(super) fn shown(text: &str) -> Value {
    let parsed = if may_be_json(text) { serde_json::from_str(text.trim()).ok() } else { None };
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Parses an object in one of the notations that models use.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    match structure(text.trim())? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn allowed(value: &Value, kinds: Kinds) -> bool {
    // If only one of the two is allowed, the other one is a mistake that the check of the arguments should report.
    let either = !kinds.has("string") && (kinds.has("array") || kinds.has("object"));
    (value.is_array() || value.is_object()) && (either || kinds.has(kind_of(value)))
}

fn number(word: &str) -> Option<Number> {
    if let Ok(number) = serde_json::from_str(word) {
        return Some(number);
    }
    if let Ok(number) = word.parse::<i64>() {
        return Some(number.into());
    }
    let numeric = word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    word.parse().ok().filter(|_| numeric).and_then(Number::from_f64)
}

/// Parses an array or an object: JSON, JSON with escaped quotes, or Python.
fn structure(word: &str) -> Option<Value> {
    if !word.starts_with(['[', '{']) {
        return None;
    }
    let json = serde_json::from_str(word).ok();
    json.or_else(|| {
        let unescaped: String = serde_json::from_str(&format!("\"{word}\"")).ok()?;
        serde_json::from_str(&unescaped).ok()
    })
    .or_else(|| match pythonic::read(&format!("[f(x={word})]")) {
        pythonic::Beginning::Calls { mut calls, .. } => calls.pop()?.arguments.shift_remove("x"),
        _ => None,
    })
}
