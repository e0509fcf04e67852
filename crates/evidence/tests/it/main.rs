//! The integration tests of `haft-evidence`: what a reply claims, and what the session shows of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod claims;
