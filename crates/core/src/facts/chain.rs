//! [`ChainValue`]: a value of the hash chain over the lines of a journal, which reveals changed, moved and lost lines.
//!
//! `value[i] = SHA-256(value[i-1] || SHA-256(line[i]))`, where `line[i]` is a line without its line end and its own
//! value; the value before the first line is 32 zero bytes. Each line has its value in its last field, `"chain"`, in
//! lower-case hexadecimal. The chain covers the hash of each line. Therefore a copy of a journal can contain a line
//! with its secrets removed, with the hash of the original line in the field `"cut"`.
use super::line;
use crate::Seq;
use sha2::{Digest, Sha256};
use std::fmt;

/// A value of the chain. The default is the value before the first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainValue([u8; 32]);

impl ChainValue {
    /// The value after a line whose SHA-256 is `line`.
    fn behind(self, line: Self) -> Self {
        Self(Sha256::new().chain_update(self.0).chain_update(line.0).finalize().into())
    }

    /// Reads 64 digits of lower-case hexadecimal.
    pub fn read(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let mut value = [0; 32];
        hex::decode_to_slice(text, &mut value).ok().filter(|()| is_plain)?;
        Some(Self(value))
    }

    fn of(parts: [&[u8]; 2]) -> Self {
        Self(parts.into_iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize().into())
    }
}

impl fmt::Display for ChainValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// A line of a journal, split into its content and its chain value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainedLine<'a> {
    /// The line without the value, the closing brace and the line end.
    begins: &'a [u8],
    /// Whether a closing brace follows.
    is_closed: bool,
    /// The line's chain value.
    pub value: Option<ChainValue>,
}

impl<'a> ChainedLine<'a> {
    /// Splits `line`, which may have a line end.
    pub fn of(line: &'a [u8]) -> Self {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        match last_field(line, FIELD) {
            Some((begins, value)) => Self { begins, is_closed: true, value: Some(value) },
            None => Self { begins: line, is_closed: false, value: None },
        }
    }

    /// SHA-256 of the line without its value.
    pub fn hash(&self) -> ChainValue {
        ChainValue::of([self.begins, if self.is_closed { b"}" } else { b"" }])
    }

    /// The hash of the original line, if secrets were removed from this line.
    pub fn cut(&self) -> Option<ChainValue> {
        let (_, hash) = last_field(&[self.begins, b"}"].concat(), CUT).filter(|_| self.is_closed)?;
        Some(hash)
    }

    /// The value that the line should have after a line with the value `before`.
    fn expected(&self, before: ChainValue, cuts: Cuts) -> ChainValue {
        let cut = if cuts == Cuts::Allowed { self.cut() } else { None };
        before.behind(cut.unwrap_or_else(|| self.hash()))
    }
}

const FIELD: &[u8] = br#","chain":""#;
const CUT: &[u8] = br#","cut":""#;

/// Splits an object at its last field, if that field begins with `field`: returns the text before it, and its value.
fn last_field<'a>(line: &'a [u8], field: &[u8]) -> Option<(&'a [u8], ChainValue)> {
    let line = line.strip_suffix(b"\"}")?;
    let (begins, value) = line.split_at_checked(line.len().checked_sub(64)?)?;
    let value = ChainValue::read(str::from_utf8(value).ok()?)?;
    Some((begins.strip_suffix(field)?, value))
}

/// Returns `line`, an object without a line end, with its chain value added, and the value. `before` is the value of
/// the line before.
pub fn chained(line: &str, before: ChainValue) -> (String, ChainValue) {
    let value = before.behind(ChainValue::of([line.as_bytes(), b""]));
    (with(line, FIELD, value), value)
}

/// Returns `redacted` with the chain value of `original` and the hash of `original` as its field `cut`. Both are
/// objects without a line end.
pub fn cut(redacted: &str, original: &str) -> String {
    let original = ChainedLine::of(original.as_bytes());
    let cut = with(redacted, CUT, original.hash());
    original.value.map_or_else(|| cut.clone(), |value| with(&cut, FIELD, value))
}

