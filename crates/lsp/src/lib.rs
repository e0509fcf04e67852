//! [`LanguageServers`]: sends requests to language servers (LSP: Language Server Protocol) about the files of a
//! workspace, including the changes of a proposal that is not written yet.
//!
//! Nothing is written for that: a proposed text is sent to the server like the unsaved text of an editor. Servers are
//! data ([`LanguageServer`]). A server is started at the first request about a file of its language, and ends with the
//! session.
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
