//! [`Shell`] and [`Program`]: run processes that end when they should, with an environment of our choosing.
//!
//! [`Shell`] runs one command line and returns a [`Finished`], whatever the command does: it may never end, ignore
//! signals, print without end, ask the terminal, or leave children behind. [`Program`] does the same for one program
//! with its arguments, and [`Program::start_piped`] starts one that the caller exchanges messages with.
//! [`read_regular`] reads files that may be anything. A command with a [`haft_core::Confinement`] sees and reaches only
//! what that says.
//!
//! A killed process cannot end what it started. Three mechanisms do: the system kills its children, a supervisor
//! ([`supervise_by`]) kills the processes below them, and the process that continues its work calls [`end_left_over`]
//! first.
//!
//! How it works inside: `README.md` of this crate.

mod appears;
mod confine;
mod group;
mod left_over;
mod marks;
mod mask;
mod memory;
mod orphans;
mod output;
mod own;
mod private;
mod process;
mod program;
mod programs;
mod proxy;
mod refused;
mod regular;
mod spawn;
mod strays;
mod supervisor;
mod tried;
mod unread;

pub use appears::appears;
pub use confine::{has_mounts_below, hidden_places, is_root_of_machine, limits_processes, scopes_sockets};
pub use group::{is_tidy, tidied_up};
pub use left_over::{Owner, end_left_over};
pub use marks::VARIABLE;
pub use memory::give_memory_back;
pub use orphans::adopt_orphans;
pub use output::{Captured, new_file};
pub use own::{own_folder, write_own_file};
pub use private::keep_memory_private;
pub use process::{Exit, Finished, ProcessError, Shell};
pub use program::{Piped, Process, Program};
pub use programs::Programs;
pub use proxy::Unreached;
pub use regular::{open_regular, read_regular};
pub use supervisor::{dismiss_supervisor, supervise, supervise_by};
pub use tried::try_confinement;
pub use unread::is_read;