fn with(line: &str, field: &[u8], value: ChainValue) -> String {
    let begins = line.strip_suffix('}').unwrap_or(line);
    format!("{begins}{}{value}\"}}", String::from_utf8_lossy(field))
}

/// Returns the lines of `journal` with chain values computed anew from the first line, whatever values they had.
pub fn rechained(journal: &str) -> String {
    let mut value = ChainValue::default();
    let mut lines = String::with_capacity(journal.len());
    for line in journal.lines() {
        let ChainedLine { begins, is_closed, .. } = ChainedLine::of(line.as_bytes());
        let bare = String::from_utf8_lossy(begins) + if is_closed { "}" } else { "" };
        let (line, next) = chained(&bare, value);
        value = next;
        lines.extend([&line, "\n"]);
    }
    lines
}

/// The chain value after the last line of `journal`: the last value in it, continued over the lines after it. Each line
/// must end with a line end.
pub fn end(journal: &[u8]) -> ChainValue {
    let mut behind = Vec::new();
    let mut value = ChainValue::default();
    for line in journal.strip_suffix(b"\n").unwrap_or(journal).rsplit(|byte| *byte == b'\n') {
        let line = ChainedLine::of(line);
        if let Some(found) = line.value {
            value = found;
            break;
        }
        behind.push(line);
    }
    if journal.is_empty() {
        return value;
    }
    behind.iter().rev().fold(value, |value, line| line.expected(value, Cuts::Refused))
}

/// The chain value of the entry at `seq` in `journal`.
pub fn at(journal: &[u8], seq: Seq) -> Option<ChainValue> {
    let mut lines = journal.split(|byte| *byte == b'\n');
    ChainedLine::of(lines.find(|line| line::seq_of(line) == Some(seq))?).value
}

/// Whether lines may have their secrets removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Allowed, in a bundle.
    Allowed,
    /// Refused, in a journal.
    Refused,
}

/// The summary of a valid chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Lines of the journal.
    pub lines: usize,
    /// Lines before the first one with a value. That value covers them, too: they were not changed after it was written.
    pub unchained: usize,
    /// Lines from which secrets were removed.
    pub cut: usize,
    /// The last value.
    pub head: ChainValue,
}

/// The first fault of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainFault {
    /// No line has a value, or the journal has no line.
    Unchained,
    /// The value of a line does not follow from the lines up to it.
    Broken {
        /// Counted from 1.
        line: usize,
    },
    /// A line has no value although an earlier line has one.
    Missing {
        /// Counted from 1.
        line: usize,
    },
    /// The last line has no line end.
    Torn {
        /// Length of the line in bytes.
        bytes: usize,
    },
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchained => {
                f.write_str("no entry has a chain value: nothing shows whether the journal was changed")
            }
            Self::Broken { line } => {
                write!(f, "line {line}: it, or a line before it, was changed, moved, added or removed")
            }
            Self::Missing { line } => {
                write!(f, "line {line}: it has no chain value, and the line before it has one")
            }
            Self::Torn { bytes } => write!(f, "the last {bytes} bytes are half an entry"),
        }
    }
}

/// Checks the chain of `journal`.
///
/// # Errors
///
/// Returns the first fault if the chain is not valid.
pub fn check(journal: &[u8], cuts: Cuts) -> Result<Chain, ChainFault> {
    let mut chain = Chain { lines: 0, unchained: 0, cut: 0, head: ChainValue::default() };
    let mut is_chained = false;
    for whole in journal.split_inclusive(|byte| *byte == b'\n') {
        if !whole.ends_with(b"\n") {
            return Err(ChainFault::Torn { bytes: whole.len() });
        }
        chain.lines += 1;
        let line = ChainedLine::of(whole);
        let expected = line.expected(chain.head, cuts);
        match line.value {
            Some(value) if value != expected => return Err(ChainFault::Broken { line: chain.lines }),
            None if is_chained => return Err(ChainFault::Missing { line: chain.lines }),
            Some(_) => is_chained = true,
            None => chain.unchained += 1,
        }
        chain.cut += usize::from(cuts == Cuts::Allowed && line.cut().is_some());
        chain.head = expected;
    }
    if is_chained { Ok(chain) } else { Err(ChainFault::Unchained) }
}
