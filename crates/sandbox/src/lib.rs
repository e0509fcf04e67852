//! [`Plan`] and [`Proxy`]: limit what a process can see, change and reach to what a [`haft_core::Confinement`] allows.
//!
//! This crate starts no commands: `haft-process` does, and calls [`Plan::enter`] in the new process before its program
//! begins, and [`Proxy::serve`] while the command runs.
//!
//! How it works inside: `README.md` of this crate.

mod confine;
mod proxy;
mod trial;

pub use confine::{
    Plan, Receiver, has_mounts_below, hidden_places, is_root_of_machine, limits_processes, scopes_sockets,
};
pub use proxy::{Log, Proxy, Unreached, environment};
pub use trial::try_confinement;
