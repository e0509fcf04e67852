//! [`Grammar`]: the description of a dialect with delimiters.
use super::say;
use crate::{Call, Problem, Said, Setting, ends::Json, tagged_calls::Shape};

/// How to parse a dialect: its delimiters and their meanings. If two begin at the same place, the longer one wins.
pub(crate) struct Grammar {
    pub(crate) thoughts: &'static [Thought],
    pub(crate) blocks: &'static [Block],
    /// Delimiters without meaning, which are removed from the text.
    pub(crate) noise: &'static [&'static str],
    /// Delimiters around the blocks, which are removed if calls are parsed.
    pub(crate) frame: &'static [&'static str],
    /// Delimiters around the blocks after which no text is allowed. If the tools are unknown, text after these blocks
    /// is reported as a problem; otherwise it stays text.
    pub(crate) hush: &'static [&'static str],
    /// Whether no text is allowed after a block; handled like `hush`.
    pub(crate) hush_after_blocks: bool,
    /// Whether only the first block counts.
    pub(crate) once: bool,
    /// Characters between blocks that are ignored.
    pub(crate) between: &'static [char],
    /// Whether text between two calls is a problem; after the last call, it stays text.
    pub(crate) has_only_calls_between: bool,
    /// Delimiters without meaning before which text after a call is a problem: the model continues without having read
    /// the result.
    pub(crate) turn_ends: &'static [&'static str],
    /// Whether a reply opens its thoughts at most once.
    pub(crate) thinks_once: bool,
    /// Whether the prompt has opened the thoughts unless it says otherwise, and calls end them, after a blank line.
    pub(crate) thinks_by_default: bool,
    /// A delimiter with which the prompt may end, so that it is missing at the beginning of the reply.
    pub(crate) prompted: &'static str,
    /// Marks that represent blanks.
    pub(crate) blank_marks: &'static [(char, &'static str)],
    /// How to handle a partial delimiter at the end of the reply.
    pub(crate) cut: CutDelimiter,
    /// Whether a reply that only consists of a prefix or a suffix of the words that open its thoughts is dropped: the
    /// prompt may end within these words, and the reply may end before any thought.
    pub(crate) words_are_cut: bool,
}

impl Grammar {
    /// A grammar with `<think>` and these blocks.
    pub(crate) const fn new(blocks: &'static [Block]) -> Self {
        Self {
            thoughts: &[THINK],
            blocks,
            noise: &[],
            frame: &[],
            hush: &[],
            hush_after_blocks: false,
            once: false,
            between: &[],
            has_only_calls_between: false,
            turn_ends: &[],
            thinks_once: false,
            thinks_by_default: false,
            prompted: "",
            blank_marks: &[],
            cut: CutDelimiter::Text,
            words_are_cut: false,
        }
    }

    pub(crate) const fn thoughts(self, thoughts: &'static [Thought]) -> Self {
        Self { thoughts, ..self }
    }

    pub(crate) const fn noise(self, noise: &'static [&'static str]) -> Self {
        Self { noise, ..self }
    }

    pub(crate) const fn frame(self, frame: &'static [&'static str]) -> Self {
        Self { frame, ..self }
    }

    pub(crate) const fn between(self, between: &'static [char]) -> Self {
        Self { between, ..self }
    }

    pub(crate) const fn hush_after_blocks(self) -> Self {
        Self { hush_after_blocks: true, ..self }
    }
}

/// How a partial delimiter at the end of a reply is handled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CutDelimiter {
    Text,
    /// Reported as a problem if it contains letters.
    ProblemWithLetters,
    /// Reported as a problem.
    Problem,
}

impl CutDelimiter {
    /// Whether the partial delimiter `rest` is reported as a problem.
    pub(crate) fn is_problem(self, rest: &str) -> bool {
        match self {
            Self::Text => false,
            Self::ProblemWithLetters => rest.chars().any(char::is_alphabetic),
            Self::Problem => !rest.is_empty(),
        }
    }
}

/// The delimiters of thoughts.
pub(crate) struct Thought {
    pub(crate) open: &'static str,
    pub(crate) close: &'static [&'static str],
    /// Whether thoughts are only recognized at the beginning of a reply, because their delimiters are ordinary words.
    pub(crate) first: bool,
    /// Foreign delimiters that end the thoughts, too.
    pub(crate) breaks: &'static [&'static str],
    /// A label at the beginning of thoughts, which is removed.
    pub(crate) label: &'static str,
    /// Whether an opening delimiter in the prompt is emitted as part of the thoughts.
    pub(crate) says_open: bool,
}

