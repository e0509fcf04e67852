//! Dialects with blocks: a sign begins a block, and its end is found outside of the JSON in it.
//!
//! Unlike [`marked`](super::marked) the JSON is followed strictly, so that `{` alone may begin a block, signs within
//! strings of the JSON do not count, and what stops being JSON is let go at once.
use super::{
    Reader, Said, Setting,
    walk::{Step, Walk},
};

/// The signs of a dialect. Of two that begin at the same place the longer one counts.
pub(super) struct Rules {
    pub(super) thoughts: &'static [Thought],
    pub(super) blocks: &'static [Block],
    /// Signs that mean nothing, and are left out of the text.
    pub(super) noise: &'static [&'static str],
    /// Signs around the blocks: left out where calls are looked for.
    pub(super) frame: &'static [&'static str],
    /// Signs around the blocks after which there is no more text. What stands there is told as a problem.
    pub(super) hush: &'static [&'static str],
    /// Whether there is no more text after a block.
    pub(super) hush_after_blocks: bool,
    /// Whether only the first block counts.
    pub(super) once: bool,
    /// Letters between blocks that mean nothing.
    pub(super) between: &'static [char],
    /// Whether the beginning of a sign at the end of the reply is left out.
    pub(super) signs_are_cut: bool,
}

impl Rules {
    /// `<think>` and nothing else: for a dialect to begin from.
    pub(super) const NONE: Self = Self {
        thoughts: &[THINK],
        blocks: &[],
        noise: &[],
        frame: &[],
        hush: &[],
        hush_after_blocks: false,
        once: false,
        between: &[],
        signs_are_cut: false,
    };
}

/// How thoughts are marked.
pub(super) struct Thought {
    pub(super) open: &'static str,
    pub(super) close: &'static [&'static str],
    /// Whether only a reply may begin with them, because their signs are ordinary words.
    pub(super) first: bool,
    /// Signs that end them without being theirs.
    pub(super) breaks: &'static [&'static str],
    /// Whether an opening sign in the prompt belongs to them.
    pub(super) says_open: bool,
}

impl Thought {
    pub(super) const fn new(open: &'static str, close: &'static [&'static str]) -> Self {
        Self { open, close, first: false, breaks: &[], says_open: false }
    }
}

/// `<think>` … `</think>`.
pub(super) const THINK: Thought = Thought::new("<think>", &["</think>"]);

/// A part of the text that holds calls.
pub(super) struct Block {
    pub(super) open: &'static str,
    /// How many bytes of the opening sign belong to the body.
    pub(super) kept: usize,
    pub(super) json: Json,
    /// Signs that end it.
    pub(super) close: &'static [&'static str],
    /// Signs that end it and are read again.
    pub(super) stop: &'static [&'static str],
    /// Signs before the JSON that look like JSON.
    pub(super) inner: &'static [&'static str],
    pub(super) read: fn(&Body<'_>, &Setting, &mut Vec<Said>),
}

/// Where a block has JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Json {
    None,
    /// It may begin with it.
    First,
    /// Anywhere.
    Some,
    /// Anywhere, and the block ends with it.
    Last,
}

impl Block {
    /// A block between two signs, with JSON.
    pub(super) const fn new(
        open: &'static str,
        close: &'static [&'static str],
        read: fn(&Body<'_>, &Setting, &mut Vec<Said>),
    ) -> Self {
        Self { open, kept: 0, json: Json::Some, close, stop: &[], inner: &[], read }
    }
}

/// What a block holds.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    pub(super) open: &'static str,
    pub(super) text: &'a str,
    /// The sign that ended it.
    pub(super) close: &'static str,
    /// Whether the reply ended within it.
    pub(super) cut: bool,
    /// Whether its JSON broke off, though the reply went on.
    pub(super) broken: bool,
}

impl Body<'_> {
    /// It stays text.
    pub(super) fn stays(&self, why: impl Into<String>, said: &mut Vec<Said>) {
        say(said, Said::Text, &format!("{}{}{}", self.open, self.text, self.close));
        said.push(Said::Problem(why.into()));
    }

    /// It does not become text, but is told with the problem.
    pub(super) fn told(&self, why: &str, said: &mut Vec<Said>) {
        said.push(Said::Problem(format!("{why}: {}{}{}", self.open, self.text, self.close)));
    }
}

