//! The one-line action format, and its way back to a tool call.
//!
//! | a tool whose required parameters are | is called as |
//! | --- | --- |
//! | one string | `NAME VALUE` |
//! | two strings | `NAME FIRST SECOND`, where `FIRST` is one word, or is put in double quotes |
//! | anything else | `NAME {json}` |
//!
//! A newline in a value is written `\n`. `final TEXT` is the answer. A line carries no optional parameters.
use haft_core::{
    CallForm, ToolSpec,
    grammar::{names_of, properties_of},
    json::spaced,
};
use serde_json::{Map, Value, json};

/// The word before an answer.
pub(crate) const FINAL: &str = "final";

/// How the arguments of a tool are written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// The only required parameter, to the end of the line.
    Value(String),
    /// Two required parameters: a word, then the rest of the line.
    Pair(String, String),
    /// A JSON object.
    Json,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Call this tool with these arguments.
    Call(String, Value),
    /// The answer.
    Final(String),
    /// Neither; nothing is run.
    Unreadable,
}

/// The form that fits a tool's required parameters.
pub(crate) fn form_of(parameters: &Value) -> Form {
    let required = names_of(parameters.get("required"));
    let of_type = |kind: &Value| kind.get("type").and_then(Value::as_str) == Some("string");
    let names: Vec<&String> = properties_of(parameters)
        .filter(|(name, _)| required.contains(&name.as_str()))
        .map(|(name, _)| name)
        .collect();
    let all_strings =
        properties_of(parameters).filter(|(name, _)| names.contains(name)).all(|(_, kind)| of_type(kind));
    match names.as_slice() {
        [only] if all_strings => Form::Value((*only).clone()),
        [first, second] if all_strings => Form::Pair((*first).clone(), (*second).clone()),
        _ => Form::Json,
    }
}

/// A call as a line, or in this form; optional arguments are left out where the form has no place for them.
pub(crate) fn write_call(tool: &ToolSpec, arguments: &Value, form: Option<&CallForm>) -> String {
    let name = &tool.name;
    if let Some(form) = form {
        return form.written(name, &in_schema_order(&tool.parameters, arguments));
    }
    let text = |parameter: &String| match arguments.get(parameter) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    match form_of(&tool.parameters) {
        Form::Value(parameter) => format!("{name} {}", escape(&text(&parameter))),
        Form::Pair(first, second) => format!("{name} {} {}", word(&text(&first)), escape(&text(&second))),
        Form::Json => format!("{name} {}", spaced(&in_schema_order(&tool.parameters, arguments))),
    }
}

/// The grammar goes by the schema's order, so what the model imitates must too.
fn in_schema_order(parameters: &Value, arguments: &Value) -> Value {
    let Value::Object(given) = arguments else { return arguments.clone() };
    let known =
        properties_of(parameters).filter_map(|(name, _)| Some((name.clone(), given.get(name)?.clone())));
    let mut ordered: Map<String, Value> = known.collect();
    for (name, value) in given {
        ordered.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(ordered)
}

/// Reads a line that a model wrote, with or without a grammar.
pub(crate) fn read_line(line: &str, tools: &[ToolSpec]) -> Action {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if name == FINAL {
        return Action::Final(rest.to_owned());
    }
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else { return Action::Unreadable };
    match read_arguments(rest, &form_of(&tool.parameters)) {
        Some(arguments) => Action::Call(name.to_owned(), arguments),
        None => Action::Unreadable,
    }
}

fn read_arguments(rest: &str, form: &Form) -> Option<Value> {
    match form {
        Form::Value(_) | Form::Pair(..) if rest.is_empty() => None,
        Form::Value(parameter) => Some(object([(parameter, unescape(rest))])),
        Form::Pair(first, second) => {
            let (start, end) = split_word(rest)?;
            Some(object([(first, start), (second, unescape(end))]))
        }
        Form::Json => serde_json::from_str(rest).ok().filter(Value::is_object),
    }
}

fn object<const N: usize>(entries: [(&String, String); N]) -> Value {
    let entries = entries.map(|(name, text)| (name.clone(), json!(text)));
    Value::Object(Map::from_iter(entries))
}

/// A word, or what stands between double quotes, and what follows it.
fn split_word(rest: &str) -> Option<(String, &str)> {
    if let Some(quoted) = rest.strip_prefix('"') {
        let (word, rest) = quoted.split_once('"')?;
        return Some((word.to_owned(), rest.trim_start()));
    }
    let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    Some((word.to_owned(), rest.trim_start()))
}

fn word(text: &str) -> String {
    match text.contains(' ') {
        true => format!("\"{text}\""),
        false => text.to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.trim_end_matches('\n').replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek()) {
            ('\\', Some('n')) => {
                rest.next();
                plain.push('\n');
            }
            ('\\', Some('\\')) => {
                rest.next();
                plain.push('\\');
            }
            _ => plain.push(character),
        }
    }
    plain
}

