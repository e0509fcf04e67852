//! Dialects with delimiters: something begins a thought or a call, something ends it.
mod marks;

pub(super) use marks::{Block, BlockOptions, Close, Marks};

use super::{
    CUT_OFF, Reader, Said, Setting,
    closing::{Closing, Progress},
    delimiters::{Delimiters, Found},
};

/// Special tokens of the model that a server did not take out. Such a reply begins with the first of them.
const LEAKED: [&str; 2] = ["<bos>", "<eos>"];

/// Between two opening delimiters of which only the second counts stand fewer bytes than this.
const LONGEST_GAP: usize = 256;

/// In so many blocks at the end of a reply an end may be forgotten: each is read once more.
const MOST_FORGOTTEN: usize = 16;

/// A reader of a dialect with delimiters.
pub(super) fn reader(marks: &'static Marks, setting: &Setting) -> Box<dyn Reader> {
    reader_with(marks, &BlockOptions::PLAIN, setting)
}

/// As [`reader`], with options.
pub(super) fn reader_with(
    marks: &'static Marks,
    options: &'static BlockOptions,
    setting: &Setting,
) -> Box<dyn Reader> {
    let thinking = if setting.split_thinking { marks.thinking } else { &[] };
    let calls = if setting.find_calls { marks.calls } else { &[] };
    let noise = || marks.noise.iter().copied();
    let opening = thinking.iter().map(|(open, _)| *open).chain(calls.iter().map(|block| block.open));
    let delimiters = opening.chain(LEAKED).chain(thinking.iter().map(|(_, close)| *close)).chain(noise());
    let thoughts = thinking.iter().map(|(_, close)| {
        let noise = noise().filter(|noise| !options.interrupts.contains(noise));
        Delimiters::new(std::iter::once(*close).chain(options.interrupts.iter().copied()).chain(noise))
    });
    let begins = setting.begins_thinking.unwrap_or_else(|| is_open(thinking, &setting.prompt_end));
    let thinks = begins && !thinking.is_empty();
    // Where nobody says how the prompt ends, what comes before the calls may be thoughts, and nobody wants to see those.
    let untold = setting.begins_thinking.is_none() && setting.prompt_end.is_empty();
    let unsure = options.thinks_by_default && untold && !setting.split_thinking && setting.find_calls;
    Box::new(Marked {
        thinking,
        calls,
        options,
        is_last: options.ends_with_calls && setting.tools.is_empty(),
        delimiters: Delimiters::new(delimiters),
        thoughts: thoughts.collect(),
        closing: calls.iter().map(Closing::new).collect(),
        within: if thinks { Within::Thinking(0) } else { Within::Text },
        buffer: String::new(),
        at: 0,
        seen: 0,
        so_far: SoFar { thought: thinks, ..SoFar::default() },
        held: unsure.then(String::new),
        setting: setting.clone(),
    })
}

/// Whether the prompt has opened the thoughts and not closed them.
fn is_open(thinking: &[(&str, &str)], prompt: &str) -> bool {
    thinking.iter().any(|(open, close)| match (prompt.rfind(open), prompt.rfind(close)) {
        (Some(open), close) => close.is_none_or(|close| close < open),
        _ => false,
    })
}

struct Marked {
    thinking: &'static [(&'static str, &'static str)],
    calls: &'static [Block],
    options: &'static BlockOptions,
    /// Whether text behind the calls is told as a problem.
    is_last: bool,
    /// Those that count in the text: what opens thoughts, what opens calls, leaked tokens, what closes thoughts, noise.
    delimiters: Delimiters,
    /// Those that count within the thoughts of each number: what closes them, what interrupts them, noise.
    thoughts: Vec<Delimiters>,
    closing: Vec<Closing>,
    within: Within,
    /// What was not said yet begins at `at`. In a block: all of it, after its opening delimiter.
    buffer: String,
    at: usize,
    /// As far as the block was searched.
    seen: usize,
    so_far: SoFar,
    /// Text that may turn out to be thoughts.
    held: Option<String>,
    setting: Setting,
}

/// What was in the reply so far.
#[derive(Default)]
struct SoFar {
    anything: bool,
    leaks: bool,
    thought: bool,
    called: bool,
    over: bool,
    /// Text behind the calls, where there is none to be.
    behind: String,
}

/// Where the reader stands.
enum Within {
    Text,
    /// Between the delimiters of this number.
    Thinking(usize),
    /// At the beginning of the block of this number, which may turn out to be none.
    Opening(usize),
    /// In the block of this number.
    Call(usize, Progress),
    /// Behind the block of this number, where what belongs to it may still come.
    After(usize),
}

