//! [`Remote`]: the machine that has a session open, if it is another one.
use super::Session;

/// The machine that has a session open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The address of the session, for users.
    pub address: String,
    /// Whether no turn ran when the session was reached.
    pub is_at_rest: bool,
}

impl Remote {
    /// The machine that has `session` open, if it is another one: see [`crate::Engine::attach`].
    pub fn of(session: &Session) -> Option<&Self> {
        session.remote.as_deref()
    }
}
