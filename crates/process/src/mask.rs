//! [`Mask`]: replaces hidden texts in a stream, even if they are split between pieces.
use aho_corasick::{AhoCorasick, MatchKind};
use std::{borrow::Cow, sync::Arc};

/// The replacement of a hidden text.
const MASK: &[u8] = b"[key]";

/// Masks one stream on its way to its reader.
#[derive(Clone)]
pub(crate) struct Mask {
    hidden: Arc<[String]>,
    /// Finds the first hidden text, and the longest one of those that begin at the same place. `None` if nothing is
    /// hidden.
    finder: Option<AhoCorasick>,
    /// The end of the input so far, which may be the beginning of a hidden text.
    held: Vec<u8>,
}

impl Mask {
    pub(crate) fn new(hidden: &Arc<[String]>) -> Self {
        let texts: Vec<&String> = hidden.iter().filter(|text| !text.is_empty()).collect();
        let finder = (!texts.is_empty()).then(|| {
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
            built.expect("keys are few and short")
        });
        Self { hidden: hidden.clone(), finder, held: Vec::new() }
    }

    /// Returns what may be shown of the input so far and was not shown yet.
    pub(crate) fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(finder) = &self.finder else { return Cow::Borrowed(bytes) };
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut shown = Vec::with_capacity(all.len());
        finder.replace_all_with_bytes(&all, &mut shown, |_, _, shown| {
            shown.extend_from_slice(MASK);
            true
        });
        self.held = shown.split_off(shown.len() - self.beginning_at_end_of(&shown));
        Cow::Owned(shown)
    }

    /// Returns the rest, at the end of the input.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Number of bytes at the end that may begin a hidden text.
    fn beginning_at_end_of(&self, shown: &[u8]) -> usize {
        let longest = |text: &String| {
            let most = text.len().saturating_sub(1).min(shown.len());
            (1..=most).rev().find(|length| text.as_bytes().starts_with(&shown[shown.len() - length..]))
        };
        self.hidden.iter().filter_map(longest).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hidden: &[&str], chunks: &[&[u8]]) -> String {
        let mut mask = Mask::new(&hidden.iter().map(|text| (*text).to_owned()).collect());
        let mut shown: Vec<u8> = chunks.iter().flat_map(|chunk| mask.push(chunk).into_owned()).collect();
        shown.extend(mask.finish());
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn a_text_is_hidden_however_the_stream_is_cut() {
        let hidden = ["secret-secret-1", "secret-1", "tail"];
        let table = [
            ("a secret-1 b", "a [key] b"),
            ("secret-secret-1", "[key]"),
            ("secret-secret-", "secret-secret-"),
            ("ssecret-1tailtail", "s[key][key][key]"),
            ("secret-secret-secret-1", "secret-[key]"),
            ("nothing", "nothing"),
            ("tai", "tai"),
            ("", ""),
        ];
        for (text, expected) in table {
            for size in 1..=text.len().max(1) {
                let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                assert_eq!(shown(&hidden, &chunks), expected, "{text} by {size}");
            }
            assert_eq!(shown(&[], &[text.as_bytes()]), text);
        }
    }

    #[test]
    fn what_cannot_begin_a_hidden_text_is_shown_at_once() {
        let mut mask = Mask::new(&["secret".to_owned()].into());
        assert_eq!(&*mask.push(b"so far\n"), b"so far\n");
        assert_eq!(&*mask.push(b"a se"), b"a ");
        assert_eq!(&*mask.push(b"ries."), b"series.");
    }
}
