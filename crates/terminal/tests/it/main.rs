//! The promises of the front-ends at a terminal, on real engines with written models.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod approvals;
mod conversations;
mod joined;
mod keys;
mod kit;
mod lists;
mod pages;
mod sizes;
mod typing;
