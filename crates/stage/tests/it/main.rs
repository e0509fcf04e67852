//! The integration tests of `haft-stage`: staging, settling and views of the workspace.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod attributes;
mod commands;
mod kit;
mod order;
mod races;
mod stage;
