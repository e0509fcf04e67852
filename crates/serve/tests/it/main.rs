//! The routes of `haft serve`, with a scripted model and without connections.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod access;
mod choices;
mod completions;
mod description;
mod kit;
mod openai;
mod outbox;
mod push;
mod review;
mod sessions;
mod verify;
