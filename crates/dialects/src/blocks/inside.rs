//! Where a block ends: at a sign outside of its JSON, or with the JSON itself.
use super::{
    rules::{Block, Json},
    search::{Act, Found, Signs},
};
use crate::walk::{Step, Walk};

/// The signs that count within a block.
pub(super) fn inner(block: &Block) -> Signs {
    let signs = |signs: &'static [&'static str], act| signs.iter().map(move |sign| (*sign, act));
    let json: &[&str] = if matches!(block.json, Json::Some | Json::Last) { &["{", "["] } else { &[] };
    let closing = signs(block.close, Act::Close).chain(signs(block.stop, Act::Stop));
    Signs::new(closing.chain(signs(block.inner, Act::Nothing)).chain(signs(json, Act::Json)).collect())
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
    /// `None`: not yet.
    pub(super) fn end(&mut self, json: Json, signs: &Signs, buffer: &str, whole: bool) -> Option<End> {
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
            let (at, length, act, sign) = match signs.find(buffer, self.seen, whole) {
                Found::Sign { at, length, act, sign } => (at, length, act, sign),
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
                Act::Close => return Some(End { close: sign, ..end(at, at + length) }),
                Act::Stop => return Some(end(at, at)),
                _ => {}
            }
        }
    }
}
