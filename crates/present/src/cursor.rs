//! [`next`]: says from where to follow a session.
use haft_core::Seq;
use haft_engine::Session;

/// Returns the number of the entry that is recorded next.
pub fn next(session: &Session) -> Seq {
    session.entries().last().map_or(Seq(0), |entry| Seq(entry.seq.0 + 1))
}
