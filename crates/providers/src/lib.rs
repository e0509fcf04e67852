//! Models behind wires ([`connect`]): every model that Haft can ask, as a [`haft_core::Provider`].
//!
//! A *wire* is a vendor's format of requests and replies ([`Wire`]); a *vendor* is an entry of `vendors.rs`: a wire, an
//! address and its quirks ([`Vendor`]). [`connect`] makes a provider for a vendor; [`Retry`] wraps any provider.
//! [`Exec`] runs a command that takes a prompt and prints an answer. [`Scripted`] replies from a script; [`Replay`]
//! repeats what a server once sent; [`Retold`] repeats the replies that a session recorded; [`direct::Direct`] makes
//! the call that its prompt names.
//!
//! A reply passes through these modules: `http` (bytes), `sse` or `frames` (events), the wire that `protocol` picks
//! (`openai_chat`, `openai_responses`, `anthropic`, `gemini` or `converse`: deltas), `remote` with `patience` (timeouts
//! and limits), `retry`. Responses that are not a reply are sorted in `fault`.
//!
//! This crate reads neither the environment nor the configuration: keys and addresses are parameters.

mod answer;
mod anthropic;
mod card;
mod cassette;
pub mod conformance;
mod connection;
mod constrain;
mod converse;
pub mod direct;
mod effort;
mod endpoint;
mod exec;
mod fault;
mod frames;
mod gemini;
mod http;
mod installed;
mod json;
mod key;
mod models;
mod novelty;
mod openai_chat;
mod openai_responses;
mod parser;
mod patience;
mod protocol;
mod quirks;
mod reading;
mod record;
mod remote;
mod replay;
mod reset;
mod retold;
mod retry;
mod script;
mod scripted;
mod sign_in;
mod sse;
mod timeouts;
mod turns;
mod vendor;
mod vendors;
mod window;
mod wire;

pub use card::{Card, card};
pub use connection::Connection;
pub use effort::{Effort, takes_effort};
pub use exec::Exec;
pub use installed::{Installed, best_model};
pub use key::Key;
pub use models::{check_key, is_listening, list_models};
pub use quirks::{CacheTtl, EchoProofs, EchoReasoning, EffortField, EmptyContent, PromptCache, Quirks};
pub use record::Record;
pub use remote::connect;
pub use replay::Replay;
pub use retold::Retold;
pub use retry::Retry;
pub use script::{FailKind, ScriptError, Step, StepCall};
pub use scripted::Scripted;
pub use sign_in::{Missing, SignIn, Variables};
pub use timeouts::Timeouts;
pub use vendor::Vendor;
pub use vendors::{vendor, vendors};
pub use window::{Loading, served_window};
pub use wire::{WIRES, Wire};
