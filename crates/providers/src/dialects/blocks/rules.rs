//! What makes a dialect with blocks: its signs, and what they mean.
use super::say;
use crate::dialects::{Said, Setting};

/// The signs of a dialect. Of two that begin at the same place the longer one counts.
pub(in crate::dialects) struct Rules {
    pub(in crate::dialects) thoughts: &'static [Thought],
    pub(in crate::dialects) blocks: &'static [Block],
    /// Signs that mean nothing, and are left out of the text.
    pub(in crate::dialects) noise: &'static [&'static str],
    /// Signs around the blocks: left out where calls are looked for.
    pub(in crate::dialects) frame: &'static [&'static str],
    /// Signs around the blocks after which there is no more text. What stands there is told as a problem.
    pub(in crate::dialects) hush: &'static [&'static str],
    /// Whether there is no more text after a block.
    pub(in crate::dialects) hush_after_blocks: bool,
    /// Whether only the first block counts.
    pub(in crate::dialects) once: bool,
    /// Letters between blocks that mean nothing.
    pub(in crate::dialects) between: &'static [char],
    /// Whether the beginning of a sign at the end of the reply is left out.
    pub(in crate::dialects) signs_are_cut: bool,
    /// Whether a reply that is nothing but the beginning or the end of the words that open its thoughts is left out: the
    /// prompt may end within them, and the reply end before there is any thought.
    pub(in crate::dialects) words_are_cut: bool,
}

impl Rules {
    /// `<think>` and nothing else: for a dialect to begin from.
    pub(in crate::dialects) const NONE: Self = Self {
        thoughts: &[THINK],
        blocks: &[],
        noise: &[],
        frame: &[],
        hush: &[],
        hush_after_blocks: false,
        once: false,
        between: &[],
        signs_are_cut: false,
        words_are_cut: false,
    };
}

/// How thoughts are marked.
pub(in crate::dialects) struct Thought {
    pub(in crate::dialects) open: &'static str,
    pub(in crate::dialects) close: &'static [&'static str],
    /// Whether only a reply may begin with them, because their signs are ordinary words.
    pub(in crate::dialects) first: bool,
    /// Signs that end them without being theirs.
    pub(in crate::dialects) breaks: &'static [&'static str],
    /// Whether an opening sign in the prompt belongs to them.
    pub(in crate::dialects) says_open: bool,
}

impl Thought {
    pub(in crate::dialects) const fn new(open: &'static str, close: &'static [&'static str]) -> Self {
        Self { open, close, first: false, breaks: &[], says_open: false }
    }
}

/// `<think>` … `</think>`.
pub(in crate::dialects) const THINK: Thought = Thought::new("<think>", &["</think>"]);

/// A part of the text that holds calls.
pub(in crate::dialects) struct Block {
    pub(in crate::dialects) open: &'static str,
    /// How many bytes of the opening sign belong to the body.
    pub(in crate::dialects) kept: usize,
    pub(in crate::dialects) json: Json,
    /// Signs that end it.
    pub(in crate::dialects) close: &'static [&'static str],
    /// Signs that end it and are read again.
    pub(in crate::dialects) stop: &'static [&'static str],
    /// Signs before the JSON that look like JSON.
    pub(in crate::dialects) inner: &'static [&'static str],
    pub(in crate::dialects) read: fn(&Body<'_>, &Setting, &mut Vec<Said>),
}

/// Where a block has JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::dialects) enum Json {
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
    pub(in crate::dialects) const fn new(
        open: &'static str,
        close: &'static [&'static str],
        read: fn(&Body<'_>, &Setting, &mut Vec<Said>),
    ) -> Self {
        Self { open, kept: 0, json: Json::Some, close, stop: &[], inner: &[], read }
    }
}

/// What a block holds.
#[derive(Clone, Copy)]
pub(in crate::dialects) struct Body<'a> {
    pub(in crate::dialects) open: &'static str,
    pub(in crate::dialects) text: &'a str,
    /// The sign that ended it.
    pub(in crate::dialects) close: &'static str,
    /// Whether the reply ended within it.
    pub(in crate::dialects) cut: bool,
    /// Whether its JSON broke off, though the reply went on.
    pub(in crate::dialects) broken: bool,
}

impl Body<'_> {
    /// It stays text.
    pub(in crate::dialects) fn stays(&self, why: impl Into<String>, said: &mut Vec<Said>) {
        say(said, Said::Text, &format!("{}{}{}", self.open, self.text, self.close));
        said.push(Said::Problem(why.into()));
    }

    /// It does not become text, but is told with the problem.
    pub(in crate::dialects) fn told(&self, why: &str, said: &mut Vec<Said>) {
        said.push(Said::Problem(format!("{why}: {}{}{}", self.open, self.text, self.close)));
    }
}
