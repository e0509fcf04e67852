//! [`reader`]: parses dialects in Markdown: fenced blocks, and JSON objects at the beginning of a line.
use crate::{Reader, Said, json_calls::JsonEnd, reply::without_endings, tokens::say};

/// The meaning of a dialect's blocks.
pub(super) trait Blocks: Send {
    /// Whether a fence with this language may contain calls.
    fn fits(&self, language: &str) -> bool;
    /// Whether the text in the fence so far may be the beginning of calls. `None` if it is too short to decide.
    fn begins(&self, body: &str) -> Option<bool>;
    /// Whether a line that begins with this text may be the beginning of calls without a fence.
    fn begins_bare(&self, _line: &str) -> Option<bool> {
        Some(false)
    }
    /// Parses the body of a fence or a bare object; `None` if it is prose. `raw`: the whole block with its delimiters.
    fn read(&mut self, body: &str, raw: &str) -> Option<Vec<Said>>;
}

/// Number of bytes after which undecided text counts as prose.
const UNDECIDED: usize = 1_000;
/// Maximum length of a line that opens or closes a fence.
const LONGEST_FENCE: usize = 100;

pub(super) fn reader(blocks: impl Blocks + 'static) -> Box<dyn Reader> {
    Box::new(Fences { blocks, held: None, foreign: None, line: String::new(), place: Place::Start })
}

struct Fences<B> {
    blocks: B,
    /// A fence or a bare object that may hold calls.
    held: Option<Held>,
    /// Number of backticks of an open fence that contains no calls.
    foreign: Option<usize>,
    /// The part of the current line that was not emitted yet.
    line: String,
    /// The place of `line` in its line.
    place: Place,
}

/// A place in a line of prose.
#[derive(Clone, Copy)]
enum Place {
    /// At the beginning, or after an object.
    Start,
    /// After words.
    Words,
    /// In code between this many backticks.
    Code(usize),
    /// Where neither a fence nor an object can begin.
    Rest,
}

struct Held {
    /// Number of backticks that close it; 0 for a bare object.
    ticks: usize,
    /// The raw text so far.
    raw: String,
    /// Start of the body in `raw`.
    opening: usize,
    end: JsonEnd,
    /// Whether it certainly contains calls.
    decided: bool,
    /// Whether it is an object after words. If the sentence continues after it, it is only a quotation.
    is_behind_words: bool,
}

impl<B: Blocks> Reader for Fences<B> {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            let mut line = std::mem::take(&mut self.line);
            if line.ends_with('\n') {
                self.whole_line(&line, said);
                continue;
            }
            if self.held.is_none() {
                let certain = self.prose(&line);
                say(said, Said::Text, &line[..certain]);
                line.drain(..certain);
            }
            self.line = line;
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        let line = std::mem::take(&mut self.line);
        let is_bare = self.held.as_ref().map_or_else(|| self.begins_bare(&line), |held| held.ticks == 0);
        self.whole_line(if is_bare { &line } else { without_endings(&line) }, said);
        if let Some(Held { ticks, raw, decided, .. }) = self.held.take() {
            say(said, Said::Text, &raw);
            let what = if ticks > 0 { "the block was" } else { "the calls were" };
            said.extend(decided.then(|| {
                let whose = if ticks > 0 { "its" } else { "their" };
                Said::problem(format!("{what} cut off before {whose} end"))
            }));
        }
    }
}