/// A reader of a dialect with blocks.
pub(super) fn reader(rules: &'static Rules, setting: &Setting) -> Box<dyn Reader> {
    let signs = Signs::new(opening(rules, setting));
    let mut reader = Blocks {
        rules,
        setting: setting.clone(),
        signs,
        inner: rules.blocks.iter().map(inner).collect(),
        within: Within::Text,
        buffer: String::new(),
        at: 0,
        begun: false,
        is_done: false,
        between: false,
        hushed: None,
        open: None,
    };
    reader.open = reader.opened_by_prompt();
    if let Some(thought) = reader.open {
        reader.think(thought);
    }
    Box::new(reader)
}

/// The signs that count in the text.
fn opening(rules: &Rules, setting: &Setting) -> Vec<(&'static str, Act)> {
    let mut signs: Vec<(&'static str, Act)> = rules.noise.iter().map(|sign| (*sign, Act::Nothing)).collect();
    if setting.split_thinking {
        for (number, thought) in rules.thoughts.iter().enumerate() {
            signs.push((thought.open, Act::Think(number)));
            // A thought that was never opened has ended.
            let orphans = thought.close.iter().filter(|_| !thought.first);
            signs.extend(orphans.map(|close| (*close, Act::Nothing)));
        }
    }
    if setting.find_calls {
        signs.extend(rules.frame.iter().map(|sign| (*sign, Act::Nothing)));
        signs.extend(rules.hush.iter().map(|sign| (*sign, Act::Hush)));
        signs.extend(rules.blocks.iter().enumerate().map(|(number, block)| (block.open, Act::Block(number))));
    }
    signs
}

/// The signs that count within a block.
fn inner(block: &Block) -> Signs {
    let signs = |signs: &'static [&'static str], act| signs.iter().map(move |sign| (*sign, act));
    let json: &[&str] = if matches!(block.json, Json::Some | Json::Last) { &["{", "["] } else { &[] };
    let closing = signs(block.close, Act::Close).chain(signs(block.stop, Act::Stop));
    Signs::new(closing.chain(signs(block.inner, Act::Nothing)).chain(signs(json, Act::Json)).collect())
}

/// What a sign does.
#[derive(Clone, Copy)]
enum Act {
    Nothing,
    Hush,
    Think(usize),
    Block(usize),
    Close,
    /// It is read again outside.
    Stop,
    /// JSON begins.
    Json,
}

