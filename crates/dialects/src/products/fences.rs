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
    Box::new(Fences { blocks, held: None, foreign: None, line: String::new(), inside_line: false })
}

struct Fences<B> {
    blocks: B,
    /// A fence or a bare object that may hold calls.
    held: Option<Held>,
    /// The ticks of a fence that holds no calls.
    foreign: Option<usize>,
    /// What has come of a line that is not told yet.
    line: String,
    /// Whether the beginning of the line is told already.
    inside_line: bool,
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
}

impl<B: Blocks> Reader for Fences<B> {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        for piece in text.split_inclusive('\n') {
            if self.inside_line {
                self.tell(piece, said);
                continue;
            }
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.whole_line(&line, said);
            } else if self.held.is_none() && !self.may_mean_something() {
                let line = std::mem::take(&mut self.line);
                self.tell(&line, said);
            }
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
    /// Whether a line that goes on may begin a fence or an object.
    fn may_mean_something(&self) -> bool {
        let begun = self.line.trim_start();
        let may_be_fence = "```".starts_with(begun) || begun.starts_with("```");
        (may_be_fence && self.line.len() <= LONGEST_FENCE) || self.begins_bare(&self.line)
    }

    fn begins_bare(&self, line: &str) -> bool {
        let begun = line.trim_start();
        let is_near = line.len() - begun.len() <= LONGEST_FENCE && self.foreign.is_none();
        is_near && begun.starts_with('{') && self.blocks.begins_bare(head(begun)) != Some(false)
    }

    fn tell(&mut self, text: &str, said: &mut Vec<Said>) {
        say(said, Said::Text, text);
        self.inside_line = !(text.is_empty() || text.ends_with('\n'));
    }

    fn whole_line(&mut self, line: &str, said: &mut Vec<Said>) {
        let ticks = ticks(line);
        let after = if ticks > 0 { line.trim().trim_start_matches('`') } else { line };
        let closes = |open: usize| ticks >= open && after.is_empty();
        match (self.held.take(), self.foreign) {
            (Some(held), _) if held.ticks == 0 => self.in_bare(held, line, said),
            (Some(held), _) if closes(held.ticks) => {
                let end = held.raw.len();
                self.close(&held.raw[held.opening..end], &format!("{}{line}", held.raw), said);
            }
            (Some(mut held), _) => {
                held.raw.push_str(line);
                self.decide(held, said);
            }
            (None, Some(open)) => {
                self.foreign = Some(open).filter(|open| !closes(*open));
                say(said, Said::Text, line);
            }
            (None, None) if ticks >= 3 && !after.contains('`') => {
                let language = after.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
                let held = Held { ticks, ..Held::new(line) };
                match self.blocks.fits(&language) {
                    true => self.held = Some(held),
                    false => self.let_go(&held, said),
                }
            }
            (None, None) if self.begins_bare(line) => self.in_bare(Held::new(""), line, said),
            (None, None) => say(said, Said::Text, line),
        }
    }

    /// Takes in a line of an object; behind its end stands prose.
    fn in_bare(&mut self, mut held: Held, line: &str, said: &mut Vec<Said>) {
        let after = held.end.go(line.as_bytes());
        let (piece, rest) = line.split_at(after.unwrap_or(line.len()));
        held.raw.push_str(piece);
        self.decide(held, said);
        if after.is_some()
            && let Some(held) = self.held.take()
        {
            self.close(&held.raw, &held.raw, said);
        }
        self.tell(rest, said);
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
        Self { ticks: 0, raw, opening, end: JsonEnd::default(), decided: false }
    }
}

/// The part of a text that is needed to decide.
fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(UNDECIDED)]
}

/// How many ticks a line begins with; none if it is too long for a fence.
fn ticks(line: &str) -> usize {
    if line.trim_end_matches('\n').len() > LONGEST_FENCE {
        return 0;
    }
    let begun = line.trim_start();
    begun.len() - begun.trim_start_matches('`').len()
}
