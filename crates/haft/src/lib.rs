//! Haft for people who embed it: an agent runtime whose every tool call is journaled, staged, reversible and
//! replayable, for any model.
//!
//! The crates below are re-exported whole, each under its own name; what most programs need is in [`prelude`].
//!
//! - [`core`]: messages, tool contract, events, transcript, policy
//! - [`engine`]: sessions, the turn loop, the journal
//! - [`providers`]: models behind wires, scripts, recordings
//! - [`dialects`]: calls that models write as text
//! - [`local`] (feature `local`): a GGUF model in this process
//! - [`tools`]: `read write edit bash`
//! - [`stage`]: private views of a workspace
//! - [`sandbox`]: processes that end when they should
//! - [`present`]: how a session looks to a person, for front-ends
//! - `terminal`, `telegram`, `acp`, `mcp` (features of these names): front-ends

#[cfg(feature = "acp")]
pub use haft_acp as acp;
pub use haft_core as core;
pub use haft_dialects as dialects;
pub use haft_engine as engine;
#[cfg(feature = "local")]
pub use haft_local as local;
pub use haft_macros::tool_in_haft as tool;
#[cfg(feature = "mcp")]
pub use haft_mcp as mcp;
pub use haft_present as present;
pub use haft_providers as providers;
pub use haft_sandbox as sandbox;
pub use haft_stage as stage;
#[cfg(feature = "telegram")]
pub use haft_telegram as telegram;
#[cfg(feature = "terminal")]
pub use haft_terminal as terminal;
pub use haft_tools as tools;

/// What most programs need.
pub mod prelude {
    pub use crate::tool;
    pub use haft_core::{
        Command, Delta, Effect, Event, Fact, Mode, Outcome, Part, Policy, Provider, ProviderError, Registry,
        Request, Seq, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput,
    };
    pub use haft_engine::{Agent, Engine, Home, Model, Profile, Session, Setup};
}
