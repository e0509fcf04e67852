//! Processes that end when they should, with an environment of our choosing.
//!
//! [`Shell`] runs one command line and gives back a [`Finished`], whatever the command does: it may never end,
//! ignore signals, print without end, ask the terminal, or leave children behind. [`Program`] does the same for one
//! program with its arguments, and [`Program::start_piped`] starts one to be talked to. [`read_regular`] reads files that
//! may be anything.

mod group;
mod mask;
mod output;
mod private;
mod process;
mod program;
mod regular;
mod strays;
mod unread;

pub use group::tidied_up;
pub use output::{Captured, new_file};
pub use private::keep_memory_private;
pub use process::{Exit, Finished, ProcessError, Shell};
pub use program::{Piped, Process, Program};
pub use regular::{open_regular, read_regular};
pub use unread::is_read;
