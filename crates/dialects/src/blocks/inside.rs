//! [`Inside`]: finds where a block ends: at a delimiter outside of its JSON, or with the JSON itself.
use super::{Act, Block, Delimiters, Json, all};
use crate::{
    delimiters::Found,
    tagged_calls::{Reading, Scan},
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
    let json: &[&str] = if matches!(block.json, Json::Some | Json::Last) { &["{", "["] } else { &[] };
    let closing = all(block.close, Act::Close).chain(all(block.stop, Act::Stop));
    let json = all(block.inner, Act::Nothing).chain(all(json, Act::Json));
    Inner::Json(Delimiters::meaning(closing.chain(json).collect()))
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
        let cut = || whole.then_some(End::cut(buffer));
        if !self.begins_or_not(buffer) || matches!(self.walk(buffer), Some(Step::More)) {
            return cut();
        }
        if let Some((at, close)) = self.scan.find(reading, buffer, &mut self.seen, whole) {
            return Some(End::at(at, close));
        }
        // Only once, for it reads the block again.
        let forgotten = if whole && forgetful { self.scan.forgotten(reading, &buffer[from..]) } else { None };
        forgotten.map(|(at, close)| End::at(from + at, close)).or_else(cut)
    }

    /// `None`: not yet.
    pub(super) fn end(
        &mut self,
        json: Json,
        delimiters: &Delimiters,
        buffer: &str,
        whole: bool,
    ) -> Option<End> {
        let cut = || whole.then_some(End::cut(buffer));
        if json == Json::First && !self.begins_or_not(buffer) {
            return cut();
        }
        loop {
            match self.walk(buffer) {
                Some(Step::More) => return cut(),
                Some(step) if json == Json::Last => {
                    let broken = matches!(step, Step::Wrong(_));
                    return Some(End { broken, ..End::at(self.seen, "") });
                }
                _ => {}
            }
            let (at, delimiter, act) = match delimiters.find(buffer, self.seen, whole) {
                Found::Delimiter { at, delimiter, means } => (at, delimiter, means),
                Found::Open(at) => {
                    self.seen = at;
                    return cut();
                }
            };
            self.seen = at + delimiter.len();
            match act {
                Act::Json if self.before => {
                    self.seen = at;
                    self.walk = Some(Walk::default());
                }
                Act::Close => return Some(End::at(at, delimiter)),
                Act::Stop => return Some(End::at(at, "")),
                _ => {}
            }
        }
    }

    /// Whether it is known if the block begins with JSON.
    fn begins_or_not(&mut self, buffer: &str) -> bool {
        if self.before {
            let rest = &buffer[self.seen..];
            self.seen += rest.len() - rest.trim_start().len();
            let first = buffer[self.seen..].chars().next();
            self.walk = first.filter(|first| matches!(first, '{' | '[')).map(|_| Walk::default());
            self.before = first.is_none();
        }
        !self.before
    }

    /// Goes on with the JSON that it stands in, if it does.
    fn walk(&mut self, buffer: &str) -> Option<Step> {
        let step = self.walk.as_mut()?.go(buffer, self.seen);
        match step {
            Step::More => self.seen = buffer.len(),
            Step::Done(stopped) | Step::Wrong(stopped) => {
                (self.walk, self.before, self.seen) = (None, false, stopped);
            }
        }
        Some(step)
    }
}

impl End {
    /// Before this delimiter.
    fn at(at: usize, close: &'static str) -> Self {
        Self { body: at, after: at + close.len(), close, cut: false, broken: false }
    }

    /// With the reply.
    fn cut(buffer: &str) -> Self {
        Self { cut: true, ..Self::at(buffer.len(), "") }
    }
}
