//! One call of a Gemma: `call:NAME{key:value,…}`.
//!
//! ```text
//! value = QUOTE text QUOTE | "{" key ":" value ("," …)* "}" | "[" value ("," …)* "]" | bare
//! ```
use super::super::{
    Call, Setting,
    typing::{items, property, typed},
};
use serde_json::{Map, Value};

/// Nesting beyond this is no call.
const DEEPEST: usize = 100;

/// Reads what stood between the delimiters of a call. `closed`: the end of the text is the end of the call.
pub(super) fn read(body: &str, quote: &'static str, closed: bool, setting: &Setting) -> Result<Call, String> {
    let body = body.trim();
    let Some(named) = body.strip_prefix("call").unwrap_or(body).trim_start().strip_prefix(':') else {
        return Err("it does not begin with `call:` and a name".into());
    };
    let Some((name, arguments)) = named.split_once('{') else {
        return match (closed, named.trim()) {
            (_, "") => Err("it names no tool".into()),
            (false, _) => Err("it was cut off".into()),
            (true, name) => Ok(Call::new(name, "{}")),
        };
    };
    let tool = setting.tool(name.trim());
    let mut values = Values {
        rest: arguments,
        quote,
        // Of a tool that nobody has described we cannot know that a bare `1` is not a string.
        by_looks: tool.is_some_and(|tool| !tool.description.is_empty()),
        depth: 0,
    };
    let arguments = values.object(tool.map(|tool| &tool.parameters))?;
    match values.rest.trim_matches(['}', ' ', '\n']) {
        "" => Ok(Call::new(name.trim(), Value::Object(arguments))),
        rest => Err(format!("something stands behind its arguments: `{rest}`")),
    }
}

struct Values<'a> {
    rest: &'a str,
    quote: &'static str,
    /// Whether a bare value of unknown type is what it looks like.
    by_looks: bool,
    depth: usize,
}

impl<'a> Values<'a> {
    /// After its `{`. The end of the text ends it too.
    fn object(&mut self, schema: Option<&Value>) -> Result<Map<String, Value>, String> {
        let mut object = Map::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.takes("}") {
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
                // Of a text that ends there: the name of a value that never came.
                if self.rest.is_empty() {
                    return Ok(object);
                }
                return Err(format!("`{key}` has no value"));
            }
            let value = self.value(property(schema, key))?;
            object.insert(key.to_owned(), value);
        }
    }

    /// After its `[`.
    fn list(&mut self, schema: Option<&Value>) -> Result<Vec<Value>, String> {
        let mut list = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.takes("]") {
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

    fn value(&mut self, schema: Option<&Value>) -> Result<Value, String> {
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
            Value::Array(self.list(items(schema))?)
        } else if self.rest.starts_with('"') {
            self.json_string()
        } else {
            let text = self.bare(&[',', '}', ']']);
            match schema.is_none() && !self.by_looks {
                true => Value::String(text.to_owned()),
                false => typed(text, schema),
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    /// Some write strings as JSON does.
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

    /// Up to one of these.
    fn bare(&mut self, ends: &[char]) -> &'a str {
        let (text, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        text.trim()
    }

    fn upto_quote(&mut self, quote: &str) -> &'a str {
        let (text, rest) = self.rest.split_once(quote).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start();
        text
    }

    fn takes(&mut self, delimiter: &str) -> bool {
        let rest = self.rest.strip_prefix(delimiter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
