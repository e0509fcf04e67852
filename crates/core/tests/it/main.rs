//! The integration tests of `haft-core`: words and rules, through their public names.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod active_path;
mod address;
mod background;
mod budget;
mod call_form;
mod changed;
mod clip;
mod grammar;
mod host;
mod job_summary;
mod json_schema_suite;
mod last_turn;
mod line;
mod network;
mod policy;
mod public_address;
mod registry;
mod remaining;
mod render;
mod reply;
mod schema;
mod secret;
mod tool;
mod transcript;
mod undo;
mod window;
