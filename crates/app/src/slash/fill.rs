//! [`fill`]: inserts arguments into the text of a command, in the way of the system that it was written for.
use crate::system::System;

/// Replaces the output of a command and the content of a file in a saved prompt. Haft does not insert these itself: the
/// model makes calls for them, which are judged, recorded and shown like all others.
const TO_BE_CALLED: &str = "In this prompt, a command in !`…` or !{…} stands for its output, and @ before a path for the \
                            content of that file: run it, or read it, first.";

/// The text with its arguments. Inserted text is not scanned for further placeholders. If the text has no placeholder,
/// the arguments are appended.
pub(super) fn fill(text: &str, arguments: &str, system: System) -> String {
    let (filled, has_place) = match system {
        System::Gemini => with_all(text, "{{args}}", arguments),
        System::Haft => {
            with_words(text, arguments, arguments.split_whitespace().map(str::to_owned).collect(), false)
        }
        System::Agents | System::Claude | System::Codex | System::OpenCode => {
            let words = shlex::split(arguments);
            let words = words.unwrap_or_else(|| arguments.split_whitespace().map(str::to_owned).collect());
            with_words(text, arguments, words, system == System::Codex)
        }
    };
    let filled = appended(filled, has_place, arguments);
    match system != System::Haft && has_calls(text) {
        true => format!("{filled}\n\n{TO_BE_CALLED}"),
        false => filled,
    }
}

/// The text of a skill with its arguments. `$1` and the like stay: skills quote commands.
pub(super) fn fill_skill(text: &str, arguments: &str) -> String {
    let (filled, has_place) = with_all(text, "$ARGUMENTS", arguments);
    appended(filled, has_place, arguments)
}

/// Replaces a placeholder by all arguments. Also returns whether the text has it.
fn with_all(text: &str, placeholder: &str, arguments: &str) -> (String, bool) {
    (text.replace(placeholder, arguments), text.contains(placeholder))
}

fn appended(filled: String, has_place: bool, arguments: &str) -> String {
    match has_place || arguments.is_empty() {
        true => filled,
        false => format!("{filled}\n\n{arguments}"),
    }
}

/// Replaces `$ARGUMENTS` by all arguments, `$1` by the first word, and, if `has_names`, `$NAME` by the value of a word
/// `NAME=VALUE`. Also returns whether the text has a placeholder.
fn with_words(text: &str, arguments: &str, words: Vec<String>, has_names: bool) -> (String, bool) {
    let (mut filled, mut rest, mut has_place) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once('$') {
        filled += before;
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = after[..digits].parse::<usize>().ok().filter(|number| *number > 0);
        let named = has_names.then(|| value_of(after, &words)).flatten();
        let (value, read) = match (after.strip_prefix("ARGUMENTS"), number, named) {
            (Some(_), _, _) => (arguments, "ARGUMENTS".len()),
            (None, Some(number), _) => (words.get(number - 1).map_or("", String::as_str), digits),
            (None, None, Some((value, read))) => (value, read),
            (None, None, None) => {
                filled.push('$');
                rest = after;
                continue;
            }
        };
        filled += value;
        has_place = true;
        rest = &after[read..];
    }
    (filled + rest, has_place)
}

/// The value of the name that `text` begins with, and the length of that name.
fn value_of<'a>(text: &str, words: &'a [String]) -> Option<(&'a str, usize)> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let name = &text[..text.len() - text.trim_start_matches(is_part).len()];
    let value = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    (!name.is_empty()).then_some((value, name.len()))
}

/// Whether a text contains commands or files that are to be replaced by their output or content: `` !`git diff` ``,
/// `!{git diff}`, `@{src/a.rs}`, `@src/a.rs`.
fn has_calls(text: &str) -> bool {
    let is_path = |word: &str| {
        word.strip_prefix('@').is_some_and(|path| path.starts_with('{') || path.contains(['/', '.']))
    };
    text.contains("!`") || text.contains("!{") || text.split_whitespace().any(is_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_filled_in_once() {
        let table = [
            ("Fix $ARGUMENTS.", "a b", "Fix a b."),
            ("$2 before $1, no $3", "a b", "b before a, no "),
            ("$1", "$2 x", "$2"),
            ("costs 5 $, $0, $HOME, $$1", "a", "costs 5 $, $0, $HOME, $a"),
            ("Fix it.", "", "Fix it."),
            ("Fix it.", "now", "Fix it.\n\nnow"),
            ("$11$1", "a b c d e f g h i j k", "ka"),
            ("$99999999999999999999", "a", "$99999999999999999999\n\na"),
        ];
        for (text, arguments, expected) in table {
            assert_eq!(fill(text, arguments, System::Haft), expected, "{text}");
        }
    }

    #[test]
    fn other_systems_fill_in_as_they_do() {
        let table = [
            (System::Claude, "Fix $1.", "'a b' c", "Fix a b.".to_owned()),
            (System::Claude, "Fix $1.", "don't stop", "Fix don't.".to_owned()),
            (System::Codex, "$FILE: $ARGUMENTS", "FILE=\"a b\"", "a b: FILE=\"a b\"".to_owned()),
            (System::Codex, "costs $FILE", "x", "costs $FILE\n\nx".to_owned()),
            (System::Claude, "$FILE", "FILE=a", "$FILE\n\nFILE=a".to_owned()),
            (System::Gemini, "Fix {{args}}, $1.", "a b", "Fix a b, $1.".to_owned()),
            (System::Gemini, "Fix.", "a b", "Fix.\n\na b".to_owned()),
            (System::Gemini, "Mail a@b.c", "", "Mail a@b.c".to_owned()),
            (System::Gemini, "See !{git diff}", "", format!("See !{{git diff}}\n\n{TO_BE_CALLED}")),
            (System::Claude, "See @src/a.rs", "", format!("See @src/a.rs\n\n{TO_BE_CALLED}")),
            (System::Haft, "See @src/a.rs", "", "See @src/a.rs".to_owned()),
        ];
        for (system, text, arguments, expected) in table {
            assert_eq!(fill(text, arguments, system), expected, "{text}");
        }
    }
}
