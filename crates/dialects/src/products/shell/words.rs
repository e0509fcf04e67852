//! Lines and words of a shell block, quotes respected.
use std::borrow::Cow;

/// One command, as it was written.
#[derive(Debug, PartialEq)]
pub(super) struct Command<'a> {
    pub(super) raw: &'a str,
}

/// The body from its first line on that is neither empty nor a comment.
pub(super) fn without_comments(body: &str) -> &str {
    let mut rest = body.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    rest
}

/// The commands of a block. A quote that is never closed ends with its line.
pub(super) fn commands(body: &str) -> Vec<Command<'_>> {
    let mut commands = Vec::new();
    let mut rest = without_comments(body);
    while !rest.is_empty() {
        let line = rest.find('\n').unwrap_or(rest.len());
        let end = end_of_command(rest).unwrap_or(line);
        commands.push(Command { raw: rest[..end].trim_end() });
        rest = without_comments(&rest[end..]);
    }
    commands
}

/// Where the command ends with which the text begins; `None`: within a quote.
fn end_of_command(text: &str) -> Option<usize> {
    let mut document = None;
    let end = outside_quotes(text, |at, byte| match byte {
        b'\n' => {
            let body = document.and_then(|document: Document<'_>| document.end_in(&text[at + 1..]));
            Some(body.map_or(at, |(_, end)| at + 1 + end))
        }
        b'<' if document.is_none() => {
            document = Document::at(&text[at..]);
            None
        }
        _ => None,
    });
    end.map(|end| end.unwrap_or(text.len()))
}

/// What `look` gives first of the bytes outside of quotes; nothing where a quote is never closed.
fn outside_quotes<T>(text: &str, mut look: impl FnMut(usize, u8) -> Option<T>) -> Option<Option<T>> {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.bytes().enumerate() {
        match (c, quote) {
            _ if escaped => escaped = false,
            (b'\\', None | Some(b'"')) => escaped = true,
            (b'"' | b'\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            (c, None) => {
                if let Some(found) = look(at, c) {
                    return Some(Some(found));
                }
            }
        }
    }
    quote.is_none().then_some(None)
}

/// `<<WORD`, `<<-WORD` or `<<'WORD'`.
#[derive(Clone, Copy)]
struct Document<'a> {
    /// What ends it, on a line of its own.
    word: &'a str,
    /// How long its mark is.
    mark: usize,
}

impl<'a> Document<'a> {
    /// With which `text` begins.
    fn at(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("<<")?;
        let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches(' ');
        let quote = if rest.starts_with(['\'', '"']) { &rest[..1] } else { "" };
        let rest = &rest[quote.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        let rest = rest.strip_prefix(quote)?;
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        is_word.then_some(Self { word, mark: text.len() - rest.len() })
    }

    /// Where the document ends that stands at the beginning of `text`, and where the line ends behind it.
    fn end_in(&self, text: &str) -> Option<(usize, usize)> {
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            if line.trim() == self.word {
                return Some((begin, begin + line.trim_end_matches('\n').len()));
            }
            begin += line.len();
        }
        None
    }
}

/// The command without its here-document, and that document.
pub(super) fn here_document(command: &str) -> Option<(String, &str)> {
    let found = outside_quotes(command, |at, byte| {
        let document = (byte == b'<').then(|| Document::at(&command[at..]))??;
        Some((at, document))
    });
    let (at, document) = found??;
    let (rest, body) = command[at + document.mark..].split_once('\n')?;
    let (end, _) = document.end_in(body)?;
    Some((format!("{}{rest}", &command[..at]), &body[..end]))
}

/// The words of a command. Within `'…'` everything is itself; within `"…"` a `\` takes the meaning from `"` and `\`.
pub(super) fn split(command: &str) -> Result<Vec<Cow<'_, str>>, String> {
    let mut words = Vec::with_capacity(8);
    let mut word: Option<Cow<'_, str>> = None;
    let mut rest = command;
    while let Some(first) = rest.chars().next() {
        let (plain, after) = rest.split_at(rest.find(is_special).unwrap_or(rest.len()));
        if !plain.is_empty() {
            match &mut word {
                Some(word) => word.to_mut().push_str(plain),
                None => word = Some(plain.into()),
            }
            rest = after;
            continue;
        }
        rest = &rest[first.len_utf8()..];
        match first {
            '\'' | '"' => rest = quoted(first, rest, word.get_or_insert_default().to_mut())?,
            '\\' if rest.starts_with('\n') => rest = &rest[1..],
            '\\' => {
                let escaped = rest.chars().next();
                word.get_or_insert_default().to_mut().extend(escaped);
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
            }
            _ => words.extend(word.take()),
        }
    }
    words.extend(word);
    match words.first().is_none_or(|word| word.is_empty()) {
        true => Err("empty command".into()),
        false => Ok(words),
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '\'' | '"' | '\\') || c.is_whitespace()
}

/// Adds what stands before the closing quote to the word, and gives back what comes behind it.
fn quoted<'a>(quote: char, text: &'a str, word: &mut String) -> Result<&'a str, String> {
    let mut rest = text;
    while let Some(at) = rest.find([quote, '\\']) {
        let (plain, after) = rest.split_at(at);
        word.push_str(plain);
        rest = &after[1..];
        if after.starts_with(quote) {
            return Ok(rest);
        }
        if quote == '"' && rest.starts_with(['"', '\\']) {
            word.push_str(&rest[..1]);
            rest = &rest[1..];
        } else {
            word.push('\\');
        }
    }
    Err(format!("a {quote} is never closed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-26
    #[test]
    fn words_keep_their_quotes_together() {
        let words =
            |words: &[&'static str]| Ok(words.iter().map(|word| Cow::from(*word)).collect::<Vec<_>>());
        let table = [
            ("a  b\tc", words(&["a", "b", "c"])),
            (r#"a "b c" 'd "e"' f"g"h"#, words(&["a", "b c", "d \"e\"", "fgh"])),
            (r#"a "b \"c\" \\ \n" 'd\'"#, words(&["a", r#"b "c" \ \n"#, r"d\"])),
            (r"a b\ c ''", words(&["a", "b c", ""])),
            ("a \\\n b", words(&["a", "b"])),
            ("ü 'é\n'", words(&["ü", "é\n"])),
            ("", Err("empty command".to_owned())),
            ("  \n", Err("empty command".to_owned())),
            ("''", Err("empty command".to_owned())),
            ("a 'b", Err("a ' is never closed".to_owned())),
        ];
        for (command, expected) in table {
            assert_eq!(split(command), expected, "{command}");
        }
    }
}