/// Takes off the full stop, comma or question mark that a model copied from the end of a sentence in `request`.
/// One that stands in quotes there belongs to the name and stays.
pub(crate) fn without_copied_mark<'a>(value: &'a str, request: &str) -> &'a str {
    let last = value.rsplit(char::is_whitespace).next().unwrap_or(value);
    let bare = last.trim_end_matches(['.', ',', '?', '!', ';', ':']);
    let copied =
        !bare.is_empty() && bare.len() < last.len() && request.split_whitespace().any(|word| word == last);
    match copied {
        true => &value[..value.len() - (last.len() - bare.len())],
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::four_tools;

    #[test]
    fn calls_are_written_and_read_back() {
        let tools = four_tools();
        let table = [
            ("read notes.txt", "read", json!({"path": "notes.txt"})),
            ("bash wc -l data.csv", "bash", json!({"command": "wc -l data.csv"})),
            ("bash printf 'a\\\\tb\\n'", "bash", json!({"command": "printf 'a\\tb\n'"})),
            (
                "write out.txt done and dusted",
                "write",
                json!({"path": "out.txt", "content": "done and dusted"}),
            ),
            (
                "write \"my list.txt\" milk\\neggs",
                "write",
                json!({"path": "my list.txt", "content": "milk\neggs"}),
            ),
            (
                "edit {\"path\": \"a\", \"old_text\": \"b\", \"new_text\": \"c\"}",
                "edit",
                json!({"new_text": "c", "old_text": "b", "path": "a"}),
            ),
        ];
        for (line, name, arguments) in table {
            assert_eq!(read_line(line, &tools), Action::Call(name.into(), arguments.clone()), "{line}");
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            assert_eq!(write_call(tool, &arguments, None), line);
        }
    }

    #[test]
    fn what_is_no_call_is_not_run() {
        for line in
            ["", "read", "delete x", "Read notes.txt", "edit a b c", "edit [1]", "I would read notes.txt"]
        {
            assert_eq!(read_line(line, &four_tools()), Action::Unreadable, "{line}");
        }
        assert_eq!(read_line("final  It is 4. \n", &four_tools()), Action::Final("It is 4.".into()));
    }

    #[test]
    fn a_mark_copied_from_the_request_is_taken_off() {
        let table = [
            ("tmp.log.", "Delete tmp.log.", "tmp.log"),
            ("rm tmp.log.", "Please delete tmp.log.", "rm tmp.log"),
            ("notes.txt?", "What is in notes.txt?", "notes.txt"),
            ("rm what.", "Delete \"what.\" please", "rm what."),
            ("ls .", "List the files in .", "ls ."),
            ("a.b.", "Read a.b", "a.b."),
            ("", "", ""),
        ];
        for (value, request, expected) in table {
            assert_eq!(without_copied_mark(value, request), expected, "{value}");
        }
    }
}
