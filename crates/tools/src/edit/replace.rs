//! [`replace`]: finds a text in bytes and puts another in its place.
use super::{
    alike::alike,
    ends::{ends_in, matches_at, with_ends},
};
use crate::Occurrence;
use std::ops::Range;

/// A file with some of its text replaced.
#[derive(Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) content: Vec<u8>,
    /// Line numbers of the replacements, counted from 1.
    pub(crate) lines: Vec<usize>,
    /// Whether the text occurred exactly as given. If not, only blanks and typographic marks differed.
    pub(crate) exact: bool,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq)]
pub(crate) enum Missed {
    Absent,
    /// The text occurs at each of these lines.
    Ambiguous(Vec<usize>),
}

/// What a text is replaced with, and how it is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) occurrence: Occurrence,
    /// Requires an exact match.
    pub(crate) exact: bool,
}

/// Replaces a text. Works on bytes, so what is not replaced stays as it was, whatever the file's encoding.
///
/// Models write line ends as `
/// `. In a file that has `\r
/// `, `
/// ` matches both, and the new text gets the line ends of what it replaces.
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

/// Where the text occurs, and whether line ends are adapted to those of the file.
fn exact(content: &[u8], wanted: &Replacement<'_>) -> (Vec<Range<usize>>, bool) {
    let ends = ends_in(content);
    let explicit = wanted.old.contains("\r\n") || wanted.new.contains("\r\n");
    // A text with `\r
    // ` for a file that has other line ends too is meant as written.
    if !ends.windows || (ends.plain && explicit) {
        let spans = spans_of(wanted.old.as_bytes(), content, wanted.occurrence, false);
        if !(spans.is_empty() && explicit) {
            return (spans, false);
        }
    }
    let old = wanted.old.replace("\r\n", "\n");
    (spans_of(old.as_bytes(), content, wanted.occurrence, true), true)
}

/// The only place that differs from the text in nothing but blanks and typographic marks.
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

/// Where `wanted` occurs. `bend`: its `
/// ` matches any line end.
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
            // Overlapping ones count: it is unknown which of them is meant.
            Occurrence::Unique => {}
            Occurrence::First => break,
            Occurrence::All => at = start + length,
        }
    }
    spans
}

/// The line of each place, in one walk through the file: there may be many of both.
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

#[cfg(test)]
mod tests {
    use super::*;

    // B18 to B20, B24 to B28
    #[test]
    fn every_byte_outside_the_edit_stays() {
        use Occurrence::{All, First, Unique};
        type Row = (
            &'static str,
            &'static [u8],
            &'static str,
            &'static str,
            Occurrence,
            Result<(&'static [u8], Vec<usize>), Missed>,
        );
        let table: Vec<Row> = vec![
            ("plain", b"a\nb\nc", "b", "B", Unique, Ok((b"a\nB\nc", vec![2]))),
            ("windows line ends", b"a\r\nb\r\n", "b", "B", Unique, Ok((b"a\r\nB\r\n", vec![2]))),
            ("over two of them", b"a\r\nb\r\nc", "a\nb", "A\nB", Unique, Ok((b"A\r\nB\r\nc", vec![1]))),
            ("a new line among them", b"a\r\nb\r\n", "b", "b\nc", Unique, Ok((b"a\r\nb\r\nc\r\n", vec![2]))),
            ("given as they are", b"a\r\nb\r\n", "a\r\nb", "A\r\nB", Unique, Ok((b"A\r\nB\r\n", vec![1]))),
            ("mixed, as written", b"a\nb\r\nc\n", "a\nb", "A\nB", Unique, Ok((b"A\nB\r\nc\n", vec![1]))),
            ("mixed, converted", b"a\nb\r\nc\n", "b\nc", "B\nC", Unique, Ok((b"a\nB\r\nC\n", vec![2]))),
            (
                "mixed, either end",
                b"a\r\nb\nc\na\nb\n",
                "a\nb\n",
                "x\n",
                Unique,
                Err(Missed::Ambiguous(vec![1, 4])),
            ),
            ("mixed, all", b"a\r\nb\na\nb\n", "a\nb", "A\nB", All, Ok((b"A\r\nB\nA\nB\n", vec![1, 3]))),
            (
                "mixed, end for end",
                b"a\r\nb\nc\r\n",
                "a\nb\nc",
                "A\nB\nC",
                Unique,
                Ok((b"A\r\nB\nC\r\n", vec![1])),
            ),
            ("mixed, as they are", b"a\r\nb\n", "b\n", "b\r\n", Unique, Ok((b"a\r\nb\r\n", vec![2]))),
            ("from a windows line end", b"a\r\nb\r\n", "\nb", "\nB", Unique, Ok((b"a\r\nB\r\n", vec![1]))),
            ("plain, given as windows", b"a\nb\n", "a\r\nb", "A\r\nB", Unique, Ok((b"A\nB\n", vec![1]))),
            ("plain, made windows", b"a\nb\n", "a\n", "a\r\n", Unique, Ok((b"a\r\nb\n", vec![1]))),
            ("lone carriage returns", b"a\rb\rc", "a\rb", "A\rB", Unique, Ok((b"A\rB\rc", vec![1]))),
            ("byte order mark", b"\xef\xbb\xbfb\n", "b", "B", Unique, Ok((b"\xef\xbb\xbfB\n", vec![1]))),
            ("Latin-1", b"\xe4\nb\n\xfc", "b", "B", Unique, Ok((b"\xe4\nB\n\xfc", vec![2]))),
            ("NUL", b"\0a\0b\0", "b", "B", Unique, Ok((b"\0a\0B\0", vec![1]))),
            (
                "tabs, blanks, form feed",
                b"\ta \x0c\nb \t\n",
                "b",
                "B",
                Unique,
                Ok((b"\ta \x0c\nB \t\n", vec![2])),
            ),
            ("patterns", b"b", "b", "$& $1 \\1 $$ `$'", Unique, Ok((b"$& $1 \\1 $$ `$'", vec![1]))),
            ("nothing in its place", b"abc", "b", "", Unique, Ok((b"ac", vec![1]))),
            ("ambiguous", b"x\ny\nx\n", "x", "z", Unique, Err(Missed::Ambiguous(vec![1, 3]))),
            ("overlapping", b"aaa", "aa", "b", Unique, Err(Missed::Ambiguous(vec![1, 1]))),
            ("the first", b"x\ny\nx\n", "x", "z", First, Ok((b"z\ny\nx\n", vec![1]))),
            ("all", b"x\ny\nx\n", "x", "xx", All, Ok((b"xx\ny\nxx\n", vec![1, 3]))),
            ("all, side by side", b"aaaa", "aa", "b", All, Ok((b"bb", vec![1, 1]))),
            ("absent", b"abc", "d", "e", All, Err(Missed::Absent)),
            ("longer than the file", b"a", "ab", "e", First, Err(Missed::Absent)),
            ("empty file", b"", "a", "b", Unique, Err(Missed::Absent)),
        ];
        for (what, content, old, new, occurrence, expected) in table {
            let expected =
                expected.map(|(content, lines)| Edited { content: content.to_vec(), lines, exact: true });
            let wanted = Replacement { old, new, occurrence, exact: true };
            assert_eq!(replace(content, &wanted), expected, "{what}");
        }
    }
}
