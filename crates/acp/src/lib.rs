//! Haft in an editor ([`over_streams`]), over ACP (Agent Client Protocol, wire version 1): the editor starts the
//! program and talks to it over its standard streams.
//!
//! A conversation of the editor is a session; its workspace is the folder that the editor names, with an engine of its
//! own. All events of the session are sent as updates, whichever client caused them; what needs a person is asked through the
//! editor. Files are read as the editor shows them and written through it, where it offers that (`editor`).
//!
//! It uses `haft-engine` for sessions, `haft-present` for the words of what happens, and the protocol's own library, which
//! is named in `sdk` and `serve` only. Begin with [`over_streams`] and [`Settings`], then `sessions` and `teller`.
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

/// What the program around it chose.
#[derive(Clone)]
pub struct Settings {
    /// Where sessions lie.
    pub home: Home,
    /// Makes the engines of sessions, and receives notes for the user for which the protocol has no message.
    pub host: Arc<dyn Host>,
}
