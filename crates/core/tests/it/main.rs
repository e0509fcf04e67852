//! The integration tests of `haft-core`: schemas and the contract of a tool.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod json_schema_suite;
mod tool;
