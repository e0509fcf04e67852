//! [`read`]: parses one call of a Gemma model: `call:NAME{key:value,…}`.
//!
//! ```text
//! value = QUOTE text QUOTE | "{" key ":" value ("," …)* "}" | "[" value ("," …)* "]" | bare
//! ```
use crate::{
    Call, Setting,
    typed::{Schema, typed_by_looks},
};
use serde_json::{Map, Value};

/// Maximum nesting.
const DEEPEST: usize = 100;

/// Parses the text between the delimiters of a call. Also returns whether the call is complete. `closed`: whether the
/// text ends at the end of the call.
pub(super) fn read(
    body: &str,
    quote: &'static str,
    marks_strings: bool,
    closed: bool,
    setting: &Setting,
) -> Result<(Call, bool), String> {
    let body = body.trim();
    let Some(named) = body.strip_prefix("call").unwrap_or(body).trim_start().strip_prefix(':') else {
        return Err("it does not begin with `call:` and a name".into());
    };
    let Some((name, arguments)) = named.split_once('{') else {
        return match (closed, named.trim()) {
            (_, "") => Err("it names no tool".into()),
            (false, _) => Err("it was cut off".into()),
            (true, name) => Ok((Call::new(name, "{}"), true)),
        };
    };
    let tool = setting.tool(name.trim());
    let parameters = tool.map(|tool| Schema::new(&tool.parameters));
    // For a tool without a description, a value that the schema does not list may be a string.
    let by_looks = marks_strings || tool.is_some_and(|tool| !tool.description.is_empty());
    let unlisted = by_looks.then_some(Schema::ANYTHING);
    let mut values = Values { rest: arguments, quote, unlisted, depth: 0, is_cut_off: false };
    let arguments = values.object(parameters)?;
    match values.rest.trim_matches(['}', ' ', '\n']) {
        "" => Ok((Call::new(name.trim(), Value::Object(arguments)), !values.is_cut_off)),
        rest => Err(format!("something stands behind its arguments: `{rest}`")),
    }
}

struct Values<'a> {
    rest: &'a str,
    quote: &'static str,
    /// The schema of values that no schema describes; `None` means that a bare one is a string.
    unlisted: Option<Schema<'a>>,
    depth: usize,
    /// Whether the text ended inside a value or an object.
    is_cut_off: bool,
}

impl<'a> Values<'a> {
    /// Parses an object after its `{`. The end of the text ends it, too.
    fn object(&mut self, schema: Option<Schema<'a>>) -> Result<Map<String, Value>, String> {
        let mut object = Map::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.takes("}") {
                return Ok(object);
            }
            if self.rest.is_empty() {
                self.is_cut_off = true;
                return Ok(object);
            }
            if self.takes(",") {
                continue;
            }
            let key = match self.takes(self.quote) {
                true => self.upto_quote(self.quote),
                false => self.bare(&[':', ',', '}']).trim_matches('"'),
            };
            if !self.takes(":") {
                // A key without a value.
                continue;
            }
            self.rest = self.rest.trim_start();
            if self.rest.starts_with([',', '}']) {
                continue;
            }
            let value = self.value(self.listed(schema, key))?;
            object.insert(key.to_owned(), value);
        }
    }

    /// Parses a list after its `[`.
    fn list(&mut self, schema: Option<Schema<'a>>) -> Result<Vec<Value>, String> {
        let mut list = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.takes("]") {
                return Ok(list);
            }
            if self.rest.is_empty() {
                self.is_cut_off = true;
                return Ok(list);
            }
            if self.rest.starts_with('}') {
                return Err("a list has no end".into());
            }
            if !self.takes(",") {
                list.push(self.value(schema)?);
            }
        }
    }

    fn value(&mut self, schema: Option<Schema<'a>>) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it is nested deeper than {DEEPEST} levels"));
        }
        self.rest = self.rest.trim_start();
        let value = if self.takes(self.quote) {
            Value::String(self.upto_quote(self.quote).to_owned())
        } else if self.takes("{") {
            Value::Object(self.object(schema)?)
        } else if self.takes("[") {
            Value::Array(self.list(schema.map(Schema::items_or_anything).or(self.unlisted))?)
        } else if self.rest.starts_with('"') {
            self.json_string()
        } else {
            let text = self.bare(&[',', '}', ']']);
            schema
                .map_or_else(|| Value::String(text.to_owned()), |schema| typed_by_looks(text, schema.kinds()))
        };
        self.depth -= 1;
        Ok(value)
    }

    /// The schema of the value of `key`. If the object's schema lists no keys, it allows anything.
    fn listed(&self, schema: Option<Schema<'a>>, key: &str) -> Option<Schema<'a>> {
        let listed = schema.map(|schema| schema.property(key)).filter(|schema| schema.is_known());
        let anything = || schema.filter(|schema| schema.is_open()).map(|_| Schema::ANYTHING);
        listed.or(self.unlisted).or_else(anything)
    }

    /// Parses a JSON string, which some models write.
    fn json_string(&mut self) -> Value {
        let mut escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let (text, rest) = self.rest.split_at(end.map_or(self.rest.len(), |end| end + 2));
        self.rest = rest.trim_start();
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    }

    /// Takes the text up to one of these characters.
    fn bare(&mut self, ends: &[char]) -> &'a str {
        let (text, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        text.trim()
    }

    fn upto_quote(&mut self, quote: &str) -> &'a str {
        let (text, rest) = self.rest.split_once(quote).unwrap_or_else(|| {
            self.is_cut_off = true;
            (self.rest, "")
        });
        self.rest = rest.trim_start();
        text
    }

    fn takes(&mut self, delimiter: &str) -> bool {
        let rest = self.rest.strip_prefix(delimiter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
