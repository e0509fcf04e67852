//! [`Delimiters`]: finds delimiters in a text that arrives in pieces: the first one, or the place where one may begin.

/// A set of delimiters, each with its meaning. If two begin at the same place, the longer one wins.
#[derive(Clone, Debug)]
pub(super) struct Delimiters<M = usize> {
    /// The delimiters, longest first.
    delimiters: Vec<(&'static str, M)>,
    /// Whether a delimiter begins with this byte; most bytes begin none.
    leads: [bool; 256],
}

/// The result of a search.
pub(super) enum Found<M> {
    Delimiter {
        at: usize,
        delimiter: &'static str,
        means: M,
    },
    /// There is no delimiter before this byte; one may begin here.
    Open(usize),
}

impl Delimiters {
    /// The meaning of each delimiter is its index in the list. Of two equal ones, the last one wins.
    pub(super) fn new(delimiters: impl IntoIterator<Item = &'static str>) -> Self {
        let mut numbered: Vec<_> =
            delimiters.into_iter().enumerate().map(|(number, delimiter)| (delimiter, number)).collect();
        numbered.reverse();
        Self::meaning(numbered)
    }
}

impl<M: Copy> Delimiters<M> {
    /// Of two equal delimiters, the first one wins.
    pub(super) fn meaning(mut delimiters: Vec<(&'static str, M)>) -> Self {
        delimiters.sort_by_key(|(delimiter, _)| usize::MAX - delimiter.len());
        let mut leads = [false; 256];
        delimiters.iter().for_each(|(delimiter, _)| leads[usize::from(delimiter.as_bytes()[0])] = true);
        Self { delimiters, leads }
    }

    /// The first delimiter from byte `from` on. `whole`: whether nothing follows `text`.
    pub(super) fn find(&self, text: &str, from: usize, whole: bool) -> Found<M> {
        let bytes = text.as_bytes();
        let mut at = from;
        while let Some(skipped) = bytes[at..].iter().position(|byte| self.leads[usize::from(*byte)]) {
            at += skipped;
            for (delimiter, means) in &self.delimiters {
                // A longer delimiter may follow, and takes precedence.
                if !whole
                    && delimiter.len() > bytes.len() - at
                    && delimiter.as_bytes().starts_with(&bytes[at..])
                {
                    return Found::Open(at);
                }
                if bytes[at..].starts_with(delimiter.as_bytes()) {
                    return Found::Delimiter { at, delimiter, means: *means };
                }
            }
            at += 1;
        }
        Found::Open(text.len())
    }

    /// The first delimiter in a complete text: its position, the delimiter, and its meaning.
    pub(super) fn first(&self, text: &str, from: usize) -> Option<(usize, &'static str, M)> {
        match self.find(text, from, true) {
            Found::Delimiter { at, delimiter, means } => Some((at, delimiter, means)),
            Found::Open(_) => None,
        }
    }

    /// Number of bytes at the end of `text` that may be the beginning of a delimiter.
    pub(super) fn unfinished(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let longest = self.delimiters.first().map_or(0, |(delimiter, _)| delimiter.len());
        let may_begin = |rest: &[u8]| {
            let mut delimiters = self.delimiters.iter().map(|(delimiter, _)| delimiter.as_bytes());
            delimiters.any(|delimiter| delimiter.len() > rest.len() && delimiter.starts_with(rest))
        };
        let mut starts = bytes.len().saturating_sub(longest.saturating_sub(1))..bytes.len();
        starts.find(|at| may_begin(&bytes[*at..])).map_or(0, |at| bytes.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_longest_delimiter_is_found() {
        let delimiters = ["<b>", "<a>", "<a>>"];
        let table = [
            ("x<a>y<b>", Some((1, 1))),
            ("x<a>>", Some((1, 2))),
            ("ü<b><a>", Some((2, 0))),
            ("<<a>", Some((1, 1))),
            ("<", None),
            ("", None),
        ];
        for (text, expected) in table {
            let found = Delimiters::new(delimiters).first(text, 0).map(|(at, _, which)| (at, which));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_delimiter_that_may_become_a_longer_one_is_not_certain() {
        let delimiters = Delimiters::new(["<a>", "<a>>"]);
        let table = [("<a>", None), ("<a>x", Some("<a>")), ("<a>>", Some("<a>>")), ("<a><", Some("<a>"))];
        for (text, expected) in table {
            let found = match delimiters.find(text, 0, false) {
                Found::Delimiter { delimiter, .. } => Some(delimiter),
                Found::Open(_) => None,
            };
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(delimiters.first("<a>", 0), Some((0, "<a>", 0)));
    }

    #[test]
    fn the_beginning_of_a_delimiter_is_held_back() {
        let delimiters = ["<tool>", "[["];
        let table = [
            ("a<to", 3),
            ("a<tool>", 0),
            ("a<tox", 0),
            ("[", 1),
            ("<<", 1),
            ("ü", 0),
            ("", 0),
            ("x<tool", 5),
        ];
        for (text, expected) in table {
            assert_eq!(Delimiters::new(delimiters).unfinished(text), expected, "{text}");
        }
    }
}
