//! The integration tests of `haft-process`: commands and programs, and files.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod files;
mod previous_run;
mod program;
mod shell;
