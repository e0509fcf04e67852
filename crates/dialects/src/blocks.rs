//! [`reader`]: the engine that parses a reply by a [`Grammar`], whose delimiters begin and end thoughts and blocks of
//! calls.
//!
//! JSON in a block is parsed strictly, so that `{` alone may begin a block, delimiters within JSON strings do not
//! count, and text that stops being JSON is released immediately. Blocks with tags have a
//! [`Shape`](super::tagged_calls::Shape).
mod grammar;

pub(super) use super::ends::Json;
pub(super) use grammar::{Block, Body, CutDelimiter, Grammar, THINK, Thought};

use super::{
    Reader, Said, Setting,
    delimiters::{Delimiters, Found},
    ends::{End, Ends, Inside, Mark, all},
    tagged_calls::Reading,
};

/// The meaning of a delimiter.
#[derive(Clone, Copy)]
enum Act {
    Nothing,
    /// Ends thoughts that were never opened.
    Orphan,
    Hush,
    TurnEnd,
    /// `<bos>` or `<eos>`, which a server may have left in the reply.
    Leak {
        first: bool,
    },
    Think(usize),
    Block(usize),
    Close,
    /// Ends the thoughts, and is parsed again outside of them.
    Stop,
}

/// Creates the reader of a dialect with a grammar.
pub(super) fn reader(grammar: &'static Grammar, setting: &Setting) -> Box<dyn Reader> {
    // If the end of the prompt is unknown, the text before the calls may be thoughts, which are not for the user.
    let untold = setting.begins_thinking.is_none() && setting.prompt_end.is_empty();
    let unsure = grammar.thinks_by_default && untold && !setting.split_thinking && setting.find_calls;
    let is_prompted = setting.find_calls && setting.prompt_end.trim_end().ends_with(grammar.prompted);
    let mut reader = Blocks {
        grammar,
        setting: setting.clone(),
        delimiters: Delimiters::meaning(opening(grammar, setting)),
        inner: grammar.blocks.iter().map(Inner::of).collect(),
        within: Within::Text,
        buffer: if is_prompted { grammar.prompted.to_owned() } else { String::new() },
        at: 0,
        drained: 0,
        begun: false,
        leaks: false,
        is_done: false,
        between: false,
        hushed: None,
        held: unsure.then(String::new),
        is_behind_call: false,
        has_thought: false,
        label: "",
        forgotten: 0,
        open: None,
        is_fresh: grammar.words_are_cut && setting.split_thinking,
    };
    reader.open = reader.opened_by_prompt();
    if let Some(thought) = reader.open {
        reader.think(thought);
    }
    Box::new(reader)
}

/// The delimiters outside of blocks and thoughts.
fn opening(grammar: &Grammar, setting: &Setting) -> Vec<(&'static str, Act)> {
    let mut delimiters: Vec<_> = all(grammar.noise, Act::Nothing).collect();
    delimiters.extend(all(grammar.turn_ends, Act::TurnEnd));
    delimiters.extend([("<bos>", Act::Leak { first: true }), ("<eos>", Act::Leak { first: false })]);
    if setting.split_thinking {
        for (number, thought) in grammar.thoughts.iter().enumerate() {
            delimiters.push((thought.open, Act::Think(number)));
            // Such a delimiter ends thoughts that were never opened.
            delimiters.extend(all(thought.close, Act::Orphan).filter(|_| !thought.first));
        }
    }
    if setting.find_calls {
        let hush = if setting.tools.is_empty() { Act::Hush } else { Act::Nothing };
        delimiters.extend(all(grammar.frame, Act::Nothing).chain(all(grammar.hush, hush)));
        let blocks = grammar.blocks.iter().enumerate();
        delimiters.extend(blocks.map(|(number, block)| (block.open, Act::Block(number))));
    }
    delimiters
}

