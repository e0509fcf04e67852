//! [`Server`] and [`AttachedHost`]: the other end of a server: its sessions in a terminal, wherever that is.
mod address;
mod host;
mod server;

pub use address::ServerAddress;
pub use host::AttachedHost;
pub use server::{ListedSession, Server};
