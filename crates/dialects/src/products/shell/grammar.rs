//! [`call`]: parses the arguments of each tool from the words of a command.
use crate::{
    Call, ToolSchema,
    typed::{Schema, typed_by_looks},
    writing::bare,
};
use serde_json::{Map, Value, json};

type Arguments = Map<String, Value>;

/// The call of these words. `raw`: the whole command; `body`: the text of its here-document.
pub(super) fn call(tool: &ToolSchema, words: &[&str], raw: &str, body: Option<&str>) -> Result<Call, String> {
    let begins_named = words.first().is_some_and(|word| word.starts_with("--"));
    let arguments = match tool.name.as_str() {
        "file" => file(tool, words, body),
        "search" => search(tool, words),
        "code_edit" => code_edit(tool, words, body),
        "navigate" => navigate(tool, words),
        // The words after a Git command are for Git to parse.
        "git" if !begins_named => git(words),
        "bash" if !begins_named => bash(words, raw),
        "test" => test(tool, words),
        _ => by_schema(tool, words),
    };
    Ok(Call::new(&tool.name, Value::Object(arguments?)))
}

/// Replaces flags in the names of arguments (`{"-t": "New", "path": "pkg/"}`) by the names of parameters.
pub(in crate::products) fn from_flags(tool: &str, arguments: Arguments) -> Result<Arguments, String> {
    if !arguments.keys().any(|name| name.starts_with('-')) {
        return Ok(arguments);
    }
    if !["search", "code_edit"].contains(&tool) {
        let named = arguments.into_iter();
        return Ok(named.map(|(name, value)| (name.trim_start_matches('-').to_owned(), value)).collect());
    }
    let words = arguments.into_iter().flat_map(|(name, value)| {
        let name = if name.starts_with('-') { name } else { format!("--{name}") };
        [Some(name), (value != true).then(|| bare(&value))].into_iter().flatten()
    });
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let spec = ToolSchema::new(tool, Value::Null);
    if tool == "search" { search(&spec, &words) } else { code_edit(&spec, &words, None) }
}

/// Names of the parameter for the file.
const PATHS: [&str; 4] = ["path", "file", "file_path", "filePath"];

/// `file PATH`, `file write PATH TEXT`, `file --path PATH --content TEXT`; the text may be in a here-document.
fn file(tool: &ToolSchema, words: &[&str], body: Option<&str>) -> Result<Arguments, String> {
    let mut words = Words::new(tool, words, &[])?.without_flags("`--path`, `--action` and `--content`")?;
    let has_path = words.has_one(&PATHS);
    let is_action = |word: &&str| ["read", "write", "append", "delete"].contains(word);
    let action = words.plain.iter().take(2).position(is_action);
    if let Some(at) = action.filter(|_| (words.plain.len() > 1 || has_path) && !words.has_one(&["action"])) {
        words.name("action", at);
    }
    if !has_path && !words.name("path", 0) {
        return Err("`file` needs a path".into());
    }
    let writes =
        ["write", "append"].iter().any(|action| words.named.get("action").is_some_and(|is| is == action));
    if writes && !words.has_one(&["content"]) && !words.plain.is_empty() {
        words.named.insert("content".into(), json!(std::mem::take(&mut words.plain).join(" ")));
    }
    if let Some(body) = body {
        words.named.entry("content").or_insert_with(|| json!(body));
    }
    match words.plain.is_empty() {
        true => Ok(in_order(words.named, &["path", "action", "content"])),
        false => Err("`file` takes one path; quote it if it has blanks".into()),
    }
}

/// `search -t PATTERN [PATH]`, `search -d NAME [PATH]`, `search -f FILES [PATH]`, `search --type TYPE NAME [PATH]`
fn search(tool: &ToolSchema, words: &[&str]) -> Result<Arguments, String> {
    let short = [("-t", "query"), ("-e", "query"), ("-d", "-d"), ("-f", "-f")];
    let mut words =
        Words::new(tool, words, &short)?.without_flags("`-t`, `-d`, `-f`, `--type` and `--path`")?;
    for (flag, kind) in [("-d", "definitions"), ("-f", "files")] {
        let Some(name) = words.named.shift_remove(flag) else { continue };
        words.named.insert("type".into(), json!(kind));
        if name != "" {
            words.named.entry("query").or_insert(name);
        }
    }
    let names = ["query", "pattern", "name"];
    let is_empty = names.iter().any(|name| words.named.get(*name).is_some_and(|query| query == ""));
    if is_empty || (!words.has_one(&names) && !words.name("query", 0)) {
        return Err("`search` needs `-t PATTERN`".into());
    }
    if !words.has_one(&["path"]) {
        words.name("path", 0);
    }
    match words.plain.is_empty() {
        true => Ok(words.named),
        false => Err("`search` takes one path; quote a pattern that has blanks".into()),
    }
}