struct Blocks {
    grammar: &'static Grammar,
    setting: Setting,
    /// The delimiters outside of blocks and thoughts.
    delimiters: Delimiters<Act>,
    /// The delimiters inside each kind of block.
    inner: Vec<Inner>,
    within: Within,
    buffer: String,
    /// Position in the buffer up to which the text was emitted.
    at: usize,
    /// Number of bytes of the reply that were removed from the buffer.
    drained: usize,
    /// Whether text was emitted.
    begun: bool,
    /// Whether the server leaves special tokens in the reply, so that they are not text.
    leaks: bool,
    /// Whether further blocks are ignored.
    is_done: bool,
    between: bool,
    /// Text at a place where the grammar allows none.
    hushed: Option<String>,
    /// Text that may turn out to be thoughts.
    held: Option<String>,
    /// Whether the held text follows a call.
    is_behind_call: bool,
    /// Whether the reply has opened thoughts.
    has_thought: bool,
    /// The label with which opened thoughts may begin, and which is left out.
    label: &'static str,
    /// Number of blocks in which the end of a value was missing.
    forgotten: usize,
    /// The thought that the prompt opened.
    open: Option<usize>,
    /// Whether the whole reply is still in the buffer and may be a part of the words that open thoughts.
    is_fresh: bool,
}

/// The delimiters inside a block.
enum Inner {
    Json(Box<Ends>),
    Tags(Box<Reading>),
}

impl Inner {
    fn of(block: &Block) -> Self {
        if let Some(shape) = block.tags {
            return Self::Tags(Box::new(Reading::new(shape, block.close)));
        }
        let json: &[&str] = if matches!(block.json, Json::Some | Json::Last) { &["{", "["] } else { &[] };
        let closing = all(block.close, Mark::Close).chain(all(block.stop, Mark::Stop));
        let others = all(block.inner, Mark::Nothing).chain(all(json, Mark::Json));
        let quote = Some(block.quote).filter(|quote| !quote.is_empty());
        let opening = quote.map(|quote| (quote, Mark::Value));
        let between = Delimiters::meaning(closing.chain(others).chain(opening).collect());
        let value = Delimiters::meaning(quote.map(|quote| (quote, Mark::ValueEnd)).into_iter().collect());
        let cdata = Delimiters::meaning(Vec::new());
        Self::Json(Box::new(Ends { between, value, cdata, json: block.json }))
    }

    fn ends(&self) -> &Ends {
        match self {
            Self::Json(ends) => ends,
            Self::Tags(reading) => &reading.ends,
        }
    }
}

/// The state of the reader.
enum Within {
    Text,
    Thoughts(Box<Delimiters<Act>>),
    /// After the opening delimiter of the block with this number, which may be only mentioned in prose.
    Opening(usize),
    Block(usize, Inside),
    /// After the block with this number; delimiters that belong to it may still follow.
    After(usize),
}

/// Maximum bytes between two opening delimiters of which only the second counts.
const MAX_GAP: usize = 256;

/// Maximum number of blocks at the end of a reply in which a missing end is searched, since each is parsed again.
const MAX_FORGOTTEN: usize = 16;

impl Reader for Blocks {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        if text.is_empty() {
            return;
        }
        if let Some(thought) = self.open.take().map(|thought| &self.grammar.thoughts[thought])
            && thought.says_open
        {
            say(said, Said::Thinking, &format!("{}\n", thought.open));
        }
        // Moves the buffer only if half of it was emitted, so that each byte is moved a bounded number of times.
        let may_move = matches!(self.within, Within::Text | Within::Thoughts(_));
        if may_move && self.at > self.buffer.len() / 2 {
            self.buffer.drain(..self.at);
            self.drained += self.at;
            self.at = 0;
        }
        // Most text has none of the marks: ASCII needs no search.
        let marks = if text.is_ascii() { &[] } else { self.grammar.blank_marks };
        match marks {
            [] => self.buffer.push_str(text),
            marks => {
                let plain =
                    marks.iter().fold(text.to_owned(), |text, (mark, blank)| text.replace(*mark, blank));
                self.buffer.push_str(&plain);
            }
        }
        self.is_fresh &= self.is_piece(|open, text| open.contains(text));
        while !self.is_fresh && self.step(false, said) {}
    }

    fn opens_calls(&self) -> Vec<&'static str> {
        if !self.setting.find_calls {
            return Vec::new();
        }
        // Blocks that open with a single bracket are left out, since it may be anywhere.
        let mut blocks = self.grammar.blocks;
        // If the tools are unknown, only the usual form of tags counts as a call.
        if self.setting.tools.is_empty() && blocks.iter().all(|block| block.tags.is_some()) {
            blocks = &blocks[..blocks.len().min(1)];
        }
        let opens = blocks.iter().filter(|block| block.open.len() > 1).map(|block| block.open);
        opens.chain(self.grammar.frame.iter().chain(self.grammar.hush).copied()).collect()
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        let is_cut =
            self.is_fresh && self.is_piece(|open, text| open.starts_with(text) || open.ends_with(text));
        let rest = &self.buffer[self.at..];
        let in_block = !matches!(self.within, Within::Text | Within::Thoughts(_));
        let is_cut = is_cut && CutDelimiter::ProblemWithLetters.is_problem(rest);
        if is_cut || (self.grammar.cut.is_problem(rest) && !in_block) {
            said.push(Said::problem(format!("the reply ends within a delimiter: {rest}")));
            self.at = self.buffer.len();
        }
        while self.step(true, said) {}
        self.release(Said::Text, said);
        self.tell_hushed(said);
    }
}

