//! Signs in a text that comes piece by piece: the first of them, or where one may still begin.

use crate::signs::begins;

/// What a sign does.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Nothing,
    Hush,
    Think(usize),
    Block(usize),
    Close,
    /// It is read again outside.
    Stop,
    /// JSON begins.
    Json,
}

/// Signs by the bytes that they begin with.
pub(super) struct Signs {
    /// Those that begin with the same byte stand together, the longest first.
    signs: Vec<(&'static str, Act)>,
    /// For each byte where its signs stand; for most there is none.
    first: [(u8, u8); 256],
}

/// What a search came to.
pub(super) enum Found {
    Sign {
        at: usize,
        length: usize,
        act: Act,
        sign: &'static str,
    },
    /// From this byte on it may become a sign; before it there is none.
    Open(usize),
}

impl Signs {
    pub(super) fn new(mut signs: Vec<(&'static str, Act)>) -> Self {
        let lead = |sign: &str| sign.as_bytes()[0];
        signs.sort_by_key(|(sign, _)| (lead(sign), usize::MAX - sign.len()));
        let mut first = [(0, 0); 256];
        for (place, (sign, _)) in signs.iter().enumerate() {
            let place = u8::try_from(place).expect("a dialect has few signs");
            let range = &mut first[usize::from(lead(sign))];
            *range = (if range.1 == 0 { place } else { range.0 }, place + 1);
        }
        Self { signs, first }
    }

    /// `whole`: nothing comes after `text`.
    pub(super) fn find(&self, text: &str, from: usize, whole: bool) -> Found {
        let bytes = text.as_bytes();
        let mut at = from;
        while let Some(skipped) = bytes[at..].iter().position(|byte| self.first[usize::from(*byte)].1 > 0) {
            at += skipped;
            let rest = &bytes[at..];
            let (first, end) = self.first[usize::from(rest[0])];
            for (sign, act) in &self.signs[usize::from(first)..usize::from(end)] {
                match sign.as_bytes() {
                    // A longer one may come, and counts.
                    longer if longer.len() > rest.len() && !whole && longer.starts_with(rest) => {
                        return Found::Open(at);
                    }
                    fits if begins(rest, fits) => {
                        return Found::Sign { at, length: fits.len(), act: *act, sign };
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        Found::Open(text.len())
    }
}
