//! [`Parameters`]: collects the parameters of a call, and determines the types of their values.
use super::shape::{CDATA, Shape, TagOptions};
use crate::{
    Said, WRAPPERS,
    typed::{self, Kinds, Schema},
};
use serde_json::{Map, Value};

/// The parameters of a call that were found so far.
pub(super) struct Parameters<'a> {
    pub(super) shape: &'static Shape,
    pub(super) schema: Schema<'a>,
    pub(super) found: Map<String, Value>,
    pub(super) given: usize,
}

impl Parameters<'_> {
    pub(super) fn add(
        &mut self,
        name: &str,
        text: &str,
        attributes: &str,
        said: &mut Vec<Said>,
    ) -> Result<(), String> {
        let options = self.shape.options;
        self.given += 1;
        let schema = self.schema.property(name);
        // A parameter with this name holds all arguments.
        let wraps = WRAPPERS.contains(&name) && !schema.is_known();
        if options.declared && self.schema.lists_properties() && !schema.is_known() && !wraps {
            said.push(Said::problem(format!("there is no parameter `{name}`")));
            return Ok(());
        }
        let value = value(options, text, attributes, schema.kinds());
        match self.found.insert(name.to_owned(), value) {
            Some(_) if options.declared => Err(format!("`{name}` is given twice")),
            _ => Ok(()),
        }
    }

    /// The arguments of the call. `body`: the text of its parameters.
    pub(super) fn arguments(mut self, body: &str) -> Result<Value, String> {
        if self.given == 0 {
            return Ok(Value::Object(typed::object(body).unwrap_or_default()));
        }
        if self.found.is_empty() {
            return Err("it has none of the tool's parameters".into());
        }
        let wraps = self.found.len() == 1 && !self.schema.property("arguments").is_known();
        let inner = || match self.found.get("arguments")? {
            Value::Object(inner) => Some(inner.clone()),
            Value::String(text) => typed::object(text),
            _ => None,
        };
        if let Some(inner) = wraps.then(inner).flatten() {
            self.found = inner;
        }
        Ok(Value::Object(self.found))
    }
}

fn value(options: TagOptions, text: &str, attributes: &str, allowed: Kinds) -> Value {
    let text = match options.on_lines {
        true => {
            let text = text.strip_prefix('\n').unwrap_or(text);
            text.strip_suffix('\n').unwrap_or(text)
        }
        false => text,
    };
    let inner = || text.trim().strip_prefix(CDATA.0)?.strip_suffix(CDATA.1);
    if let Some(inner) = options.cdata.then(inner).flatten() {
        return typed::typed(inner, allowed);
    }
    match hint(attributes) {
        Some(hint) if options.by_looks && hint.has("string") => Value::String(text.to_owned()),
        Some(_) if options.by_looks => typed::shown(text),
        Some(hint) if !allowed.are_known() && !hint.are_known() => typed::shown(text),
        Some(hint) if !allowed.are_known() || (hint.has("string") && allowed.has("string")) => {
            typed::typed(text, hint)
        }
        _ if options.by_looks => typed::typed_by_looks(text, allowed),
        _ => unquoted(options, text, typed::typed(text, allowed)),
    }
}

/// The type in the attributes: `type="number"`, or `string="false"` for any JSON.
fn hint(attributes: &str) -> Option<Kinds> {
    let attribute = |name: &str| attributes.split_once(name)?.1.split(['"', '<']).next();
    match (attribute("string=\""), attribute("type=\"").or_else(|| attribute("arg_type>"))) {
        (Some("true"), _) => Some(Kinds::named("string")),
        (Some(_), _) => Some(Kinds::default()),
        (None, name) => name.map(Kinds::named),
    }
}

fn unquoted(options: TagOptions, text: &str, value: Value) -> Value {
    let inner = || text.trim().strip_prefix('"')?.strip_suffix('"');
    match inner() {
        Some(inner) if options.quoted && value.is_string() => {
            serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::String(inner.to_owned()))
        }
        _ => value,
    }
}
