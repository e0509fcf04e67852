//! [`offset`] and [`occurrence`]: convert between byte offsets in a text and LSP positions: lines, and UTF-16 units in
//! a line.
use lsp_types::Position;

/// The byte offset in `text` of `position`; the end of the line if the line is shorter, or of the text if it has fewer
/// lines.
pub(crate) fn offset(text: &str, position: Position) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        match text[start..].find('\n') {
            Some(end) => start += end + 1,
            None => return text.len(),
        }
    }
    let line = text[start..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let (mut units, mut at) = (0, start);
    for letter in line.chars() {
        if units >= position.character as usize {
            break;
        }
        units += letter.len_utf16();
        at += letter.len_utf8();
    }
    at
}

/// The position of `symbol` as a word: on `line`, counted from 1, or its first occurrence if there is no `line`.
pub(crate) fn occurrence(text: &str, symbol: &str, line: Option<usize>) -> Option<Position> {
    let lines = text.lines().enumerate();
    let mut lines = lines.filter(|(number, _)| line.is_none_or(|line| line == number + 1));
    lines.find_map(|(number, line)| {
        let at = word_in(line, symbol)?;
        let character = line[..at].encode_utf16().count();
        Some(Position::new(number.try_into().ok()?, character.try_into().ok()?))
    })
}

fn word_in(line: &str, word: &str) -> Option<usize> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_whole = |at: &usize| {
        !line[..*at].chars().next_back().is_some_and(is_part)
            && !line[at + word.len()..].chars().next().is_some_and(is_part)
    };
    let mut places = line.match_indices(word).map(|(at, _)| at);
    places.find(is_whole).filter(|_| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_utf_16() {
        let text = "ab\r\nä𝄞c = x_c + c\n";
        let table = [
            (0, 0, 0),
            (0, 1, 1),
            (0, 9, 2),
            (1, 0, 4),
            (1, 1, 6),
            (1, 3, 10),
            (1, 99, 21),
            (7, 0, text.len()),
        ];
        for (line, character, expected) in table {
            assert_eq!(offset(text, Position::new(line, character)), expected, "{line}:{character}");
        }
    }

    #[test]
    fn a_symbol_is_found_as_a_word() {
        let text = "ab\r\nä𝄞 = x_c + c\nc\n";
        let table = [
            ("c", None, Some((1, 12))),
            ("c", Some(3), Some((2, 0))),
            ("c", Some(1), None),
            ("x", None, None),
            ("ab", Some(1), Some((0, 0))),
            ("", None, None),
        ];
        for (symbol, line, expected) in table {
            let found = occurrence(text, symbol, line).map(|found| (found.line, found.character));
            assert_eq!(found, expected, "{symbol} {line:?}");
        }
    }
}
