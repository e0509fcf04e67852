//! [`CallForm`]: how calls are written in a model's text. A provider that can constrain the model's output enforces it.
pub mod grammar;

use crate::{
    ToolSpec,
    grammar::{Rules, either, literal, names_of, properties_of},
    json::spaced,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// A call is `before NAME between ARGUMENTS behind`; in one text there may be several, with prose around them.
#[derive(Clone, Debug, PartialEq)]
pub struct CallForm {
    /// The tools that may be called.
    pub tools: Arc<[ToolSpec]>,
    /// The text before the name. If it has no [`CallForm::sign`], a call is the whole reply.
    pub before: String,
    /// The text between the name and the arguments.
    pub between: String,
    /// The text after the arguments.
    pub behind: String,
    /// How the arguments are written.
    pub arguments: ArgumentForm,
    /// The form of a reply that is a single JSON value with calls; `None` for other replies.
    pub reply: Option<ReplyForm>,
}

/// How the arguments of a call are written.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentForm {
    /// Arguments as a JSON object.
    Json,
    /// Each argument as `key NAME value VALUE end`: a string unquoted, anything else as JSON.
    Elements {
        /// The text before a name.
        key: String,
        /// The text between name and value.
        value: String,
        /// The text after a value. No string may contain it.
        end: String,
    },
}

/// A reply that is a JSON object with thoughts and a list of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyForm {
    /// The key of text or thoughts.
    pub thoughts: String,
    /// The key of the list of calls.
    pub calls: String,
    /// The keys of a call's name and arguments.
    pub call: [String; 2],
}

/// For servers that enforce JSON Schemas between tags: the text before the arguments of one tool, their schema, and the
/// text after them.
#[derive(Clone, Debug, PartialEq)]
pub struct Tag<'a> {
    /// The text up to the arguments, including the tool's name.
    pub begin: String,
    /// JSON Schema of an object.
    pub schema: &'a Value,
    /// The text behind the arguments.
    pub end: &'a str,
}

impl CallForm {
    /// The beginning of `before` that marks the end of prose and the start of a call: `<tool_call>`, `[TOOL_CALLS]`,
    /// the line of a fence. Empty if a call cannot be distinguished from JSON in the prose: a call is then the whole
    /// reply.
    pub fn sign(&self) -> &str {
        let end = self.before.find(['>', ']', '\n']).map_or(0, |at| at + 1);
        let sign = self.before[..end].trim_end();
        if sign.len() > 1 { sign } else { "" }
    }

    /// GBNF of a call from the sign to its end. The space after the sign is optional.
    pub fn call_grammar(&self) -> String {
        let mut rules = Rules::new(None);
        let call = self.call(&mut rules);
        rules.into_grammar(&call)
    }

    /// GBNF of a whole reply: prose with calls, or without a sign either prose or a call.
    pub fn reply_grammar(&self) -> String {
        let mut rules = Rules::new(None);
        let call = self.call(&mut rules);
        let sign = self.sign();
        if sign.is_empty() {
            let first = crate::grammar::in_class(self.before.chars().next().unwrap_or('{'));
            return rules.into_grammar(&format!("({call} | ([^{first}] any*)?)\nany ::= [^\\x00]"));
        }
        let prose = rules.text_without(sign);
        let next = rules.add(&format!("{} {call} {prose}", literal(sign)));
        rules.into_grammar(&format!("{prose} {next}*"))
    }

    /// JSON Schema of a whole reply, if replies are JSON.
    pub fn reply_schema(&self) -> Option<Value> {
        let ReplyForm { thoughts, calls, call: [name, arguments] } = self.reply.as_ref()?;
        let call = |tool: &ToolSpec| {
            let properties = json!({name: {"const": tool.name}, arguments: tool.parameters});
            json!({"type": "object", "properties": properties, "required": [name, arguments],
                   "additionalProperties": false})
        };
        let each: Vec<Value> = self.tools.iter().map(call).collect();
        Some(json!({
            "type": "object",
            "properties": {thoughts: {"type": "string"}, calls: {"type": "array", "items": {"anyOf": each}}},
            "required": [thoughts, calls],
            "additionalProperties": false,
        }))
    }

