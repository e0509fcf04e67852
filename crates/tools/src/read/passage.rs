//! [`Passage`]: some lines of a text file. Memory use is bounded, however long the file or a line is.
use crate::ReadSettings;
use std::io::{self, BufRead};

/// Maximum bytes of a line in the numbered form: a data file in a single line would fill a whole window.
const MAX_LINE: usize = 2_000;

/// Lines as a model reads them.
#[derive(Debug, PartialEq)]
pub(super) struct Passage {
    pub(super) text: String,
    /// Number of lines that are shown, in whole or in part.
    pub(super) lines: u64,
    /// Why the passage ends.
    pub(super) end: End,
    /// Whether any bytes were not valid UTF-8.
    pub(super) lossy: bool,
    /// Whether only the beginning of a line is shown.
    pub(super) has_cut_lines: bool,
    /// Size of the text, in the unit of the settings.
    size: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// At the end of the file.
    OfFile,
    /// At the requested number of lines. Holds the number of the next line.
    AsAsked { next: u64 },
    /// At the maximum size. Holds the number of the next line; if a part of a line is shown, its rest is not.
    Full { next: u64 },
}

/// Why there is no passage.
#[derive(Debug)]
pub(super) enum NoPassage {
    /// The file has only this many lines.
    PastTheEnd(u64),
    Io(io::Error),
}

impl From<io::Error> for NoPassage {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Returns up to `limit` lines from line `from` (counted from 1); with a limit of 0, as many as fit.
pub(super) fn passage(
    file: impl BufRead,
    from: u64,
    limit: Option<u64>,
    settings: &ReadSettings,
) -> Result<Passage, NoPassage> {
    let mut lines = Lines { file };
    for number in 1..from {
        if lines.next(0)?.is_none() {
            return Err(NoPassage::PastTheEnd(number - 1));
        }
    }
    let most = match limit {
        None => settings.lines,
        Some(0) => u64::MAX,
        Some(limit) => limit.min(settings.lines),
    };
    let asked = limit == Some(most);
    let mut passage = Passage {
        text: String::new(),
        lines: 0,
        end: End::OfFile,
        lossy: false,
        has_cut_lines: false,
        size: 0,
    };
    let keep = if settings.numbered { MAX_LINE } else { settings.longest() };
    while lines.more()? {
        let next = from + passage.lines;
        if passage.lines == most {
            passage.end = if asked { End::AsAsked { next } } else { End::Full { next } };
            break;
        }
        let Some(line) = lines.next(keep)? else { break };
        if !passage.push(&line, next, settings) {
            passage.end = End::Full { next: from + passage.lines.max(1) };
            break;
        }
    }
    if passage.lines == 0 && from > 1 {
        return Err(NoPassage::PastTheEnd(from - 1));
    }
    Ok(passage)
}

impl Passage {
    /// Adds a line; returns whether it fitted.
    fn push(&mut self, line: &Line, number: u64, settings: &ReadSettings) -> bool {
        let text = String::from_utf8_lossy(&line.kept);
        // A line that was cut inside a character does not indicate another encoding.
        self.lossy |= std::str::from_utf8(&line.kept)
            .is_err_and(|error| line.is_whole() || error.error_len().is_some());
        let shown = if settings.numbered { numbered(number, &text, line) } else { text.into_owned() };
        let (room, size) = (settings.room().saturating_sub(self.size), settings.size(&shown));
        if size <= room && (line.is_whole() || settings.numbered) {
            self.has_cut_lines |= !line.is_whole();
            self.text += &shown;
            self.size += size;
            self.lines += 1;
            return true;
        }
        // Of a line that does not fit, the beginning is shown if it is the only line, or if no note would say how to
        // see it.
        if self.text.is_empty() || !settings.numbered {
            self.text += settings.head(&shown, room);
            self.lines += u64::from(self.lines == 0);
        }
        false
    }
}

/// A line with its number, six characters wide, and a tab. Line ends and a byte order mark are not shown.
fn numbered(number: u64, text: &str, line: &Line) -> String {
    let text = if number == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
    let text = text.trim_end_matches('\n');
    let text = text.strip_suffix('\r').unwrap_or(text);
    if line.is_whole() {
        format!("{number:>6}\t{text}\n")
    } else {
        let text = text.trim_end_matches('\u{fffd}');
        format!("{number:>6}\t{text} [cut: this line has {} bytes]\n", line.bytes)
    }
}

struct Lines<R> {
    file: R,
}

/// A line with its line end, up to the requested length.
struct Line {
    kept: Vec<u8>,
    /// Its length in the file.
    bytes: u64,
}

impl Line {
    fn is_whole(&self) -> bool {
        self.kept.len() as u64 == self.bytes
    }
}

impl<R: BufRead> Lines<R> {
    fn more(&mut self) -> io::Result<bool> {
        Ok(!self.file.fill_buf()?.is_empty())
    }

