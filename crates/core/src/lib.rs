//! The types and rules of Haft: conversations, the contract of tools, and the decision about the next step.
//!
//! Nothing here reads a file, opens a socket, looks at a clock or starts a task. Every module has one public path,
//! below the crate's root. Where to begin: [`message`] and [`transcript`] (conversations), [`mod@tool`] (tools),
//! [`event`] (recorded facts), [`policy`] (what calls may do), [`change`] (private views and settling), [`provider`]
//! (models).
//!
//! How it works inside: `README.md` of this crate.

pub mod address;
pub mod budget;
pub mod call_form;
mod conversation;
mod facts;
pub mod git_settings;
mod host;
pub mod json;
pub mod memory;
pub mod policy;
#[doc(hidden)]
pub mod private;
pub mod provider;
pub mod public_address;
mod relocated;
pub mod secret;
pub mod tool;

pub use budget::{Budget, Price, Reached, Resource, Spending, dollars};
pub use call_form::{ArgumentForm, CallForm, ReplyForm, grammar};
pub use change::{
    Attributes, Bulk, BulkFolder, Change, ChangeKind, FileKind, FileRead, FileState, Fingerprint, Hash,
    Stage, Tracking, View,
};
pub use changed::Changed;
pub use clip::{Clip, Keep};
pub use conversation::{
    CallTracker, Completion, FailedModel, Limits, OnCap, TurnModels,
    answer::{self, AnswerSchema},
    clip, loops, message, picture, replies_left_out, reply, tokens, transcript, window,
};
pub use event::{Answer, Channel, Entry, Event, Evicted, Fact, Outcome, RemainingWork, Summarizer};
pub use facts::{
    Accepted, AcceptedFile, Asking, AttemptEnd, AttemptResult, AttemptedFile, Command, Direction, Evidence,
    Forked, Goal, JobSummary, LastTurn, MAX_ATTEMPTS, ModelFault, NoEvidence, OpenGoal, Rewind, Running, Seq,
    SessionId, SessionOpened, SessionSetup, UndoCalls, accepted, active_path,
    activity::{Activities, Activity, ActivityType},
    chain, change, changed, event, fork, go_on, job, line,
    outbox::{self, ItemState, OutboxItem},
    past_calls, progress,
    queued::{self, ItemKind, QueuedCall},
    undo,
    update::Update,
    waiting_prompts,
};
pub use fork::NoFork;
pub use haft_macros::tool;
pub use host::Host;
pub use job::{BaseCommit, Conclusion, JobSpec, JobStatus};
pub use message::{
    CallId, Document, Image, Message, Part, StopReason, ToolCall, Usage, arguments_in_brief, text_of,
};
pub use policy::{FollowedLink, Links, Mode, Policy, Readable, Rule, Ruling, Verdict, is_gits_own};
pub use provider::{AnswerForm, Delta, Provider, ProviderError, Request, TimedOut, UnreadableReply};
pub use relocated::relocated;
pub use reply::Reply;
pub use secret::Secrets;
pub use tool::{
    AnyTool, Example, Examples, Tool, ToolContext, ToolSpec,
    access::{Access, AccessRules},
    alias::{self, Aliases},
    background::{BackgroundTasks, NoBackgroundTasks, TaskId, TaskOutput, TaskState, TaskWork, Unread},
    confinement::{CacheMount, Confinement, Outside, Overlay, ProcessLimits, Sandbox, WorkspaceMount},
    diagnostics::{Diagnostic, Diagnostics, DiagnosticsChange, FileEdit, Severity},
    effect::{Effect, Execution},
    hook::{FOLDER_NOTE, HOOK_ASKS, HOOK_NOTE, Hooked, Hooks, Moment, NoHooks},
    network::{Network, Reach},
    notes::edit_notes,
    person::{NoPerson, Person, Question},
    present::Presentation,
    registry::{self, Declared, Registered, Registry},
    render::{ErrorWording, Render, ResultObject, Wording},
    report::{
        CommandRun, Delivery, Plan, PlanStep, QueuedRun, Report, StepStatus, SubagentRun, TaskLook,
        TestFailure, TestRun,
    },
    result::{Failure, Shown, ToolError, ToolErrorKind, ToolOutput, ToolResult},
    sampling::{NoSampler, Sampled, Sampler, SamplingError, SamplingRequest},
    schema::{self, Validation},
    skill::Skill,
    source::{Completions, ToolSource},
    split::SplitResult,
    subagent::{ENDED_WITH_SUBAGENT, NoSubagents, Subagents},
};
pub use transcript::{Step, Transcript};
pub use window::Window;
