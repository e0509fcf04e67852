//! The one path of a tool call: find, check, judge, ask, open a view, run, settle, record.
//!
//! A session, a loop without a session, `haft tools call` and the conformance suites all run their calls with
//! [`run_calls`]. What the calls share is a [`CallScope`]; the calls of one reply are a [`Round`]; each call is a
//! [`CallRun`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `checked`, `resolved` | finds the tool, checks the arguments, resolves the paths of its effects |
//! | `judgment`, `permission`, `roots` | asks the policy before the call runs, and about what it changed |
//! | `approvals` | asks the user, remembers what was allowed for the session |
//! | `sampling` | asks the model on behalf of a call, and records the answer |
//! | `outbox` | queues calls whose effects cannot be undone, in a session that does not ask the user |
//! | `batch`, `order` | decides which calls of a reply run side by side |
//! | `round`, `run` | runs one call from the hooks to its recorded end |
//! | `settle`, `ancestors` | records changes, in parent sessions too, and writes them to the workspace |
//! | `undo`, `again`, `merge` | undoes single calls, and finds later calls that depend on them by repeating these |
//! | `attempts`, `stacked` | several sessions try to reach the same goal, each in a stage of its own |
//! | `background`, `task_changes` | background tasks, which outlive their calls, and their changes |
//!
//! It is a crate of its own so that nothing else can start a tool: every call needs a scope, and the guarantees of a
//! scope (the policy, the private view, the journal) hold for all calls.
//!
//! How it works inside: `README.md` of this crate.

mod again;
mod ancestors;
mod approvals;
mod ask;
mod attempts;
mod background;
mod batch;
mod checked;
mod context;
mod diagnostics;
mod errors;
mod hooks;
mod judgment;
mod links;
mod merge;
mod order;
mod outbox;
mod part;
mod permission;
mod programs;
mod reads;
mod recorder;
mod repeats;
mod resolved;
mod roots;
mod round;
mod rules;
mod run;
mod sampling;
mod scope;
mod settle;
mod stacked;
mod task_changes;
mod tool;
mod undo;

pub use again::Rehearsal;
pub use ancestors::{Ancestors, ParentCall};
pub use approvals::{AnswerTaken, Answered, ApprovalRequest, Approved, Asker, Interactions, Replied};
pub use ask::{Deltas, add_late_usage, ask};
pub use attempts::{Attempt, Attempted};
pub use background::BackgroundCommands;
pub use batch::{Executed, run_calls};
pub use diagnostics::without_diagnostics;
pub use errors::{conflict, last_words};
pub use hooks::{hear, hook_note};
pub use links::without_link_note;
pub use permission::{Permission, is_repository, through_links};
pub use reads::ReadTracker;
pub use recorder::{Recorder, Recording, Unrecorded, WeakRecorder};
pub use repeats::Repeats;
pub use resolved::as_found;
pub use round::{CallRun, Round};
pub use rules::{CallRules, Redundancy, Unread};
pub use scope::{CallScope, Delegates};
pub use settle::{Moved, Pass, Settled, Unmoved, merge_left};
pub use stacked::StackedStage;
pub use task_changes::{nothing_kept, with_note};
pub use tool::effects_of;
pub use undo::{Dependent, NotUndone, UndoPlan, plan_undo};
