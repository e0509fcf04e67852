//! The words and the rules: what a conversation is, what a tool promises, what happens next.
//!
//! Nothing here reads a file, opens a socket, looks at a clock or starts a task.
//! Read in this order: [`message`], [`tool`], [`event`], [`transcript`], [`policy`], [`change`], [`provider`].

pub mod address;
pub mod alias;
pub mod budget;
pub mod call_form;
pub mod change;
pub mod changed;
pub mod clip;
pub mod event;
pub mod grammar;
pub mod hook;
pub mod job;
pub mod json;
pub mod left;
pub mod limits;
pub mod line;
pub mod message;
pub mod order;
pub mod person;
pub mod policy;
pub mod present;
#[doc(hidden)]
pub mod private;
pub mod provider;
pub mod registry;
pub mod render;
pub mod reply;
pub mod result;
pub mod schema;
pub mod secret;
pub mod skill;
pub mod source;
pub mod subagent;
mod told;
pub mod tool;
pub mod transcript;
pub mod undo;
pub mod window;

pub use alias::Aliases;
pub use budget::{Budget, Price, Reached, Resource, Spending};
pub use call_form::{ArgumentForm, CallForm, ReplyForm};
pub use change::{Change, ChangeKind, FileState, Hash, How, Stage, View};
pub use changed::Changed;
pub use clip::{Clip, Keep};
pub use event::{
    Answer, Channel, Command, Entry, Event, Evicted, Fact, Outcome, Seq, SessionId, Summarizer, Update, Way,
};
pub use haft_macros::tool;
pub use hook::{Hooked, Hooks, Moment, NoHooks};
pub use job::{JobId, JobOutput, JobState, Jobs, NoJobs, Work};
pub use left::Left;
pub use limits::{Completion, Limits, OnCap};
pub use message::{CallId, Image, Message, Part, StopReason, ToolCall, Usage, text_of};
pub use order::{Conclusion, JobStatus, Order, Standing, Start};
pub use person::{Nobody, Person, Question};
pub use policy::{Mode, Policy, Rule, Ruling, Verdict};
pub use present::Presentation;
pub use provider::{Delta, Provider, ProviderError, Request, TimedOut};
pub use registry::{Declared, Registered, Registry};
pub use render::Render;
pub use reply::Reply;
pub use result::{Failure, Shown, ToolError, ToolErrorKind, ToolOutput, ToolResult};
pub use schema::Validation;
pub use secret::Secrets;
pub use skill::Skill;
pub use source::ToolSource;
pub use subagent::{Alone, Subagents};
pub use tool::{Access, AnyTool, Effect, Example, Examples, Tool, ToolContext, ToolSpec};
pub use transcript::{Step, Transcript};
pub use window::Window;