impl Blocks {
    fn opened_by_prompt(&self) -> Option<usize> {
        if self.grammar.thoughts.is_empty() || !self.setting.split_thinking {
            return None;
        }
        let prompt = &self.setting.prompt_end;
        let is_open = |thought: &Thought| {
            let closed = thought.close.iter().filter_map(|close| prompt.rfind(close)).max();
            prompt.rfind(thought.open).is_some_and(|open| closed.is_none_or(|closed| closed < open))
        };
        match self.setting.begins_thinking {
            Some(begins) => begins.then_some(0),
            None => self.grammar.thoughts.iter().position(is_open),
        }
    }

    fn is_piece(&self, fits: fn(&str, &str) -> bool) -> bool {
        let words = self.grammar.thoughts.iter().filter(|thought| thought.first).map(|thought| thought.open);
        let is_open = matches!(self.within, Within::Thoughts(_));
        !is_open && words.into_iter().any(|open| self.buffer.len() < open.len() && fits(open, &self.buffer))
    }

    /// Takes one step; returns whether the buffer may contain more.
    fn step(&mut self, whole: bool, said: &mut Vec<Said>) -> bool {
        match self.within {
            Within::Text => self.in_text(whole, said),
            Within::Thoughts(_) if !self.label.is_empty() => {
                let rest = &self.buffer[self.at..];
                if !whole && rest.len() < self.label.len() && self.label.starts_with(rest) {
                    return false;
                }
                self.at += rest.strip_prefix(self.label).map_or(0, |_| self.label.len());
                self.label = "";
                true
            }
            Within::Thoughts(ref delimiters) => {
                let (at, length, act) = match delimiters.find(&self.buffer, self.at, whole) {
                    Found::Delimiter { at, delimiter, means } => (at, delimiter.len(), Some(means)),
                    Found::Open(at) => (at, 0, None),
                };
                let is_thought = matches!(act, Some(Act::Leak { .. })) && !self.leaks;
                say(said, Said::Thinking, &self.buffer[self.at..if is_thought { at + length } else { at }]);
                self.at = if matches!(act, Some(Act::Stop)) { at } else { at + length };
                if matches!(act, Some(Act::Close | Act::Stop)) {
                    self.within = Within::Text;
                    said.push(Said::ThinkingEnd);
                }
                act.is_some()
            }
            Within::Opening(block) => self.in_opening(block, whole, said),
            Within::Block(number, ref mut inside) => {
                let inner = &self.inner[number];
                let Some(mut end) = inside.end(inner.ends(), &self.buffer, whole) else { return false };
                if end.cut && matches!(inner, Inner::Tags(_)) && self.forgotten < MAX_FORGOTTEN {
                    // Done only a few times, since it parses the block again.
                    let body = &self.buffer[self.at..];
                    let found = inside.forgotten(inner.ends(), body, self.grammar.blocks[number].close);
                    end = found.map_or(end, |end| end.moved(self.at));
                }
                self.forgotten += usize::from(whole && !end.cut);
                self.within = Within::Text;
                self.leave_block(number, &end, said);
                true
            }
            Within::After(block) => self.after(block, whole),
        }
    }

    /// Decides whether the block is a call or only mentioned.
    fn in_opening(&mut self, block: usize, whole: bool, said: &mut Vec<Said>) -> bool {
        let open = self.grammar.blocks[block].open;
        let Inner::Tags(reading) = &self.inner[block] else { return self.begin_block(block, said) };
        let rest = &self.buffer[self.at..];
        let next = rest[..rest.floor_char_boundary(MAX_GAP)].trim_start();
        if next.starts_with(open) {
            // The model begins anew.
            self.at += rest.len() - rest.trim_start().len() + open.len();
            return true;
        }
        if !whole && rest.len() < MAX_GAP && open.starts_with(next) {
            return false;
        }
        match reading.begins(open, rest, whole) {
            None => return false,
            Some(true) => return self.begin_block(block, said),
            Some(false) => {
                self.within = Within::Text;
                self.at -= open.len();
                self.say_until(self.at + open.len(), said);
            }
        }
        true
    }

