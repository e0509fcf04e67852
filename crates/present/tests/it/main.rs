//! What the front-ends share, through its public API.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod file_diff;
mod lines;
mod pieces;
mod proposal;
mod safe;
mod timeline;
mod unattended;
mod words;
