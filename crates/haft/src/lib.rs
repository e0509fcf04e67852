//! An agent runtime as a library: every tool call is journaled, staged, reversible and replayable, for any model.
//!
//! ```no_run
//! use haft::prelude::*;
//!
//! /// Doubles a number.
//! #[tool]
//! fn double(x: i64) -> i64 { 2 * x }
//!
//! #[tokio::main]
//! async fn main() -> haft::Result<()> {
//!     let agent = Haft::builder().model("openai/gpt-5-mini").tool(double).build().await?;
//!     let report = agent.session()?.prompt("What is twice 21?").await?;
//!     println!("{}", report.text);
//!     Ok(())
//! }
//! ```
//!
//! [`Haft::builder`] sets up an agent: a model or a [`Provider`], tools, a [`Policy`]. [`Haft::session`] opens a
//! session, and [`Session::prompt`] begins a turn. A [`Turn`] is a stream of [`Event`]s, and `.await` returns its
//! [`TurnReport`]. [`run_tool_loop`] is the loop without a session, over messages of your own; a [`SharedRegistry`]
//! runs single calls.
//!
//! A model that needs no network, for tests and for a first look:
//!
//! ```
//! use haft::{prelude::*, providers::Scripted};
//!
//! # #[tokio::main]
//! # async fn main() -> haft::Result<()> {
//! let agent = Haft::builder().provider(Scripted::new([]).says("Hello!")).in_memory().build().await?;
//! assert_eq!(agent.session()?.prompt("Hi").await?.text, "Hello!");
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! - Sessions are stored in the user's state folder, like those of the binary `haft`: `haft sessions list` shows them,
//!   and [`Haft::resume`] opens them again. [`Builder::in_memory`] stores nothing permanently.
//! - Keys come from the vendor's variable (`OPENAI_API_KEY`). The environment is read by [`Builder::build`] and nowhere
//!   else.
//! - Tools without effects run without an approval. Effects are judged by [`Builder::policy`].
//! - If it asks, [`Builder::approve`] or the code that streams the turn answers; otherwise, the call is denied.
//!
//! # Features
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `http` (default) | models of vendors and servers, and scripted models: [`Builder::model`], `providers` |
//! | `tools` | the built-in tools: `tools::builtin` |
//! | `mcp` | tools of MCP servers: `Builder::mcp_program`; agents for other programs |
//! | `local` | a GGUF file as a model in this process: `local` |
//! | `process` | starting processes that end when they should: `process` |
//! | `app` | Haft as the user has set it up: configuration, skills, jobs, replay, export: `app` |
#![deny(missing_docs, clippy::missing_errors_doc)]

mod builder;
mod call_context;
mod environment;
mod error;
mod execute;
mod haft;
mod into_tool;
#[cfg(feature = "mcp")]
mod mcp_servers;
#[cfg(feature = "http")]
mod model;
mod parts;
mod shared_registry;
mod tool_loop;

pub use builder::{Builder, ToolCallFormat};
pub use call_context::CallContext;
pub use error::{Error, Result};
pub use execute::{Executed, result_messages};
pub use haft::Haft;
pub use haft_core::{
    Activity, ActivityType, Answer, AnswerForm, AnyTool, Budget, CallId, CallTracker, Change, ChangeKind,
    Channel, Command, Delta, Document, Effect, Entry, Event, Fact, FollowedLink, Hooked, Hooks, Image,
    Limits, Links, Message, Mode, ModelFault, Moment, Outcome, Part, Policy, Price, Provider, ProviderError,
    Question, Registry, Reply, Request, Rule, Ruling, Seq, SessionId, SplitResult, StopReason, TaskId,
    TaskWork, Tool, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolResult, ToolSource,
    ToolSpec, Update, Usage, Validation, text_of,
};
pub use haft_engine::{
    Agent, Approval, CallReport, Closed, Profile, Session, Subscription, Turn, TurnError, TurnReport,
};
pub use haft_macros::tool_in_haft as tool;
pub use haft_stage::CommandAccess;
pub use into_tool::IntoTool;
pub use shared_registry::SharedRegistry;
pub use tool_loop::{Conversation, ToolLoop, ToolLoopError, ToolLoopResult, run_tool_loop};

/// Haft as the user has set it up: configuration, skills, jobs, replay, export.
#[cfg(feature = "app")]
pub use haft_app as app;
/// The path of a tool call, with or without a session.
pub use haft_call as call;
/// Calls that models write as text: dialects, and parsers for them.
pub use haft_dialects as dialects;
/// Sessions, journals and the turn loop, as the binary uses them.
pub use haft_engine as engine;
/// Checks what an agent claims against the facts of its session.
pub use haft_evidence as evidence;
/// A GGUF file as a model in this process.
#[cfg(feature = "local")]
pub use haft_local as local;
/// Both ends of MCP: tools of servers, and agents for other programs.
#[cfg(feature = "mcp")]
pub use haft_mcp as mcp;
/// Starting processes that end when they should.
#[cfg(feature = "process")]
pub use haft_process as process;
/// Models: of vendors and servers, commands, and scripts.
#[cfg(feature = "http")]
pub use haft_providers as providers;
/// Private views of a workspace.
pub use haft_stage as stage;
/// The built-in tools.
#[cfg(feature = "tools")]
pub use haft_tools as tools;

/// For the code that `#[tool]` generates. Not covered by any stability promise.
#[doc(hidden)]
pub use haft_core as kernel;

/// Types that occur in the signatures of other types.
pub mod types {
    pub use haft_core::{
        Accepted, AcceptedFile, Access, Aliases, ArgumentForm, Attributes, BackgroundTasks, BaseCommit, Bulk,
        BulkFolder, CacheMount, CallForm, Clip, CommandRun, Completion, Completions, Conclusion, Confinement,
        Delivery, Diagnostic, DiagnosticsChange, Direction, ErrorWording, Evicted, Example, Examples,
        Execution, Failure, FileKind, FileRead, FileState, Fingerprint, Forked, Goal, Hash, Host, ItemKind,
        JobSpec, JobStatus, Keep, Network, OnCap, Outside, Overlay, Person, Plan, PlanStep, Presentation,
        ProcessLimits, QueuedCall, QueuedRun, Reach, Reached, Readable, Registered, RemainingWork, Render,
        ReplyForm, Report, Resource, ResultObject, Rewind, Sampled, Sampler, SamplingError, SamplingRequest,
        Sandbox, Secrets, SessionOpened, SessionSetup, Severity, Shown, Spending, StepStatus, SubagentRun,
        Subagents, Summarizer, TaskOutput, TaskState, TestFailure, TestRun, TimedOut, Tracking, UndoCalls,
        Unread, UnreadableReply, Verdict, View, Wording, WorkspaceMount,
        call_form::Tag,
        call_form::grammar::Rules,
        clip::Clipped,
        past_calls::{FileStep, PastCall, PastCalls},
        policy::{BadRule, IsRepository},
    };
    pub use haft_core::{AttemptEnd, AttemptResult, AttemptedFile};
}

/// The items that most programs need.
pub mod prelude {
    pub use crate::{
        Agent, Answer, Approval, Command, Delta, Effect, Event, Fact, Haft, Limits, Message, Mode, Outcome,
        Part, Policy, Provider, ProviderError, Registry, Request, Session, Tool, ToolContext, ToolError,
        ToolErrorKind, ToolOutput, Turn, TurnReport, Update, tool,
    };
    pub use futures::{Stream, StreamExt};
}
