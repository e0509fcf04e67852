//! The integration tests of `haft-cli`: the real binary, one module per promise, one kit.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod config;
mod deploy;
mod docs;
mod eval;
mod fleet;
mod front_ends;
mod getting_started;
mod jobs;
mod kit;
mod mcp;
mod models;
mod permissions;
mod profiles;
mod robustness;
mod run;
mod sandbox;
mod screen;
mod serve;
mod sessions;
mod tools;
mod update;
