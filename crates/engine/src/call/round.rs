//! The calls of one reply.
use haft_core::Channel;

/// What the calls of one reply have in common.
pub(crate) struct Round {
    /// How often the same calls were made in a row.
    pub(crate) repeats: usize,
    /// Where the conversation takes place.
    pub(crate) channel: Option<Channel>,
    /// The place of the reply in the journal.
    pub(crate) message: String,
}
