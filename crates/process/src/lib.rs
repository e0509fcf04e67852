//! [`Shell`] and [`Program`]: the one way to start a process.
//!
//! [`Shell`] runs one command line and returns a [`Finished`], whatever the command does: it may never end, ignore
//! signals, print without end, ask the terminal, or leave children behind. [`Program`] does the same for one program
//! with its arguments, and [`Program::start_piped`] starts one that the caller exchanges messages with. `haft-sandbox`
//! confines a command that has a [`haft_core::Confinement`].
//!
//! A killed process cannot end what it started. Three mechanisms do: the system kills its children, a supervisor
//! ([`supervise_by`]) kills the processes below them, and the process that continues its work calls [`end_previous_run`]
//! first.
//!
//! [`read_regular`] reads untrusted paths, which may be pipes or devices.
//!
//! How it works inside: `README.md` of this crate.

mod escaped;
mod files;
mod follow;
mod group;
mod mask;
mod orphans;
mod outcome;
mod output;
mod previous_run;
mod proc;
mod process_memory;
mod process_tags;
mod program;
mod shell;
mod spawn;
mod supervisor;
mod unread;

pub use files::{appears, open_regular, own_folder, read_regular, write_own_file};
pub use group::{is_cleaned_up, wait_for_cleanup};
pub use haft_sandbox::Unreached;
pub use orphans::adopt_orphans;
pub use outcome::{Exit, Finished, ProcessError};
pub use output::{Captured, new_file};
pub use previous_run::{Owner, end_previous_run};
pub use process_memory::{give_memory_back, keep_memory_private};
pub use process_tags::VARIABLE;
pub use program::{Piped, Process, Program};
pub use shell::Shell;
pub use supervisor::{dismiss_supervisor, reader_program, supervise, supervise_by};
pub use unread::is_read;
