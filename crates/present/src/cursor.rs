//! [`next`]: the position from which to follow a session.
use haft_core::Seq;
use haft_engine::Session;

/// Returns the number of the next entry to be recorded.
pub fn next(session: &Session) -> Seq {
    session.entries().last().map_or(Seq(0), |entry| Seq(entry.seq.0 + 1))
}