    fn begin_block(&mut self, block: usize, said: &mut Vec<Said>) -> bool {
        self.tell_hushed(said);
        self.leave_prose(said);
        self.within = Within::Block(block, Inside::new(self.inner[block].ends(), self.at));
        true
    }

    fn after(&mut self, block: usize, whole: bool) -> bool {
        let tail = self.grammar.blocks[block].tail;
        let rest = &self.buffer[self.at..];
        let next = rest.trim_start();
        if let Some(delimiter) = tail.iter().find(|delimiter| next.starts_with(**delimiter)) {
            self.at += rest.len() - next.len() + delimiter.len();
        } else if !whole && tail.iter().any(|delimiter| delimiter.starts_with(next)) {
            return false;
        }
        self.within = Within::Text;
        true
    }

    fn in_text(&mut self, whole: bool, said: &mut Vec<Said>) -> bool {
        if self.between {
            let rest = &self.buffer[self.at..];
            let left =
                rest.trim_start_matches(|c: char| c.is_whitespace() || self.grammar.between.contains(&c));
            self.at += rest.len() - left.len();
            self.between = left.is_empty();
        }
        match self.delimiters.find(&self.buffer, self.at, whole) {
            Found::Open(at) => {
                self.say_until(at, said);
                false
            }
            Found::Delimiter { at, delimiter, means } => {
                let is_first = !self.begun && self.buffer[self.at..at].trim().is_empty();
                self.say_until(at, said);
                self.act(means, delimiter.len(), is_first, said);
                true
            }
        }
    }

    fn act(&mut self, act: Act, length: usize, is_first: bool, said: &mut Vec<Said>) {
        match act {
            Act::Think(_) if self.grammar.thinks_once && self.has_thought => {
                self.say_until(self.at + length, said);
            }
            Act::Think(thought) if is_first || !self.grammar.thoughts[thought].first => {
                self.at += length;
                self.release(Said::Text, said);
                self.think(thought);
                self.label = self.grammar.thoughts[thought].label;
            }
            Act::Orphan => {
                self.at += length;
                self.release(Said::Thinking, said);
            }
            Act::Block(block) if !self.is_done => {
                self.at += length - self.grammar.blocks[block].kept;
                self.within = Within::Opening(block);
            }
            Act::Leak { first } if self.leaks || (first && self.drained + self.at == 0) => {
                // Such a server does not tell either whether the prompt opened the thoughts: only their end shows that.
                let may_think =
                    self.setting.split_thinking && self.grammar.thoughts.iter().any(|thought| !thought.first);
                if first && !self.leaks && may_think {
                    self.held = Some(String::new());
                }
                self.leaks = true;
                self.at += length;
            }
            Act::Think(_) | Act::Block(_) | Act::Leak { .. } => self.say_until(self.at + length, said),
            Act::TurnEnd if self.is_behind_call => {
                self.at += length;
                self.call_problem("behind the calls", said);
            }
            Act::Hush => {
                self.at += length;
                self.hushed.get_or_insert_default();
            }
            _ => self.at += length,
        }
    }

    fn think(&mut self, thought: usize) {
        self.has_thought = true;
        let thought = &self.grammar.thoughts[thought];
        // A call in thoughts that are never closed is found later, so delimiters with which a call begins are kept.
        let opens_call = |noise: &str| self.grammar.blocks.iter().any(|block| block.open.starts_with(noise));
        let noise = all(self.grammar.noise, Act::Nothing).chain(all(self.grammar.turn_ends, Act::Nothing));
        let noise = noise.filter(|(noise, _)| !opens_call(noise));
        let delimiters = all(thought.close, Act::Close).chain(all(thought.breaks, Act::Stop)).chain(noise);
        let delimiters = delimiters.chain([("<eos>", Act::Leak { first: false })]).collect();
        self.within = Within::Thoughts(Box::new(Delimiters::meaning(delimiters)));
    }

