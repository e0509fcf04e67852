//! The integration tests of `haft-engine`: the turn loop, sessions and journals.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod attach;
mod budget;
mod chain;
mod context;
mod durability;
mod evidence;
mod fallbacks;
mod handle;
mod hooks;
mod kit;
mod knowledge;
mod modes;
mod names;
mod parts;
mod profiles;
mod replica;
mod settling;
mod socket;
mod sources;
mod tree;
mod turns;
mod watching;
