//! [`reader`]: reads dialects that live in Markdown: fenced blocks, and JSON objects that begin a line.
use crate::{Reader, Said, json_calls::JsonEnd, reply::without_endings, tokens::say};

/// What the blocks of a dialect mean.
pub(super) trait Blocks: Send {
    /// Whether a fence of this language may hold calls.
    fn fits(&self, language: &str) -> bool;
    /// Whether what stands in the fence so far may be the beginning of calls. `None`: too early to say.
    fn begins(&self, body: &str) -> Option<bool>;
    /// Whether a line that begins with this may be the beginning of calls without a fence.
    fn begins_bare(&self, _line: &str) -> Option<bool> {
        Some(false)
    }
    /// What the body of a fence or a bare object says; `None`: it is prose after all. `raw` is all of it, with its delimiters.
    fn read(&mut self, body: &str, raw: &str) -> Option<Vec<Said>>;
}

/// So much is looked at before something counts as prose.
const UNDECIDED: usize = 1_000;
/// A line that opens or closes a fence is short.
const LONGEST_FENCE: usize = 100;

pub(super) fn reader(blocks: impl Blocks + 'static) -> Box<dyn Reader> {
    Box::new(Fences { blocks, within: Within::Prose, line: String::new(), inside_line: false })
}

struct Fences<B> {
    blocks: B,
    within: Within,
    /// What has come of a line that is not told yet.
    line: String,
    /// Whether the beginning of the line is told already.
    inside_line: bool,
}

enum Within {
    Prose,
    /// In a fence of so many ticks that holds no calls.
    Foreign(usize),
    /// In a fence that may.
    Fence {
        ticks: usize,
        /// All of it so far.
        raw: String,
        /// The length of its first line.
        opening: usize,
        decided: bool,
    },
    /// In a bare object.
    Bare {
        text: String,
        end: JsonEnd,
        decided: bool,
    },
}

impl<B: Blocks> Reader for Fences<B> {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        let mut rest = text;
        while !rest.is_empty() {
            rest = match self.within {
                Within::Bare { .. } => self.in_bare(rest, said),
                Within::Prose | Within::Foreign(_) if self.line.is_empty() => {
                    let (prose, rest) = rest.split_at(plain(rest, self.inside_line));
                    if !prose.is_empty() {
                        self.tell(prose, said);
                    }
                    if rest.is_empty() { rest } else { self.in_lines(rest, said) }
                }
                _ => self.in_lines(rest, said),
            };
        }
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        if let Within::Bare { .. } = self.within {
            return self.close_bare(false, said);
        }
        let line = std::mem::take(&mut self.line);
        self.whole_line(without_endings(&line), said);
        if let Within::Bare { .. } = self.within {
            return self.close_bare(false, said);
        }
        if let Within::Fence { raw, decided, .. } = std::mem::replace(&mut self.within, Within::Prose) {
            say(said, Said::Text, &raw);
            if decided {
                said.push(Said::problem("the block was cut off before its end"));
            }
        }
    }
}

