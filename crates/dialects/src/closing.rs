//! Where a block of calls ends, in a text that comes piece by piece.
use super::{
    delimiters::{Delimiters, Found},
    json::JsonEnd,
    marked::{Block, Close},
    parameters::{Reading, Scan},
};

/// What is looked for to find the end of a block.
pub(super) enum Closing {
    At(Delimiters),
    AfterJson { before: Delimiters, delimiters: Delimiters },
    Tagged(Box<Reading>),
}

/// How far the search for the end of a block is.
#[derive(Default)]
pub(super) struct Progress {
    json: JsonEnd,
    in_json: bool,
    after_json: bool,
    scan: Scan,
}

impl Closing {
    pub(super) fn new(block: &Block) -> Self {
        match block.close {
            Close::At(closing) => Self::At(Delimiters::new(closing.iter().copied())),
            Close::AfterJson(closing) => Self::AfterJson {
                before: Delimiters::new(["{", "["].into_iter().chain(closing.iter().copied())),
                delimiters: Delimiters::new(closing.iter().copied()),
            },
            Close::Tagged { shape, until, .. } => Self::Tagged(Box::new(Reading::new(shape, until))),
        }
    }

    /// Where a body ends that the reply ended in, because the end of something within it was forgotten.
    pub(super) fn forgotten(&self, progress: &Progress, body: &str) -> Option<(usize, usize)> {
        match self {
            Self::Tagged(reading) => progress.scan.forgotten(reading, body),
            Self::At(_) | Self::AfterJson { .. } => None,
        }
    }

    /// Where the body that begins at `from` ends, and where the delimiter that ends it does. Goes on at `seen`.
    pub(super) fn find(
        &self,
        progress: &mut Progress,
        buffer: &str,
        from: usize,
        seen: &mut usize,
        over: bool,
    ) -> Option<(usize, usize)> {
        let delimiter = |delimiters: &Delimiters, seen: &mut usize| {
            let (at, found) = match delimiters.find(buffer, *seen, over) {
                Found::Delimiter { at, delimiter, .. } => (at, Some((at, at + delimiter.len()))),
                Found::Open(at) => (at, None),
            };
            *seen = at.max(*seen);
            found
        };
        match self {
            Self::At(delimiters) => delimiter(delimiters, seen),
            Self::AfterJson { before, delimiters } => {
                if !progress.in_json {
                    // A delimiter before any value, or a value first.
                    let found = delimiter(before, seen)?;
                    if !buffer[found.0..].starts_with(['{', '[']) {
                        return Some(found);
                    }
                    progress.in_json = true;
                }
                if !progress.after_json {
                    *seen = from + progress.json.find(&buffer[from..])?;
                    progress.after_json = true;
                }
                delimiter(delimiters, seen)
            }
            Self::Tagged(reading) => progress.scan.find(reading, buffer, seen, over),
        }
    }
}
