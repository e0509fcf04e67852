//! [`reader`]: reads dialects that live in Markdown: fenced blocks, and JSON objects that begin a line.
use crate::{Reader, Said, json_calls::JsonEnd, reply::without_endings, tokens::say};

/// What the blocks of a dialect mean.
pub(super) trait Blocks: Send {
    /// Whether a fence of this language may hold calls.
    fn fits(&self, language: &str) -> bool;
    /// Whether the text in the fence so far may be the beginning of calls. `None`: too early to say.
    fn begins(&self, body: &str) -> Option<bool>;
    /// Whether a line that begins with this may be the beginning of calls without a fence.
    fn begins_bare(&self, _line: &str) -> Option<bool> {
        Some(false)
    }
    /// What the body of a fence or a bare object says; `None`: it is prose after all. `raw` is all of it, with its delimiters.
    fn read(&mut self, body: &str, raw: &str) -> Option<Vec<Said>>;
}

/// Number of bytes after which undecided text counts as prose.
const UNDECIDED: usize = 1_000;
/// A line that opens or closes a fence is short.
const LONGEST_FENCE: usize = 100;

pub(super) fn reader(blocks: impl Blocks + 'static) -> Box<dyn Reader> {
    Box::new(Fences { blocks, held: None, foreign: None, line: String::new(), place: Place::Start })
}

struct Fences<B> {
    blocks: B,
    /// A fence or a bare object that may hold calls.
    held: Option<Held>,
    /// The ticks of a fence that holds no calls.
    foreign: Option<usize>,
    /// What has come of a line that is not told yet.
    line: String,
    /// Where in its line that stands.
    place: Place,
}

/// Where in a line of prose something stands.
#[derive(Clone, Copy)]
enum Place {
    /// At the beginning, or behind an object.
    Start,
    /// Behind words.
    Words,
    /// In code between this many backticks.
    Code(usize),
    /// Where neither a fence nor an object begins.
    Rest,
}

struct Held {
    /// How many ticks close it; none: it is a bare object.
    ticks: usize,
    /// The fence so far, as it was written.
    raw: String,
    /// Where its body begins.
    opening: usize,
    end: JsonEnd,
    /// Whether it is known to hold calls.
    decided: bool,
    /// Whether it is an object behind words. A sentence that continues behind it only quotes it.
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
    /// Up to which byte `line` is prose: there a fence or an object begins, or may.
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

    /// Whether a line that continues may begin with a fence or an object.
    fn may_begin(&self, line: &str) -> bool {
        let begun = line.trim_start();
        let may_be_fence = "```".starts_with(begun) || begun.starts_with("```");
        (may_be_fence && (line.len() <= LONGEST_FENCE || self.foreign.is_some())) || self.begins_bare(line)
    }

    /// The place behind the beginning of a line that is neither a fence nor an object; what is quoted calls nothing.
    fn behind_start(&self, line: &str) -> Place {
        let is_quote = line.trim_start().starts_with('>');
        if is_quote || self.foreign.is_some() { Place::Rest } else { Place::Words }
    }

    fn begins_bare(&self, line: &str) -> bool {
        let begun = line.trim_start();
        let is_near = line.len() - begun.len() <= LONGEST_FENCE && self.foreign.is_none();
        is_near && begun.starts_with('{') && self.blocks.begins_bare(head(begun)) != Some(false)
    }

    /// Takes in the end of a line, or of the reply.
    fn whole_line(&mut self, line: &str, said: &mut Vec<Said>) {
        let mut rest = line;
        while !rest.is_empty() {
            rest = self.next(rest, said);
        }
        self.place = Place::Start;
    }

    /// Takes in what `line` begins with, and returns the rest.
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

    /// Takes in a line of prose from its beginning on.
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

    /// Takes in the text behind words. A fence there is one only at the end of a line that continues below.
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

    /// Opens a fence; `after`: the text behind its ticks.
    fn open(&mut self, line: &str, ticks: usize, after: &str, said: &mut Vec<Said>) {
        let language = after.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let held = Held { ticks, ..Held::new(line) };
        match self.blocks.fits(&language) {
            true => self.held = Some(held),
            false => self.let_go(&held, said),
        }
    }

    /// Takes in a line of an object; behind its end stands prose, or another object.
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

    /// Goes on holding what may be calls.
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
    /// A bare object, or what begins with this line.
    fn new(line: &str) -> Self {
        let (raw, opening) = (line.to_owned(), line.len());
        Self { ticks: 0, raw, opening, end: JsonEnd::default(), decided: false, is_behind_words: false }
    }
}

/// The part of a text that is needed to decide.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(UNDECIDED)]
}

/// How many ticks a text begins with.
fn ticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Whether this follows the ticks of a fence that opens behind words: the name of a language, and then the line ends.
fn is_language(after: &str) -> bool {
    let name = after.trim_end();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_+#-".contains(letter);
    after.len() <= LONGEST_FENCE && name.chars().all(is_part) && !(name.is_empty() && after.ends_with('\n'))
}

/// The text in `line` behind the ticks that close a fence of `open` ticks; `None`: it closes none. What may open a
/// fence within that one does not close it.
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
