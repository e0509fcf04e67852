//! The path of a call, through the public interface of the crate.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod approvals;
