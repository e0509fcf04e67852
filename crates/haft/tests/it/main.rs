//! The integration tests of `haft`: the library as a program uses it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod claims;
mod documentation;
#[cfg(feature = "http")]
mod go_tools;
#[cfg(feature = "http")]
mod library;
#[cfg(feature = "http")]
mod opencode;
mod public_api;
#[cfg(feature = "http")]
mod resuming;
#[cfg(feature = "http")]
mod runtimes;
