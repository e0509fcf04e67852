//! MiniMax M3 (as in its chat template): arguments as a tree of tags. A token that is in no text precedes each tag, so
//! that values need no escapes. Elements of an array are called `item`.
//!
//! ```text
//! ]<]minimax[>[<tool_call>
//! ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<cities>]<]minimax[>[<item>Oslo]<]minimax[>[</item>]<]minimax[>[</cities>]<]minimax[>[</invoke>
//! ]<]minimax[>[</tool_call>
//! ```
use crate::{
    Call, Dialect, Setting,
    blocks::{Block, Grammar, Json, Thought},
    bodies::read_or_text,
    typed::{Schema, typed},
    writing::{ArgumentMap, Writing, bare},
};
use serde_json::{Map, Value};

pub(crate) static MINIMAX_M3: Dialect = Dialect::new(
    "minimax_m3",
    &["minimax-m3"],
    &Grammar::new(&[Block {
        json: Json::None,
        ..Block::new("]<]minimax[>[<tool_call>", &["]<]minimax[>[</tool_call>"], |body, setting, said| {
            read_or_text(body, calls(body.text, setting), said)
        })
    }])
    .thoughts(&[Thought::new("<mm:think>", &["</mm:think>"])])
    .noise(&["[e~["]),
    Writing::Own(written),
)
.signs(&[&["]<]minimax[>["]]);

const MARK: &str = "]<]minimax[>[";
/// Maximum depth of a tree.
const DEEPEST: usize = 100;
/// The name of an element of an array.
const ITEM: &str = "item";
/// The keys for the text of an object that has text in addition to its properties.
const TEXTS: [&str; 2] = ["$text", "$$text"];

fn calls(body: &str, setting: &Setting) -> Result<Vec<Call>, String> {
    let mut rest = body;
    let mut calls = Vec::new();
    while let Some((before, invoke)) = rest.split_once("<invoke name=\"") {
        let _blank = before;
        let Some((name, inner)) = invoke.split_once("\">") else { break };
        let end = inner.find("]<]minimax[>[</invoke>");
        let tool = setting.tool(name).map_or(&Value::Null, |tool| &tool.parameters);
        // The arguments of a call that was cut off are dropped.
        let arguments = end.map(|end| arguments(&inner[..end], Schema::new(tool))).unwrap_or_default();
        calls.push(Call::new(name, Value::Object(arguments)));
        rest = end.map_or("", |end| &inner[end..]);
    }
    match calls.is_empty() && !body.trim().is_empty() {
        true => Err("there is no call in it".into()),
        false => Ok(calls),
    }
}

/// Parses the arguments, as far as they are valid.
fn arguments(inner: &str, schema: Schema<'_>) -> Map<String, Value> {
    let mut tree = Tree { text: inner, at: 0 };
    let mut arguments = Map::new();
    while tree.blank_before_tag() {
        let at = tree.at;
        let Some((name, value)) = tree.element(schema, 0).or_else(|| tree.unended(at, schema)) else { break };
        arguments.insert(name.to_owned(), value);
    }
    arguments
}

struct Tree<'a> {
    text: &'a str,
    at: usize,
}

/// The content of an element.
struct Content<'a> {
    /// The raw content.
    raw: &'a str,
    /// The text outside of child elements.
    text: String,
    children: Vec<(&'a str, Value)>,
}