    /// Reads the next line; keeps up to `keep` bytes of it.
    fn next(&mut self, keep: usize) -> io::Result<Option<Line>> {
        let mut line = Line { kept: Vec::new(), bytes: 0 };
        loop {
            let ahead = self.file.fill_buf()?;
            if ahead.is_empty() {
                return Ok((line.bytes > 0).then_some(line));
            }
            let end = ahead.iter().position(|byte| *byte == b'\n');
            let part = &ahead[..end.map_or(ahead.len(), |end| end + 1)];
            let wanted = keep.saturating_sub(line.kept.len()).min(part.len());
            line.kept.extend_from_slice(&part[..wanted]);
            line.bytes += part.len() as u64;
            let taken = part.len();
            self.file.consume(taken);
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], from: u64, limit: Option<u64>, settings: &ReadSettings) -> (String, End) {
        // A small buffer, so that lines exceed it.
        let file = io::BufReader::with_capacity(3, text);
        let passage = passage(file, from, limit, settings).unwrap();
        (passage.text, passage.end)
    }

    // C-42, C-45, X-22, B08
    #[test]
    fn a_passage_is_cut_by_lines_and_by_bytes() {
        let numbered = ReadSettings { lines: 3, max_bytes: 40, ..ReadSettings::default() };
        let raw = ReadSettings { numbered: false, ..numbered.clone() };
        let characters = ReadSettings { max_characters: Some(7), ..raw.clone() };
        let (many, wide) = ("ä\n".repeat(25), "€".repeat(99));
        let long = "x".repeat(99);
        let long = long.as_bytes();
        type Row<'a> = (&'a str, &'a [u8], u64, Option<u64>, &'a ReadSettings, String, End);
        let table: Vec<Row<'_>> = vec![
            ("empty", b"", 1, None, &numbered, "".into(), End::OfFile),
            ("all", b"a\nb", 1, None, &numbered, "     1\ta\n     2\tb\n".into(), End::OfFile),
            ("raw", b"a\r\nb", 1, None, &raw, "a\r\nb".into(), End::OfFile),
            ("from", b"a\nb\nc\n", 2, None, &numbered, "     2\tb\n     3\tc\n".into(), End::OfFile),
            ("limit", b"a\nb\nc\n", 2, Some(1), &numbered, "     2\tb\n".into(), End::AsAsked { next: 3 }),
            ("all there is room for", b"a\nb\nc\nd", 1, Some(0), &raw, "a\nb\nc\nd".into(), End::OfFile),
            ("a limit that is met", b"a\nb\n", 1, Some(2), &raw, "a\nb\n".into(), End::OfFile),
            ("too many lines", b"a\nb\nc\nd\n", 1, None, &raw, "a\nb\nc\n".into(), End::Full { next: 4 }),
            (
                "more than allowed",
                b"a\nb\nc\nd\n",
                1,
                Some(9),
                &raw,
                "a\nb\nc\n".into(),
                End::Full { next: 4 },
            ),
            (
                "by characters",
                many.as_bytes(),
                1,
                Some(0),
                &characters,
                format!("{}ä", "ä\n".repeat(3)),
                End::Full { next: 4 },
            ),
            (
                "as many characters",
                "äöü\n€𝄞\n".as_bytes(),
                1,
                None,
                &characters,
                "äöü\n€𝄞\n".into(),
                End::OfFile,
            ),
            (
                "a long line of characters",
                wide.as_bytes(),
                1,
                None,
                &characters,
                "€".repeat(7),
                End::Full { next: 2 },
            ),
            ("one long line, raw", long, 1, None, &raw, "x".repeat(40), End::Full { next: 2 }),
            (
                "one long line, numbered",
                long,
                1,
                None,
                &numbered,
                format!("     1\t{}", "x".repeat(33)),
                End::Full { next: 2 },
            ),
            (
                "the second does not fit",
                b"a\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
                1,
                None,
                &numbered,
                "     1\ta\n".into(),
                End::Full { next: 2 },
            ),
            (
                "line ends and mark",
                "\u{feff}a\r\nb\r\n".as_bytes(),
                1,
                None,
                &numbered,
                "     1\ta\n     2\tb\n".into(),
                End::OfFile,
            ),
        ];
        for (what, file, from, limit, settings, text, end) in table {
            assert_eq!(read(file, from, limit, settings), (text, end), "{what}");
        }
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_shown() {
        let file = format!("{}\nb\n", "ä".repeat(1_500));
        let (text, end) = read(file.as_bytes(), 1, None, &ReadSettings::default());
        let expected = format!("     1\t{} [cut: this line has 3001 bytes]\n     2\tb\n", "ä".repeat(1_000));
        assert_eq!((text, end), (expected, End::OfFile));
    }

    #[test]
    fn past_the_end_is_no_passage() {
        let settings = ReadSettings::default();
        for (file, from, lines) in [("", 2, 0), ("a\nb", 3, 2), ("a\nb\n", 9, 2)] {
            match passage(file.as_bytes(), from, None, &settings) {
                Err(NoPassage::PastTheEnd(found)) => assert_eq!(found, lines),
                other => panic!("{other:?}"),
            }
        }
    }
}