/// Flags of `code_edit` for the action, each with its text.
const EDITS: [(&str, &str); 4] = [("-r", "replace"), ("-a", "append"), ("-i", "insert"), ("-d", "delete")];

/// `code_edit -f FILE -l START:END -r TEXT`, `code_edit -f FILE -l LINE -i TEXT`, `code_edit -f FILE -l START:END -d`,
/// `code_edit -f FILE -a TEXT`, or the parameters by their names. Reports all problems together.
fn code_edit(tool: &ToolSchema, words: &[&str], body: Option<&str>) -> Result<Arguments, String> {
    let short = [&[("-f", "path"), ("-l", "lines")][..], &EDITS.map(|(flag, _)| (flag, flag))].concat();
    let mut words = Words::new(tool, words, &short)?;
    let mut wrong = Vec::new();
    if let Some(at) = words.plain.iter().position(|word| EDITS.iter().any(|(_, action)| action == word)) {
        words.name("action", at);
    }
    if !words.has_one(&PATHS) && !words.name("path", 0) {
        wrong.push("`-f FILE` is missing".to_owned());
    }
    let Words { mut named, plain } = words;
    if !plain.is_empty() {
        wrong.push(format!("`code_edit` takes no `{}`", plain.join(" ")));
    }
    wrong.extend(put_text(&mut named, body));
    let lines = named.shift_remove("lines").map(|lines| bare(&lines));
    if let Some(lines) = &lines {
        match range(lines) {
            None => wrong.push(format!("`-l` takes `START:END`, not `{lines}`")),
            Some((start, end)) => named.extend(object([("start", json!(start)), ("end", json!(end))])),
        }
    }
    let has_lines = lines.is_some() || named.contains_key("start");
    let action = match named.get("action").and_then(Value::as_str) {
        Some(action) => action.to_owned(),
        None if !named.contains_key("text") => {
            wrong.push("`-r TEXT`, `-i TEXT`, `-a TEXT` or `-d` is missing".into());
            return Err(wrong.join("; "));
        }
        None => if has_lines { "replace" } else { "append" }.to_owned(),
    };
    if action != "append" && !has_lines {
        wrong.push(format!("`-l START:END` is missing to {action}"));
    }
    named.retain(|name, _| {
        !matches!((action.as_str(), name.as_str()), ("append", "start") | ("append" | "insert", "end"))
    });
    named.insert("action".into(), json!(action));
    match wrong.is_empty() {
        true => Ok(in_order(named, &["path", "action", "start", "end", "text"])),
        false => Err(wrong.join("; ")),
    }
}

/// Sets `text` from the text of a flag, of a parameter with another name or of a here-document. Returns the problem if
/// flags conflict.
fn put_text(named: &mut Arguments, body: Option<&str>) -> Option<String> {
    let given = EDITS.map(|(flag, action)| named.shift_remove(flag).map(|text| (flag, action, text)));
    let given: Vec<_> = given.into_iter().flatten().collect();
    let mut texts = Vec::new();
    for other in ["content", "new_content", "replacement", "new_text", "code"] {
        texts.extend(named.shift_remove(other));
    }
    if let Some((_, action, text)) = given.first() {
        named.insert("action".into(), json!(action));
        texts.extend((*action != "delete").then(|| text.clone()));
    }
    // The edit works on whole lines.
    texts.extend(body.map(|body| json!(body.strip_suffix('\n').unwrap_or(body))));
    named.extend(texts.pop().map(|text| ("text".to_owned(), text)));
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
fn navigate(tool: &ToolSchema, words: &[&str]) -> Result<Arguments, String> {
    let mut words = Words::new(tool, words, &[])?.without_flags("`--action` and `--path`")?;
    if words.plain.len() > 1 && !words.has_one(&["action"]) {
        words.name("action", 0);
    }
    Ok(words.with_path())
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
        ["-c", command] => command,
        [quoted] => quoted,
        _ => raw.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim(),
    };
    match command.trim().is_empty() {
        true => Err("empty command".into()),
        false => Ok(object([("command", json!(command))])),
    }
}

/// Flags of test runners that do not matter, since the result names every failure in any case.
const WITHOUT_MEANING: [&str; 6] = ["-v", "-vv", "--verbose", "-q", "--quiet", "-count=1"];

