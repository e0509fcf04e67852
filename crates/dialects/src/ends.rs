//! [`Inside`]: finds where a block of calls ends: at a delimiter outside of its JSON and of its values, or with the JSON.
use super::{
    delimiters::{Delimiters, Found},
    walk::{Step, Walk},
};

/// What is looked for within a block.
pub(super) struct Ends {
    pub(super) between: Delimiters<Mark>,
    /// In a value.
    pub(super) value: Delimiters<Mark>,
    /// In a part of a value in which delimiters of values do not count.
    pub(super) cdata: Delimiters<Mark>,
    pub(super) json: Json,
}

/// What a delimiter does within a block.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Nothing,
    /// JSON begins.
    Json,
    /// The block ends.
    Close,
    /// The block ends before it.
    Stop,
    /// A value begins.
    Value,
    /// A value ends.
    ValueEnd,
    /// A value ends before it.
    ValueStop,
    Cdata,
}

/// Where a block has JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Json {
    None,
    /// The block may begin with it.
    First,
    /// Anywhere.
    Some,
    /// Anywhere, and the block ends with it.
    Last,
}

/// A block that was begun.
pub(super) struct Inside {
    /// How far the text was searched.
    seen: usize,
    region: Region,
    /// Whether its JSON has begun.
    has_json: bool,
}

enum Region {
    /// Only blanks were seen.
    Start,
    Json(Walk),
    Between,
    Value,
    Cdata,
}

/// Where a block ends.
pub(super) struct End {
    pub(super) body: usize,
    pub(super) after: usize,
    pub(super) close: &'static str,
    pub(super) cut: bool,
    pub(super) broken: bool,
}

/// Each of these delimiters means this.
pub(super) fn all<M: Copy>(
    delimiters: &'static [&'static str],
    means: M,
) -> impl Iterator<Item = (&'static str, M)> + Clone {
    delimiters.iter().map(move |delimiter| (*delimiter, means))
}

impl Inside {
    /// A block whose body begins at this byte.
    pub(super) fn new(ends: &Ends, seen: usize) -> Self {
        let region = if ends.json == Json::First { Region::Start } else { Region::Between };
        Self { seen, region, has_json: false }
    }

    /// Goes on in `text`, of which each byte is looked at once. `None`: not yet; `whole`: nothing comes after `text`.
    pub(super) fn end(&mut self, ends: &Ends, text: &str, whole: bool) -> Option<End> {
        loop {
            let delimiters = match &mut self.region {
                Region::Start => {
                    self.seen += text[self.seen..].len() - text[self.seen..].trim_start().len();
                    self.region = match text[self.seen..].chars().next() {
                        None => return whole.then(|| End::cut(text)),
                        Some('{' | '[') => Region::Json(Walk::default()),
                        Some(_) => Region::Between,
                    };
                    continue;
                }
                Region::Json(walk) => {
                    let step = walk.go(text, self.seen);
                    let (Step::Done(stopped) | Step::Wrong(stopped)) = step else {
                        self.seen = text.len();
                        return whole.then(|| End::cut(text));
                    };
                    (self.region, self.has_json, self.seen) = (Region::Between, true, stopped);
                    if ends.json == Json::Last {
                        return Some(End { broken: step == Step::Wrong(stopped), ..End::at(stopped, "") });
                    }
                    continue;
                }
                Region::Between => &ends.between,
                Region::Value => &ends.value,
                Region::Cdata => &ends.cdata,
            };
            let (at, delimiter, mark) = match delimiters.find(text, self.seen, whole) {
                Found::Delimiter { at, delimiter, means } => (at, delimiter, means),
                Found::Open(at) => {
                    self.seen = at;
                    return whole.then(|| End::cut(text));
                }
            };
            self.seen = at + delimiter.len();
            match mark {
                Mark::Json if !self.has_json => {
                    (self.region, self.seen) = (Region::Json(Walk::default()), at)
                }
                Mark::Json | Mark::Nothing => {}
                Mark::Close => return Some(End::at(at, delimiter)),
                Mark::Stop => return Some(End::at(at, "")),
                Mark::Value => self.region = Region::Value,
                Mark::ValueEnd => self.region = Region::Between,
                Mark::ValueStop => (self.region, self.seen) = (Region::Between, at),
                Mark::Cdata => self.region = Region::Cdata,
            }
        }
    }

    /// Where a block ends that the reply ended in, because the end of a value was forgotten. `text`: its body; `closes`: what
    /// ends it.
    pub(super) fn forgotten(&self, ends: &Ends, text: &str, closes: &[&'static str]) -> Option<End> {
        let mut again = Self { region: Region::Between, ..Self::new(ends, 0) };
        if !matches!(self.region, Region::Value) || !again.end(ends, text, true)?.cut {
            return None;
        }
        let (mut delimiters, mut from) = (&ends.between, 0);
        while let Some((at, delimiter, mark)) = delimiters.first(text, from) {
            delimiters = if matches!(mark, Mark::Value) { &ends.value } else { &ends.between };
            from = at + delimiter.len();
        }
        let found = closes.iter().filter_map(|close| Some(End::at(from + text[from..].find(close)?, close)));
        found.min_by_key(|end| (end.body, end.close.len()))
    }
}

impl End {
    /// Before this delimiter.
    fn at(at: usize, close: &'static str) -> Self {
        Self { body: at, after: at + close.len(), close, cut: false, broken: false }
    }

    /// Returns the place in a text with `by` more bytes in front.
    pub(super) fn moved(self, by: usize) -> Self {
        Self { body: self.body + by, after: self.after + by, ..self }
    }

    /// The block ends with the reply.
    fn cut(text: &str) -> Self {
        Self { cut: true, ..Self::at(text.len(), "") }
    }
}
