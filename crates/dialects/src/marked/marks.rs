//! What makes a dialect with delimiters: the delimiters, and what they mean.
use crate::{Call, Setting, shape::Shape};

/// The delimiters of a dialect. Of two that begin at the same place the longer one counts.
pub(crate) struct Marks {
    /// What opens and closes thoughts.
    pub(crate) thinking: &'static [(&'static str, &'static str)],
    /// What opens and closes calls.
    pub(crate) calls: &'static [Block],
    /// Delimiters that mean nothing in the text, and are left out.
    pub(crate) noise: &'static [&'static str],
}

/// What few dialects do.
pub(crate) struct BlockOptions {
    /// What ends the thoughts without closing them: a call, for instance.
    pub(crate) interrupts: &'static [&'static str],
    /// Thoughts are opened no more than once in a reply.
    pub(crate) thinks_once: bool,
    /// With its calls a reply is over: text behind them is the model playing the tool's part. Who knows the tools decides
    /// that from the calls, and loses no text.
    pub(crate) ends_with_calls: bool,
    /// The beginning of a delimiter at the end of the reply is not text.
    pub(crate) drops_cut_sign: bool,
    /// The prompt has opened the thoughts unless it was told not to, and calls end them; a blank line stands between.
    pub(crate) thinks_by_default: bool,
}

impl BlockOptions {
    /// None of it.
    pub(crate) const PLAIN: Self = Self {
        interrupts: &[],
        thinks_once: false,
        ends_with_calls: false,
        drops_cut_sign: false,
        thinks_by_default: false,
    };
}

/// A part of the text that holds calls.
pub(crate) struct Block {
    /// What it begins with.
    pub(crate) open: &'static str,
    /// Where it ends.
    pub(crate) close: Close,
    /// Reads what lies between, or all of it where the delimiters belong to it: the calls, or why it holds none.
    pub(crate) read: fn(&str, &Setting) -> Result<Vec<Call>, String>,
    /// Whether it is read where the reply ended within it; what is read then is half a call. Else it stays text.
    pub(crate) read_when_cut: bool,
}

impl Block {
    /// A block of calls with tags for their parameters, which ends at the first of `until` that stands in no value.
    pub(crate) const fn tagged(
        open: &'static str,
        shape: &'static Shape,
        until: &'static [&'static str],
    ) -> Self {
        Self::tagged_before(open, shape, until, &[])
    }

    /// As [`Block::tagged`]; behind it, one of the delimiters `tail` belongs to it.
    pub(crate) const fn tagged_before(
        open: &'static str,
        shape: &'static Shape,
        until: &'static [&'static str],
        tail: &'static [&'static str],
    ) -> Self {
        Self {
            open,
            close: Close::Tagged { shape, until, tail },
            read: |_, _| Ok(Vec::new()),
            read_when_cut: true,
        }
    }

    pub(super) fn tail(&self) -> &'static [&'static str] {
        match self.close {
            Close::Tagged { tail, .. } => tail,
            _ => &[],
        }
    }
}

/// Where a block ends.
#[derive(Clone, Copy)]
pub(crate) enum Close {
    /// At the first of these delimiters, wherever it stands.
    At(&'static [&'static str]),
    /// At the first of these delimiters outside of a JSON value.
    AfterJson(&'static [&'static str]),
    /// At the first of these delimiters outside of a value; the shape reads it.
    Tagged { shape: &'static Shape, until: &'static [&'static str], tail: &'static [&'static str] },
}
