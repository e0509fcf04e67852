//! [`Fields`]: the header of a file that was written for another system. Tells the fields that Haft uses from those
//! that it does not support.
use haft_engine::{BadHeader, with_header};
use serde_json::{Map, Value};

/// Fields that only describe a file and do not affect its behavior.
const DESCRIBING: [&str; 21] = [
    "argument-hint",
    "author",
    "category",
    "color",
    "compatibility",
    "display_name",
    "hidden",
    "homepage",
    "icon",
    "id",
    "kind",
    "license",
    "metadata",
    "mode",
    "short-description",
    "tags",
    "title",
    "user-invocable",
    "version",
    "when-to-use",
    "when_to_use",
];

/// The reasons why Haft does not support a field.
const REASONS: [(&str, &str); 6] = [
    ("allowed-tools", "a file grants no permission; rules in your configuration do"),
    ("hooks", "hooks are set up in your configuration"),
    ("mcpServers", "MCP servers are set up in your configuration"),
    ("permission", "rules are set up in your configuration"),
    ("permissionMode", "`permission` in your configuration or `--permission` chooses the mode"),
    ("shell", "commands in a prompt are not run"),
];

/// The fields of a header that have not been used yet.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    left: Map<String, Value>,
    notes: Vec<String>,
}

impl Fields {
    /// The header of `text`, and the text below it. Without a header, that is the whole text.
    pub(crate) fn of(text: &str) -> Result<(Self, &str), BadHeader> {
        match with_header(text) {
            Ok((left, below)) => Ok((Self { left, notes: Vec::new() }, below)),
            Err(BadHeader::Missing) => Ok((Self::default(), text)),
            // Other systems accept values that contain a colon or begin with a bracket, which YAML wants in quotes.
            Err(bad @ BadHeader::Unreadable(_)) => {
                let quoted = with_quotes(text);
                let (left, _) = with_header(&quoted).map_err(|_| bad)?;
                let below = with_header::<serde::de::IgnoredAny>(text)
                    .map_or_else(|_| below(text), |(_, below)| below);
                Ok((Self { left, notes: Vec::new() }, below))
            }
        }
    }

    /// Takes out a text or a number.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.left.remove(name)? {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Takes out a value of any type.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name)
    }

    /// Takes out a list: a YAML list, or a text with commas.
    pub(crate) fn list(&mut self, name: &str) -> Option<Vec<String>> {
        match self.left.remove(name)? {
            Value::String(text) => Some(words_of(&text)),
            Value::Array(list) => Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            other => {
                self.left.insert(name.to_owned(), other);
                None
            }
        }
    }

    /// Adds a note that Haft does something other than the file asks for.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The notes so far, and a note for each remaining field that would affect the behavior.
    pub(crate) fn notes(self) -> Vec<String> {
        let mut left: Vec<&String> = self.left.keys().collect();
        left.sort();
        let said = left.into_iter().filter(|name| !DESCRIBING.contains(&name.as_str())).map(|name| {
            let reason = REASONS.iter().find(|(known, _)| known == name).map(|(_, reason)| *reason);
            format!("`{name}` is ignored: {}", reason.unwrap_or("Haft has nothing like it"))
        });
        self.notes.into_iter().chain(said).collect()
    }
}

/// Splits `Read, Bash(git log:*), Grep` at commas, except those inside brackets.
fn words_of(text: &str) -> Vec<String> {
    let (mut words, mut depth) = (vec![String::new()], 0_usize);
    for letter in text.chars() {
        match letter {
            ',' if depth == 0 => words.push(String::new()),
            _ => {
                depth = match letter {
                    '(' => depth + 1,
                    ')' => depth.saturating_sub(1),
                    _ => depth,
                };
                words.last_mut().expect("it begins with one").push(letter);
            }
        }
    }
    words.iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// `text` with quotes around each unquoted value of its header that is on the same line as its name.
fn with_quotes(text: &str) -> String {
    let mut lines = text.trim_start_matches('\u{feff}').trim_start().lines().peekable();
    let mut quoted = vec![lines.next().unwrap_or_default().to_owned()];
    let mut is_inside = true;
    while let Some(line) = lines.next() {
        is_inside = is_inside && line.trim_end() != "---";
        // A list or a text in quotes that goes on below.
        let goes_on = lines.peek().is_some_and(|next| next.starts_with([' ', '\t', ']', '}']));
        quoted.push(if is_inside { with_quoted_value(line, goes_on) } else { line.to_owned() });
    }
    quoted.join("\n")
}

fn with_quoted_value(line: &str, goes_on: bool) -> String {
    let is_plain = |value: &str| !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!']);
    // `[pr] [priority]`, or `"quoted" and more`: it begins like something else than a text.
    let is_unreadable = || with_header::<serde::de::IgnoredAny>(&format!("---\n{line}\n---\n")).is_err();
    match line.split_once(": ") {
        Some((name, value))
            if !name.starts_with([' ', '#', '-'])
                && !value.trim().is_empty()
                && (is_plain(value) || !goes_on && is_unreadable()) =>
        {
            format!("{name}: {}", Value::from(value.trim()))
        }
        Some(_) | None => line.to_owned(),
    }
}

/// The text below a header.
fn below(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let rest = text.find("\n---").map_or("", |end| &text[end + 4..]);
    rest.split_once('\n').map_or("", |(_, below)| below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_other_systems_do() {
        let table = [
            ("---\ndescription: a\n---\nText", "a", "Text"),
            (
                "---\ndescription: Use when: it fails # now\ncolor: red\n---\nText",
                "Use when: it fails # now",
                "Text",
            ),
            ("---\ndescription: \"a: b\"\nodd: c: d\n---\n\nText", "a: b", "\nText"),
            ("---\nargument-hint: [pr] [priority]\ndescription: [WIP] fix\n---\nText", "[WIP] fix", "Text"),
            ("---\ndescription: \"Fix\" and more\nallowed-tools: *\n---\nText", "\"Fix\" and more", "Text"),
            ("---\ndescription: |\n  a: b\nargument-hint: {a} {b}\n---\nText", "a: b", "Text"),
            (
                "---\ndescription: Use this when: so\nallowed-tools: [Read,\n  Write]\n---\nText",
                "Use this when: so",
                "Text",
            ),
            ("No header", "", "No header"),
        ];
        for (text, description, expected) in table {
            let (mut fields, below) = Fields::of(text).unwrap();
            let found = (fields.text("description").unwrap_or_default(), below);
            assert_eq!(found, (description.to_owned(), expected), "{text}");
        }
        assert!(Fields::of("---\n[\n---\n").is_err());
    }

    #[test]
    fn lists_and_what_is_left_are_told_apart() {
        let text = "---\ntools: Read, Bash(git log:*, git diff), Grep\nmore: [a, b]\ncolor: red\nallowed-tools: Read\nisolation: x\n---\n";
        let (mut fields, _) = Fields::of(text).unwrap();
        assert_eq!(fields.list("tools").unwrap(), ["Read", "Bash(git log:*, git diff)", "Grep"]);
        assert_eq!(fields.list("more").unwrap(), ["a", "b"]);
        assert_eq!(
            fields.notes(),
            [
                "`allowed-tools` is ignored: a file grants no permission; rules in your configuration do",
                "`isolation` is ignored: Haft has nothing like it"
            ]
        );
    }
}
