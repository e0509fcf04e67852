//! The arguments of each tool, as the words of a command.
use crate::{
    Call,
    typed::{Schema, typed_by_looks},
};
use haft_core::ToolSpec;
use serde_json::{Map, Value, json};

type Arguments = Map<String, Value>;

/// The call that these words make. `raw` is the whole command, `body` what stands in its here-document.
pub(super) fn call(tool: &ToolSpec, words: &[&str], raw: &str, body: Option<&str>) -> Result<Call, String> {
    let begins_named = words.first().is_some_and(|word| word.starts_with("--"));
    let arguments = match tool.name.as_str() {
        "file" => file(tool, words, body),
        "search" => search(tool, words),
        "code_edit" => code_edit(tool, words, body),
        "navigate" => navigate(tool, words),
        // What is behind a command of git is git's to read.
        "git" if begins_named => by_schema(tool, words),
        "git" => git(words),
        "bash" if begins_named => by_schema(tool, words),
        "bash" => bash(words, raw),
        "test" => test(tool, words),
        _ => by_schema(tool, words),
    };
    Ok(Call::new(&tool.name, Value::Object(arguments?)))
}

/// Arguments that have flags for names (`{"-t": "New", "path": "pkg/"}`), with their own names.
pub(in crate::products) fn from_flags(tool: &str, arguments: Arguments) -> Result<Arguments, String> {
    if !arguments.keys().any(|name| name.starts_with('-')) {
        return Ok(arguments);
    }
    if !["search", "code_edit"].contains(&tool) {
        let bare = |(name, value): (String, Value)| (name.trim_start_matches('-').to_owned(), value);
        return Ok(arguments.into_iter().map(bare).collect());
    }
    let words = arguments.into_iter().flat_map(|(name, value)| {
        let name = if name.starts_with('-') { name } else { format!("--{name}") };
        let value = match value {
            Value::Bool(true) => None,
            Value::String(text) => Some(text),
            value => Some(value.to_string()),
        };
        [Some(name), value].into_iter().flatten()
    });
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (description, parameters, examples) = Default::default();
    let spec = ToolSpec { name: tool.to_owned(), description, parameters, examples };
    if tool == "search" { search(&spec, &words) } else { code_edit(&spec, &words, None) }
}

/// A string as it is, anything else as JSON.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Names of the parameter that is the file.
const PATHS: [&str; 4] = ["path", "file", "file_path", "filePath"];

/// `file PATH`, `file write PATH TEXT`, `file --path PATH --content TEXT`; the text may stand in a here-document.
fn file(tool: &ToolSpec, words: &[&str], body: Option<&str>) -> Result<Arguments, String> {
    let Words { mut named, mut plain } = sorted(tool, words, &[])?;
    let has_path = PATHS.iter().any(|name| named.contains_key(*name));
    let is_action = |word: &&str| ["read", "write", "append", "delete"].contains(word);
    let actions = plain.iter().take(2).position(is_action).filter(|_| plain.len() > 1 || has_path);
    if let Some(at) = actions.filter(|_| !named.contains_key("action")) {
        named.insert("action".into(), json!(plain.remove(at)));
    }
    if !has_path {
        let path = (!plain.is_empty()).then(|| plain.remove(0)).ok_or("`file` needs a path")?;
        named.insert("path".into(), json!(path));
    }
    let writes = ["write", "append"].iter().any(|action| named.get("action").is_some_and(|is| is == action));
    match (plain.is_empty(), writes && !named.contains_key("content")) {
        (true, _) => {}
        (false, true) => drop(named.insert("content".into(), json!(plain.join(" ")))),
        (false, false) => return Err("`file` takes one path; quote it if it has blanks".into()),
    }
    if let Some(body) = body {
        named.entry("content").or_insert_with(|| json!(body));
    }
    Ok(in_order(named, &["path", "action", "content"]))
}

