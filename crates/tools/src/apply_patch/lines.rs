//! [`Lines`]: a file split into lines, each with its own line end. Finds where consecutive lines occur in it.
use crate::edit::fold::folded;

/// A line end is `\n`, `\r\n` or a lone `\r`; the last line may have none.
pub(crate) struct Lines<'a> {
    /// A byte order mark, which is not part of the first line.
    pub(crate) mark: &'a [u8],
    pub(crate) lines: Vec<FileLine<'a>>,
    /// The first line end of the file; added lines get it.
    pub(crate) end: &'a [u8],
}

pub(crate) struct FileLine<'a> {
    text: &'a [u8],
    /// The line with its line end.
    pub(crate) whole: &'a [u8],
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<'a> Lines<'a> {
    pub(crate) fn of(content: &'a [u8]) -> Self {
        let (mark, mut rest) =
            content.split_at(if content.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 });
        let mut lines = Vec::new();
        while !rest.is_empty() {
            let text = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
            let end = match &rest[text..] {
                [b'\r', b'\n', ..] => 2,
                [_, ..] => 1,
                [] => 0,
            };
            let (whole, after) = rest.split_at(text + end);
            lines.push(FileLine { text: &whole[..text], whole });
            rest = after;
        }
        let ends = lines.iter().map(|line: &FileLine<'_>| &line.whole[line.text.len()..]);
        let end = ends.into_iter().find(|end| !end.is_empty()).unwrap_or(b"\n");
        Self { mark, lines, end }
    }

    /// The first place from line `from` on (counted from 0) where `wanted` occurs. Matches are preferred in this order:
    /// exact, different in trailing spaces, different in other spaces around lines, different in typographic marks.
    pub(crate) fn find(&self, wanted: &[&str], from: usize, at_end: bool) -> Option<usize> {
        let last = self.lines.len().checked_sub(wanted.len())?;
        let from = if at_end { last.max(from) } else { from };
        let matches = |at: usize, same: fn(&[u8], &str) -> bool| {
            self.lines[at..].iter().zip(wanted).all(|(line, wanted)| same(line.text, wanted))
        };
        [exactly, but_for_trailing_blanks, but_for_blanks, but_for_marks]
            .into_iter()
            .find_map(|same| (from..=last).find(|at| matches(*at, same)))
    }
}

fn exactly(line: &[u8], wanted: &str) -> bool {
    line == wanted.as_bytes()
}

fn but_for_trailing_blanks(line: &[u8], wanted: &str) -> bool {
    line.trim_ascii_end() == wanted.as_bytes().trim_ascii_end()
}

fn but_for_blanks(line: &[u8], wanted: &str) -> bool {
    line.trim_ascii() == wanted.as_bytes().trim_ascii()
}

fn but_for_marks(line: &[u8], wanted: &str) -> bool {
    let ascii = line.is_ascii() && wanted.is_ascii();
    let folded_line = || folded(&String::from_utf8_lossy(line));
    but_for_blanks(line, wanted) || (!ascii && folded_line().trim() == folded(wanted).trim())
}
