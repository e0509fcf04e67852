//! The integration tests of `haft-shell`: what a command line would run.
mod line;
mod runs;