    /// The tags of all tools; `None` if arguments are not JSON, or no sign distinguishes calls from prose.
    pub fn tags(&self) -> Option<Vec<Tag<'_>>> {
        let is_tagged = self.arguments == ArgumentForm::Json && !self.sign().is_empty();
        let tag =
            |tool| Tag { begin: self.until_arguments(tool), schema: &tool.parameters, end: &self.behind };
        is_tagged.then(|| self.tools.iter().map(tag).collect())
    }

    /// Writes a call as text. If `arguments` are not an object, they are written unchanged.
    pub fn written(&self, name: &str, arguments: &Value) -> String {
        let arguments = match (&self.arguments, arguments) {
            (ArgumentForm::Json, arguments) => spaced(arguments),
            (ArgumentForm::Elements { key, value, end }, Value::Object(arguments)) => {
                let element = |(name, content): (&String, &Value)| {
                    format!("{key}{name}{value}{}{end}", text_of(content))
                };
                arguments.iter().map(element).collect()
            }
            (ArgumentForm::Elements { .. }, arguments) => text_of(arguments),
        };
        format!("{}{name}{}{arguments}{}", self.before, self.between, self.behind)
    }

    /// An expression for the arguments of this tool's call.
    pub fn arguments_grammar(&self, rules: &mut Rules, parameters: &Value) -> String {
        match &self.arguments {
            ArgumentForm::Json => rules.arguments(parameters),
            ArgumentForm::Elements { key, value, end } => elements(rules, parameters, key, value, end),
        }
    }

    fn until_arguments(&self, tool: &ToolSpec) -> String {
        format!("{}{}{}", self.before, tool.name, self.between)
    }

    /// An expression for a call after the sign.
    fn call(&self, rules: &mut Rules) -> String {
        let rest = &self.before[self.sign().len()..];
        let space = rest.len() - rest.trim_start().len();
        let space = if space == 0 { String::new() } else { format!("{}? ", literal(&rest[..space])) };
        let calls: Vec<String> = self.tools.iter().map(|tool| self.call_of(rules, tool)).collect();
        let calls = rules.add(&either(calls));
        format!("{space}{calls}")
    }

    fn call_of(&self, rules: &mut Rules, tool: &ToolSpec) -> String {
        let begin = self.until_arguments(tool);
        let begin = literal(begin[self.sign().len()..].trim_start());
        let arguments = self.arguments_grammar(rules, &tool.parameters);
        rules.add(&format!("{begin} {arguments} {}", literal(&self.behind)))
    }
}

/// An element for each property: the required ones, then the others.
fn elements(rules: &mut Rules, parameters: &Value, key: &str, value: &str, end: &str) -> String {
    let required = names_of(parameters.get("required"));
    let is_required = |name: &str| required.contains(&name);
    let mut properties: Vec<(&String, &Value)> = properties_of(parameters).collect();
    properties.sort_by_key(|(name, _)| !is_required(name));
    let text = rules.text_without(end.trim());
    let element = |(name, schema): (&String, &Value)| {
        let content = match schema.get("enum").and_then(Value::as_array) {
            Some(values) => bare_choice(values),
            None if may_be_text(schema) => text.clone(),
            None => rules.schema(schema),
        };
        let element = format!("{} {content} {}", literal(&format!("{key}{name}{value}")), literal(end));
        let element = rules.add(&element);
        if is_required(name) { element } else { format!("{element}?") }
    };
    let elements: Vec<String> = properties.into_iter().map(element).collect();
    elements.join(" ")
}

/// A grammar rule for one of these values, strings without quotes.
fn bare_choice(values: &[Value]) -> String {
    either(values.iter().map(|value| literal(&text_of(value))))
}

/// Whether the schema allows a string. If so, all values are written unquoted.
fn may_be_text(schema: &Value) -> bool {
    let among = |word: &str| {
        schema.get(word).and_then(Value::as_array).is_some_and(|all| all.iter().any(may_be_text))
    };
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => among("anyOf") || among("oneOf"),
    }
}

/// A string unquoted, anything else as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| spaced(value), str::to_owned)
}