impl<B: Blocks> Fences<B> {
    /// Length of the prose in `line`, up to where a fence or an object begins or may begin.
    fn prose(&mut self, line: &str) -> usize {
        let mut at = 0;
        loop {
            let rest = &line[at..];
            match self.place {
                Place::Start if self.may_begin(line) => return 0,
                Place::Start => self.place = self.behind_start(line),
                Place::Words => {
                    let Some(next) = rest.find(['`', '{']) else { return line.len() };
                    let rest = &rest[next..];
                    at += next;
                    let ticks = ticks(rest);
                    if ticks == rest.len()
                        || (ticks > 2 && is_language(&rest[ticks..]))
                        || self.begins_bare(rest)
                    {
                        return at;
                    }
                    at += ticks.max(1);
                    self.place = if ticks > 0 { Place::Code(ticks) } else { Place::Words };
                }
                Place::Code(open) => {
                    let Some(next) = rest.find('`') else { return line.len() };
                    let ticks = ticks(&rest[next..]);
                    if next + ticks == rest.len() {
                        return at + next;
                    }
                    at += next + ticks;
                    self.place = if ticks == open { Place::Words } else { self.place };
                }
                Place::Rest => return line.len(),
            }
        }
    }

    /// Whether an incomplete line may begin with a fence or an object.
    fn may_begin(&self, line: &str) -> bool {
        let begun = line.trim_start();
        let may_be_fence = "```".starts_with(begun) || begun.starts_with("```");
        (may_be_fence && (line.len() <= LONGEST_FENCE || self.foreign.is_some())) || self.begins_bare(line)
    }

    /// The place after the beginning of a line that is neither a fence nor an object; quoted lines contain no calls.
    fn behind_start(&self, line: &str) -> Place {
        let is_quote = line.trim_start().starts_with('>');
        if is_quote || self.foreign.is_some() { Place::Rest } else { Place::Words }
    }

    fn begins_bare(&self, line: &str) -> bool {
        let begun = line.trim_start();
        let is_near = line.len() - begun.len() <= LONGEST_FENCE && self.foreign.is_none();
        is_near && begun.starts_with('{') && self.blocks.begins_bare(head(begun)) != Some(false)
    }

    /// Parses the end of a line, or of the reply.
    fn whole_line(&mut self, line: &str, said: &mut Vec<Said>) {
        let mut rest = line;
        while !rest.is_empty() {
            rest = self.next(rest, said);
        }
        self.place = Place::Start;
    }

