//! [`Clean`]: converts a command's output to text: without terminal control codes, and without white space at its ends
//! (P-16).
//!
//! ```text
//! ESC [ parameters letter                    cursor, colors
//! ESC ] words (BEL | ESC \)                  titles, links; likewise ESC P, ESC X, ESC ^, ESC _
//! ESC intermediates letter                   character sets and the like
//! ```
//!
//! Source: ECMA-48, 5th edition, §5.3 to §5.6 and §8.3.
use std::mem;

/// Partial output; chunks may end anywhere, even inside a character.
#[derive(Default)]
pub(super) struct Clean {
    undecoded: Vec<u8>,
    place: Place,
    has_begun: bool,
    /// White space that is only emitted if text follows.
    held: String,
}

/// The state of the parser: where in a control code the last character was.
#[derive(Clone, Copy, Default, PartialEq)]
enum Place {
    #[default]
    Text,
    /// After ESC, and the intermediates after it.
    Escape,
    /// After `ESC [`.
    Parameters,
    /// After `ESC ]` and similar, inside a control string.
    Words,
    /// After ESC in a control string: a `\` ends it.
    WordsEscape,
}

impl Clean {
    /// Adds a chunk, and returns the text that it completes.
    pub(super) fn push(&mut self, chunk: &[u8]) -> String {
        let mut said = String::new();
        for letter in self.decode(chunk).chars() {
            let (place, is_text) = self.place.after(letter);
            self.place = place;
            if is_text {
                self.say(letter, &mut said);
            }
        }
        said
    }

    fn decode(&mut self, chunk: &[u8]) -> String {
        let mut bytes = mem::take(&mut self.undecoded);
        bytes.extend_from_slice(chunk);
        let rest = unfinished(&bytes);
        self.undecoded = bytes.split_off(bytes.len() - rest);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn say(&mut self, letter: char, said: &mut String) {
        if letter.is_whitespace() {
            if self.has_begun {
                self.held.push(letter);
            }
            return;
        }
        self.has_begun = true;
        said.push_str(&mem::take(&mut self.held));
        said.push(letter);
    }
}

/// Length of an incomplete character at the end of `bytes`.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let length = match last.first() {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        _ => 0,
    };
    if last.len() < length { last.len() } else { 0 }
}

impl Place {
    /// The state after `letter`, and whether `letter` belongs to the text.
    fn after(self, letter: char) -> (Self, bool) {
        // Control codes do not span lines; an unterminated one must not swallow the text.
        if letter == '\n' {
            return (Self::Text, true);
        }
        let place = match (self, letter) {
            (Self::Words, '\u{1b}') => Self::WordsEscape,
            (Self::WordsEscape, '\\') | (Self::Words, '\u{7}' | '\u{9c}') => Self::Text,
            (Self::Words, _) => Self::Words,
            (_, '\u{1b}') => Self::Escape,
            (Self::Escape | Self::WordsEscape, '[') | (Self::Text, '\u{9b}') => Self::Parameters,
            (Self::Escape | Self::WordsEscape, ']' | 'P' | 'X' | '^' | '_') => Self::Words,
            (Self::Escape | Self::WordsEscape, ' '..='/') => Self::Escape,
            (Self::Parameters, ' '..='?') => Self::Parameters,
            (Self::Escape | Self::WordsEscape | Self::Parameters, _) => Self::Text,
            (Self::Text, _) => return (Self::Text, letter == '\t' || !letter.is_control()),
        };
        (place, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-16
    #[test]
    fn codes_and_outer_white_space_are_gone_wherever_the_chunks_end() {
        let table = [
            ("\r\n  a b\r\n\tc \n\n", "a b\n\tc"),
            ("\u{1b}[1;32mgreen\u{1b}[0m ü\u{1b}[2K\u{1b}[1G", "green ü"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "alink"),
            ("\u{1b}(Ba\u{1b}=b\u{9b}5mc\u{1b}[?25l\u{8}😀", "abc😀"),
            ("a\u{1b}]never ended\nb", "a\nb"),
            ("\u{1b}[31", ""),
            ("", ""),
        ];
        for (printed, expected) in table {
            for size in 1..=printed.len().max(1) {
                let mut clean = Clean::default();
                let said: String = printed.as_bytes().chunks(size).map(|chunk| clean.push(chunk)).collect();
                assert_eq!(said, expected, "{printed:?} by {size}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_replaced() {
        let mut clean = Clean::default();
        assert_eq!(clean.push(b"a\xffb\xc3(") + &clean.push(b"\x80c"), "a\u{fffd}b\u{fffd}(\u{fffd}c");
    }
}
