//! [`Mask`]: replaces texts that no output may show, wherever the stream is cut into pieces.
use std::{borrow::Cow, cmp::Reverse, sync::Arc};

/// What the output shows in their place.
const MASK: &[u8] = b"[key]";

/// Masks one stream on its way to its reader.
pub(crate) struct Mask {
    hidden: Arc<[String]>,
    /// The end of the input so far, which may be the beginning of such a text.
    held: Vec<u8>,
}

impl Mask {
    pub(crate) fn new(hidden: Arc<[String]>) -> Self {
        Self { hidden, held: Vec::new() }
    }

    /// Returns what may be shown of the input so far and was not shown yet.
    pub(crate) fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.hidden.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut shown = self.masked(&all);
        self.held = shown.split_off(shown.len() - self.beginning_at_end_of(&shown));
        Cow::Owned(shown)
    }

    /// Returns the rest, at the end of the input.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn masked(&self, all: &[u8]) -> Vec<u8> {
        let mut next: Vec<Option<usize>> =
            self.hidden.iter().map(|text| find(all, text.as_bytes(), 0)).collect();
        let (mut shown, mut at) = (Vec::with_capacity(all.len()), 0);
        loop {
            let found = next
                .iter()
                .zip(&*self.hidden)
                .filter_map(|(place, text)| Some((*place.as_ref()?, text.len())));
            let Some((place, length)) = found.min_by_key(|(place, length)| (*place, Reverse(*length))) else {
                break;
            };
            shown.extend_from_slice(&all[at..place]);
            shown.extend_from_slice(MASK);
            at = place + length;
            for (next, text) in next.iter_mut().zip(&*self.hidden) {
                if next.is_some_and(|next| next < at) {
                    *next = find(all, text.as_bytes(), at);
                }
            }
        }
        shown.extend_from_slice(&all[at..]);
        shown
    }

    /// How many bytes at the end may begin one of the texts.
    fn beginning_at_end_of(&self, shown: &[u8]) -> usize {
        let longest = |text: &String| {
            let most = text.len().saturating_sub(1).min(shown.len());
            (1..=most).rev().find(|length| text.as_bytes().starts_with(&shown[shown.len() - length..]))
        };
        self.hidden.iter().filter_map(longest).max().unwrap_or_default()
    }
}

fn find(all: &[u8], text: &[u8], from: usize) -> Option<usize> {
    let (first, rest) = text.split_first()?;
    let mut at = from;
    while let Some(place) = all.get(at..)?.iter().position(|byte| byte == first) {
        at += place + 1;
        if all[at..].starts_with(rest) {
            return Some(at - 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hidden: &[&str], chunks: &[&[u8]]) -> String {
        let mut mask = Mask::new(hidden.iter().map(|text| (*text).to_owned()).collect());
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
        let mut mask = Mask::new(["secret".to_owned()].into());
        assert_eq!(&*mask.push(b"so far\n"), b"so far\n");
        assert_eq!(&*mask.push(b"a se"), b"a ");
        assert_eq!(&*mask.push(b"ries."), b"series.");
    }
}