/// `search -t PATTERN [PATH]`, `search -d NAME [PATH]`, `search -f FILES [PATH]`, `search --type TYPE NAME [PATH]`
fn search(tool: &ToolSpec, words: &[&str]) -> Result<Arguments, String> {
    let kinds = [("-d", "definitions"), ("-f", "files")];
    let Words { mut named, mut plain } =
        sorted(tool, words, &[("-t", "query"), ("-e", "query"), ("-d", "-d"), ("-f", "-f")])?;
    for (flag, kind) in kinds {
        let Some(name) = named.shift_remove(flag) else { continue };
        named.insert("type".into(), json!(kind));
        if name != "" {
            named.entry("query").or_insert(name);
        }
    }
    if !["query", "pattern", "name"].iter().any(|name| named.contains_key(*name)) {
        let query = (!plain.is_empty()).then(|| plain.remove(0)).ok_or("`search` needs `-t PATTERN`")?;
        named.insert("query".into(), json!(query));
    }
    match plain.as_slice() {
        [] => Ok(named),
        [path] if !named.contains_key("path") => {
            named.insert("path".into(), json!(path));
            Ok(named)
        }
        _ => Err("`search` takes one path; quote a pattern that has blanks".into()),
    }
}

/// Flags of `code_edit` that say what is done, each with the text for it.
const EDITS: [(&str, &str); 4] = [("-r", "replace"), ("-a", "append"), ("-i", "insert"), ("-d", "delete")];

/// `code_edit -f FILE -l START:END -r TEXT`, `code_edit -f FILE -l LINE -i TEXT`, `code_edit -f FILE -l START:END -d`,
/// `code_edit -f FILE -a TEXT`, or the parameters by their names. Every problem at once.
fn code_edit(tool: &ToolSpec, words: &[&str], body: Option<&str>) -> Result<Arguments, String> {
    let short = [("-f", "path"), ("-l", "lines")];
    let short = [&short[..], &EDITS.map(|(flag, _)| (flag, flag))].concat();
    let Words { mut named, mut plain } = sorted(tool, words, &short)?;
    let mut wrong = Vec::new();
    if let Some(at) = plain.iter().position(|word| EDITS.iter().any(|(_, action)| action == word)) {
        named.insert("action".into(), json!(plain.remove(at)));
    }
    if !PATHS.iter().any(|name| named.contains_key(*name)) {
        match plain.is_empty() {
            true => wrong.push("`-f FILE` is missing".to_owned()),
            false => drop(named.insert("path".into(), json!(plain.remove(0)))),
        }
    }
    if !plain.is_empty() {
        wrong.push(format!("`code_edit` takes no `{}`", plain.join(" ")));
    }
    wrong.extend(put_text(&mut named, body));
    let lines = named.shift_remove("lines").map(|lines| bare(&lines));
    match lines.as_ref().map(|lines| (lines, range(lines))) {
        Some((lines, None)) => wrong.push(format!("`-l` takes `START:END`, not `{lines}`")),
        Some((_, Some((start, end)))) => named.extend(object([("start", json!(start)), ("end", json!(end))])),
        None => {}
    }
    let has_lines = lines.is_some() || named.contains_key("start");
    let action = match (named.get("action").and_then(Value::as_str), named.contains_key("text")) {
        (Some(action), _) => action.to_owned(),
        (None, true) if has_lines => "replace".to_owned(),
        (None, true) => "append".to_owned(),
        (None, false) => {
            wrong.push("`-r TEXT`, `-i TEXT`, `-a TEXT` or `-d` is missing".into());
            return Err(wrong.join("; "));
        }
    };
    if action != "append" && !has_lines {
        wrong.push(format!("`-l START:END` is missing to {action}"));
    }
    let idle: &[&str] = match action.as_str() {
        "append" => &["start", "end"],
        "insert" => &["end"],
        _ => &[],
    };
    named.retain(|name, _| !idle.contains(&name.as_str()));
    named.insert("action".into(), json!(action));
    match wrong.is_empty() {
        true => Ok(in_order(named, &["path", "action", "start", "end", "text"])),
        false => Err(wrong.join("; ")),
    }
}

/// Puts the text of a flag, of another name or of a here-document in the place of `text`. Returns what is wrong with them.
fn put_text(named: &mut Arguments, body: Option<&str>) -> Option<String> {
    let given =
        EDITS.into_iter().filter_map(|(flag, action)| Some((flag, action, named.shift_remove(flag)?)));
    let given: Vec<(&str, &str, Value)> = given.collect();
    for other in ["content", "new_content", "replacement", "new_text", "code"] {
        let text = named.shift_remove(other);
        named.extend(text.map(|text| ("text".to_owned(), text)));
    }
    if let Some((_, action, text)) = given.first() {
        named.insert("action".into(), json!(action));
        if *action != "delete" {
            named.insert("text".into(), text.clone());
        }
    }
    // The lines are whole ones.
    let body = body.map(|body| json!(body.strip_suffix('\n').unwrap_or(body)));
    named.extend(body.map(|body| ("text".to_owned(), body)));
    match given.as_slice() {
        [(first, ..), (second, ..), ..] => Some(format!("`{first}` and `{second}` do not go together")),
        _ => None,
    }
}

