//! Whole replies over a real line: what comes back from servers that behave, oddly behave and misbehave.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod faults;
mod gemini;
mod responses;
mod server;
mod streams;
