//! [`read`]: parses calls as a list of Python calls, `[look(path='a.txt'), add(x=1, y=-2.5)]`.
//!
//! ```text
//! calls    = "[" [ call ("," call)* [","] ] "]"
//! call     = NAME ("." NAME)* "(" [ argument ("," argument)* [","] ] ")"
//! argument = NAME "=" value
//! value    = STRING+ | NUMBER | "True" | "False" | "None"
//!          | "[" values "]" | "(" values ")" | "{" [ value ":" value ("," value ":" value)* [","] ] "}"
//! ```
//!
//! Literals mean the same as in Python's `ast.literal_eval`, as far as JSON can express them: no bytes, no complex
//! numbers, no sets. `true`, `false` and `null` are accepted, too. Keys that are not strings are converted as by
//! Python's `json.dumps`.
use serde_json::{Map, Number, Value};

mod text;

/// A call of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name, including dots.
    pub name: String,
    /// Arguments by name, in their order.
    pub arguments: Map<String, Value>,
}

/// The beginning of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Beginning {
    /// A complete list.
    Calls {
        /// Calls of the list.
        calls: Vec<Call>,
        /// Length of the list in bytes, without what follows it.
        length: usize,
    },
    /// A partial list, which more text may complete.
    Unfinished {
        /// The complete calls.
        calls: Vec<Call>,
    },
    /// Something else.
    Other {
        /// Position of the byte that fits no list.
        at: usize,
    },
}

/// Parses the beginning of `text`, after blanks.
pub fn read(text: &str) -> Beginning {
    begins(text, false)
}

/// Like [`read`], for models that deviate from the grammar: a string may contain quotes that do not end it, a number
/// may begin with zeros.
pub fn read_list_loosely(text: &str) -> Beginning {
    begins(text, true)
}

fn begins(text: &str, loose: bool) -> Beginning {
    let mut reader = Reader { text, at: 0, depth: 0, loose };
    let mut calls = Vec::new();
    match reader.calls(&mut calls) {
        Ok(()) => Beginning::Calls { calls, length: reader.at },
        Err(Broken::Unfinished) => Beginning::Unfinished { calls },
        Err(Broken::Wrong(at)) => Beginning::Other { at },
    }
}

/// Parses calls with or without a list around them, one after the other, of a model that deviates from the grammar:
/// sets are lists, a number may begin with zeros, a string may contain line ends and quotes that do not end it. Fails
/// with the position of the byte that does not fit.
pub fn read_loosely(text: &str) -> Result<Vec<Call>, usize> {
    let bare = text.trim();
    let bare = bare.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(bare);
    // The end of a name, a number or a string is recognized by the next character.
    let text = format!("{bare} ");
    let mut reader = Reader { text: &text, at: 0, depth: 0, loose: true };
    let mut calls = Vec::new();
    while let Ok(next) = reader.peek() {
        match next {
            ',' | ';' => reader.at += 1,
            _ => calls.push(reader.call().map_err(|broken| match broken {
                Broken::Unfinished => text.len(),
                Broken::Wrong(at) => at,
            })?),
        }
    }
    Ok(calls)
}

/// Parses a text that is a single value.
pub(crate) fn value(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0, depth: 0, loose: false };
    let value = reader.value().ok()?;
    text[reader.at..].trim().is_empty().then_some(value)
}

/// Why parsing stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Broken {
    Unfinished,
    Wrong(usize),
}

/// Maximum nesting: Python itself stops at about this depth.
const DEEPEST: usize = 90;

struct Reader<'a> {
    text: &'a str,
    /// Position of the next byte.
    at: usize,
    depth: usize,
    /// See [`read_loosely`].
    loose: bool,
}

