//! [`Patched`]: applies hunks to the bytes of a file.
use super::{
    lines::Lines,
    parse::{Hunk, Line},
};

/// The content of a file after its hunks were applied.
#[derive(Debug, PartialEq)]
pub(crate) struct Patched {
    pub(crate) content: Vec<u8>,
    /// The line at which each hunk was applied, counted from 1.
    pub(crate) lines: Vec<usize>,
}

/// A hunk whose lines are not in the file.
#[derive(Debug, PartialEq)]
pub(crate) struct Unplaced {
    /// Index of the hunk, counted from 0.
    pub(crate) hunk: usize,
    /// The text that was searched for.
    pub(crate) text: String,
    /// Whether the text is above the end of the previous hunk.
    pub(crate) above: bool,
}

/// Applies the hunks. The lines that a hunk keeps stay unchanged, including their line ends. An added line gets the
/// first line end of the file, even if it is the last line.
pub(crate) fn apply(content: &[u8], hunks: &[Hunk]) -> Result<Patched, Unplaced> {
    let file = Lines::of(content);
    let mut patched = Patched { content: file.mark.to_vec(), lines: Vec::new() };
    let mut at = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let unplaced = |wanted: &[&str]| Unplaced {
            hunk: number,
            text: wanted.join("\n"),
            above: file.find(wanted, 0, false).is_some(),
        };
        let mut from = at;
        for anchor in &hunk.anchors {
            let wanted = [anchor.as_str()];
            from = file.find(&wanted, from, false).ok_or_else(|| unplaced(&wanted))? + 1;
        }
        // Models sometimes repeat the line of an anchor as the first line of the hunk.
        let again = || if hunk.anchors.is_empty() { None } else { place(&file, hunk, from - 1) };
        let found = place(&file, hunk, from).or_else(again);
        let (start, lines) = found.ok_or_else(|| unplaced(&old(&hunk.lines)))?;
        patched.keep(&file, at..start);
        patched.lines.push(start + 1);
        at = patched.put(&file, lines, start);
    }
    patched.keep(&file, at..file.lines.len());
    Ok(patched)
}

/// The position of the hunk, and those of its lines that match there.
fn place<'a>(file: &Lines<'_>, hunk: &'a Hunk, from: usize) -> Option<(usize, &'a [Line])> {
    let wanted = old(&hunk.lines);
    if wanted.is_empty() {
        let end = file.lines.len();
        let start = if hunk.anchors.is_empty() || hunk.at_end { end } else { from };
        return Some((start, &hunk.lines));
    }
    if let Some(start) = file.find(&wanted, from, hunk.at_end) {
        return Some((start, &hunk.lines));
    }
    // Models sometimes leave an empty line before the next marker.
    match hunk.lines.split_last() {
        Some((Line::Keep(last), lines)) if last.trim().is_empty() && !old(lines).is_empty() => {
            Some((file.find(&old(lines), from, hunk.at_end)?, lines))
        }
        _ => None,
    }
}

fn old(lines: &[Line]) -> Vec<&str> {
    lines.iter().filter(|line| !matches!(line, Line::Add(_))).map(Line::text).collect()
}

impl Patched {
    fn keep(&mut self, file: &Lines<'_>, lines: std::ops::Range<usize>) {
        file.lines[lines].iter().for_each(|line| self.content.extend_from_slice(line.whole));
    }

    /// Adds the hunk's result. Returns the line of the file after the hunk.
    fn put(&mut self, file: &Lines<'_>, lines: &[Line], start: usize) -> usize {
        let mut at = start;
        for line in lines {
            match line {
                Line::Keep(_) => {
                    self.keep(file, at..at + 1);
                    at += 1;
                }
                Line::Remove(_) => at += 1,
                Line::Add(text) => {
                    self.end_line(file);
                    self.content.extend_from_slice(text.as_bytes());
                    self.content.extend_from_slice(file.end);
                }
            }
        }
        at
    }

    /// Adds a line end to a last line without one, if a line comes after it.
    fn end_line(&mut self, file: &Lines<'_>) {
        let said = &self.content[file.mark.len()..];
        if said.last().is_some_and(|last| !matches!(last, b'\n' | b'\r')) {
            self.content.extend_from_slice(file.end);
        }
    }
}
