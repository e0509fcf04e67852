//! [`Act`]: what a delimiter does in a dialect with blocks.

/// What a delimiter does.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Nothing,
    /// Thoughts end that were never opened.
    Orphan,
    Hush,
    /// A special token that a server may have left there.
    Leak(Leak),
    Think(usize),
    Block(usize),
    Close,
    /// It is read again outside.
    Stop,
    /// JSON begins.
    Json,
}

/// The first token of a reply, or one that stands anywhere in it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Leak {
    First,
    Any,
}
