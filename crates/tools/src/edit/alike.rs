//! [`alike`]: finds text that differs from the requested text only in what models often get wrong: typographic marks,
//! spaces at line ends, indentation.
//!
//! Used only if the text itself is not in the file; a match counts only if it is the only one.
use super::fold::{folded, indent, plainly, signs};
use std::ops::Range;

/// Maximum bytes of a file that is searched: a failed search must end within a second.
const MAX_FILE: usize = 1024 * 1024;

/// The positions of text like `old`, each with the text to insert for `new`.
pub(crate) fn alike(content: &[u8], old: &str, new: &str) -> Vec<(Range<usize>, String)> {
    let Some(text) = std::str::from_utf8(content).ok().filter(|text| text.len() <= MAX_FILE) else {
        return Vec::new();
    };
    let marks = by_marks(text, old);
    if !marks.is_empty() {
        return marks.into_iter().map(|span| (span, new.to_owned())).collect();
    }
    by_lines(text, old, new)
}

/// A normalized text of keyboard characters, with the position of each character in the file.
struct Folded {
    text: Vec<char>,
    from: Vec<Range<usize>>,
}

fn by_marks(text: &str, old: &str) -> Vec<Range<usize>> {
    let wanted = fold(old, false).text;
    let folded = fold(text, true);
    if wanted.iter().all(|character| character.is_whitespace()) {
        return Vec::new();
    }
    let places = folded.text.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted);
    let spans = places.map(|(at, _)| at..at + wanted.len()).filter(|place| folded.is_whole(place));
    spans.map(|place| folded.from[place.start].start..folded.from[place.end - 1].end).collect()
}

/// `whole`: whether the end of the text also ends a line.
fn fold(text: &str, whole: bool) -> Folded {
    let mut folded = Folded { text: Vec::new(), from: Vec::new() };
    for (at, sign) in signs(text) {
        let mut from = at..at + sign.len();
        if sign == "\n" {
            from.start = folded.trim(from.start);
        }
        let before = folded.text.len();
        match sign.as_bytes() {
            [ascii] => folded.text.push(char::from(*ascii)),
            _ => folded.text.extend(plainly(sign)),
        }
        folded.from.extend(std::iter::repeat_n(from, folded.text.len() - before));
    }
    if whole {
        folded.trim(text.len());
    }
    folded
}

impl Folded {
    /// Whether the range contains each sign either completely or not at all.
    fn is_whole(&self, place: &Range<usize>) -> bool {
        let parts = |at: usize| at == 0 || at == self.from.len() || self.from[at - 1] != self.from[at];
        parts(place.start) && parts(place.end)
    }

    /// Removes spaces at the end. Returns where the next line end, which begins at `end`, begins including a `\r`.
    fn trim(&mut self, mut end: usize) -> usize {
        while self.text.last().is_some_and(|last| *last != '\n' && last.is_whitespace()) {
            let windows = self.text.pop() == Some('\r');
            if let Some(from) = self.from.pop().filter(|from| windows && from.end == end) {
                end = from.start;
            }
        }
        end
    }
}

/// Finds whole lines that differ only in their indentation. `new` gets the indentation of the file.
fn by_lines(text: &str, old: &str, new: &str) -> Vec<(Range<usize>, String)> {
    let wanted: Vec<&str> = old.lines().collect();
    let keys: Vec<String> = wanted.iter().map(|line| key(line)).collect();
    if keys.iter().all(String::is_empty) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.push((start, line, key(line)));
        start += line.len();
    }
    let matches = |window: &&[(usize, &str, String)]| {
        window.iter().zip(&keys).all(|((_, _, key), wanted)| key == wanted)
    };
    let found = lines.windows(keys.len()).filter(matches);
    let places = found.filter_map(|window| {
        let (last, line, _) = window.last()?;
        let kept = if old.ends_with('\n') { line } else { line.trim_end_matches(['\n', '\r']) };
        let found: Vec<&str> = window.iter().map(|(_, line, _)| *line).collect();
        Some((window[0].0..last + kept.len(), indented(new, &wanted, &found)))
    });
    places.collect()
}

fn key(line: &str) -> String {
    folded(line).trim_start().to_owned()
}

/// `new`, with the indentation of the lines `wanted` replaced by that of the lines `found`.
fn indented(new: &str, wanted: &[&str], found: &[&str]) -> String {
    let pairs: Vec<(&str, &str)> = wanted.iter().zip(found).filter_map(indents).collect();
    new.split_inclusive('\n').map(|line| reindented(line, &pairs)).collect()
}

fn indents<'a>((wanted, found): (&&'a str, &&'a str)) -> Option<(&'a str, &'a str)> {
    (!wanted.trim().is_empty()).then(|| (indent(wanted), indent(found)))
}

fn reindented(line: &str, pairs: &[(&str, &str)]) -> String {
    let own = indent(line);
    let known = pairs.iter().find(|(wanted, _)| *wanted == own);
    let Some((first, given)) = known.or(pairs.first()).filter(|_| !line.trim().is_empty()) else {
        return line.to_owned();
    };
    let rest = &line[own.len()..];
    match own.strip_prefix(first) {
        Some(deeper) => format!("{given}{deeper}{rest}"),
        None => {
            let less = first.len().saturating_sub(own.len());
            format!("{}{rest}", &given[..given.len().saturating_sub(less)])
        }
    }
}
