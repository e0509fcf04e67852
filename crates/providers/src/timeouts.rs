//! How long a server may take, as data.
use std::time::Duration;

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first thing that the model says.
    pub first_byte: Duration,
    /// The same, where the model may think in silence: the server has said that it works on the reply, or it was given
    /// up once because of `first_byte`. Also between two things that the model says, while the server says that the
    /// model thinks.
    pub thinking: Duration,
    /// From one thing that the model says to the next; comments, pings and empty pieces do not count.
    pub idle: Duration,
    /// A reply that says nothing new for so long is ended with [`haft_core::StopReason::Repeating`]: the same words again and
    /// again, numbers that count, white space.
    pub repeating: Duration,
    /// From the first thing that the model says to the end of the reply, which else is ended with
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
