//! [`Grammar`]: what makes a dialect with delimiters.
use super::say;
use crate::{Call, Problem, Said, Setting, ends::Json, tagged_calls::Shape};

/// How a dialect is read: its delimiters, and what they mean. If two begin at the same place, the longer one wins.
pub(crate) struct Grammar {
    pub(crate) thoughts: &'static [Thought],
    pub(crate) blocks: &'static [Block],
    /// Delimiters that mean nothing, and are left out of the text.
    pub(crate) noise: &'static [&'static str],
    /// Delimiters around the blocks: left out where calls are looked for.
    pub(crate) frame: &'static [&'static str],
    /// Delimiters around the blocks after which there is no more text. Text after these blocks is reported as a
    /// problem; it stays text if the tools are known.
    pub(crate) hush: &'static [&'static str],
    /// Whether there is no more text after a block; as with `hush`.
    pub(crate) hush_after_blocks: bool,
    /// Whether only the first block counts.
    pub(crate) once: bool,
    /// Letters between blocks that mean nothing.
    pub(crate) between: &'static [char],
    /// Whether text between two calls is a problem; behind the last one it is text.
    pub(crate) has_only_calls_between: bool,
    /// Delimiters that mean nothing, and before which text behind a call is a problem: the model continues before it
    /// has read the result.
    pub(crate) turn_ends: &'static [&'static str],
    /// Whether a reply opens its thoughts no more than once.
    pub(crate) thinks_once: bool,
    /// Whether the prompt has opened the thoughts unless it was told not to, and calls end them; a blank line is
    /// between.
    pub(crate) thinks_by_default: bool,
    /// A delimiter with which the prompt may end, so that it is before the reply.
    pub(crate) prompted: &'static str,
    /// Marks that are blanks.
    pub(crate) blank_marks: &'static [(char, &'static str)],
    /// What becomes of the beginning of a delimiter at the end of the reply.
    pub(crate) cut: CutDelimiter,
    /// Whether a reply that is nothing but the beginning or the end of the words that open its thoughts is left out: the
    /// prompt may end within them, and the reply end before there is any thought.
    pub(crate) words_are_cut: bool,
}

impl Grammar {
    /// `<think>` and these blocks.
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

/// What the beginning of a delimiter at the end of a reply is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CutDelimiter {
    Text,
    /// It is reported as a problem if it has letters.
    ProblemWithLetters,
    /// It is reported as a problem.
    Problem,
}

impl CutDelimiter {
    /// Whether `rest` is told as a problem.
    pub(crate) fn is_problem(self, rest: &str) -> bool {
        match self {
            Self::Text => false,
            Self::ProblemWithLetters => rest.chars().any(char::is_alphabetic),
            Self::Problem => !rest.is_empty(),
        }
    }
}

/// How thoughts are marked.
pub(crate) struct Thought {
    pub(crate) open: &'static str,
    pub(crate) close: &'static [&'static str],
    /// Whether only a reply may begin with them, because their delimiters are ordinary words.
    pub(crate) first: bool,
    /// Delimiters that end them without being theirs.
    pub(crate) breaks: &'static [&'static str],
    /// A label that thoughts begin with; it is left out.
    pub(crate) label: &'static str,
    /// Whether an opening delimiter in the prompt belongs to them.
    pub(crate) says_open: bool,
}

impl Thought {
    pub(crate) const fn new(open: &'static str, close: &'static [&'static str]) -> Self {
        Self { open, close, first: false, breaks: &[], label: "", says_open: false }
    }

    /// Ended by these delimiters, too.
    pub(crate) const fn until(self, breaks: &'static [&'static str]) -> Self {
        Self { breaks, ..self }
    }
}

/// `<think>` … `</think>`.
pub(crate) const THINK: Thought = Thought::new("<think>", &["</think>"]);

/// A part of the text that holds calls.
pub(crate) struct Block {
    pub(crate) open: &'static str,
    /// How many bytes of the opening delimiter belong to the body.
    pub(crate) kept: usize,
    pub(crate) json: Json,
    /// Delimiters that end it.
    pub(crate) close: &'static [&'static str],
    /// Delimiters that end it and are read again.
    pub(crate) stop: &'static [&'static str],
    /// Delimiters before the JSON that look like JSON.
    pub(crate) inner: &'static [&'static str],
    /// The quote of its strings; empty if the search for the end need not know them.
    pub(crate) quote: &'static str,
    /// How its calls are written, where it has tags; then `read` is not asked.
    pub(crate) tags: Option<&'static Shape>,
    /// Delimiters right behind it that belong to it.
    pub(crate) tail: &'static [&'static str],
    pub(crate) read: fn(&Body<'_>, &Setting, &mut Vec<Said>),
}

impl Block {
    /// A block between two delimiters, with JSON.
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

    /// A block of calls with tags for their parameters, which ends at the first of `close` that is in no value.
    pub(crate) const fn tagged(
        open: &'static str,
        shape: &'static Shape,
        close: &'static [&'static str],
    ) -> Self {
        Self { tags: Some(shape), ..Self::new(open, close, |_, _, _| {}) }
    }

    /// Makes one of these delimiters, if it follows directly, a part of the block.
    pub(crate) const fn tail(self, tail: &'static [&'static str]) -> Self {
        Self { tail, ..self }
    }

    /// A block that ends with its JSON.
    pub(crate) const fn json_only(open: &'static str, read: fn(&Body<'_>, &Setting, &mut Vec<Said>)) -> Self {
        Self { json: Json::Last, ..Self::new(open, &[], read) }
    }
}

/// What a block holds.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    pub(crate) open: &'static str,
    pub(crate) text: &'a str,
    /// The delimiter that ended it.
    pub(crate) close: &'static str,
    /// Whether the reply ended within it.
    pub(crate) cut: bool,
    /// Whether its JSON broke off, though the reply continued.
    pub(crate) broken: bool,
}

impl Body<'_> {
    /// Says the calls that were read; what cannot be read stays text.
    pub(crate) fn say(&self, read: Result<Vec<Call>, Problem>, said: &mut Vec<Said>) {
        match read {
            Ok(calls) => said.extend(calls.into_iter().map(Said::Call)),
            Err(why) => self.stays(why, said),
        }
    }

    /// Keeps the block as text, and reports the problem.
    pub(crate) fn stays(&self, why: impl Into<Problem>, said: &mut Vec<Said>) {
        say(said, Said::Text, &format!("{}{}{}", self.open, self.text, self.close));
        said.push(Said::Problem(why.into()));
    }

    /// Drops the block's text, which is quoted in the problem.
    pub(crate) fn told(&self, why: impl Into<Problem>, said: &mut Vec<Said>) {
        let Problem { kind, text } = why.into();
        let text = format!("{text}: {}{}{}", self.open, self.text, self.close);
        said.push(Said::Problem(Problem { kind, text }));
    }
}
