//! [`replace`]: finds a text in bytes, and replaces it.
use super::{
    alike::alike,
    ends::{ends_in, matches_at, with_ends},
};
use crate::Occurrence;
use std::ops::Range;

/// The content of a file after replacements.
#[derive(Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) content: Vec<u8>,
    /// Line numbers of the replacements, counted from 1.
    pub(crate) lines: Vec<usize>,
    /// Whether the text occurred exactly as given. If not, only spaces and typographic marks differed.
    pub(crate) exact: bool,
}

/// Why no text was replaced.
#[derive(Debug, PartialEq)]
pub(crate) enum Missed {
    Absent,
    /// The text occurs several times: on these lines.
    Ambiguous(Vec<usize>),
}

/// A replacement, and how to search for its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) occurrence: Occurrence,
    /// Whether an exact match is required.
    pub(crate) exact: bool,
}

/// Replaces a text. Works on bytes, so the rest of the file stays unchanged, whatever its encoding.
///
/// Models write line ends as `\n`. In a file that has `\r\n`, `\n` matches both, and the new text gets the line ends of what
/// it replaces.
pub(crate) fn replace(content: &[u8], wanted: &Replacement<'_>) -> Result<Edited, Missed> {
    let (spans, bend) = exact(content, wanted);
    let lines = lines_of(spans.iter().map(|span| span.start), content);
    match (wanted.occurrence, spans.len()) {
        (_, 0) if wanted.exact => Err(Missed::Absent),
        (_, 0) => roughly(content, wanted),
        (Occurrence::Unique, 2..) => Err(Missed::Ambiguous(lines)),
        _ => {
            let content = put(content, &spans, |span| match bend {
                true => with_ends(wanted.new, content, span),
                false => wanted.new.as_bytes().to_vec(),
            });
            Ok(Edited { content, lines, exact: true })
        }
    }
}

/// The positions of the text, and whether line ends are adapted to those of the file.
fn exact(content: &[u8], wanted: &Replacement<'_>) -> (Vec<Range<usize>>, bool) {
    let ends = ends_in(content);
    let explicit = wanted.old.contains("\r\n") || wanted.new.contains("\r\n");
    // A text with `\r\n`, for a file that also has other line ends, is meant literally.
    if !ends.windows || (ends.plain && explicit) {
        let spans = spans_of(wanted.old.as_bytes(), content, wanted.occurrence, false);
        if !(spans.is_empty() && explicit) {
            return (spans, false);
        }
    }
    let old = wanted.old.replace("\r\n", "\n");
    (spans_of(old.as_bytes(), content, wanted.occurrence, true), true)
}

/// The only position of text that differs from `wanted` in nothing but spaces and typographic marks.
fn roughly(content: &[u8], wanted: &Replacement<'_>) -> Result<Edited, Missed> {
    let mut found = alike(content, wanted.old, wanted.new);
    match found.len() {
        0 => Err(Missed::Absent),
        1 => {
            let (span, new) = found.remove(0);
            let lines = lines_of([span.start], content);
            let bent = with_ends(&new, content, &span);
            Ok(Edited { content: put(content, &[span], |_| bent.clone()), lines, exact: false })
        }
        _ => Err(Missed::Ambiguous(lines_of(found.iter().map(|(span, _)| span.start), content))),
    }
}

/// The positions of `wanted`. `bend`: whether its `\n` matches any line end.
fn spans_of(wanted: &[u8], content: &[u8], occurrence: Occurrence, bend: bool) -> Vec<Range<usize>> {
    let Some(first) = wanted.first() else { return Vec::new() };
    let begins = |byte: &u8| byte == first || (bend && *first == b'\n' && *byte == b'\r');
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(found) = content[at..].iter().position(begins) {
        let start = at + found;
        at = start + 1;
        let Some(length) = matches_at(content, start, wanted, bend) else { continue };
        spans.push(start..start + length);
        match occurrence {
            // Overlapping matches count, because it is unknown which one is meant.
            Occurrence::Unique => {}
            Occurrence::First => break,
            Occurrence::All => at = start + length,
        }
    }
    spans
}

/// The line of each position, in one pass through the file: there may be many positions and lines.
fn lines_of(places: impl IntoIterator<Item = usize>, content: &[u8]) -> Vec<usize> {
    let (mut line, mut walked) = (1, 0);
    let lines = places.into_iter().map(|place| {
        line += content[walked..place].iter().filter(|byte| **byte == b'\n').count();
        walked = place;
        line
    });
    lines.collect()
}

fn put(content: &[u8], spans: &[Range<usize>], new: impl Fn(&Range<usize>) -> Vec<u8>) -> Vec<u8> {
    let mut edited = Vec::with_capacity(content.len());
    let mut rest = 0;
    for span in spans {
        edited.extend_from_slice(&content[rest..span.start]);
        edited.extend_from_slice(&new(span));
        rest = span.end;
    }
    edited.extend_from_slice(&content[rest..]);
    edited
}