impl Thought {
    pub(crate) const fn new(open: &'static str, close: &'static [&'static str]) -> Self {
        Self { open, close, first: false, breaks: &[], label: "", says_open: false }
    }

    /// Adds delimiters that end the thoughts, too.
    pub(crate) const fn until(self, breaks: &'static [&'static str]) -> Self {
        Self { breaks, ..self }
    }
}

/// `<think>` … `</think>`.
pub(crate) const THINK: Thought = Thought::new("<think>", &["</think>"]);

/// A part of a reply that contains calls.
pub(crate) struct Block {
    pub(crate) open: &'static str,
    /// Number of bytes at the end of the opening delimiter that belong to the body.
    pub(crate) kept: usize,
    pub(crate) json: Json,
    /// Delimiters that end the block.
    pub(crate) close: &'static [&'static str],
    /// Delimiters that end the block and are parsed again.
    pub(crate) stop: &'static [&'static str],
    /// Delimiters before the JSON that look like JSON.
    pub(crate) inner: &'static [&'static str],
    /// The quote of strings; empty if strings are irrelevant to finding the end.
    pub(crate) quote: &'static str,
    /// The form of calls with tags; if set, `read` is not used.
    pub(crate) tags: Option<&'static Shape>,
    /// Delimiters directly after the block that belong to it.
    pub(crate) tail: &'static [&'static str],
    pub(crate) read: fn(&Body<'_>, &Setting, &mut Vec<Said>),
}

impl Block {
    /// A block with JSON between two delimiters.
    pub(crate) const fn new(
        open: &'static str,
        close: &'static [&'static str],
        read: fn(&Body<'_>, &Setting, &mut Vec<Said>),
    ) -> Self {
        Self {
            open,
            kept: 0,
            json: Json::Some,
            close,
            stop: &[],
            inner: &[],
            quote: "",
            tags: None,
            tail: &[],
            read,
        }
    }

    /// A block of calls with tags for parameters. It ends at the first of `close` outside of values.
    pub(crate) const fn tagged(
        open: &'static str,
        shape: &'static Shape,
        close: &'static [&'static str],
    ) -> Self {
        Self { tags: Some(shape), ..Self::new(open, close, |_, _, _| {}) }
    }

    /// Adds delimiters that belong to the block if they follow it directly.
    pub(crate) const fn tail(self, tail: &'static [&'static str]) -> Self {
        Self { tail, ..self }
    }

    /// A block that ends at the end of its JSON.
    pub(crate) const fn json_only(open: &'static str, read: fn(&Body<'_>, &Setting, &mut Vec<Said>)) -> Self {
        Self { json: Json::Last, ..Self::new(open, &[], read) }
    }
}

/// The content of a block.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    pub(crate) open: &'static str,
    pub(crate) text: &'a str,
    /// The delimiter that ended it.
    pub(crate) close: &'static str,
    /// Whether the reply ended within the block.
    pub(crate) cut: bool,
    /// Whether the JSON became invalid, although the reply continued.
    pub(crate) broken: bool,
}

impl Body<'_> {
    /// Emits the parsed calls; if parsing failed, the block stays text.
    pub(crate) fn say(&self, read: Result<Vec<Call>, Problem>, said: &mut Vec<Said>) {
        match read {
            Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
            Err(why) => self.stays(why, said),
        }
    }

    /// Emits the block as text, and reports the problem.
    pub(crate) fn stays(&self, why: impl Into<Problem>, said: &mut Vec<Said>) {
        say(said, Said::Text, &format!("{}{}{}", self.open, self.text, self.close));
        said.push(Said::Problem(why.into()));
    }

    /// Reports the problem with the block's text, which is not emitted otherwise.
    pub(crate) fn told(&self, why: impl Into<Problem>, said: &mut Vec<Said>) {
        let Problem { kind, text } = why.into();
        let text = format!("{text}: {}{}{}", self.open, self.text, self.close);
        said.push(Said::Problem(Problem { kind, text }));
    }
}
