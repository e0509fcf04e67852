//! [`json_or_text`] and others: parse the content of a block of calls.
use super::{
    Call, Problem, Said, Setting,
    blocks::{Body, say},
    json_calls, pythonic,
    reply::without_endings,
};
use serde_json::{Deserializer, Value};

/// Parses a call or a list of calls; anything else, including one that was cut off, stays text.
pub(super) fn json_or_text(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    body.say(body_calls(body), said);
}

/// Emits the parsed calls; anything else stays text.
pub(super) fn read_or_text(body: &Body<'_>, read: Result<Vec<Call>, String>, said: &mut Vec<Said>) {
    let is_cut = read.is_ok() && body.cut;
    body.say(read.map_err(Problem::from), said);
    said.extend(is_cut.then(|| Said::cut_off("the end of the calls")));
}

fn body_calls(body: &Body<'_>) -> Result<Vec<Call>, Problem> {
    match body.broken {
        true => Err("it is not valid JSON".into()),
        false if body.cut => whole_at_end(body).ok_or_else(|| Problem::cut_off("the end of a call")),
        false => Ok(calls(body.text)?),
    }
}

/// The calls of a complete body at the end of the reply whose closing delimiter is missing.
fn whole_at_end(body: &Body<'_>) -> Option<Vec<Call>> {
    json_calls::calls(without_endings(body.text)).ok()
}

/// Parses a call or a list of calls. The beginning of a call that was cut off is emitted, too; anything else stays
/// text.
pub(super) fn json_or_beginning(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    let is_begun = body.cut && setting.beginnings && whole_at_end(body).is_none();
    let begun = if is_begun { cut_off(body.text) } else { Vec::new() };
    match begun.is_empty() {
        true => json_or_text(body, setting, said),
        false => {
            said.extend(begun.into_iter().map(Said::Call));
            said.push(Said::cut_off("the end of a call"));
        }
    }
}

/// Like [`json_or_text`], but if the tools are unknown, an unreadable block is only reported as a problem.
pub(super) fn json_or_problem(body: &Body<'_>, setting: &Setting, said: &mut Vec<Said>) {
    match body_calls(body) {
        Err(why) if setting.tools.is_empty() => body.told(why, said),
        read => body.say(read, said),
    }
}

/// Parses JSON without delimiters: it is a call only if it has a name and arguments.
pub(super) fn bare(body: &Body<'_>, _: &Setting, said: &mut Vec<Said>) {
    if body.broken && begins_call(body.text) {
        // Another call may begin where this one broke.
        return body.told("a call is broken", said);
    }
    let value = if body.broken { None } else { mended(body.text).ok() };
    match value.filter(are_calls).map(json_calls::calls_of) {
        Some(Ok(calls)) => said.extend(calls.into_iter().map(Said::Call)),
        _ => say(said, Said::Text, &format!("{}{}{}", body.open, body.text, body.close)),
    }
}

fn are_calls(value: &Value) -> bool {
    let is_call = |call: &Value| {
        call["name"].is_string() && (call["arguments"].is_object() || call["parameters"].is_object())
    };
    match value {
        Value::Array(calls) => !calls.is_empty() && calls.iter().all(is_call),
        call => is_call(call),
    }
}

fn begins_call(text: &str) -> bool {
    let key = text.trim_start_matches(['[', '{', ' ', '\n', '\t']);
    text.contains('{') && key.starts_with("\"name\"")
}

/// Parses calls in JSON, or in what models write instead: with single quotes and `None`, as in Python, or with a brace
/// too few or too many at the end.
pub(super) fn calls(text: &str) -> Result<Vec<Call>, String> {
    json_calls::calls(text).or_else(|why| {
        let text = text.trim();
        let longer = format!("{text}}}");
        let shorter = text.strip_suffix('}').unwrap_or(text);
        let value = |text| mended(text).ok().or_else(|| pythonic::value(text));
        match [text, &longer, shorter].into_iter().find_map(value) {
            Some(value) => json_calls::calls_of(value),
            None => Err(why),
        }
    })
}

/// Parses JSON with line breaks in strings, or a comma before a closing bracket, as some models write it.
pub(super) fn mended(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text.trim()).or_else(|error| {
        let (mut in_string, mut escaped, mut whole) = (false, false, String::new());
        // Position in `whole` of a comma that is only followed by white space so far.
        let mut comma = None;
        for letter in text.trim().chars() {
            match (letter, comma) {
                ('\n', _) if in_string => whole.push_str("\\n"),
                ('\r', _) if in_string => whole.push_str("\\r"),
                ('\t', _) if in_string => whole.push_str("\\t"),
                ('}' | ']', Some(comma)) if !in_string => {
                    whole.replace_range(comma..=comma, " ");
                    whole.push(letter);
                }
                _ => whole.push(letter),
            }
            comma = match letter {
                ',' if !in_string => Some(whole.len() - 1),
                _ if letter.is_whitespace() => comma,
                _ => None,
            };
            in_string ^= letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
        }
        serde_json::from_str(&whole).map_err(|_| error)
    })
}

/// The calls in JSON that was cut off; the last one may be incomplete.
pub(super) fn cut_off(text: &str) -> Vec<Call> {
    let mut rest = text.trim_start();
    let mut found = Vec::new();
    if let Some(inner) = rest.strip_prefix('[') {
        rest = inner.trim_start();
    }
    loop {
        let mut items = Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = items.next() else { break };
        found.extend(json_calls::calls_of(value).unwrap_or_default());
        rest = rest[items.byte_offset()..].trim_start_matches([' ', '\n', ',', ']']);
    }
    found.extend(begun(rest));
    found
}

/// A call from the beginning of its object.
fn begun(text: &str) -> Option<Call> {
    if let Ok(mut calls) = json_calls::calls(&format!("{text}}}")) {
        return calls.pop();
    }
    let (mut name, mut arguments) = (None, None);
    for (key, value) in outermost(text) {
        if ["name", "tool_name"].contains(&key) {
            name = Deserializer::from_str(value).into_iter::<String>().next()?.ok();
        } else if ["arguments", "parameters"].contains(&key) {
            arguments = Some(value);
        }
    }
    Some(Call::new(name?, arguments.unwrap_or("{}")))
}

/// The keys of the outermost object, each with the text after its colon.
fn outermost(text: &str) -> Vec<(&str, &str)> {
    let (mut depth, mut opened, mut escaped, mut last) = (0_usize, None, false, "");
    let mut found = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match (byte, opened) {
            _ if escaped => escaped = false,
            (b'\\', Some(_)) => escaped = true,
            (b'"', None) => opened = Some(at + 1),
            (b'"', Some(from)) => (last, opened) = (&text[from..at], None),
            (_, Some(_)) => {}
            (b'{' | b'[', _) => depth += 1,
            (b'}' | b']', _) => depth = depth.saturating_sub(1),
            (b':', _) if depth == 1 => found.push((last, text[at + 1..].trim_start())),
            _ => {}
        }
    }
    found
}