/// Signs by the bytes that they begin with.
struct Signs {
    signs: Vec<(&'static str, Act)>,
    first: [bool; 256],
}

/// What a search came to.
enum Found {
    Sign {
        at: usize,
        length: usize,
        act: Act,
        sign: &'static str,
    },
    /// From this byte on it may become a sign; before it there is none.
    Open(usize),
}

impl Signs {
    fn new(signs: Vec<(&'static str, Act)>) -> Self {
        let mut first = [false; 256];
        for (sign, _) in &signs {
            first[usize::from(sign.as_bytes()[0])] = true;
        }
        Self { signs, first }
    }

    /// `whole`: nothing comes after `text`.
    fn find(&self, text: &str, from: usize, whole: bool) -> Found {
        let bytes = text.as_bytes();
        let mut at = from;
        while let Some(skipped) = bytes[at..].iter().position(|byte| self.first[usize::from(*byte)]) {
            at += skipped;
            let rest = &bytes[at..];
            let becomes = |(sign, _): &&(&'static str, Act)| {
                sign.len() > rest.len() && sign.as_bytes().starts_with(rest)
            };
            if !whole && self.signs.iter().any(|sign| becomes(&sign)) {
                return Found::Open(at);
            }
            let fits = self.signs.iter().filter(|(sign, _)| rest.starts_with(sign.as_bytes()));
            if let Some((sign, act)) = fits.max_by_key(|(sign, _)| sign.len()) {
                return Found::Sign { at, length: sign.len(), act: *act, sign };
            }
            at += 1;
        }
        Found::Open(text.len())
    }
}

struct Blocks {
    rules: &'static Rules,
    setting: Setting,
    /// Those that count in the text.
    signs: Signs,
    /// Those that count in each of the blocks.
    inner: Vec<Signs>,
    within: Within,
    buffer: String,
    /// What lies before this byte of the buffer was said.
    at: usize,
    /// Whether there was text already.
    begun: bool,
    /// Whether no more blocks count.
    is_done: bool,
    between: bool,
    /// What was written where there is no text.
    hushed: Option<String>,
    /// The thought that the prompt opened.
    open: Option<usize>,
}

/// Where the reader stands.
enum Within {
    Text,
    Thoughts(Signs),
    Block(Inside),
}

struct Inside {
    /// The number of the block.
    number: usize,
    /// As far as the buffer was searched.
    seen: usize,
    walk: Option<Walk>,
    /// Whether the JSON may still begin.
    before: bool,
}

impl Reader for Blocks {
    fn push(&mut self, text: &str, said: &mut Vec<Said>) {
        if let Some(thought) = self.open.take().map(|thought| &self.rules.thoughts[thought])
            && thought.says_open
        {
            say(said, Said::Thinking, &format!("{}\n", thought.open));
        }
        // Half of the buffer at a time, so that each byte is moved a bounded number of times.
        if !matches!(self.within, Within::Block(_)) && self.at > self.buffer.len() / 2 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.push_str(text);
        while self.step(false, said) {}
    }

    fn end(&mut self, said: &mut Vec<Said>) {
        let rest = &self.buffer[self.at..];
        let in_block = matches!(self.within, Within::Block(_));
        if self.rules.signs_are_cut && !in_block && rest.chars().any(char::is_alphabetic) {
            said.push(Said::Problem(format!("the reply ends within a sign: {rest}")));
            self.at = self.buffer.len();
        }
        while self.step(true, said) {}
        self.tell_hushed(said);
    }
}

impl Blocks {
    fn opened_by_prompt(&self) -> Option<usize> {
        if self.rules.thoughts.is_empty() || !self.setting.split_thinking {
            return None;
        }
        let prompt = &self.setting.prompt_end;
        let is_open = |thought: &Thought| {
            let closed = thought.close.iter().filter_map(|close| prompt.rfind(close)).max();
            prompt.rfind(thought.open).is_some_and(|open| closed.is_none_or(|closed| closed < open))
        };
        match self.setting.begins_thinking {
            Some(begins) => begins.then_some(0),
            None => self.rules.thoughts.iter().position(is_open),
        }
    }

    /// Whether there may be more to find in what is there.
    fn step(&mut self, whole: bool, said: &mut Vec<Said>) -> bool {
        match &mut self.within {
            Within::Text => self.in_text(whole, said),
            Within::Thoughts(signs) => {
                let (to, after, ended) = match signs.find(&self.buffer, self.at, whole) {
                    Found::Sign { at, length, act: Act::Close, .. } => (at, at + length, true),
                    Found::Sign { at, .. } => (at, at, true),
                    Found::Open(at) => (at, at, false),
                };
                say(said, Said::Thinking, &self.buffer[self.at..to]);
                self.at = after;
                if ended {
                    self.within = Within::Text;
                }
                ended
            }
            Within::Block(inside) => {
                let number = inside.number;
                let (json, signs) = (self.rules.blocks[number].json, &self.inner[number]);
                let Some(end) = inside.end(json, signs, &self.buffer, whole) else { return false };
                self.leave_block(end, said);
                true
            }
        }
    }

    fn in_text(&mut self, whole: bool, said: &mut Vec<Said>) -> bool {
        if self.between {
            let rest = &self.buffer[self.at..];
            let left =
                rest.trim_start_matches(|c: char| c.is_whitespace() || self.rules.between.contains(&c));
            self.at += rest.len() - left.len();
            self.between = left.is_empty();
        }
        match self.signs.find(&self.buffer, self.at, whole) {
            Found::Open(at) => {
                self.say_until(at, said);
                false
            }
            Found::Sign { at, length, act, .. } => {
                let is_first = !self.begun && self.buffer[self.at..at].trim().is_empty();
                self.say_until(at, said);
                self.act(act, length, is_first, said);
                true
            }
        }
    }

