//! The integration tests of `haft-providers`: requests, streams and cassettes of each wire.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod conformance;
mod exec;
mod line;
mod odd;
mod requests;
mod retry;
mod scripted;
mod text_calls;
mod thoughts;
mod vendors;
