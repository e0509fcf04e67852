//! [`Rules`]: writes JSON Schemas as GBNF grammars, which make a malformed call impossible.
//!
//! GBNF is llama.cpp's notation for grammars: `name ::= "text" other-rule [a-z]*`. The grammars made here allow one
//! spelling only: one space after `:` and `,` as Python writes JSON, no other free space (small models fill it with
//! newlines forever), keys in the order of the schema, required ones first.
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Rules for JSON of any shape and for the parts that other rules use.
const COMMON_RULES: &str = r#"
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
array ::= "[" (value (", " value)*)? "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
integer ::= "-"? ("0" | [1-9] [0-9]{0,18})
number ::= integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,3})?
"#;

/// A larger `maxLength` is not enforced: each allowed character costs the grammar a rule.
const MAX_COUNTED_LENGTH: u64 = 500;
/// Below this nesting depth, the grammar enforces only valid JSON.
const MAX_SCHEMA_DEPTH: usize = 12;

/// A grammar under construction: named rules, and a limit for strings whose schema has no `maxLength`.
pub struct Rules {
    text: String,
    made: usize,
    longest_string: Option<u64>,
}

/// Keyword in schemas made by this crate: the name of the rule that replaces the schema.
pub const RULE: &str = "x-haft-rule";

impl Rules {
    /// `longest_string`: maximum characters of a string whose schema gives no limit; `None` for any number.
    pub fn new(longest_string: Option<u64>) -> Self {
        Self { text: String::new(), made: 0, longest_string }
    }

    /// Adds a rule and returns its name.
    pub fn add(&mut self, body: &str) -> String {
        let name = format!("r{}", self.made);
        self.made += 1;
        writeln!(self.text, "{name} ::= {body}").expect("a string takes all that is written to it");
        name
    }

    /// The whole grammar, beginning at `root`.
    pub fn into_grammar(self, root: &str) -> String {
        format!("root ::= {root}\n{}{}", self.text, COMMON_RULES.trim_start())
    }

    /// An expression for the arguments of a call: an object, whatever the schema says.
    pub fn arguments(&mut self, parameters: &Value) -> String {
        match parameters.get("properties") {
            Some(Value::Object(_)) => self.schema(parameters),
            _ => "object".into(),
        }
    }

    /// An expression for any text, also an empty one, that does not contain `sign`. There is one rule for each prefix
    /// of the sign that the text so far may end with.
    pub fn text_without(&mut self, sign: &str) -> String {
        let sign: Vec<char> = sign.chars().collect();
        let first = self.made;
        self.made += sign.len();
        for length in 0..sign.len() {
            let mut letters: Vec<char> = sign.clone();
            letters.sort_unstable();
            letters.dedup();
            letters.retain(|letter| longest_beginning(&sign, length, *letter) > 0);
            let barred: String = letters.iter().map(|letter| in_class(*letter)).collect();
            let mut choices = vec![format!("[^{barred}] r{first}")];
            for letter in letters {
                let next = longest_beginning(&sign, length, letter);
                if next < sign.len() {
                    choices.push(format!("{} r{}", literal(&letter.to_string()), first + next));
                }
            }
            let name = first + length;
            writeln!(self.text, "r{name} ::= ({})?", choices.join(" | "))
                .expect("a string takes all that is written to it");
        }
        format!("r{first}")
    }

    /// An expression for every value that `schema` (JSON Schema without references) allows. Keywords that are not
    /// supported here are ignored, so that the expression allows more values.
    pub fn schema(&mut self, schema: &Value) -> String {
        self.nested(schema, 0)
    }

    fn nested(&mut self, schema: &Value, depth: usize) -> String {
        if depth > MAX_SCHEMA_DEPTH {
            return "value".into();
        }
        if let Some(Value::String(rule)) = schema.get(RULE) {
            return rule.clone();
        }
        if let Some(constant) = schema.get("const") {
            return literal(&json(constant));
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return either(values.iter().map(|value| literal(&json(value))));
        }
        if schema.get("properties").is_some() {
            return self.object(schema, depth);
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(Value::Array(schemas)) = schema.get(word) {
                let shapes: Vec<String> =
                    schemas.iter().map(|schema| self.nested(schema, depth + 1)).collect();
                return either(shapes);
            }
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.typed(kind, schema, depth),
            Some(Value::Array(kinds)) => {
                let names: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                let shapes: Vec<String> = names.iter().map(|kind| self.typed(kind, schema, depth)).collect();
                either(shapes)
            }
            _ if schema.get("properties").is_some() => self.object(schema, depth),
            _ => "value".into(),
        }
    }

