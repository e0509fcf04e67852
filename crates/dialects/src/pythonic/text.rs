//! Parsing of Python's strings.
use super::{Broken, Reader};

impl Reader<'_> {
    /// Whether a string, with or without a prefix, comes next.
    pub(super) fn begins_string(&self) -> Result<bool, Broken> {
        let rest = &self.text[self.at..];
        let Some(rest) = rest.strip_prefix(['r', 'R', 'u', 'U']) else { return Ok(false) };
        let next = rest.chars().next().ok_or(Broken::Unfinished)?;
        Ok(matches!(next, '\'' | '"'))
    }

    /// Parses a string; adjacent strings are joined.
    pub(super) fn strings(&mut self) -> Result<String, Broken> {
        let mut text = self.string()?;
        while matches!(self.peek()?, '\'' | '"') || self.begins_string()? {
            text += &self.string()?;
        }
        Ok(text)
    }

    fn string(&mut self) -> Result<String, Broken> {
        let start = self.at;
        let raw = self.text[start..].starts_with(['r', 'R']);
        self.at += usize::from(self.begins_string()?);
        let quote = &self.text[self.at..=self.at];
        let rest = &self.text[self.at..];
        let (double, triple) = if quote == "'" { ("''", "'''") } else { ("\"\"", "\"\"\"") };
        // Two quotes may be an empty string, or the beginning of a triple quote.
        if rest == double {
            return Err(Broken::Unfinished);
        }
        let end = if rest.starts_with(triple) { triple } else { quote };
        self.at += end.len();
        self.content(start, end, raw)
    }

    /// Parses the content up to `end`.
    fn content(&mut self, start: usize, end: &str, raw: bool) -> Result<String, Broken> {
        let mut content = String::new();
        loop {
            let plain =
                self.text[self.at..].bytes().position(|byte| matches!(byte, b'\'' | b'"' | b'\\' | b'\n'));
            let plain = self.at + plain.ok_or(Broken::Unfinished)?;
            content.push_str(&self.text[self.at..plain]);
            self.at = plain;
            let rest = &self.text[plain..];
            if rest.starts_with(end) && (!self.loose || ends_value(&rest[end.len()..])) {
                self.at += end.len();
                return Ok(content);
            }
            let next = rest.chars().next().ok_or(Broken::Unfinished)?;
            self.at += next.len_utf8();
            match next {
                '\n' if end.len() == 1 && !self.loose => return Err(Broken::Wrong(start)),
                '\\' if raw => {
                    let escaped = self.text[self.at..].chars().next().ok_or(Broken::Unfinished)?;
                    self.at += escaped.len_utf8();
                    content.extend([next, escaped]);
                }
                '\\' => {
                    let behind = self.at;
                    match self.escape(&mut content) {
                        Err(Broken::Wrong(_)) if self.loose => {
                            content.push('\\');
                            self.at = behind;
                        }
                        read => read?,
                    }
                }
                other => content.push(other),
            }
        }
    }

    /// Parses an escape after its backslash.
    fn escape(&mut self, content: &mut String) -> Result<(), Broken> {
        let start = self.at;
        let escaped = self.text[start..].chars().next().ok_or(Broken::Unfinished)?;
        self.at += escaped.len_utf8();
        let simple = match escaped {
            '\n' => return Ok(()),
            '\\' | '\'' | '"' => escaped,
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => self.coded(start, 2)?,
            'u' => self.coded(start, 4)?,
            'U' => self.coded(start, 8)?,
            '0'..='7' => self.octal(start)?,
            // Names of characters would need a table.
            'N' => return Err(Broken::Wrong(start)),
            other => {
                content.extend(['\\', other]);
                return Ok(());
            }
        };
        content.push(simple);
        Ok(())
    }

    /// Returns the character whose code is in the next `digits` digits.
    fn coded(&mut self, start: usize, digits: usize) -> Result<char, Broken> {
        let rest = &self.text[self.at..];
        let found = rest.bytes().take(digits).take_while(u8::is_ascii_hexdigit).count();
        if found < digits {
            return Err(if found == rest.len() { Broken::Unfinished } else { Broken::Wrong(start) });
        }
        self.at += digits;
        character(&rest[..digits], 16).ok_or(Broken::Wrong(start))
    }

    fn octal(&mut self, start: usize) -> Result<char, Broken> {
        let rest = &self.text[start..];
        let digits = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
        if digits == rest.len() && digits < 3 {
            return Err(Broken::Unfinished);
        }
        self.at = start + digits;
        character(&rest[..digits], 8).ok_or(Broken::Wrong(start))
    }
}

fn character(code: &str, radix: u32) -> Option<char> {
    u32::from_str_radix(code, radix).ok().and_then(char::from_u32)
}

/// Whether a value may end before `rest`.
fn ends_value(rest: &str) -> bool {
    rest.trim_start()
        .chars()
        .next()
        .is_none_or(|next| matches!(next, ',' | ')' | ']' | '}' | ':' | '\'' | '"'))
}
