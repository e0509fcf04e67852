//! [`Inside`]: finds the end of a block of calls: at a delimiter outside of its JSON and of its values, or at the end
//! of the JSON.
use super::{
    delimiters::{Delimiters, Found},
    walk::{Step, Walk},
};

/// The delimiters inside a block, by region.
pub(super) struct Ends {
    pub(super) between: Delimiters<Mark>,
    /// Delimiters inside a value.
    pub(super) value: Delimiters<Mark>,
    /// Delimiters inside a part of a value in which those of values do not count.
    pub(super) cdata: Delimiters<Mark>,
    pub(super) json: Json,
}

/// The meaning of a delimiter inside a block.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Nothing,
    /// JSON begins.
    Json,
    /// The block ends.
    Close,
    /// The block ends before this delimiter.
    Stop,
    /// A value begins.
    Value,
    /// A value ends.
    ValueEnd,
    /// The value ends before this delimiter.
    ValueStop,
    Cdata,
}

/// Where a block may contain JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Json {
    None,
    /// At its beginning.
    First,
    /// Anywhere.
    Some,
    /// Anywhere; the block ends at the end of the JSON.
    Last,
}

/// The state of the search in a block.
pub(super) struct Inside {
    /// Position up to which the text was searched.
    seen: usize,
    region: Region,
    /// Whether JSON has begun.
    has_json: bool,
}

enum Region {
    /// Only blanks so far.
    Start,
    Json(Walk),
    Between,
    Value,
    Cdata,
}

/// The end of a block.
pub(super) struct End {
    pub(super) body: usize,
    pub(super) after: usize,
    pub(super) close: &'static str,
    pub(super) cut: bool,
    pub(super) broken: bool,
}

/// Assigns the same meaning to each of these delimiters.
pub(super) fn all<M: Copy>(
    delimiters: &'static [&'static str],
    means: M,
) -> impl Iterator<Item = (&'static str, M)> + Clone {
    delimiters.iter().map(move |delimiter| (*delimiter, means))
}

impl Inside {
    /// The state for a block whose body begins at byte `seen`.
    pub(super) fn new(ends: &Ends, seen: usize) -> Self {
        let region = if ends.json == Json::First { Region::Start } else { Region::Between };
        Self { seen, region, has_json: false }
    }

    /// Continues the search in `text`, whose bytes are visited once. `None` if the end was not reached; `whole`:
    /// whether nothing follows `text`.
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

    /// Finds the end of a block that seems to be cut off because the end of a value is missing. `text`: its body;
    /// `closes`: its closing delimiters.
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
    /// The block ends before this delimiter.
    fn at(at: usize, close: &'static str) -> Self {
        Self { body: at, after: at + close.len(), close, cut: false, broken: false }
    }

    /// Shifts the positions by `by` bytes.
    pub(super) fn moved(self, by: usize) -> Self {
        Self { body: self.body + by, after: self.after + by, ..self }
    }

    /// The block ends with the reply.
    fn cut(text: &str) -> Self {
        Self { cut: true, ..Self::at(text.len(), "") }
    }
}