impl Reader for Marked {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        self.buffer.push_str(text);
        self.advance(said);
        // Once for each piece: what is left is never moved twice for the same piece.
        self.buffer.drain(..self.at);
        self.seen = self.seen.saturating_sub(self.at);
        self.at = 0;
    }

    fn opens_calls(&self) -> Vec<&'static str> {
        // Of tools that nobody knows only the usual form is taken for a call.
        let forms = if self.setting.tools.is_empty() { 1 } else { self.calls.len() };
        self.calls.iter().take(forms).map(|block| block.open).collect()
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        self.so_far.over = true;
        self.advance(said);
        for _ in 0..MOST_FORGOTTEN {
            let Within::Call(block, progress) = &self.within else { break };
            let (block, at) = (*block, self.at);
            let found = self.closing[block].forgotten(progress, &self.buffer[at..]);
            let Some((end, after)) = found else { break };
            self.in_call(block, at + end, at + after, said);
            self.advance(said);
        }
        let rest = self.buffer.split_off(self.at);
        match std::mem::replace(&mut self.within, Within::Text) {
            Within::Text | Within::After(_) => self.text(&rest, said),
            Within::Thinking(_) => say(said, Said::Thinking, &rest),
            Within::Opening(block) | Within::Call(block, _) => self.close(block, &rest, "", said),
        }
        self.release(Said::Text, said);
        if !self.so_far.behind.trim().is_empty() {
            said.push(Said::Problem(format!("text behind the calls: `{}`", self.so_far.behind)));
        }
    }
}

impl Marked {
    fn advance(&mut self, said: &mut Vec<Said>) {
        while match &mut self.within {
            Within::Text => self.in_text(said),
            Within::Thinking(pair) => {
                let pair = *pair;
                self.in_thoughts(pair, said)
            }
            Within::Opening(block) => {
                let block = *block;
                self.in_opening(block, said)
            }
            Within::Call(block, progress) => {
                let block = *block;
                let over = self.so_far.over;
                match self.closing[block].find(progress, &self.buffer, self.at, &mut self.seen, over) {
                    Some((end, after)) => self.in_call(block, end, after, said),
                    None => false,
                }
            }
            Within::After(block) => {
                let block = *block;
                self.after(block)
            }
        } {}
    }

    fn in_text(&mut self, said: &mut Vec<Said>) -> bool {
        // What may be the beginning of a delimiter is looked at even where the reply is over.
        match self.delimiters.find(&self.buffer, self.at, self.so_far.over) {
            Found::Delimiter { at, delimiter, means } => {
                self.say_until(at, Said::Text, said);
                self.at = at + delimiter.len();
                let first = !std::mem::replace(&mut self.so_far.anything, true);
                self.delimiter(means, delimiter, first, said);
                true
            }
            Found::Open(_) => {
                let certain = self.certain(&self.delimiters);
                self.say_until(certain, Said::Text, said);
                if self.so_far.over && self.options.drops_cut_sign {
                    self.drop_cut_sign(said);
                }
                false
            }
        }
    }

    /// A delimiter that counts in the text was read.
    fn delimiter(&mut self, which: usize, delimiter: &str, first: bool, said: &mut Vec<Said>) {
        let opening = self.thinking.len() + self.calls.len();
        let leaked = opening + LEAKED.len();
        match which {
            pair if pair < self.thinking.len() => match self.options.thinks_once && self.so_far.thought {
                true => self.text(delimiter, said),
                false => {
                    self.so_far.thought = true;
                    self.release(Said::Text, said);
                    self.within = Within::Thinking(pair);
                }
            },
            block if block < opening => {
                self.within = Within::Opening(block - self.thinking.len());
                self.seen = self.at;
            }
            _ if which == opening && first => {
                self.so_far.leaks = true;
                // Nor did that server tell whether the prompt has opened the thoughts: only their end will.
                self.held = (!self.thinking.is_empty()).then(String::new);
            }
            _ if (opening..leaked).contains(&which) && !self.so_far.leaks => self.text(delimiter, said),
            // A thought that was never opened has ended.
            _ if (leaked..leaked + self.thinking.len()).contains(&which) => {
                self.release(Said::Thinking, said)
            }
            // A delimiter means nothing.
            _ => {}
        }
    }

    fn in_thoughts(&mut self, pair: usize, said: &mut Vec<Said>) -> bool {
        let (at, length, which) = match self.thoughts[pair].find(&self.buffer, self.at, self.so_far.over) {
            Found::Delimiter { at, delimiter, means } => (at, delimiter.len(), means),
            Found::Open(_) => {
                let certain = self.certain(&self.thoughts[pair]);
                self.say_until(certain, Said::Thinking, said);
                return false;
            }
        };
        self.say_until(at, Said::Thinking, said);
        let interrupts = self.options.interrupts.len();
        match which {
            0 => (self.within, self.at) = (Within::Text, at + length),
            which if which <= interrupts => self.within = Within::Text,
            _ => self.at = at + length,
        }
        if which <= interrupts {
            said.push(Said::Thinking(String::new()));
        }
        true
    }

