//! Haft in an editor ([`over_streams`]), over ACP (Agent Client Protocol, wire version 1): the editor starts the
//! program and talks to it over its standard streams.
//!
//! A conversation of the editor is a session; its workspace is the folder that the editor names, with an engine of its
//! own. All events of the session are sent as updates, whichever client caused them; what needs a person is asked through the
//! editor. Files are read as the editor shows them and written through it, where it offers that (`editor`).
//!
//! It uses `haft-engine` for sessions, `haft-present` for the words of what happens, and the protocol's own library, which
//! is named in `sdk` and `serve` only. Begin with [`over_streams`] and [`Settings`], then `host` and `teller`.
//!
//! How it works inside: `README.md` of this crate.

mod calls;
mod client;
mod editor;
mod folder;
mod follow;
mod host;
mod kinds;
mod modes;
mod open;
mod prompt;
mod sdk;
mod serve;
mod teller;
mod wire;

pub use serve::over_streams;

use futures::future::BoxFuture;
use haft_engine::{Engine, Home, Stages};
use std::{path::PathBuf, sync::Arc};

/// What the binary chose.
#[derive(Clone)]
pub struct Settings {
    /// Where sessions lie.
    pub home: Home,
    /// Makes the engine of a session; an error says why it cannot.
    pub open: Open,
    /// Hears what a person should know and the protocol has no words for.
    pub note: Note,
}

/// Makes the engine of a session.
pub type Open = Arc<dyn Fn(Wanted) -> BoxFuture<'static, Result<Opened, String>> + Send + Sync>;

/// Hears a sentence for a person.
pub type Note = Arc<dyn Fn(String) + Send + Sync>;

/// What the editor asks for.
pub struct Wanted {
    /// The folder to work in: absolute, and there.
    pub workspace: PathBuf,
    /// MCP servers whose tools the session may call, in addition to the user's own.
    pub servers: Vec<Server>,
    /// Puts the editor's files in front of those on disk: the engine's stages must be what this makes of them.
    pub stages: Box<dyn FnOnce(Stages) -> Stages + Send>,
}

/// An MCP server that the editor names. It may hold keys, so it prints nothing of itself.
#[derive(Clone)]
pub struct Server {
    /// Part of its tools' names.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
}

/// How an MCP server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A program that talks over its standard streams.
    Program {
        /// The file.
        program: PathBuf,
        /// One by one.
        arguments: Vec<String>,
        /// Names and values, beside what all processes get.
        environment: Vec<(String, String)>,
    },
    /// A service that talks Streamable HTTP.
    Url {
        /// Where.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
}

/// An engine for one session.
pub struct Opened {
    /// Its stages are what [`Wanted::stages`] made of its own.
    pub engine: Engine,
    /// Who works.
    pub agent: String,
    /// Prompts that lie in files.
    pub commands: Vec<SlashCommand>,
    /// What a prompt stands for that begins with `/`; an error says why there is no such command.
    pub expand: Expand,
}

/// What a prompt stands for.
pub type Expand = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// A prompt that lies in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    /// Without the `/`.
    pub name: String,
    /// In one line.
    pub description: String,
}
