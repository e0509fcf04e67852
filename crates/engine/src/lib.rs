//! The runtime: sessions, the turn loop, the tool runner, the journal.
//!
//! Front-ends need four words of it: [`Engine`], [`Session`], [`haft_core::Command`], [`haft_core::Event`].
//! It knows no tool, no provider and no front-end by name.

mod account;
mod agents;
mod approving;
mod asking;
mod below;
mod budget;
mod call;
mod call_errors;
pub mod called;
mod carry_out;
mod compact;
mod context;
mod delegate;
mod desk;
mod digest;
mod door;
mod engine;
mod engine_error;
mod evidence;
mod header;
mod hidden;
mod hooking;
mod jobs;
mod joining;
mod journal;
mod knowledge;
mod left_over;
mod live;
mod named;
mod permission;
mod profile;
mod recover;
mod repeats;
mod request;
mod seen;
mod session;
mod sessions;
mod settling;
mod spent;
mod summary;
mod surroundings;
mod tool_runner;
mod toolbox;
mod tree;
mod turn;

pub use account::{Account, Row, account};
pub use agents::{Agent, BadAgent};
pub use carry_out::{Turns, carry_out, record};
pub use engine::{Engine, Model, Models, Setup, Stages};
pub use engine_error::EngineError;
pub use header::{BadHeader, with_header};
pub use journal::{Journal, JournalError};
pub use knowledge::{Knowledge, Note};
pub use profile::{Chat, Edits, Profile};
pub use repeats::Redundancy;
pub use seen::Unread;
pub use session::{Closed, Session};
pub use sessions::Home;
pub use summary::Summary;
pub use tree::Delegation;
