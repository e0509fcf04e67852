//! How long a server may take, as data.
use std::time::Duration;

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first thing that the model says.
    pub first_byte: Duration,
    /// Replaces `first_byte` when the model may think in silence: the server has said that it works on the reply, or an
    /// earlier request for it ended because of `first_byte`. Also between two things that the model says, while the
    /// server says that the model thinks.
    pub thinking: Duration,
    /// From one piece of the reply to the next; comments, pings and empty pieces do not count.
    pub idle: Duration,
    /// A reply that brings nothing new for this time is ended with [`haft_core::StopReason::Repeating`]: the same words
    /// again and again, numbers that count, white space.
    pub repeating: Duration,
    /// From the first piece of the reply to its last one. A longer reply is ended with
    /// [`haft_core::StopReason::Endless`].
    pub reply: Duration,
    /// For a reply that comes in one piece.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(60),
            thinking: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            repeating: Duration::from_secs(120),
            reply: Duration::from_secs(3_600),
            whole: Duration::from_secs(600),
        }
    }
}