/// `START:END` or `LINE`.
fn range(lines: &str) -> Option<(usize, usize)> {
    let (start, end) = lines.split_once([':', '-']).unwrap_or((lines, lines));
    Some((start.trim().parse().ok()?, end.trim().parse().ok()?))
}

/// `navigate [ACTION] PATH`
fn navigate(tool: &ToolSpec, words: &[&str]) -> Result<Arguments, String> {
    let Words { mut named, mut plain } = sorted(tool, words, &[])?;
    if plain.len() > 1 && !named.contains_key("action") {
        named.insert("action".into(), json!(plain.remove(0)));
    }
    if !plain.is_empty() {
        named.insert("path".into(), json!(plain.join(" ")));
    }
    Ok(named)
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
fn test(tool: &ToolSpec, words: &[&str]) -> Result<Arguments, String> {
    let short = ["-run", "--run", "-f", "-k"].map(|flag| (flag, "filter"));
    let Words { mut named, plain } = sorted(tool, words, &short)?;
    if !plain.is_empty() {
        named.insert("path".into(), json!(plain.join(" ")));
    }
    Ok(in_order(named, &["path", "filter"]))
}

/// `TOOL VALUE… --NAME VALUE…`: values without a name go to what is required, in its order.
fn by_schema(tool: &ToolSpec, words: &[&str]) -> Result<Arguments, String> {
    let schema = Schema::new(&tool.parameters);
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
        arguments.insert(name.to_owned(), typed_by_looks(text, schema.property(name).kinds()));
    }
    Ok(arguments)
}

/// The words of a command: those with a name, under it, and the others.
struct Words<'a> {
    named: Arguments,
    plain: Vec<&'a str>,
}

/// Parameters whose value is a text as it stands, whatever it looks like.
const TEXTS: [&str; 6] = ["content", "text", "query", "-r", "-a", "-i"];

/// `short`: flags, and the names of what follows them. Behind others stands `--NAME VALUE` or `--NAME=VALUE`, with one `-`,
/// too, except for `test`, whose words may be another program's. Without quotes `-r`, `-a` and `-i` take all words up to
/// the next flag.
fn sorted<'a>(tool: &ToolSpec, words: &[&'a str], short: &[(&'a str, &'a str)]) -> Result<Words<'a>, String> {
    let schema = Schema::new(&tool.parameters);
    let named = |word: &'a str| {
        let flag = short.iter().find(|(flag, _)| *flag == word).map(|(_, name)| (*name, None));
        flag.or_else(|| long(word, |name| tool.name != "test" || schema.property(name).is_known()))
    };
    let mut sorted = Words { named: Arguments::new(), plain: Vec::new() };
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        let Some((name, value)) = named(word) else {
            sorted.plain.push(word);
            continue;
        };
        // Of a flag that stands alone it is said elsewhere what is missing.
        let alone = || if word.starts_with("--") { Err(format!("`{word}` needs a value")) } else { Ok("") };
        let is_switch = name == "-d" && tool.name == "code_edit";
        let next = if is_switch { Some("") } else { value.or_else(|| words.next()) };
        let mut text = next.map_or_else(alone, Ok)?.to_owned();
        while ["-r", "-a", "-i"].contains(&name)
            && let Some(more) = words.next_if(|more| named(more).is_none())
        {
            text = format!("{text} {more}");
        }
        let value = if TEXTS.contains(&name) {
            json!(text)
        } else {
            typed_by_looks(&text, schema.property(name).kinds())
        };
        sorted.named.insert(name.to_owned(), value);
    }
    Ok(sorted)
}

/// The name of a parameter, and its value where that stands in the same word.
fn long(word: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, Option<&str>)> {
    let (name, is_double) = match word.strip_prefix("--") {
        Some(name) => (name, true),
        None => (word.strip_prefix('-')?, false),
    };
    let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    (is_name && (is_double || (name.len() > 1 && is_known(name)))).then_some((name, value))
}

/// The same arguments, these first: a model that reads its own call again finds it as it is used to.
fn in_order(mut named: Arguments, names: &[&str]) -> Arguments {
    let first = names.iter().filter_map(|name| named.shift_remove_entry(*name));
    let mut ordered: Arguments = first.collect();
    ordered.extend(named);
    ordered
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Arguments {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