/// `test [PATH] [-run NAME]`
fn test(tool: &ToolSchema, words: &[&str]) -> Result<Arguments, String> {
    let words: Vec<&str> = words.iter().copied().filter(|word| !WITHOUT_MEANING.contains(word)).collect();
    let words = Words::new(tool, &words, &["-run", "--run", "-f", "-k"].map(|flag| (flag, "filter")))?;
    Ok(in_order(words.with_path(), &["path", "filter"]))
}

/// `TOOL VALUE… --NAME VALUE…`: values without a name are assigned to required parameters, in order.
fn by_schema(tool: &ToolSchema, words: &[&str]) -> Result<Arguments, String> {
    let schema = Schema::new(&tool.parameters);
    let mut places = tool.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut arguments = Arguments::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let long = word.strip_prefix("--");
        let named = long.and_then(|word| word.split_once('=').or_else(|| Some((word, *words.next()?))));
        let (name, text) = match named {
            Some(named) => named,
            None => (places.next().ok_or_else(|| format!("`{}` takes no `{word}`", tool.name))?, *word),
        };
        arguments.insert(name.to_owned(), typed_by_looks(text, schema.property(name).kinds()));
    }
    Ok(arguments)
}

/// The words of a command: those with a name, by name, and the others.
struct Words<'a> {
    named: Arguments,
    plain: Vec<&'a str>,
}

/// Parameters whose value is always a string, whatever it looks like.
const TEXTS: [&str; 6] = ["content", "text", "query", "-r", "-a", "-i"];

impl<'a> Words<'a> {
    /// Sorts the words. `short`: flags, each with the name of the value after it. Other names are written `--NAME
    /// VALUE` or `--NAME=VALUE`, or with one `-`; in `test`, only known ones, since its words may belong to another
    /// program. Without quotes, `-r`, `-a` and `-i` take all words up to the next flag.
    fn new(tool: &ToolSchema, words: &[&'a str], short: &[(&'a str, &'a str)]) -> Result<Self, String> {
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
            let is_switch = name == "-d" && tool.name == "code_edit";
            let next = if is_switch { Some("") } else { value.or_else(|| words.next()) };
            // A short flag without a value is reported by another check.
            let next = next.or((!word.starts_with("--")).then_some(""));
            let mut text = next.ok_or_else(|| format!("`{word}` needs a value"))?.to_owned();
            while ["-r", "-a", "-i"].contains(&name)
                && let Some(more) = words.next_if(|more| named(more).is_none())
            {
                text = format!("{text} {more}");
            }
            let value = match TEXTS.contains(&name) {
                true => json!(text),
                false => typed_by_looks(&text, schema.property(name).kinds()),
            };
            sorted.named.insert(name.to_owned(), value);
        }
        Ok(sorted)
    }

    /// Fails on flags that the tool does not have; `known`: those that it has.
    fn without_flags(self, known: &str) -> Result<Self, String> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-=".contains(letter);
        let is_flag = |word: &&&str| {
            let name = word.strip_prefix('-').unwrap_or_default();
            name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && name.chars().all(is_part)
        };
        match self.plain.iter().find(is_flag) {
            Some(flag) => Err(format!("there is no flag `{flag}`, only {known}")),
            None => Ok(self),
        }
    }

    fn has_one(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.named.contains_key(*name))
    }

    /// Assigns this name to the word at index `at` without a name, if there is one.
    fn name(&mut self, name: &str, at: usize) -> bool {
        let word = (at < self.plain.len()).then(|| self.plain.remove(at));
        word.map(|word| self.named.insert(name.to_owned(), json!(word))).is_some()
    }

    /// Takes all words without a name as the path.
    fn with_path(mut self) -> Arguments {
        if !self.plain.is_empty() {
            self.named.insert("path".into(), json!(self.plain.join(" ")));
        }
        self.named
    }
}

/// The name of a parameter, and its value if that is in the same word.
fn long(word: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, Option<&str>)> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    (is_name && (word.starts_with("--") || (name.len() > 1 && is_known(name)))).then_some((name, value))
}

/// Sorts the arguments with these names first, so that a model sees its own calls in the form that it writes.
fn in_order(mut named: Arguments, names: &[&str]) -> Arguments {
    let first = names.iter().filter_map(|name| named.shift_remove_entry(*name));
    let mut ordered: Arguments = first.collect();
    ordered.extend(named);
    ordered
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Arguments {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