impl Reader<'_> {
    fn calls(&mut self, calls: &mut Vec<Call>) -> Result<(), Broken> {
        self.expect('[')?;
        while !self.takes(']')? {
            calls.push(self.call()?);
            if !self.takes(',')? {
                return self.expect(']');
            }
        }
        Ok(())
    }

    fn call(&mut self) -> Result<Call, Broken> {
        let mut name = self.name()?.to_owned();
        while self.takes('.')? {
            name = format!("{name}.{}", self.name()?);
        }
        self.expect('(')?;
        let mut arguments = Map::new();
        while !self.takes(')')? {
            let start = self.at;
            let argument = self.name()?.to_owned();
            self.expect('=')?;
            if arguments.contains_key(&argument) {
                return Err(Broken::Wrong(start));
            }
            arguments.insert(argument, self.value()?);
            if !self.takes(',')? {
                self.expect(')')?;
                break;
            }
        }
        Ok(Call { name, arguments })
    }

    fn value(&mut self) -> Result<Value, Broken> {
        self.depth += 1;
        let start = self.at;
        let value = match self.peek()? {
            _ if self.depth > DEEPEST => return Err(Broken::Wrong(start)),
            '[' => self.sequence('[', ']').map(|(values, _)| Value::Array(values)),
            '(' => self.tuple(),
            '{' => self.dictionary_or_set(),
            '+' | '-' | '.' | '0'..='9' => self.number(),
            '\'' | '"' => self.strings().map(Value::String),
            _ if self.begins_string()? => self.strings().map(Value::String),
            _ => self.constant(),
        };
        self.depth -= 1;
        value
    }

    /// Parses values. Also returns whether a comma ends the sequence.
    fn sequence(&mut self, open: char, close: char) -> Result<(Vec<Value>, bool), Broken> {
        self.expect(open)?;
        let mut values = Vec::new();
        while !self.takes(close)? {
            values.push(self.value()?);
            if !self.takes(',')? {
                self.expect(close)?;
                return Ok((values, false));
            }
        }
        Ok((values, true))
    }

    /// Parses a tuple. A single value in parentheses is that value.
    fn tuple(&mut self) -> Result<Value, Broken> {
        let (mut values, comma) = self.sequence('(', ')')?;
        Ok(match values.len() {
            1 if !comma => values.remove(0),
            _ => Value::Array(values),
        })
    }

    /// Parses a dictionary or a set, which becomes a list, since JSON has no sets.
    fn dictionary_or_set(&mut self) -> Result<Value, Broken> {
        let start = self.at;
        match self.dictionary() {
            Err(Broken::Wrong(_)) if self.loose => {
                self.at = start;
                self.sequence('{', '}').map(|(values, _)| Value::Array(values))
            }
            read => read,
        }
    }

    fn dictionary(&mut self) -> Result<Value, Broken> {
        self.expect('{')?;
        let mut entries = Map::new();
        while !self.takes('}')? {
            let start = self.at;
            let key = match self.value()? {
                Value::String(key) => key,
                Value::Array(_) | Value::Object(_) => return Err(Broken::Wrong(start)),
                key => key.to_string(),
            };
            self.expect(':')?;
            let value = self.value()?;
            entries.insert(key, value);
            if !self.takes(',')? {
                self.expect('}')?;
                break;
            }
        }
        Ok(Value::Object(entries))
    }

    fn constant(&mut self) -> Result<Value, Broken> {
        let start = self.at;
        match self.name()? {
            "True" | "true" => Ok(Value::Bool(true)),
            "False" | "false" => Ok(Value::Bool(false)),
            "None" | "null" => Ok(Value::Null),
            _ => Err(Broken::Wrong(start)),
        }
    }

    fn number(&mut self) -> Result<Value, Broken> {
        let start = self.at;
        let mut negative = false;
        while let sign @ ('+' | '-') = self.peek()? {
            negative ^= sign == '-';
            self.at += 1;
        }
        let rest = &self.text[self.at..];
        let is_decimal = !rest.starts_with("0x") && !rest.starts_with("0X");
        let mut before = ' ';
        let length = rest.find(|c: char| {
            let is_exponent = is_decimal && matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
            before = c;
            !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.') || is_exponent)
        });
        // A number may continue in text that has not arrived.
        let word = &rest[..length.ok_or(Broken::Unfinished)?];
        self.at += word.len();
        number(word, negative, self.loose).map(Value::Number).ok_or(Broken::Wrong(start))
    }

    /// Parses a name: letters, digits and `_`, of any script. The next character must be known.
    fn name(&mut self) -> Result<&str, Broken> {
        let first = self.peek()?;
        let start = self.at;
        if !(first.is_alphabetic() || first == '_') {
            return Err(Broken::Wrong(start));
        }
        let ends = |c: char| !(c.is_alphanumeric() || c == '_');
        let length = self.text[start..].find(ends).ok_or(Broken::Unfinished)?;
        self.at = start + length;
        Ok(&self.text[start..self.at])
    }

    fn expect(&mut self, wanted: char) -> Result<(), Broken> {
        match self.takes(wanted)? {
            true => Ok(()),
            false => Err(Broken::Wrong(self.at)),
        }
    }

    /// Skips `wanted` if it comes next; returns whether it did.
    fn takes(&mut self, wanted: char) -> Result<bool, Broken> {
        let found = self.peek()? == wanted;
        self.at += if found { wanted.len_utf8() } else { 0 };
        Ok(found)
    }

    /// The next character after blanks.
    fn peek(&mut self) -> Result<char, Broken> {
        let rest = &self.text[self.at..];
        let bare = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        self.at += rest.len() - bare.len();
        bare.chars().next().ok_or(Broken::Unfinished)
    }
}

fn number(word: &str, negative: bool, loose: bool) -> Option<Number> {
    let sign = if negative { "-" } else { "" };
    // `_` may be between two digits.
    let parts: Vec<&str> = word.split('_').collect();
    let of_digits = |c: char| c.is_ascii_alphanumeric();
    let is_grouped =
        parts.windows(2).all(|pair| pair[0].ends_with(of_digits) && pair[1].starts_with(of_digits));
    let digits = is_grouped.then(|| parts.concat())?;
    let radix = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    if radix != 10 {
        let value = i128::from_str_radix(digits.get(2..)?, radix).ok()?;
        return Number::from_i128(if negative { -value } else { value });
    }
    let is_whole = digits.chars().all(|c| c.is_ascii_digit());
    // Python refuses leading zeros, because they mean octal in C.
    if is_whole && !loose && digits.starts_with('0') && !digits.trim_matches('0').is_empty() {
        return None;
    }
    let signed = format!("{sign}{digits}");
    let whole = signed.parse::<i128>().ok().filter(|_| is_whole).and_then(Number::from_i128);
    let is_float = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    whole.or_else(|| signed.parse().ok().filter(|_| is_float).and_then(Number::from_f64))
}
