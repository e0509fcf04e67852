//! [`Command`]: the lines and words of a shell block, with quotes and here-documents.

/// A command of a block.
#[derive(Debug, PartialEq)]
pub(super) struct Command<'a> {
    /// Raw text of the command.
    pub(super) raw: &'a str,
    /// The words of the command, or why it cannot be split. Within `'…'`, all characters are literal; within `"…"`, a
    /// `\` escapes `"` and `\`.
    pub(super) words: Result<Vec<String>, String>,
    /// The text in its here-document.
    pub(super) document: Option<&'a str>,
}

/// The body from the first line that is neither empty nor a comment.
pub(super) fn without_comments(body: &str) -> &str {
    let mut rest = body.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    rest
}

/// The commands of a block. A command with an unclosed quote ends with its first line.
pub(super) fn commands(body: &str) -> Vec<Command<'_>> {
    let mut commands = Vec::new();
    let mut rest = without_comments(body);
    while !rest.is_empty() {
        let (command, end) = command(rest);
        commands.push(command);
        rest = without_comments(&rest[end..]);
    }
    commands
}

/// The command at the beginning of the text, and its end.
fn command(text: &str) -> (Command<'_>, usize) {
    let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut document = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next().filter(|c| *c != '\n') {
        let rest = &text[at + c.len_utf8()..];
        at = text.len() - rest.len();
        match c {
            '\'' | '"' => match quoted(c, rest, word.get_or_insert_default()) {
                Some(behind) => at = text.len() - behind.len(),
                None => {
                    let end = text.find('\n').unwrap_or(text.len());
                    let words = Err(format!("a {c} is never closed"));
                    return (Command { raw: text[..end].trim_end(), words, document: None }, end);
                }
            },
            '\\' => {
                let escaped = rest.chars().next();
                at += escaped.map_or(0, char::len_utf8);
                if escaped != Some('\n') {
                    word.get_or_insert_default().extend(escaped);
                }
            }
            '<' if document.is_none() => match Document::at(text, at - 1) {
                Some(found) => (at, document) = (found.behind, Some(found)),
                None => word.get_or_insert_default().push(c),
            },
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let words = match words.first().is_none_or(String::is_empty) {
        true => Err("empty command".into()),
        false => Ok(words),
    };
    let end = document.as_ref().map_or(at, |document| at.max(document.end));
    (Command { raw: text[..end].trim_end(), words, document: document.map(|document| document.text) }, end)
}

/// Adds the text before the closing quote to the word, and returns the text after it.
fn quoted<'a>(quote: char, text: &'a str, word: &mut String) -> Option<&'a str> {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter == quote => return Some(letters.as_str()),
            '\\' if quote == '"' && letters.as_str().starts_with(['"', '\\']) => word.extend(letters.next()),
            letter => word.push(letter),
        }
    }
    None
}

/// A here-document: after `<<WORD`, `<<-WORD` or `<<'WORD'`, from the next line on.
struct Document<'a> {
    text: &'a str,
    /// Byte offset of the end of its mark (`<<WORD`).
    behind: usize,
    /// Byte offset of the end of the line that terminates it.
    end: usize,
}

impl<'a> Document<'a> {
    /// The here-document whose mark begins at this byte.
    fn at(text: &'a str, mark: usize) -> Option<Self> {
        let rest = text[mark..].strip_prefix("<<")?;
        let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches(' ');
        let quote = if rest.starts_with(['\'', '"']) { &rest[..1] } else { "" };
        let rest = &rest[quote.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        let rest = rest.strip_prefix(quote)?;
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(())?;
        let body = text.len() - rest.split_once('\n')?.1.len();
        let mut end = body;
        for line in text[body..].split_inclusive('\n') {
            if line.trim() == word {
                let behind = text.len() - rest.len();
                return Some(Self {
                    text: &text[body..end],
                    behind,
                    end: end + line.trim_end_matches('\n').len(),
                });
            }
            end += line.len();
        }
        None
    }
}
