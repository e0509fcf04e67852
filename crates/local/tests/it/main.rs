//! The integration tests of `haft-local`: files of models, and a real one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod find;
mod gguf;
mod model;
