//! What a command line would run, by the grammar of bash, without running or guessing anything.
//!
//! [`Line`] is the text there: programs with their words, redirections, pipes. [`Runs`] adds what those programs would
//! run in turn: `env touch x`, `sh -c 'touch x'`, `find . -exec touch {} +`.
mod hidden;
mod line;
mod nodes;
mod programs;
mod readers;
mod runs;

pub use line::{Deed, Line, Word};
pub use programs::{behind, is_flag, is_interpreter, is_shell, name, unwrapped};
pub use runs::{Command, Runs};