    fn leave_block(&mut self, number: usize, end: &End, said: &mut Vec<Said>) {
        let block = &self.grammar.blocks[number];
        if !block.tail.is_empty() {
            self.within = Within::After(number);
        }
        // A bare bracket without anything that could be a name is not a call.
        if end.broken && block.kept == block.open.len() && !self.buffer[self.at..end.body].contains('"') {
            return self.say_until(end.after, said);
        }
        let open = &block.open[..block.open.len() - block.kept];
        let text = &self.buffer[self.at..end.body];
        // The model begins anew.
        let is_stopped = !end.cut && end.close.is_empty();
        if is_stopped && text.trim().is_empty() && self.buffer[end.after..].starts_with(block.open) {
            self.at = end.after;
            return;
        }
        let mut read = Vec::new();
        match &self.inner[number] {
            Inner::Tags(reading) => reading.read(open, text, end.close, &self.setting, &mut read),
            Inner::Json(_) => {
                let text = if block.kept == 0 { last_begun(text, open) } else { text };
                let body = Body { open, text, close: end.close, cut: end.cut, broken: end.broken };
                (block.read)(&body, &self.setting, &mut read);
            }
        }
        self.at = end.after;
        let holds_calls = read.iter().any(|said| matches!(said, Said::Call(_)));
        self.is_done |= self.grammar.once && holds_calls;
        self.between = !self.grammar.between.is_empty() && holds_calls;
        self.is_behind_call =
            holds_calls && (self.grammar.has_only_calls_between || !self.grammar.turn_ends.is_empty());
        if self.is_behind_call {
            self.held.get_or_insert_default();
        }
        if read.iter().any(|said| matches!(said, Said::Text(_))) {
            self.begun = true;
        } else if self.grammar.hush_after_blocks && self.setting.tools.is_empty() {
            self.hushed.get_or_insert_default();
        }
        read.into_iter().for_each(|read| match read {
            Said::Text(text) => say(said, Said::Text, &text),
            read => said.push(read),
        });
    }

    fn say_until(&mut self, end: usize, said: &mut Vec<Said>) {
        let text = &self.buffer[self.at..end];
        match (&mut self.hushed, &mut self.held) {
            (Some(aside), _) | (None, Some(aside)) => aside.push_str(text),
            (None, None) => {
                self.begun |= !text.trim().is_empty();
                say(said, Said::Text, text);
            }
        }
        self.at = end;
    }

    /// Reports the held text as a problem, since the grammar allows none at this place.
    fn call_problem(&mut self, place: &str, said: &mut Vec<Said>) {
        let held = self.held.take().unwrap_or_default();
        if !held.trim().is_empty() {
            said.push(Said::problem(format!("text {place}: `{}`", held.trim())));
        }
    }

    /// Emits the held text.
    fn release(&mut self, kind: fn(String) -> Said, said: &mut Vec<Said>) {
        say(said, kind, &self.held.take().unwrap_or_default());
    }

    /// Ends the prose, since a block of calls begins.
    fn leave_prose(&mut self, said: &mut Vec<Said>) {
        match &mut self.held {
            Some(_) if self.is_behind_call && self.grammar.has_only_calls_between => {
                self.call_problem("between calls", said);
            }
            Some(held) if !self.leaks && self.setting.tools.is_empty() && held.ends_with("\n\n") => {
                said.push(Said::problem(format!("thoughts before the calls: `{}`", held.trim())));
                self.held = None;
            }
            _ => self.release(Said::Text, said),
        }
    }

    fn tell_hushed(&mut self, said: &mut Vec<Said>) {
        let hushed = self.hushed.as_mut().map(std::mem::take).unwrap_or_default();
        if !hushed.trim().is_empty() {
            said.push(Said::problem(format!("this stands where only calls are expected: {}", hushed.trim())));
        }
    }
}

/// The text after the last of several opening delimiters, if any follows it.
fn last_begun<'a>(text: &'a str, open: &str) -> &'a str {
    let mut rest = text;
    while let Some(next) = rest.trim_start().strip_prefix(open) {
        rest = next;
    }
    if rest.trim().is_empty() { text } else { rest }
}

/// Emits text or thoughts, joined with the last item if it is of the same kind.
pub(super) fn say(said: &mut Vec<Said>, kind: fn(String) -> Said, text: &str) {
    if text.is_empty() {
        return;
    }
    // Cheap, since an empty string does not allocate.
    let next = kind(String::new());
    match (said.last_mut(), &next) {
        // An empty item marks the end of the thoughts before it.
        (Some(Said::Text(before)), Said::Text(_)) | (Some(Said::Thinking(before)), Said::Thinking(_))
            if !before.is_empty() =>
        {
            before.push_str(text);
        }
        _ => said.push(kind(text.to_owned())),
    }
}
