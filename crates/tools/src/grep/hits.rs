//! [`Hits`]: the matches in one file, in the form in which they are shown.
use super::Output;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use std::io;

/// The matches of one file.
pub(crate) struct Hits {
    /// A text for each match: its lines and the lines around it, with their numbers. At most as many as the call wants.
    pub(crate) lines: Vec<String>,
    /// Number of all matches; 1 if only files are wanted.
    pub(crate) matches: u64,
    /// Whether the file is not text, so that its matches are of no use.
    pub(crate) binary: bool,
    output: Output,
    keep: usize,
}

impl Hits {
    pub(crate) fn new(output: Output, keep: usize) -> Self {
        Self { lines: Vec::new(), matches: 0, binary: false, output, keep }
    }

    /// Number of results that this counts as.
    pub(crate) fn results(&self) -> usize {
        if self.output == Output::Content { self.lines.len() } else { 1 }
    }

    /// Collects the matches of a searcher.
    pub(crate) fn sink<'a>(&'a mut self, matcher: &'a RegexMatcher, longest: usize) -> HitSink<'a> {
        HitSink { hits: self, matcher, longest, before: String::new(), is_closed: false }
    }
}

pub(crate) struct HitSink<'a> {
    hits: &'a mut Hits,
    matcher: &'a RegexMatcher,
    /// Maximum bytes of a line; a longer one is cut.
    longest: usize,
    /// Context lines before the next match.
    before: String,
    /// Whether the next context lines belong to no match that is kept.
    is_closed: bool,
}

/// Maximum number of lines of a match that are shown.
const MAX_LINES: usize = 50;

impl Sink for HitSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.matches += 1;
        match self.hits.output {
            Output::Files => return Ok(false),
            Output::Count => return Ok(true),
            Output::Content => {}
        }
        if self.hits.lines.len() == self.hits.keep {
            self.is_closed = true;
            return Ok(true);
        }
        let mut text = std::mem::take(&mut self.before);
        for (number, line) in (found.line_number().unwrap_or(0)..).zip(found.lines().take(MAX_LINES)) {
            text += &self.numbered(number, ':', line);
        }
        self.hits.lines.push(text);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.numbered(context.line_number().unwrap_or(0), '-', context.bytes());
        match (context.kind(), self.hits.lines.last_mut()) {
            _ if self.is_closed => {}
            (SinkContextKind::After, Some(last)) => *last += &line,
            _ => self.before += &line,
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.before += "--\n";
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.hits.binary = true;
        Ok(false)
    }
}

impl HitSink<'_> {
    /// The line in the format of `grep -n`.
    fn numbered(&self, number: u64, mark: char, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= self.longest {
            return format!("{number}{mark}{}\n", String::from_utf8_lossy(line));
        }
        let (part, from) = self.part(line);
        let (left, right) =
            (if from > 0 { "…" } else { "" }, if from + part.len() < line.len() { "…" } else { "" });
        let text = String::from_utf8_lossy(part);
        // Removes incomplete characters at both ends.
        let text = text.trim_matches('\u{fffd}');
        format!("{number}{mark}{left}{text}{right} [cut: this line has {} bytes]\n", line.len())
    }

    /// The part of a long line around the match, and where that part begins.
    fn part<'l>(&self, line: &'l [u8]) -> (&'l [u8], usize) {
        let at = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let from = at.saturating_sub(self.longest / 4).min(line.len() - self.longest);
        (&line[from..from + self.longest], from)
    }
}
