//! [`Plain`]: passes a reply on unchanged, for a caller that parses the calls itself. Only finds where calls begin, so
//! that the grammar applies to them.
use crate::listen::{Bond, Listen, Parsed};
use haft_core::{Delta, StopReason};

/// Passes text on, and reports when a call begins.
pub(crate) struct Plain {
    /// The beginning of a call; empty if a call is a whole reply that begins with `{` or `[`.
    sign: String,
    /// The end of the text, which may be the first part of `sign`.
    tail: String,
    /// Whether a call may begin here.
    is_free: bool,
}

impl Plain {
    pub(crate) fn new(sign: &str) -> Self {
        Self { sign: sign.to_owned(), tail: String::new(), is_free: true }
    }

    /// The text after the sign, once the sign has arrived.
    fn begun(&mut self) -> Option<String> {
        if self.sign.is_empty() {
            return self.begun_bare();
        }
        if let Some(at) = self.tail.find(&self.sign) {
            return Some(self.tail.split_off(at + self.sign.len()));
        }
        let keep = self.tail.len().saturating_sub(self.sign.len() - 1);
        self.tail.drain(..self.tail.floor_char_boundary(keep));
        None
    }

    fn begun_bare(&mut self) -> Option<String> {
        let text = self.tail.trim_start();
        if text.is_empty() {
            return None;
        }
        self.is_free = false;
        text.starts_with(['{', '[']).then(|| text.to_owned())
    }
}

impl Listen for Plain {
    fn hear(&mut self, text: &str) -> Parsed {
        let mut heard = Parsed::said(vec![Delta::Text(text.to_owned())]);
        if self.is_free {
            self.tail.push_str(text);
            if let Some(begun) = self.begun() {
                self.is_free = false;
                heard.bond = Bond::Call(begun);
            }
        }
        heard
    }

    fn freed(&mut self) {
        self.tail.clear();
        self.is_free = !self.sign.is_empty();
    }

    fn end(&mut self, is_whole: bool) -> (Vec<Delta>, StopReason) {
        (Vec::new(), if is_whole { StopReason::EndTurn } else { StopReason::Length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sign, the pieces of a text, and for each call its position and the text after the sign.
    type Row<'a> = (&'a str, &'a [&'a str], &'a [(usize, &'a str)]);

    fn bonds(sign: &str, pieces: &[&str]) -> Vec<(usize, String)> {
        let mut plain = Plain::new(sign);
        let bond = |(place, piece): (usize, &&str)| match plain.hear(piece).bond {
            Bond::Call(begun) => Some((place, begun)),
            Bond::Unchanged | Bond::Free => None,
        };
        pieces.iter().enumerate().filter_map(bond).collect()
    }

    #[test]
    fn a_call_begins_behind_its_sign() {
        let table: [Row<'_>; 6] = [
            ("<call>", &["So ä <ca", "ll>\n", "{<call>"], &[(1, "\n")]),
            ("<call>", &["<ca", "<call>"], &[(1, "")]),
            ("<call>", &["no", " call"], &[]),
            ("", &["\n", " {\"na"], &[(1, "{\"na")]),
            ("", &["See {", "{"], &[]),
            ("[T]", &["[[T]x"], &[(0, "x")]),
        ];
        for (sign, pieces, expected) in table {
            let expected: Vec<_> = expected.iter().map(|(at, text)| (*at, (*text).to_owned())).collect();
            assert_eq!(bonds(sign, pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn after_a_call_another_one_may_begin() {
        let mut plain = Plain::new("<call>");
        plain.hear("<call>");
        plain.freed();
        assert_eq!(plain.hear(" and <call>").bond, Bond::Call(String::new()));
    }
}
