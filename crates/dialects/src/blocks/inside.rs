//! Where a block ends: at a delimiter outside of its JSON, or with the JSON itself.
use super::{
    Delimiters,
    act::Act,
    rules::{Block, Json},
};
use crate::{
    delimiters::Found,
    parameters::{Reading, Scan},
    walk::{Step, Walk},
};

/// What is looked for within a block.
pub(super) enum Inner {
    Json(Delimiters),
    Tags(Box<Reading>),
}

pub(super) fn inner(block: &Block) -> Inner {
    if let Some(shape) = block.tags {
        return Inner::Tags(Box::new(Reading::new(shape, block.close)));
    }
    let delimiters =
        |delimiters: &'static [&'static str], act| delimiters.iter().map(move |delimiter| (*delimiter, act));
    let json: &[&str] = if matches!(block.json, Json::Some | Json::Last) { &["{", "["] } else { &[] };
    let closing = delimiters(block.close, Act::Close).chain(delimiters(block.stop, Act::Stop));
    Inner::Json(Delimiters::meaning(
        closing.chain(delimiters(block.inner, Act::Nothing)).chain(delimiters(json, Act::Json)).collect(),
    ))
}

/// A block that was begun.
pub(super) struct Inside {
    /// The number of the block.
    pub(super) number: usize,
    /// As far as the buffer was searched.
    pub(super) seen: usize,
    pub(super) walk: Option<Walk>,
    /// Whether the JSON may still begin.
    pub(super) before: bool,
    pub(super) scan: Scan,
}

/// Where a block ends.
pub(super) struct End {
    pub(super) body: usize,
    pub(super) after: usize,
    pub(super) close: &'static str,
    pub(super) cut: bool,
    pub(super) broken: bool,
}

impl Inside {
    pub(super) fn new(number: usize, seen: usize) -> Self {
        Self { number, seen, walk: None, before: true, scan: Scan::default() }
    }

    /// Where a block with tags ends. `from`: where it begins; `forgetful`: the reply is over, and ends of values that were
    /// forgotten are looked for.
    pub(super) fn end_of_tags(
        &mut self,
        reading: &Reading,
        buffer: &str,
        from: usize,
        (whole, forgetful): (bool, bool),
    ) -> Option<End> {
        let ended = |(at, close): (usize, &'static str)| End {
            body: at,
            after: at + close.len(),
            close,
            cut: false,
            broken: false,
        };
        if let Some(found) = self.scan.find(reading, buffer, &mut self.seen, whole) {
            return Some(ended(found));
        }
        let forgotten = || self.scan.forgotten(reading, &buffer[from..]).filter(|_| forgetful);
        let cut = End { body: buffer.len(), after: buffer.len(), close: "", cut: true, broken: false };
        whole.then(|| forgotten().map_or(cut, |(at, close)| ended((from + at, close))))
    }

    /// `None`: not yet.
    pub(super) fn end(
        &mut self,
        json: Json,
        delimiters: &Delimiters,
        buffer: &str,
        whole: bool,
    ) -> Option<End> {
        let end = |body, after| End { body, after, close: "", cut: false, broken: false };
        let cut = || whole.then_some(End { cut: true, ..end(buffer.len(), buffer.len()) });
        if json == Json::First && self.before {
            let rest = &buffer[self.seen..];
            self.seen += rest.len() - rest.trim_start().len();
            match buffer[self.seen..].chars().next() {
                None => return cut(),
                Some('{' | '[') => self.walk = Some(Walk::default()),
                Some(_) => {}
            }
            self.before = false;
        }
        loop {
            if let Some(walk) = &mut self.walk {
                let (stopped, broken) = match walk.go(buffer, self.seen) {
                    Step::More => {
                        self.seen = buffer.len();
                        return cut();
                    }
                    Step::Done(stopped) => (stopped, false),
                    Step::Wrong(stopped) => (stopped, true),
                };
                (self.walk, self.before, self.seen) = (None, false, stopped);
                if json == Json::Last {
                    return Some(End { broken, ..end(stopped, stopped) });
                }
            }
            let (at, length, act, delimiter) = match delimiters.find(buffer, self.seen, whole) {
                Found::Delimiter { at, delimiter, means } => (at, delimiter.len(), means, delimiter),
                Found::Open(at) => {
                    self.seen = at;
                    return cut();
                }
            };
            self.seen = at + length;
            match act {
                Act::Json if self.before => {
                    self.seen = at;
                    self.walk = Some(Walk::default());
                }
                Act::Close => return Some(End { close: delimiter, ..end(at, at + length) }),
                Act::Stop => return Some(end(at, at)),
                _ => {}
            }
        }
    }
}
