//! Whole replies over a real line: what comes back from servers that behave, oddly behave and misbehave.
mod faults;
mod gemini;
mod responses;
pub(crate) mod server;
pub(crate) mod streams;
