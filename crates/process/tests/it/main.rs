//! The integration tests of `haft-process`: commands and programs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod previous_run;
mod program;
mod shell;
