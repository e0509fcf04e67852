//! PedroCLI's third form: XML with an element for each argument.
//!
//! ```text
//! <thinking>I must look.</thinking>
//! <tool_use>
//!   <tool>search</tool>
//!   <args>
//!     <pattern>New</pattern>
//!   </args>
//! </tool_use>
//! ```
use crate::{
    Call, Dialect, Results, Setting,
    blocks::{Block, Grammar, Json, Thought},
    bodies::read_or_text,
    typed::{Schema, typed_by_looks},
    writing::{ArgumentMap, Writing, bare},
};
use serde_json::{Map, Value};

pub(crate) static TOOL_USE_XML: Dialect = Dialect::new(
    "tool_use_xml",
    &[],
    &Grammar::new(&[Block {
        json: Json::None,
        ..Block::new("<tool_use>", &["</tool_use>"], |body, setting, said| {
            read_or_text(body, calls(body.text, setting), said);
        })
    }])
    .thoughts(&[Thought::new("<thinking>", &["</thinking>"])]),
    Writing::Own(written),
)
.signs(&[&["<tool_use>", "<tool>"]])
.results(Results::Numbered);

fn calls(body: &str, setting: &Setting) -> Result<Vec<Call>, String> {
    let (tool, rest) = element(body.trim_start())?.ok_or("it is empty")?;
    if tool.name != "tool" {
        return Err(format!("`<tool>` should stand first, not `<{}>`", tool.name));
    }
    let name = tool.inner.trim();
    let schema = Schema::of(setting, name);
    let mut arguments = Map::new();
    if let Some((arguments_element, rest)) = element(rest)? {
        if arguments_element.name != "args" || !rest.trim().is_empty() {
            return Err("`<args>` and nothing else should stand behind `<tool>`".into());
        }
        let mut inner = arguments_element.inner;
        while let Some((argument, rest)) = element(inner)? {
            let value = typed_by_looks(&unescaped(argument.inner), schema.property(argument.name).kinds());
            arguments.insert(argument.name.to_owned(), value);
            inner = rest;
        }
    }
    Ok(vec![Call::new(name, Value::Object(arguments))])
}

struct Element<'a> {
    name: &'a str,
    inner: &'a str,
}

/// The element with which the text begins, and what follows it; `None`: there is nothing more.
fn element(text: &str) -> Result<Option<(Element<'_>, &str)>, String> {
    let text = text.trim_start();
    if text.is_empty() {
        return Ok(None);
    }
    let named = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let (name, rest) = named.ok_or_else(|| {
        format!("an element should stand there: `{}`", text.chars().take(40).collect::<String>())
    })?;
    let mut ends = rest.match_indices("</").map(|(at, _)| at).filter(|at| closes(&rest[at + 2..], name));
    // Nothing stands behind all the arguments.
    let end = if name == "args" { ends.last() } else { ends.next() };
    let end = end.ok_or_else(|| format!("`<{name}>` does not end with `</{name}>`"))?;
    Ok(Some((Element { name, inner: &rest[..end] }, &rest[end + name.len() + 3..])))
}

fn closes(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.starts_with('>'))
}

/// Replaces the five entities that XML predefines.
fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let delimiters = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    delimiters.iter().fold(text.to_owned(), |text, (name, delimiter)| text.replace(name, delimiter))
}

fn written(name: &str, arguments: &ArgumentMap) -> String {
    let escaped = |value: &Value| bare(value).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let argument = |(key, value): (&String, &Value)| format!("    <{key}>{}</{key}>\n", escaped(value));
    let arguments: String = arguments.iter().map(argument).collect();
    format!("<tool_use>\n  <tool>{name}</tool>\n  <args>\n{arguments}  </args>\n</tool_use>")
}
