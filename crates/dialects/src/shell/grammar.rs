//! The arguments of each tool, as the words of a command.
use super::super::{
    Call,
    typing::{property, typed},
};
use haft_core::ToolSpec;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

type Arguments = Map<String, Value>;

/// The call that these words make. `raw` is the whole command.
pub(super) fn call(tool: &ToolSpec, words: &[Cow<'_, str>], raw: &str) -> Result<Call, String> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let named = words.iter().any(|word| word.starts_with("--"));
    let arguments = match tool.name.as_str() {
        "file" | "search" | "code_edit" | "navigate" if named => by_schema(tool, &words),
        // What is behind a command of git is git's to read.
        "git" if words.first().is_some_and(|word| word.starts_with("--")) => by_schema(tool, &words),
        "file" => file(&words),
        "search" => search(&words),
        "code_edit" => code_edit(&words),
        "navigate" => Ok(navigate(&words)),
        "git" => git(&words),
        "bash" => bash(&words, raw),
        "test" => Ok(test(&words)),
        _ => by_schema(tool, &words),
    };
    Ok(Call::new(&tool.name, Value::Object(arguments?)))
}

/// Arguments that have flags for names (`{"-t": "New", "path": "pkg/"}`), with their own names.
pub(in super::super) fn from_flags(tool: &str, arguments: Arguments) -> Result<Arguments, String> {
    if !arguments.keys().any(|name| name.starts_with('-')) {
        return Ok(arguments);
    }
    let (flags, rest): (Vec<_>, Vec<_>) = arguments.into_iter().partition(|(name, _)| name.starts_with('-'));
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words: Vec<String> = flags.into_iter().flat_map(|(name, value)| [name, text(value)]).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut arguments = match tool {
        "search" => search(&words)?,
        "code_edit" => code_edit(&words)?,
        _ => {
            words.chunks(2).map(|pair| (pair[0].trim_start_matches('-').to_owned(), json!(pair[1]))).collect()
        }
    };
    arguments.extend(rest);
    Ok(arguments)
}

/// `file PATH`
fn file(words: &[&str]) -> Result<Arguments, String> {
    match words {
        [] => Err("`file` needs a path".into()),
        [path] => Ok(object([("path", json!(path))])),
        _ => Err("`file` takes one path; quote it if it has blanks".into()),
    }
}

/// `search -t PATTERN [PATH]`
fn search(words: &[&str]) -> Result<Arguments, String> {
    let (flags, mut rest) = flags(words, &["-t"]);
    let pattern = match flags.get("-t") {
        Some(pattern) => pattern.clone(),
        None if rest.is_empty() => return Err("`search` needs `-t PATTERN`".into()),
        None => rest.remove(0).to_owned(),
    };
    let query = ("query", json!(pattern));
    match rest.as_slice() {
        [] => Ok(object([query])),
        [path] => Ok(object([query, ("path", json!(path))])),
        _ => Err("`search` takes one path; quote a pattern that has blanks".into()),
    }
}

/// `code_edit -f FILE -l START:END -r TEXT`, or `code_edit -f FILE -a TEXT`. Every problem at once.
fn code_edit(words: &[&str]) -> Result<Arguments, String> {
    let (flags, rest) = flags(words, &["-f", "-l", "-r", "-a"]);
    let mut wrong = Vec::new();
    if !flags.contains_key("-f") {
        wrong.push("`-f FILE` is missing".to_owned());
    }
    if !rest.is_empty() {
        wrong.push(format!("`code_edit` takes no `{}`", rest.join(" ")));
    }
    let lines = flags.get("-l").map(|lines| (lines, range(lines)));
    if let Some((lines, None)) = lines {
        wrong.push(format!("`-l` takes `START:END`, not `{lines}`"));
    }
    let mut arguments = object([("path", json!(flags.get("-f")))]);
    match (flags.get("-r"), flags.get("-a"), lines) {
        (Some(text), None, Some((_, range))) => {
            let (start, end) = range.unwrap_or_default();
            let more = [("start", json!(start)), ("end", json!(end)), ("text", json!(text))];
            arguments.extend(object([("action", json!("replace"))]));
            arguments.extend(object(more));
        }
        (Some(_), None, None) => wrong.push("`-r` needs `-l START:END`".into()),
        (None, Some(text), _) => {
            arguments.extend(object([("action", json!("append")), ("text", json!(text))]))
        }
        (Some(_), Some(_), _) => wrong.push("`-r` and `-a` do not go together".into()),
        (None, None, _) => wrong.push("`-r TEXT` or `-a TEXT` is missing".into()),
    }
    match wrong.is_empty() {
        true => Ok(arguments),
        false => Err(wrong.join("; ")),
    }
}

/// `START:END` or `LINE`.
fn range(lines: &str) -> Option<(usize, usize)> {
    let (start, end) = lines.split_once([':', '-']).unwrap_or((lines, lines));
    Some((start.trim().parse().ok()?, end.trim().parse().ok()?))
}

/// `navigate [ACTION] PATH`
fn navigate(words: &[&str]) -> Arguments {
    match words {
        [] => Arguments::new(),
        [path] => object([("path", json!(path))]),
        [action, path @ ..] => object([("action", json!(action)), ("path", json!(path.join(" ")))]),
    }
}

/// `git ACTION [WORD…]`
fn git(words: &[&str]) -> Result<Arguments, String> {
    match words {
        [] => Err("`git` needs a command, such as `status`".into()),
        [option, ..] if option.starts_with('-') => {
            Err(format!("`git` takes its command first, such as `git status`, not `{option}`"))
        }
        [action] => Ok(object([("action", json!(action))])),
        [action, rest @ ..] => Ok(object([("action", json!(action)), ("words", json!(rest))])),
    }
}

/// `bash COMMAND`, as it stands; `bash -c 'COMMAND'`.
fn bash(words: &[&str], raw: &str) -> Result<Arguments, String> {
    let command = match words {
        ["-c", command] => (*command).to_owned(),
        [quoted] if !quoted.is_empty() => (*quoted).to_owned(),
        _ => raw.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim().to_owned(),
    };
    match command.is_empty() {
        true => Err("empty command".into()),
        false => Ok(object([("command", json!(command))])),
    }
}

/// `test [PATH] [-run NAME]`
fn test(words: &[&str]) -> Arguments {
    let (flags, rest) = flags(words, &["-run", "--run", "-f", "-k", "--filter"]);
    let mut arguments = Arguments::new();
    arguments.extend((!rest.is_empty()).then(|| ("path".to_owned(), json!(rest.join(" ")))));
    arguments.extend(flags.into_values().next().map(|filter| ("filter".to_owned(), json!(filter))));
    arguments
}

/// `TOOL VALUE… --NAME VALUE…`: values without a name go to what is required, in its order.
fn by_schema(tool: &ToolSpec, words: &[&str]) -> Result<Arguments, String> {
    let schema = Some(&tool.parameters);
    let required = tool.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut places = required;
    let mut arguments = Arguments::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let named = word.strip_prefix("--").and_then(|word| match word.split_once('=') {
            Some((name, value)) => Some((name, value)),
            None => Some((word, *words.next()?)),
        });
        let (name, text) = match named {
            Some(named) => named,
            None => (places.next().ok_or_else(|| format!("`{}` takes no `{word}`", tool.name))?, *word),
        };
        arguments.insert(name.to_owned(), typed(text, property(schema, name)));
    }
    Ok(arguments)
}

/// The values of flags, each up to the next flag; and the words that belong to none. Flags whose text may have blanks (`-r`,
/// `-a`) take all that follows.
fn flags<'a>(
    words: &[&'a str],
    known: &[&'a str],
) -> (std::collections::BTreeMap<&'a str, String>, Vec<&'a str>) {
    let mut flags = std::collections::BTreeMap::new();
    let mut rest = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if !known.contains(word) {
            rest.push(*word);
            continue;
        }
        let mut text = words.next().map(|word| (*word).to_owned()).unwrap_or_default();
        while ["-r", "-a"].contains(word)
            && let Some(more) = words.next_if(|more| !known.contains(more))
        {
            text = format!("{text} {more}");
        }
        flags.insert(*word, text);
    }
    (flags, rest)
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Arguments {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
