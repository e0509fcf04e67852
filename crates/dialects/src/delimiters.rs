//! Delimiters in a text that comes piece by piece.

/// Delimiters that are looked for together. Of two that begin at the same place the longer one counts.
#[derive(Clone, Debug)]
pub(super) struct Delimiters {
    delimiters: Vec<&'static str>,
    /// The bytes that any of them begins with.
    leads: [bool; 256],
    longest: usize,
}

impl Delimiters {
    pub(super) fn new(delimiters: impl IntoIterator<Item = &'static str>) -> Self {
        let delimiters: Vec<_> = delimiters.into_iter().collect();
        let longest = delimiters.iter().map(|delimiter| delimiter.len()).max().unwrap_or_default();
        Self { leads: leads(&delimiters), longest, delimiters }
    }

    /// The delimiter of this number.
    pub(super) fn delimiter(&self, which: usize) -> &'static str {
        self.delimiters[which]
    }

    /// The first of them from byte `from` on: where it stands, and which it is.
    pub(super) fn first(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        first_of(text, from, &self.delimiters, &self.leads)
    }

    /// As [`Delimiters::first`] in a text that goes on: none where it may yet turn out to be a longer one.
    pub(super) fn certain(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let found = self.first(text, from)?;
        let rest = &text[found.0..];
        let may_grow = rest.len() < self.longest && begins_any(rest, &self.delimiters);
        (!may_grow).then_some(found)
    }

    /// How many bytes at the end of `text` may be the beginning of one of them.
    pub(super) fn unfinished(&self, text: &str) -> usize {
        unfinished_of(text, &self.delimiters, &self.leads, self.longest)
    }
}

fn leads(delimiters: &[&str]) -> [bool; 256] {
    let mut leads = [false; 256];
    delimiters
        .iter()
        .filter_map(|delimiter| delimiter.bytes().next())
        .for_each(|lead| leads[usize::from(lead)] = true);
    leads
}

/// In one pass, whatever is there: a search for one delimiter after the other would read far ahead for the one that is not.
fn first_of(text: &str, from: usize, delimiters: &[&str], leads: &[bool; 256]) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| leads[usize::from(*byte)])?;
        let rest = &bytes[at..];
        let here = delimiters.iter().enumerate().filter(|(_, delimiter)| begins(rest, delimiter.as_bytes()));
        if let Some((which, _)) = here.max_by_key(|(_, delimiter)| delimiter.len()) {
            return Some((at, which));
        }
        at += 1;
    }
}

/// As `starts_with`; most texts differ in the last byte already, and to look at one byte is fast.
pub(super) fn begins(text: &[u8], delimiter: &[u8]) -> bool {
    let last = delimiter.len() - 1;
    text.get(last) == Some(&delimiter[last]) && text.starts_with(delimiter)
}

fn unfinished_of(text: &str, delimiters: &[&str], leads: &[bool; 256], longest: usize) -> usize {
    let bytes = text.as_bytes();
    let from = bytes.len().saturating_sub(longest.saturating_sub(1));
    let mut starts = (from..bytes.len()).filter(|at| leads[usize::from(bytes[*at])]);
    // The first byte of a delimiter is the first byte of a character.
    starts.find(|at| begins_any(&text[*at..], delimiters)).map_or(0, |at| bytes.len() - at)
}

/// Whether there is a longer delimiter that begins with `rest`.
fn begins_any(rest: &str, delimiters: &[&str]) -> bool {
    delimiters.iter().any(|delimiter| delimiter.len() > rest.len() && delimiter.starts_with(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_longest_sign_is_found() {
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
            assert_eq!(Delimiters::new(delimiters).first(text, 0), expected, "{text}");
        }
    }

    #[test]
    fn a_sign_that_may_become_a_longer_one_is_not_certain() {
        let delimiters = Delimiters::new(["<a>", "<a>>"]);
        let table = [("<a>", None), ("<a>x", Some((0, 0))), ("<a>>", Some((0, 1))), ("<a><", Some((0, 0)))];
        for (text, expected) in table {
            assert_eq!(delimiters.certain(text, 0), expected, "{text}");
        }
        assert_eq!(delimiters.first("<a>", 0), Some((0, 0)));
    }

    #[test]
    fn the_beginning_of_a_sign_is_held_back() {
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
