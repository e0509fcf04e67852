//! [`TOOL_USE_XML`], PedroCLI's third form: XML with an element for each argument.
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
    blocks::{Block, Grammar, Json, THINK, Thought},
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
    .thoughts(&[Thought::new("<thinking>", &["</thinking>"]), THINK]),
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
            let value = typed_by_looks(&value(argument.inner), schema.property(argument.name).kinds());
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

/// The element at the beginning of the text, and the text after it; `None` if there is none.
fn element(text: &str) -> Result<Option<(Element<'_>, &str)>, String> {
    let text = text.trim_start();
    if text.is_empty() {
        return Ok(None);
    }
    let named = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let (name, rest) = named.ok_or_else(|| {
        format!("an element should stand there: `{}`", text.chars().take(40).collect::<String>())
    })?;
    if let Some(name) = name.strip_suffix('/') {
        return Ok(Some((Element { name: name.trim_end(), inner: "" }, rest)));
    }
    let end = end_of(name, rest).ok_or_else(|| format!("`<{name}>` does not end with `</{name}>`"))?;
    Ok(Some((Element { name, inner: &rest[..end] }, &rest[end + name.len() + 3..])))
}

/// The end of the element with this name, if `text` begins with its content; text in CDATA does not count.
fn end_of(name: &str, text: &str) -> Option<usize> {
    let closing = format!("</{name}>");
    let last_data = text.rfind(CDATA[1]).unwrap_or_default();
    let (mut at, mut found) = (0, None);
    while let Some(next) = text[at..].find('<') {
        at += next;
        if at < last_data && text[at..].starts_with(CDATA[0]) {
            at += text[at..].find(CDATA[1])?;
        } else if text[at..].starts_with(&closing) {
            found = Some(at);
            // The arguments are the last part of a call.
            if name != "args" {
                break;
            }
        }
        at += 1;
    }
    found
}

/// The delimiters of literal text.
const CDATA: [&str; 2] = ["<![CDATA[", "]]>"];

/// The value in an element.
fn value(inner: &str) -> String {
    let trimmed = inner.trim();
    let data = trimmed.strip_prefix(CDATA[0]).filter(|data| data.ends_with(CDATA[1]));
    let lines = if data.is_some() { trimmed.to_owned() } else { own_lines(inner) };
    let (mut value, mut rest) = (String::new(), lines.as_str());
    while let Some((before, (data, after))) =
        rest.split_once(CDATA[0]).and_then(|(before, data)| Some((before, data.split_once(CDATA[1])?)))
    {
        // Inside other elements, CDATA belongs to the value, such as a file in XML.
        if before.contains('<') {
            return unescaped(&lines);
        }
        value += &unescaped(before);
        value += data;
        rest = after;
    }
    value + &unescaped(rest)
}

/// A value on separate lines, without the line breaks around it, and without the common indentation of its lines if the
/// closing tag is indented; any other value unchanged.
fn own_lines(inner: &str) -> String {
    let Some(lines) = inner.strip_prefix("\r\n").or_else(|| inner.strip_prefix('\n')) else {
        return inner.to_owned();
    };
    let Some((lines, indent)) = lines.rsplit_once('\n').filter(|(_, indent)| indent.trim().is_empty()) else {
        return lines.to_owned();
    };
    let lines = lines.strip_suffix('\r').unwrap_or(lines);
    let indent_of = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let full = lines.split('\n').filter(|line| !line.trim().is_empty());
    let shared = full.map(indent_of).min().filter(|shared| !indent.is_empty() && *shared >= indent.len());
    let Some(shared) = shared else { return lines.to_owned() };
    let dedented: Vec<&str> = lines.split('\n').map(|line| &line[shared.min(indent_of(line))..]).collect();
    dedented.join("\n")
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
    let argument = |(key, value): (&String, &Value)| match escaped(value) {
        // Preceded by another line break, so that the value's own one is kept.
        value if value.starts_with(['\n', '\r']) => format!("    <{key}>\n{value}\n</{key}>\n"),
        value => format!("    <{key}>{value}</{key}>\n"),
    };
    let arguments: String = arguments.iter().map(argument).collect();
    format!("<tool_use>\n  <tool>{name}</tool>\n  <args>\n{arguments}  </args>\n</tool_use>")
}
