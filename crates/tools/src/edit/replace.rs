//! Finding a text in bytes and putting another in its place.
use crate::Occurrence;

/// A file with some of its text replaced.
#[derive(Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) content: Vec<u8>,
    /// Where, counted from 1.
    pub(crate) lines: Vec<usize>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq)]
pub(crate) enum Missed {
    Absent,
    /// It occurs at each of these lines.
    Ambiguous(Vec<usize>),
}

/// Works on bytes, so whatever the file is encoded in, what is not replaced stays as it was.
///
/// Models write line ends as `\n`. In a file that ends its lines with `\r\n`, both texts are taken to mean that.
pub(crate) fn replace(
    content: &[u8],
    old: &str,
    new: &str,
    occurrence: Occurrence,
) -> Result<Edited, Missed> {
    let (old, new) = with_line_ends_of(content, old, new);
    let places = match occurrence {
        Occurrence::Unique => places_of(&old, content, 1),
        Occurrence::First => places_of(&old, content, old.len()).into_iter().take(1).collect(),
        Occurrence::All => places_of(&old, content, old.len()),
    };
    let lines = lines_of(&places, content);
    match (occurrence, places.len()) {
        (_, 0) => Err(Missed::Absent),
        (Occurrence::Unique, 2..) => Err(Missed::Ambiguous(lines)),
        _ => Ok(Edited { content: put(content, &places, old.len(), &new), lines }),
    }
}

fn with_line_ends_of(content: &[u8], old: &str, new: &str) -> (Vec<u8>, Vec<u8>) {
    let as_written = (old.as_bytes().to_vec(), new.as_bytes().to_vec());
    let converted = || (crlf(old), crlf(new));
    match ends_of(content) {
        LineEnds::Plain => as_written,
        LineEnds::Windows => converted(),
        LineEnds::Mixed if places_of(old.as_bytes(), content, old.len()).is_empty() => converted(),
        LineEnds::Mixed => as_written,
    }
}

enum LineEnds {
    /// `\n`, or none at all.
    Plain,
    /// `\r\n`, every one.
    Windows,
    Mixed,
}

fn ends_of(content: &[u8]) -> LineEnds {
    let all = content.iter().filter(|byte| **byte == b'\n').count();
    match content.windows(2).filter(|pair| pair == b"\r\n").count() {
        0 => LineEnds::Plain,
        windows if windows == all => LineEnds::Windows,
        _ => LineEnds::Mixed,
    }
}

fn crlf(text: &str) -> Vec<u8> {
    text.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes()
}

/// Where `wanted` begins; the search goes on `step` bytes after each place.
fn places_of(wanted: &[u8], content: &[u8], step: usize) -> Vec<usize> {
    let Some(first) = wanted.first() else { return Vec::new() };
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(found) = content[at..].iter().position(|byte| byte == first) {
        let place = at + found;
        if content[place..].starts_with(wanted) {
            places.push(place);
            at = place + step;
        } else {
            at = place + 1;
        }
    }
    places
}

/// The line of each place, in one walk through the file: there may be many of both.
fn lines_of(places: &[usize], content: &[u8]) -> Vec<usize> {
    let (mut line, mut walked) = (1, 0);
    let lines = places.iter().map(|place| {
        line += content[walked..*place].iter().filter(|byte| **byte == b'\n').count();
        walked = *place;
        line
    });
    lines.collect()
}

fn put(content: &[u8], places: &[usize], length: usize, new: &[u8]) -> Vec<u8> {
    let mut edited = Vec::with_capacity(content.len());
    let mut rest = 0;
    for place in places {
        edited.extend_from_slice(&content[rest..*place]);
        edited.extend_from_slice(new);
        rest = place + length;
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
            let expected = expected.map(|(content, lines)| Edited { content: content.to_vec(), lines });
            assert_eq!(replace(content, old, new, occurrence), expected, "{what}");
        }
    }
}