impl<B: Blocks> Fences<B> {
    /// Takes in the rest of a line, and gives back what comes behind it.
    fn in_lines<'a>(&mut self, text: &'a str, said: &mut Vec<Said>) -> &'a str {
        let (piece, rest) = text.split_at(text.find('\n').map_or(text.len(), |end| end + 1));
        if self.inside_line {
            self.tell(piece, said);
            return rest;
        }
        self.line.push_str(piece);
        if piece.ends_with('\n') {
            let mut line = std::mem::take(&mut self.line);
            self.whole_line(&line, said);
            // Its room is used again.
            if self.line.is_empty() {
                line.clear();
                self.line = line;
            }
        } else {
            self.begun_line(said);
        }
        rest
    }

    /// A line that goes on: it is held back only as long as it may mean something.
    fn begun_line(&mut self, said: &mut Vec<Said>) {
        if let Within::Fence { .. } = self.within {
            return self.decide_fence(said);
        }
        let begun = self.line.trim_start();
        let may_be_fence = "```".starts_with(begun) || begun.starts_with("```");
        if self.may_be_bare(&self.line) {
            self.begin_bare(said);
        } else if !may_be_fence || self.line.len() > LONGEST_FENCE {
            let line = std::mem::take(&mut self.line);
            self.tell(&line, said);
        }
    }

    fn whole_line(&mut self, line: &str, said: &mut Vec<Said>) {
        let ticks = ticks(line);
        let after = if ticks > 0 { line.trim().trim_start_matches('`') } else { line };
        let may_be_bare = self.may_be_bare(line);
        match &mut self.within {
            Within::Prose if ticks >= 3 && !after.contains('`') => {
                let language = after.split_whitespace().next().unwrap_or_default();
                if self.blocks.fits(&language.to_ascii_lowercase()) {
                    let mut raw = String::with_capacity(256);
                    raw.push_str(line);
                    self.within = Within::Fence { ticks, opening: raw.len(), raw, decided: false };
                } else {
                    self.within = Within::Foreign(ticks);
                    say(said, Said::Text, line);
                }
            }
            Within::Foreign(open) => {
                if ticks >= *open && after.is_empty() {
                    self.within = Within::Prose;
                }
                say(said, Said::Text, line);
            }
            Within::Fence { ticks: open, .. } if ticks >= *open && after.is_empty() => {
                self.close_fence(line, said)
            }
            Within::Fence { raw, .. } => {
                raw.push_str(line);
                self.decide_fence(said);
            }
            _ if may_be_bare => {
                line.clone_into(&mut self.line);
                self.begin_bare(said);
            }
            _ => say(said, Said::Text, line),
        }
    }

    fn tell(&mut self, text: &str, said: &mut Vec<Said>) {
        say(said, Said::Text, text);
        self.inside_line = !text.ends_with('\n');
    }

    /// Lets go of a fence that cannot hold calls.
    fn decide_fence(&mut self, said: &mut Vec<Said>) {
        let Within::Fence { ticks, raw, opening, decided: decided @ false } = &mut self.within else {
            return;
        };
        let body = head(&raw[*opening..]);
        let joined;
        let so_far = match (body.is_empty(), self.line.is_empty()) {
            (true, _) => head(&self.line),
            (false, true) => body,
            (false, false) => {
                joined = format!("{body}{}", head(&self.line));
                head(&joined)
            }
        };
        let verdict = self.blocks.begins(so_far).or((so_far.len() >= UNDECIDED).then_some(false));
        *decided = verdict == Some(true);
        if verdict == Some(false) {
            say(said, Said::Text, raw);
            self.within = Within::Foreign(*ticks);
            // The line itself may yet close the fence.
            if !self.line.is_empty() {
                self.begun_line(said);
            }
        }
    }

    fn close_fence(&mut self, line: &str, said: &mut Vec<Said>) {
        let Within::Fence { mut raw, opening, .. } = std::mem::replace(&mut self.within, Within::Prose)
        else {
            return;
        };
        let end = raw.len();
        raw.push_str(line);
        match self.blocks.read(&raw[opening..end], &raw) {
            Some(more) => said.extend(more),
            None => say(said, Said::Text, &raw),
        }
    }

    fn may_be_bare(&self, line: &str) -> bool {
        let begun = line.trim_start();
        let near = line.len() - begun.len() <= LONGEST_FENCE;
        let bare = matches!(self.within, Within::Prose) && near && begun.starts_with('{');
        bare && self.blocks.begins_bare(head(begun)) != Some(false)
    }

    fn begin_bare(&mut self, said: &mut Vec<Said>) {
        let line = std::mem::take(&mut self.line);
        self.within = Within::Bare { text: String::new(), end: JsonEnd::default(), decided: false };
        let rest = self.in_bare(&line, said);
        if !rest.is_empty() {
            self.tell(rest, said);
        }
    }

    /// Takes in more of an object, and gives back what comes behind it. Until it is clear that it may be calls, line by line.
    fn in_bare<'a>(&mut self, text: &'a str, said: &mut Vec<Said>) -> &'a str {
        let Within::Bare { text: object, end, decided } = &mut self.within else { return text };
        let line = text.find('\n').map_or(text.len(), |end| end + 1);
        let piece = if *decided { text } else { &text[..line] };
        let after = end.go(piece.as_bytes());
        let (piece, rest) = text.split_at(after.unwrap_or(piece.len()));
        object.push_str(piece);
        if !*decided {
            let so_far = head(object.trim_start());
            let verdict = self.blocks.begins_bare(so_far).or((so_far.len() >= UNDECIDED).then_some(false));
            *decided = verdict == Some(true);
            if verdict == Some(false) {
                let prose = std::mem::take(object);
                self.within = Within::Prose;
                self.tell(&prose, said);
                return rest;
            }
        }
        if after.is_some() {
            self.close_bare(true, said);
        }
        rest
    }

    fn close_bare(&mut self, whole: bool, said: &mut Vec<Said>) {
        let Within::Bare { text, decided, .. } = std::mem::replace(&mut self.within, Within::Prose) else {
            return;
        };
        self.inside_line = true;
        match if whole { self.blocks.read(&text, &text) } else { None } {
            Some(more) => said.extend(more),
            None => {
                say(said, Said::Text, &text);
                if !whole && decided {
                    said.push(Said::problem("the calls were cut off before their end"));
                }
            }
        }
    }
}

/// How many bytes of a text are prose for sure: lines that begin neither a fence nor an object. `inside_line`: the first of
/// them has begun already.
fn plain(text: &str, inside_line: bool) -> usize {
    let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |end| from + end + 1);
    let mut at = if inside_line { line_end(0) } else { 0 };
    loop {
        match text[at..].bytes().find(|byte| *byte == b'\n' || !byte.is_ascii_whitespace()) {
            None | Some(b'`' | b'{') => return at,
            // These may be blanks, too.
            Some(other) if !other.is_ascii() || other == b'\x0b' => return at,
            Some(_) => at = line_end(at),
        }
    }
}

/// As much of a text as is looked at to decide.
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
