//! [`Walk`]: follows a JSON value that comes piece by piece, and says at once where it ends or stops being one.

/// More lists within lists than this are not read; `serde_json` stops soon after.
const DEEPEST: usize = 120;

/// Where it stands in a value. Each byte is looked at once.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// What is open, a bit each, the innermost last: 1 for an object.
    open: u128,
    /// How many are open.
    depth: usize,
    next: Next,
}

/// What may come next, blanks aside.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Next {
    Value,
    /// A value, or the end of the list.
    FirstValue,
    Key,
    /// A key, or the end of the object.
    FirstKey,
    Colon,
    /// `,` or the end of what is open.
    Comma,
    /// Within a string, and whether it is a key and the last byte was `\`.
    Text {
        key: bool,
        escaped: bool,
    },
    /// Within a number, `true`, `false` or `null`.
    Word,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// So far it is a value.
    More,
    /// The byte after the value.
    Done(usize),
    /// The byte that fits no value.
    Wrong(usize),
}

impl Default for Walk {
    fn default() -> Self {
        Self { open: 0, depth: 0, next: Next::Value }
    }
}

impl Walk {
    /// Goes on with `text` from byte `from`: the first one that it was not shown yet.
    pub(super) fn go(&mut self, text: &str, from: usize) -> Step {
        let bytes = text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            if let Next::Text { escaped: false, .. } = self.next {
                // Most of a string is none of these.
                let plain = bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'\\'));
                let Some(plain) = plain else { return Step::More };
                at += plain;
            }
            if !self.takes(bytes[at]) {
                return Step::Wrong(at);
            }
            at += 1;
            if self.depth == 0 {
                return Step::Done(at);
            }
        }
        Step::More
    }

    /// Whether the byte fits. The value itself is an object or a list.
    fn takes(&mut self, byte: u8) -> bool {
        match (self.next, byte) {
            (Next::Text { key, escaped: true }, _) => self.next = Next::Text { key, escaped: false },
            (Next::Text { key, .. }, b'\\') => self.next = Next::Text { key, escaped: true },
            (Next::Text { key: true, .. }, b'"') => self.next = Next::Colon,
            (Next::Text { key: false, .. }, b'"') => self.next = Next::Comma,
            (Next::Text { .. }, _) => {}
            (Next::Word, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.') => {}
            (Next::Word, _) => {
                self.next = Next::Comma;
                return self.takes(byte);
            }
            (_, b' ' | b'\t' | b'\n' | b'\r') => {}
            (Next::Colon, b':') => self.next = Next::Value,
            (Next::Key | Next::FirstKey, b'"') => self.next = Next::Text { key: true, escaped: false },
            (Next::Value | Next::FirstValue, _) if self.begins(byte) => {}
            (Next::FirstKey, b'}') | (Next::FirstValue, b']') => return self.closes(byte),
            (Next::Comma, b'}' | b']') => return self.closes(byte),
            (Next::Comma, b',') => self.next = if self.open & 1 == 1 { Next::Key } else { Next::Value },
            _ => return false,
        }
        true
    }

    /// Whether a value begins with this byte.
    fn begins(&mut self, byte: u8) -> bool {
        self.next = match byte {
            b'{' if self.depth < DEEPEST => Next::FirstKey,
            b'[' if self.depth < DEEPEST => Next::FirstValue,
            _ if self.depth == 0 => return false,
            b'"' => Next::Text { key: false, escaped: false },
            b't' | b'f' | b'n' | b'T' | b'F' | b'N' | b'-' | b'0'..=b'9' => Next::Word,
            _ => return false,
        };
        if matches!(byte, b'{' | b'[') {
            self.open = self.open << 1 | u128::from(byte == b'{');
            self.depth += 1;
        }
        true
    }

    fn closes(&mut self, byte: u8) -> bool {
        self.next = Next::Comma;
        let is_object = self.open & 1 == 1;
        self.open >>= 1;
        self.depth -= 1;
        is_object == (byte == b'}')
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
