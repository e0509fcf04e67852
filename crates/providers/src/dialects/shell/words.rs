//! Lines and words of a shell block, quotes respected.

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
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', None | Some('"')) => escaped = true,
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('\n', None) => return Some(at),
            _ => {}
        }
    }
    quote.is_none().then_some(text.len())
}

/// The words of a command. Within `'…'` everything is itself; within `"…"` a `\` takes the meaning from `"` and `\`.
pub(super) fn split(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default())?,
            '\\' if chars.peek() == Some(&'\n') => _ = chars.next(),
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.first().is_none_or(String::is_empty) {
        true => Err("empty command".into()),
        false => Ok(words),
    }
}

fn quoted(
    quote: char,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    word: &mut String,
) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' && matches!(chars.peek(), Some('"' | '\\')) => word.extend(chars.next()),
            c => word.push(c),
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
        let words = |words: &[&str]| Ok(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
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
