//! The runtime: sessions, the turn loop, delegation, the journal.
//!
//! Its modules are floors: each uses only those before it in this list.
//!
//! | module | what it is |
//! | --- | --- |
//! | `setup` | what an engine is made of |
//! | `journal` | the file of a session, the list of sessions, accounts |
//! | `session` | the state of a session: the handle, the log, the queue, the budget, the place in its tree |
//! | `turn` | the loop: ask the model, run its calls, make room, hold claims against facts |
//! | `tree` | a call that lets another agent work |
//! | `socket` | other processes join a session |
//! | `jobs` | a job from its first prompt to its end |
//! | `session_task`, `engine` | open and run all of it |
//!
//! Front-ends need four types: [`Engine`], [`Session`], [`haft_core::Command`], [`haft_core::Event`]. The engine knows
//! no tool, no provider and no front-end by name. Where to begin: [`Engine::create`], then `turn.rs`.
//!
//! How it works inside: `README.md` of this crate.

mod engine;
mod jobs;
mod journal;
mod session;
mod session_task;
mod setup;
mod socket;
mod tree;
mod turn;

pub use engine::Engine;
pub use haft_call::{Dependent, Moved, NotUndone, Redundancy, UndoPlan, Unread};
pub use jobs::{Turns, record, run_job};
pub use journal::{
    Account, Garbage, Journal, JournalError, Row, SetupReader, Summary, Unnamed, Used, UsedRequest,
    WorkspaceMemory, account, local_time::local_time, new_session_id,
};
pub use session::{
    Closed, EngineError, Recorded, Session,
    prefix::PrefixSize,
    remote::Remote,
    responder::{Approval, Responder},
    subscription::Subscription,
    tool_call_for,
    turn_handle::Turn,
    turn_report::{CallReport, TurnError, TurnReport},
};
pub use setup::{
    Agent, AgentInProfile, BadAgent, BadHeader, Chat, Delegation, Edits, Home, Knowledge, Model, Models,
    Note, Observer, Profile, ProfileRules, Reasons, Replica, Replicas, Setup, Stages, checked_root,
    with_header,
};
pub use socket::{Dial, Link, NotDialed, Relay, Relayed, RemoteClients, Served};
pub use turn::attempts::ATTEMPT_MARK;
