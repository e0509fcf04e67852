//! [`Walk`]: follows a JSON value that arrives in pieces, and immediately detects where it ends or becomes invalid.

/// Maximum nesting; `serde_json` stops soon after.
const DEEPEST: usize = 120;

/// The position in a value. Each byte is visited once.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The closing brackets of what is open, innermost last.
    open: Vec<u8>,
    next: Next,
}

/// What may follow, after blanks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    /// A value; if `first`, or the end of the list.
    Value {
        first: bool,
    },
    /// A key; if `first`, or the end of the object.
    Key {
        first: bool,
    },
    Colon,
    /// `,` or the end of the list or object.
    Comma,
    /// Within a string.
    Text {
        is_key: bool,
        escaped: bool,
    },
    /// Within a number, `true`, `false` or `null`.
    Word,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The value is valid so far.
    More,
    /// The value has ended; position of the byte after it.
    Done(usize),
    /// The value is invalid; position of the byte that does not fit.
    Wrong(usize),
}

impl Default for Walk {
    fn default() -> Self {
        Self { open: Vec::new(), next: Next::Value { first: false } }
    }
}

impl Walk {
    /// Continues with `text` from byte `from`, the first one that was not visited yet.
    pub(super) fn go(&mut self, text: &str, from: usize) -> Step {
        for (at, byte) in text.bytes().enumerate().skip(from) {
            if !self.takes(byte) {
                return Step::Wrong(at);
            }
            if self.open.is_empty() {
                return Step::Done(at + 1);
            }
        }
        Step::More
    }

    /// Visits a byte; returns whether it fits. The value itself must be an object or a list.
    fn takes(&mut self, byte: u8) -> bool {
        let text = |is_key, escaped| Next::Text { is_key, escaped };
        self.next = match (self.next, byte) {
            (Next::Text { is_key, escaped: true }, _) => text(is_key, false),
            (Next::Text { is_key, .. }, b'\\') => text(is_key, true),
            (Next::Text { is_key, .. }, b'"') => {
                if is_key {
                    Next::Colon
                } else {
                    Next::Comma
                }
            }
            (Next::Text { is_key, .. }, _) => text(is_key, false),
            (Next::Word, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.') => Next::Word,
            (Next::Word, _) => {
                self.next = Next::Comma;
                return self.takes(byte);
            }
            (next, b' ' | b'\t' | b'\n' | b'\r') => next,
            (Next::Colon, b':') => Next::Value { first: false },
            (Next::Key { .. }, b'"') => text(true, false),
            (Next::Value { .. }, b'{' | b'[') if self.open.len() < DEEPEST => {
                self.open.push(if byte == b'{' { b'}' } else { b']' });
                if byte == b'{' { Next::Key { first: true } } else { Next::Value { first: true } }
            }
            (Next::Value { .. }, b'"') if !self.open.is_empty() => text(false, false),
            (Next::Value { .. }, b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'-' | b'0'..=b'9')
                if !self.open.is_empty() =>
            {
                Next::Word
            }
            (Next::Comma | Next::Key { first: true } | Next::Value { first: true }, b'}' | b']') => {
                self.next = Next::Comma;
                return self.open.pop() == Some(byte);
            }
            (Next::Comma, b',') if self.open.last() == Some(&b'}') => Next::Key { first: false },
            (Next::Comma, b',') => Next::Value { first: false },
            _ => return false,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_or_breaks_at_the_same_byte_however_it_comes() {
        let table = [
            (r#"{"a": "}\"]", "b": [1, {"c": -2.5e3}, true]} rest"#, Step::Done(44)),
            ("[] [", Step::Done(2)),
            ("{}}", Step::Done(2)),
            (r#"{"a": {{"#, Step::Wrong(7)),
            ("[1 2]", Step::Wrong(3)),
            ("[}", Step::Wrong(1)),
            ("{a", Step::Wrong(1)),
            (r#"{"a" 1"#, Step::Wrong(5)),
            ("[1,]", Step::Wrong(3)),
            ("x", Step::Wrong(0)),
            (r#"{"a": ["ü"#, Step::More),
        ];
        for (text, expected) in table {
            assert_eq!(Walk::default().go(text, 0), expected, "{text}");
            let mut walk = Walk::default();
            let mut pieces = text.char_indices().map(|(at, c)| (at, at + c.len_utf8()));
            let last = pieces.find_map(|(from, to)| match walk.go(&text[..to], from) {
                Step::More => None,
                other => Some(other),
            });
            assert_eq!(last.unwrap_or(Step::More), expected, "{text}");
        }
        assert_eq!(Walk::default().go(&"[".repeat(1000), 0), Step::Wrong(DEEPEST));
    }
}
