//! [`LanguageServers`]: programs that understand a language (LSP: Language Server Protocol), asked about the files of a
//! workspace as a proposal would make them.
//!
//! Nothing is written for that: what a call proposes goes to the server as the unsaved text of an editor does. Servers are
//! data ([`LanguageServer`]). None is started before a file of its language is asked about; each is kept for the session and
//! ended with it.
//!
//! How it works inside: `README.md` of this crate.

mod compare;
mod connection;
mod dependents;
mod documents;
mod edits;
mod error;
mod inbox;
mod positions;
mod program;
mod queries;
mod server;
mod servers;
mod settings;
mod start;
mod symbols;
mod taken;
mod tsserver;
mod wire;

pub use error::LspError;
pub use queries::{Defined, Occurrence, Place};
pub use servers::LanguageServers;
pub use settings::{BUILT_IN, LanguageServer, LspSettings};