    fn act(&mut self, act: Act, length: usize, is_first: bool, said: &mut Vec<Said>) {
        match act {
            Act::Think(thought) if is_first || !self.rules.thoughts[thought].first => {
                self.at += length;
                self.think(thought);
            }
            Act::Block(block) if !self.is_done => {
                self.tell_hushed(said);
                self.at += length - self.rules.blocks[block].kept;
                let inside = Inside { number: block, seen: self.at, walk: None, before: true };
                self.within = Within::Block(inside);
            }
            Act::Think(_) | Act::Block(_) => self.say_until(self.at + length, said),
            Act::Hush => {
                self.at += length;
                self.hushed.get_or_insert_default();
            }
            _ => self.at += length,
        }
    }

    fn think(&mut self, thought: usize) {
        let thought = &self.rules.thoughts[thought];
        let closing = thought.close.iter().map(|sign| (*sign, Act::Close));
        let breaks = thought.breaks.iter().filter(|_| self.setting.find_calls);
        self.within =
            Within::Thoughts(Signs::new(closing.chain(breaks.map(|sign| (*sign, Act::Stop))).collect()));
    }

    fn leave_block(&mut self, end: End, said: &mut Vec<Said>) {
        let Within::Block(Inside { number, .. }) = std::mem::replace(&mut self.within, Within::Text) else {
            return;
        };
        let block = &self.rules.blocks[number];
        let open = &block.open[..block.open.len() - block.kept];
        let text = &self.buffer[self.at..end.body];
        let body = Body { open, text, close: end.close, cut: end.cut, broken: end.broken };
        let mut read = Vec::new();
        (block.read)(&body, &self.setting, &mut read);
        self.at = end.after;
        let holds_calls = read.iter().any(|said| matches!(said, Said::Call(_)));
        self.is_done |= self.rules.once && holds_calls;
        self.between = !self.rules.between.is_empty() && holds_calls;
        match read.iter().any(|said| matches!(said, Said::Text(_))) {
            true => self.begun = true,
            false if self.rules.hush_after_blocks => drop(self.hushed.get_or_insert_default()),
            false => {}
        }
        said.append(&mut read);
    }

    fn say_until(&mut self, end: usize, said: &mut Vec<Said>) {
        let text = &self.buffer[self.at..end];
        match &mut self.hushed {
            Some(hushed) => hushed.push_str(text),
            None => {
                self.begun |= !text.trim().is_empty();
                say(said, Said::Text, text);
            }
        }
        self.at = end;
    }