    /// Parses the beginning of `line`, and returns the rest.
    fn next<'a>(&mut self, line: &'a str, said: &mut Vec<Said>) -> &'a str {
        match (self.held.take(), self.foreign, self.place) {
            (Some(held), ..) if held.ticks == 0 => self.in_bare(held, line, said),
            (Some(mut held), ..) => {
                let rest = behind_closing(line, held.ticks);
                let end = held.raw.len();
                held.raw.push_str(&line[..line.len() - rest.map_or(0, str::len)]);
                match rest {
                    Some(_) => self.close(&held.raw[held.opening..end], &held.raw, said),
                    None => self.decide(held, said),
                }
                self.place = Place::Words;
                rest.unwrap_or_default()
            }
            (None, Some(open), Place::Start) => {
                let rest = behind_closing(line, open);
                self.foreign = self.foreign.filter(|_| rest.is_none());
                self.place = Place::Words;
                say(said, Said::Text, &line[..line.len() - rest.map_or(0, str::len)]);
                rest.unwrap_or_default()
            }
            (None, None, Place::Start) => self.begin(line, said),
            (None, ..) => self.behind_words(line, said),
        }
    }

    /// Parses a line of prose from its beginning.
    fn begin<'a>(&mut self, line: &'a str, said: &mut Vec<Said>) -> &'a str {
        let ticks = ticks(line.trim_start());
        let after = line.trim().trim_start_matches('`');
        if ticks >= 3 && line.trim_end_matches('\n').len() <= LONGEST_FENCE && !after.contains('`') {
            self.open(line, ticks, after, said);
            return "";
        }
        if self.begins_bare(line) {
            return self.in_bare(Held::new(""), line, said);
        }
        self.place = self.behind_start(line);
        line
    }

    /// Parses text after words. A fence counts there only at the end of a line that other lines follow.
    fn behind_words<'a>(&mut self, line: &'a str, said: &mut Vec<Said>) -> &'a str {
        let (prose, rest) = line.split_at(self.prose(line));
        say(said, Said::Text, prose);
        let ticks = ticks(rest);
        if rest.starts_with('{') {
            return self.in_bare(Held { is_behind_words: true, ..Held::new("") }, rest, said);
        }
        match rest.ends_with('\n') {
            true => self.open(rest, ticks, rest[ticks..].trim_end(), said),
            false => say(said, Said::Text, rest),
        }
        ""
    }

    /// Opens a fence; `after`: the text after its backticks.
    fn open(&mut self, line: &str, ticks: usize, after: &str, said: &mut Vec<Said>) {
        let language = after.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let held = Held { ticks, ..Held::new(line) };
        match self.blocks.fits(&language) {
            true => self.held = Some(held),
            false => self.let_go(&held, said),
        }
    }

    /// Parses a line of an object; prose or another object may follow its end.
    fn in_bare<'a>(&mut self, mut held: Held, line: &'a str, said: &mut Vec<Said>) -> &'a str {
        let after = held.end.go(line.as_bytes());
        let (piece, rest) = line.split_at(after.unwrap_or(line.len()));
        held.raw.push_str(piece);
        let goes_on = !without_endings(rest).trim().is_empty() && !rest.trim_start().starts_with('{');
        if held.is_behind_words && goes_on {
            say(said, Said::Text, &held.raw);
            self.place = Place::Words;
            return rest;
        }
        self.decide(held, said);
        if after.is_some()
            && let Some(held) = self.held.take()
        {
            let before = said.len();
            self.close(&held.raw, &held.raw, said);
            if held.is_behind_words && said.len() == before {
                say(said, Said::Text, &held.raw);
            }
        }
        self.place = Place::Start;
        rest
    }

    /// Decides whether the held text may contain calls, and holds or emits it.
    fn decide(&mut self, mut held: Held, said: &mut Vec<Said>) {
        if !held.decided {
            let body = head(&held.raw[held.opening..]);
            let verdict = match held.ticks {
                0 => self.blocks.begins_bare(head(held.raw.trim_start())),
                _ => self.blocks.begins(body),
            };
            held.decided = verdict == Some(true);
            if verdict == Some(false) || (verdict.is_none() && body.len() >= UNDECIDED) {
                return self.let_go(&held, said);
            }
        }
        self.held = Some(held);
    }

    fn let_go(&mut self, held: &Held, said: &mut Vec<Said>) {
        say(said, Said::Text, &held.raw);
        self.foreign = Some(held.ticks).filter(|ticks| *ticks > 0);
    }

    fn close(&mut self, body: &str, raw: &str, said: &mut Vec<Said>) {
        match self.blocks.read(body, raw) {
            Some(more) => said.extend(more),
            None => say(said, Said::Text, raw),
        }
    }
}

impl Held {
    /// A bare object, or the block that begins with this line.
    fn new(line: &str) -> Self {
        let (raw, opening) = (line.to_owned(), line.len());
        Self { ticks: 0, raw, opening, end: JsonEnd::default(), decided: false, is_behind_words: false }
    }
}

/// The beginning of a text that is sufficient to decide.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(UNDECIDED)]
}

/// Number of backticks at the beginning of a text.
fn ticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Whether this text follows the backticks of a fence that opens after words: the name of a language, followed by the
/// end of the line.
fn is_language(after: &str) -> bool {
    let name = after.trim_end();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_+#-".contains(letter);
    after.len() <= LONGEST_FENCE && name.chars().all(is_part) && !(name.is_empty() && after.ends_with('\n'))
}

/// The text in `line` after the backticks that close a fence of `open` backticks; `None` if it closes none. A line that
/// may open a nested fence does not close it.
fn behind_closing(line: &str, open: usize) -> Option<&str> {
    let begun = line.trim_start();
    let (ticks, after) = begun.split_at(ticks(begun));
    if ticks.len() < open {
        return None;
    }
    if after.trim().is_empty() {
        return Some("");
    }
    let may_open = is_language(after) || after.contains('`');
    (after.starts_with(char::is_whitespace) || !may_open).then_some(after)
}
