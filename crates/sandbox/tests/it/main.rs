//! The integration tests of `haft-sandbox`: commands and programs, confined and not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod confined;
mod left_over;
mod program;
mod shell;