    fn tell_hushed(&mut self, said: &mut Vec<Said>) {
        let hushed = self.hushed.as_mut().map(std::mem::take).unwrap_or_default();
        if !hushed.trim().is_empty() {
            said.push(Said::Problem(format!("this stands where only calls are expected: {}", hushed.trim())));
        }
    }
}

/// Where a block ends.
struct End {
    body: usize,
    after: usize,
    close: &'static str,
    cut: bool,
    broken: bool,
}

impl Inside {
    /// `None`: not yet.
    fn end(&mut self, json: Json, signs: &Signs, buffer: &str, whole: bool) -> Option<End> {
        let end = |body, after| End { body, after, close: "", cut: false, broken: false };
        let cut = || whole.then_some(End { cut: true, ..end(buffer.len(), buffer.len()) });
        if json == Json::First && self.before {
            let rest = &buffer[self.seen..];
            self.seen += rest.len() - rest.trim_start().len();
            match buffer[self.seen..].chars().next() {
                None => return cut(),
                Some('{' | '[') => self.walk = Some(Walk::default()),
                Some(_) => {}
            }
            self.before = false;
        }
        loop {
            if let Some(walk) = &mut self.walk {
                let (stopped, broken) = match walk.go(buffer, self.seen) {
                    Step::More => {
                        self.seen = buffer.len();
                        return cut();
                    }
                    Step::Done(stopped) => (stopped, false),
                    Step::Wrong(stopped) => (stopped, true),
                };
                (self.walk, self.before, self.seen) = (None, false, stopped);
                if json == Json::Last {
                    return Some(End { broken, ..end(stopped, stopped) });
                }
            }
            let (at, length, act, sign) = match signs.find(buffer, self.seen, whole) {
                Found::Sign { at, length, act, sign } => (at, length, act, sign),
                Found::Open(at) => {
                    self.seen = at;
                    return cut();
                }
            };
            self.seen = at + length;
            match act {
                Act::Json if self.before => {
                    self.seen = at;
                    self.walk = Some(Walk::default());
                }
                Act::Close => return Some(End { close: sign, ..end(at, at + length) }),
                Act::Stop => return Some(end(at, at)),
                _ => {}
            }
        }
    }
}

/// Adds text or thoughts, to the last that was said if it is of the same kind.
pub(super) fn say(said: &mut Vec<Said>, kind: fn(String) -> Said, text: &str) {
    if text.is_empty() {
        return;
    }
    let next = kind(String::new());
    match (said.last_mut(), &next) {
        (Some(Said::Text(before)), Said::Text(_)) | (Some(Said::Thinking(before)), Said::Thinking(_)) => {
            before.push_str(text);
        }
        _ => said.push(kind(text.to_owned())),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::dialects::{DIALECTS, Dialect, Said, Setting, dialect, read};
    use haft_core::ToolSpec;
    use serde_json::json;

    /// What a dialect says to each text, whole and letter by letter: text as it is, thoughts in `~…~`, calls as
    /// `«name arguments»`, and `!` for a problem.
    pub(in crate::dialects) fn check(name: &str, table: &[(&str, &str)]) {
        check_with(name, &Setting { tools: [tool()].into(), ..Setting::default() }, table);
    }

    pub(in crate::dialects) fn check_with(name: &str, setting: &Setting, table: &[(&str, &str)]) {
        let dialect = dialect(name).unwrap();
        for (text, expected) in table {
            let whole = read(dialect, setting, [*text]);
            assert_eq!(shown(&whole), *expected, "{name}: {text}");
            for length in [1, 2, 7] {
                assert_eq!(
                    in_pieces(dialect, setting, text, length),
                    whole,
                    "{name}, cut by {length}: {text}"
                );
            }
        }
    }

    fn in_pieces(dialect: &Dialect, setting: &Setting, text: &str, length: usize) -> Vec<Said> {
        let letters: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = letters.chunks(length).map(|piece| piece.iter().collect()).collect();
        read(dialect, setting, pieces.iter().map(String::as_str))
    }

    fn shown(said: &[Said]) -> String {
        let one = |said: &Said| match said {
            Said::Text(text) => text.clone(),
            Said::Thinking(text) => format!("~{text}~"),
            Said::Call(call) => format!("«{} {}»", call.name, call.arguments),
            Said::Problem(_) => "!".to_owned(),
        };
        said.iter().map(one).collect()
    }

    fn tool() -> ToolSpec {
        let parameters = json!({"properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}});
        ToolSpec { name: "look".into(), description: String::new(), parameters, examples: Default::default() }
    }

    /// Much of what may begin something and never does takes time in proportion, and none of it is lost.
    #[test]
    fn long_texts_without_an_end_are_read_once() {
        let nasty = [
            "<",
            "[",
            "{",
            "```",
            "{\"a\":",
            "[TOOL_CALLS]",
            "<|tool_call_begin|>",
            "<think>",
            "<tool_call>{",
        ];
        for dialect in DIALECTS {
            for part in nasty {
                let text = part.repeat(5_000 / part.len());
                let whole = read(dialect, &Setting::default(), [text.as_str()]);
                let pieces = in_pieces(dialect, &Setting::default(), &text, 1);
                assert_eq!(pieces, whole, "{}: {part}", dialect.name);
            }
        }
    }
}
