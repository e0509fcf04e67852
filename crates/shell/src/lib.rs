//! [`Line`] and [`Runs`]: the commands that a command line would run, by the grammar of bash, without running anything.
//!
//! [`Line`] has the commands in the text itself: programs with their words, redirections, pipes. [`Runs`] adds the
//! commands that these programs run in turn: `env touch x`, `sh -c 'touch x'`, `find . -exec touch {} +`.
mod hidden;
mod line;
mod nodes;
mod programs;
mod readers;
mod runs;

pub use line::{Deed, Line, Word};
pub use programs::{behind, is_flag, is_interpreter, is_shell, name, unwrapped};
pub use runs::{Command, Runs};