impl<'a> Tree<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank_before_tag(&mut self) -> bool {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().starts_with(MARK)
    }

    /// Parses an element at this position, in an object with this schema.
    fn element(&mut self, parent: Schema<'_>, depth: usize) -> Option<(&'a str, Value)> {
        if depth > DEEPEST {
            return None;
        }
        let (name, _) = self.rest().strip_prefix(MARK)?.strip_prefix('<')?.split_once('>')?;
        if name.is_empty() || name.contains(['/', '<']) {
            return None;
        }
        self.at += MARK.len() + name.len() + 2;
        let schema = parent.property(name);
        let schema = if name == ITEM && !schema.is_known() { parent.items() } else { schema };
        let content = self.content(name, schema, depth)?;
        Some((name, content.value(schema)))
    }

    /// Parses a text element without a closing tag, which another element follows.
    fn unended(&mut self, at: usize, parent: Schema<'_>) -> Option<(&'a str, Value)> {
        let (name, rest) = self.text[at..].strip_prefix(MARK)?.strip_prefix('<')?.split_once('>')?;
        let (text, next) = rest.split_at(rest.find(MARK)?);
        let is_next = next[MARK.len()..].strip_prefix('<').is_some_and(|tag| !tag.starts_with('/'));
        self.at = self.text.len() - next.len();
        let is_text = is_next && !name.contains(['/', '<']) && !text.trim().is_empty();
        is_text.then(|| (name, typed(text, parent.property(name).kinds())))
    }

    fn content(&mut self, name: &str, schema: Schema<'_>, depth: usize) -> Option<Content<'a>> {
        let start = self.at;
        let mut content = Content { raw: "", text: String::new(), children: Vec::new() };
        loop {
            let mark = self.rest().find(MARK)?;
            content.text += &self.rest()[..mark];
            self.at += mark;
            let tag = &self.rest()[MARK.len()..];
            if let Some(closing) = tag.strip_prefix("</") {
                closing.strip_prefix(name)?.strip_prefix('>')?;
                content.raw = &self.text[start..self.at];
                self.at += MARK.len() + name.len() + 3;
                return Some(content);
            }
            content.children.push(self.element(schema, depth + 1)?);
        }
    }
}

impl Content<'_> {
    fn value(self, schema: Schema<'_>) -> Value {
        let kinds = schema.kinds();
        let items = self.children.iter().all(|(name, _)| *name == ITEM);
        let is_blank = self.text.trim().is_empty();
        match self.children.is_empty() {
            _ if kinds.has("array")
                && items
                && is_blank
                && !(kinds.has("string") && self.children.is_empty()) =>
            {
                Value::Array(self.children.into_iter().map(|(_, value)| value).collect())
            }
            true if kinds.has("object") && !kinds.has("string") && is_blank => Value::Object(Map::new()),
            true => typed(&self.text, kinds),
            false if kinds.has("string") => Value::String(self.raw.to_owned()),
            false => Value::Object(self.object(is_blank)),
        }
    }

    /// Converts elements to an object. A repeated name makes an array.
    fn object(self, is_blank: bool) -> Map<String, Value> {
        let mut object = Map::new();
        let mut repeated = Vec::new();
        for (name, value) in self.children {
            match object.get_mut(name) {
                None => _ = object.insert(name.to_owned(), value),
                Some(Value::Array(values)) if repeated.contains(&name) => values.push(value),
                Some(first) => {
                    *first = Value::Array(vec![first.take(), value]);
                    repeated.push(name);
                }
            }
        }
        let name = TEXTS.into_iter().find(|name| !is_blank && !object.contains_key(*name));
        if let Some(name) = name {
            object.insert(name.to_owned(), Value::String(self.text));
        }
        object
    }
}

fn written(name: &str, arguments: &ArgumentMap) -> String {
    let arguments: String = arguments.iter().map(|(key, value)| branch(key, value)).collect();
    format!("{MARK}<tool_call>\n{MARK}<invoke name=\"{name}\">{arguments}{MARK}</invoke>\n{MARK}</tool_call>")
}

fn branch(key: &str, value: &Value) -> String {
    let inner = match value {
        Value::Object(object) => object.iter().map(|(key, value)| branch(key, value)).collect(),
        Value::Array(items) => items.iter().map(|item| branch(ITEM, item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => bare(value),
    };
    format!("{MARK}<{key}>{inner}{MARK}</{key}>")
}
