//! [`Timeouts`]: the timeouts of a server, as data.
use std::time::Duration;

/// The timeouts of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first output of the model.
    pub first_byte: Duration,
    /// Replaces `first_byte` when the model may think in silence: the server has said that it works on the reply, or an
    /// earlier request to it timed out after `first_byte`. Also applies between two outputs of the model, while the
    /// server says that the model thinks.
    pub thinking: Duration,
    /// Maximum time from one piece of the reply to the next; comments, pings and empty pieces do not count.
    pub idle: Duration,
    /// Maximum time without new content. A reply that exceeds it is ended with [`haft_core::StopReason::Repeating`]:
    /// the same words again and again, counting numbers, white space.
    pub repeating: Duration,
    /// From the first piece of the reply to the last one. A longer reply is ended with
    /// [`haft_core::StopReason::Endless`].
    pub reply: Duration,
    /// For a reply that is not streamed.
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
