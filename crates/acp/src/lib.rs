//! Haft in an editor ([`over_streams`]), over ACP (Agent Client Protocol, wire version 1): the editor starts the
//! program and communicates over its standard streams.
//!
//! A conversation of the editor is a session; its workspace is the folder that the editor names, with its own engine.
//! All events of the session are sent as updates, whichever client caused them; questions to the user are asked in the
//! editor. Files are read and written through the editor, if it supports that (`editor`).
//!
//! It uses `haft-engine` for sessions, `haft-present` to present events, and the protocol's official library, which
//! only `sdk` and `serve` name. Begin with [`over_streams`] and [`Settings`], then `sessions` and `teller`.
//!
//! How it works inside: `README.md` of this crate.

mod calls;
mod client;
mod editor;
mod folder;
mod follow;
mod kinds;
mod modes;
mod open;
mod options;
mod partial;
mod prompt;
mod sdk;
mod serve;
mod sessions;
mod teller;
mod wire;

pub use serve::over_streams;

use haft_engine::Home;
use haft_present::host::Host;
use std::sync::Arc;

/// Settings from the program.
#[derive(Clone)]
pub struct Settings {
    /// The folder of the sessions.
    pub home: Home,
    /// Creates the engines of sessions, and receives notes for the user for which the protocol has no message.
    pub host: Arc<dyn Host>,
}