    fn in_opening(&mut self, block: usize, said: &mut Vec<Said>) -> bool {
        let open = self.calls[block].open;
        let rest = &self.buffer[self.at..];
        let next = rest[..rest.floor_char_boundary(LONGEST_GAP)].trim_start();
        if next.starts_with(open) {
            // The model begins anew.
            self.at += rest.len() - rest.trim_start().len() + open.len();
            self.seen = self.at;
            return true;
        }
        if !self.so_far.over && rest.len() < LONGEST_GAP && open.starts_with(next) {
            return false;
        }
        let begins = match &self.closing[block] {
            Closing::Tagged(reading) => reading.begins(open, &self.buffer[self.at..], self.so_far.over),
            _ => Some(true),
        };
        match begins {
            None => return false,
            Some(true) => {
                self.leave_prose(said);
                self.within = Within::Call(block, Progress::default());
            }
            Some(false) => {
                self.within = Within::Text;
                self.text(open, said);
            }
        }
        true
    }

    fn in_call(&mut self, block: usize, end: usize, after: usize, said: &mut Vec<Said>) -> bool {
        let buffer = std::mem::take(&mut self.buffer);
        self.within = Within::After(block);
        self.close(block, &buffer[self.at..end], &buffer[end..after], said);
        (self.buffer, self.at, self.seen) = (buffer, after, after);
        true
    }

    fn after(&mut self, block: usize) -> bool {
        let tail = self.calls[block].tail();
        let rest = self.buffer[self.seen..].trim_start();
        self.seen = self.buffer.len() - rest.len();
        if let Some(delimiter) = tail.iter().find(|delimiter| rest.starts_with(**delimiter)) {
            self.at = self.seen + delimiter.len();
        } else if tail.iter().any(|delimiter| !self.so_far.over && delimiter.starts_with(rest)) {
            return false;
        }
        self.within = Within::Text;
        true
    }

    /// As far as there is certainly none of these delimiters.
    fn certain(&self, delimiters: &Delimiters) -> usize {
        (self.buffer.len() - delimiters.unfinished(&self.buffer)).max(self.at)
    }

    fn say_until(&mut self, end: usize, kind: fn(String) -> Said, said: &mut Vec<Said>) {
        if end == self.at {
            return;
        }
        self.so_far.anything = true;
        let text = &self.buffer[self.at..end];
        match (&mut self.held, &self.within) {
            (Some(held), Within::Text) => held.push_str(text),
            _ if self.so_far.called && self.is_last => self.so_far.behind.push_str(text),
            _ => say(said, kind, text),
        }
        self.at = end;
    }

    fn text(&mut self, text: &str, said: &mut Vec<Said>) {
        match &mut self.held {
            Some(held) => held.push_str(text),
            None if self.so_far.called && self.is_last => self.so_far.behind.push_str(text),
            None => say(said, Said::Text, text),
        }
    }

    /// Says what was held back.
    fn release(&mut self, kind: fn(String) -> Said, said: &mut Vec<Said>) {
        say(said, kind, &self.held.take().unwrap_or_default());
    }

    /// Calls begin.
    fn leave_prose(&mut self, said: &mut Vec<Said>) {
        match &mut self.held {
            Some(held) if !self.so_far.leaks && self.setting.tools.is_empty() && held.ends_with("\n\n") => {
                said.push(Said::Problem(format!("thoughts before the calls: `{}`", held.trim())));
                self.held = None;
            }
            _ => self.release(Said::Text, said),
        }
    }

    fn drop_cut_sign(&mut self, said: &mut Vec<Said>) {
        if self.at < self.buffer.len() {
            let delimiter = &self.buffer[self.at..];
            said.push(Said::Problem(format!("the reply ended within a delimiter: `{delimiter}`")));
            self.at = self.buffer.len();
        }
    }

    /// What cannot be read stays text.
    fn close(&mut self, block: usize, body: &str, delimiter: &str, said: &mut Vec<Said>) {
        let Block { open, read, read_when_cut, .. } = &self.calls[block];
        let mut found = Vec::new();
        match &self.closing[block] {
            Closing::Tagged(reading) => reading.read(open, body, delimiter, &self.setting, &mut found),
            _ if delimiter.is_empty() && !read_when_cut => {
                found.push(Said::Text(format!("{open}{body}")));
                found.push(Said::Problem(format!("{CUT_OFF} the end of a call")));
            }
            _ => match read(body, &self.setting) {
                Ok(calls) => {
                    found.extend(calls.into_iter().map(Said::Call));
                    let cut = || Said::Problem(format!("{CUT_OFF} the end of the calls"));
                    found.extend(delimiter.is_empty().then(cut));
                }
                Err(why) => {
                    found.push(Said::Text(format!("{open}{body}{delimiter}")));
                    found.push(Said::Problem(why));
                }
            },
        }
        self.so_far.called |= found.iter().any(|found| matches!(found, Said::Call(_)));
        said.append(&mut found);
    }
}

fn say(said: &mut Vec<Said>, kind: fn(String) -> Said, text: &str) {
    if !text.is_empty() {
        said.push(kind(text.to_owned()));
    }
}
