//! [`Query`]: a compiled regular expression, which several threads use to search files.
use super::{Args, Output, hits::Hits};
use crate::{
    FindSettings,
    watch::{Watch, Watched},
};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use rustix::fs::OFlags;
use std::{fs::OpenOptions, io, os::unix::fs::OpenOptionsExt, path::Path};

pub(crate) struct Query {
    matcher: RegexMatcher,
    multiline: bool,
    before: usize,
    after: usize,
    output: Output,
    longest_line: usize,
}

/// Why a pattern is not a regular expression.
pub(crate) struct Invalid(pub(crate) String);

/// Maximum lines of context around a match.
const MAX_CONTEXT: usize = 100;

/// Maximum bytes of a compiled expression, and also of its DFA tables.
const MAX_COMPILED: usize = 32 * 1024 * 1024;

impl Query {
    pub(crate) fn new(args: &Args, settings: &FindSettings) -> Result<Self, Invalid> {
        let (multiline, literal) = (args.multiline == Some(true), args.literal == Some(true));
        match matcher(args, multiline, literal) {
            Ok(matcher) => Ok(Self::with(matcher, multiline, args, settings)),
            // A pattern with a line break is meant to match across lines.
            Err(error) if !multiline && matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(_)) => {
                let matcher = matcher(args, true, literal).map_err(|error| invalid(&error))?;
                Ok(Self::with(matcher, true, args, settings))
            }
            Err(error) => Err(invalid(&error)),
        }
    }

    /// The pattern as literal text.
    pub(crate) fn literal(args: &Args, settings: &FindSettings) -> Result<Self, Invalid> {
        let multiline = args.pattern.contains('\n');
        let matcher = matcher(args, multiline, true).map_err(|error| invalid(&error))?;
        Ok(Self::with(matcher, multiline, args, settings))
    }

    fn with(matcher: RegexMatcher, multiline: bool, args: &Args, settings: &FindSettings) -> Self {
        let lines = |own: Option<usize>| own.or(args.context).unwrap_or(0).min(MAX_CONTEXT);
        let (before, after) = (lines(args.before), lines(args.after));
        let output = args.output.unwrap_or_default();
        Self { matcher, multiline, before, after, output, longest_line: settings.longest_line }
    }

    /// A searcher for one thread. `keep`: maximum number of matches kept of each file.
    pub(crate) fn searcher(&self, keep: usize) -> FileSearcher<'_> {
        let mut builder = SearcherBuilder::new();
        builder
            .binary_detection(BinaryDetection::quit(0))
            .line_terminator(LineTerminator::crlf())
            .memory_map(MmapChoice::never())
            .heap_limit(Some(MAX_BUFFER))
            .multi_line(self.multiline);
        if self.output == Output::Content {
            builder.line_number(true).before_context(self.before).after_context(self.after);
        } else {
            builder.line_number(false);
        }
        FileSearcher { query: self, matcher: self.matcher.clone(), searcher: builder.build(), keep }
    }
}

/// Maximum bytes of a line that is searched, or of a file in multi-line mode.
const MAX_BUFFER: usize = 64 * 1024 * 1024;

fn matcher(args: &Args, multiline: bool, literal: bool) -> Result<RegexMatcher, grep_regex::Error> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(args.ignore_case == Some(true))
        .fixed_strings(literal)
        .word(args.word == Some(true))
        .multi_line(true)
        .dot_matches_new_line(multiline)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED);
    // Makes `$` match before `\r\n` as well. It also keeps a match within one line, which makes searching fast.
    builder.crlf(true);
    if multiline {
        builder.line_terminator(None);
    }
    builder.build(&args.pattern)
}

/// Finds a text, ignoring case.
pub(crate) fn containing(text: &str) -> Option<RegexMatcher> {
    RegexMatcherBuilder::new().case_insensitive(true).fixed_strings(true).build(text).ok()
}

/// Keeps the last line of an error, which says what is wrong; the lines above only draw it.
fn invalid(error: &grep_regex::Error) -> Invalid {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    Invalid(last.strip_prefix("error: ").unwrap_or(last).to_owned())
}

/// An expression that matches exactly the text.
pub(crate) fn escaped(text: &str) -> String {
    let signs = |c: char| r"\.+*?()|[]{}^$".contains(c);
    text.chars().flat_map(|c| signs(c).then_some('\\').into_iter().chain([c])).collect()
}

/// Searches files one after the other.
pub(crate) struct FileSearcher<'q> {
    query: &'q Query,
    matcher: RegexMatcher,
    searcher: Searcher,
    keep: usize,
}

impl FileSearcher<'_> {
    pub(crate) fn search(&mut self, path: &Path, watch: &Watch<'_>) -> io::Result<Hits> {
        // With `NONBLOCK`, opening does not wait for a pipe that has replaced the file meanwhile.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let mut hits = Hits::new(self.query.output, self.keep);
        let sink = hits.sink(&self.matcher, self.query.longest_line);
        self.searcher.search_reader(&self.matcher, Watched { file, watch }, sink)?;
        Ok(hits)
    }
}
