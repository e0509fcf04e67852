//! The integration tests of `haft-tools`: the built-in tools.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod bash;
mod bytes;
mod definitions;
mod edits;
mod fetch;
mod files;
mod finding;
mod git;
mod guard;
mod hooks;
mod kept_bytes;
mod kit;
mod message;
#[cfg(feature = "default")]
mod navigating;
mod patches;
mod test;
mod todo;