    fn typed(&mut self, kind: &str, schema: &Value, depth: usize) -> String {
        match kind {
            "string" => self.string(schema),
            "integer" | "number" => kind.into(),
            "boolean" => "(\"true\" | \"false\")".into(),
            "null" => "\"null\"".into(),
            "array" => self.array(schema, depth),
            "object" => self.object(schema, depth),
            _ => "value".into(),
        }
    }

    fn string(&mut self, schema: &Value) -> String {
        let most = schema.get("maxLength").and_then(Value::as_u64).or(self.longest_string);
        let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0).min(MAX_COUNTED_LENGTH);
        match most.filter(|most| *most <= MAX_COUNTED_LENGTH) {
            Some(most) => self.add(&format!(r#""\"" char{{{},{most}}} "\"""#, least.min(most))),
            None if least > 0 => self.add(&format!(r#""\"" char{{{least},}} "\"""#)),
            None => "string".into(),
        }
    }

    fn array(&mut self, schema: &Value, depth: usize) -> String {
        let item = match schema.get("items") {
            Some(items) => self.nested(items, depth + 1),
            None => "value".into(),
        };
        let empty_is_fine = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0) == 0;
        let items = format!("{item} (\", \" {item})*");
        self.add(&match empty_is_fine {
            true => format!("\"[\" ({items})? \"]\""),
            false => format!("\"[\" {items} \"]\""),
        })
    }

    fn object(&mut self, schema: &Value, depth: usize) -> String {
        let Some(Value::Object(properties)) = schema.get("properties") else { return "object".into() };
        if properties.is_empty() && schema.get("additionalProperties") == Some(&Value::Bool(true)) {
            return "object".into();
        }
        let required = names_of(schema.get("required"));
        let (mut first, mut then) = (Vec::new(), Vec::new());
        for (name, shape) in properties {
            let entry = format!(
                "{} {}",
                literal(&format!("{}: ", json(&name.as_str().into()))),
                self.nested(shape, depth + 1)
            );
            let entry = self.add(&entry);
            if required.contains(&name.as_str()) { first.push(entry) } else { then.push(entry) }
        }
        let body = entries(&first, &then);
        self.add(&format!("\"{{\" {body} \"}}\""))
    }
}

/// An expression for the entries of an object, separated by commas, for each choice of the optional ones.
fn entries(required: &[String], optional: &[String]) -> String {
    let tail = |entries: &[String]| -> String {
        entries.iter().map(|entry| format!(" (\", \" {entry})?")).collect()
    };
    if !required.is_empty() {
        return required.join(" \", \" ") + &tail(optional);
    }
    let beginnings = (0..optional.len()).map(|at| optional[at].clone() + &tail(&optional[at + 1..]));
    match optional.is_empty() {
        true => String::new(),
        false => format!("({})?", either(beginnings)),
    }
}

/// Length of the longest prefix of `sign` that a text ends with, if the text ends with the first `length` characters of
/// `sign` followed by `letter`.
fn longest_beginning(sign: &[char], length: usize, letter: char) -> usize {
    let text: Vec<char> = sign[..length].iter().copied().chain([letter]).collect();
    let fits = |longest: &usize| text.ends_with(&sign[..*longest]);
    (1..=text.len()).rev().find(fits).unwrap_or(0)
}

/// Escapes a character for a character class `[…]`.
pub(crate) fn in_class(character: char) -> String {
    match character {
        ']' | '\\' | '^' | '-' => format!("\\x{:02X}", character as u32),
        '\n' => "\\n".into(),
        other => other.to_string(),
    }
}

/// `text` as a GBNF literal.
pub fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

/// An expression that matches one of `choices`.
pub fn either(choices: impl IntoIterator<Item = String>) -> String {
    let choices: Vec<String> = choices.into_iter().collect();
    match choices.as_slice() {
        [] => "value".into(),
        [only] => only.clone(),
        _ => format!("({})", choices.join(" | ")),
    }
}

/// The names in a `required` list.
pub fn names_of(required: Option<&Value>) -> Vec<&str> {
    let names = required.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(Value::as_str).collect()
}

/// The properties of an object's schema.
pub fn properties_of(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn json(value: &Value) -> String {
    crate::json::spaced(value)
}
