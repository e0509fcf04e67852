//! The integration tests of `haft-sandbox`: confined commands.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod confined;
