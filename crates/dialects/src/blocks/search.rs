//! Delimiters in a text that comes piece by piece: the first of them, or where one may still begin.

use crate::delimiters::begins;

/// What a delimiter does.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Nothing,
    Hush,
    /// A special token that a server may have left there.
    Leak(Leak),
    Think(usize),
    Block(usize),
    Close,
    /// It is read again outside.
    Stop,
    /// JSON begins.
    Json,
}

/// The first token of a reply, or one that stands anywhere in it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Leak {
    First,
    Any,
}

/// Delimiters by the bytes that they begin with.
pub(super) struct Delimiters {
    /// Those that begin with the same byte stand together, the longest first.
    delimiters: Vec<(&'static str, Act)>,
    /// For each byte where its delimiters stand; for most there is none.
    first: [(u8, u8); 256],
}

/// What a search came to.
pub(super) enum Found {
    Delimiter {
        at: usize,
        length: usize,
        act: Act,
        delimiter: &'static str,
    },
    /// From this byte on it may become a delimiter; before it there is none.
    Open(usize),
}

impl Delimiters {
    pub(super) fn new(mut delimiters: Vec<(&'static str, Act)>) -> Self {
        let lead = |delimiter: &str| delimiter.as_bytes()[0];
        delimiters.sort_by_key(|(delimiter, _)| (lead(delimiter), usize::MAX - delimiter.len()));
        let mut first = [(0, 0); 256];
        for (place, (delimiter, _)) in delimiters.iter().enumerate() {
            let place = u8::try_from(place).expect("a dialect has few delimiters");
            let range = &mut first[usize::from(lead(delimiter))];
            *range = (if range.1 == 0 { place } else { range.0 }, place + 1);
        }
        Self { delimiters, first }
    }

    /// `whole`: nothing comes after `text`.
    pub(super) fn find(&self, text: &str, from: usize, whole: bool) -> Found {
        let bytes = text.as_bytes();
        let mut at = from;
        while let Some(skipped) = bytes[at..].iter().position(|byte| self.first[usize::from(*byte)].1 > 0) {
            at += skipped;
            let rest = &bytes[at..];
            let (first, end) = self.first[usize::from(rest[0])];
            for (delimiter, act) in &self.delimiters[usize::from(first)..usize::from(end)] {
                match delimiter.as_bytes() {
                    // A longer one may come, and counts.
                    longer if longer.len() > rest.len() && !whole && longer.starts_with(rest) => {
                        return Found::Open(at);
                    }
                    fits if begins(rest, fits) => {
                        return Found::Delimiter { at, length: fits.len(), act: *act, delimiter };
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        Found::Open(text.len())
    }
}
