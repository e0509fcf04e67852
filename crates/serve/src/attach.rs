//! [`Server`] and [`AttachedHost`]: the client of a server, which shows its sessions in a terminal on any machine.
mod address;
mod host;
mod server;

pub use address::ServerAddress;
pub use host::AttachedHost;
pub use server::{ListedSession, Server};
