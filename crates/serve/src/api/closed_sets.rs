//! [`TurnOutcome`] and other closed sets, as the description of the API names their values.
use haft_core::{ChangeKind, ItemKind, ItemState, JobStatus, Mode, Outcome};
use serde::Serialize;
use utoipa::ToSchema;

/// How a turn ended
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnOutcome {
    /// The model finished
    Finished,
    /// A person stopped the turn
    Interrupted,
    /// The model could not be asked
    Failed,
    /// The turn reached its maximum of model calls
    RoundLimit,
    /// The turn reached its maximum of tokens, money or time
    Budget,
    /// The model repeated itself
    Repeating,
    /// An effect was refused, or a hook denied the prompt
    Refused,
    /// The reply claims what the journal does not show
    Unproven,
    /// The last reply does not match the schema that was asked for
    InvalidAnswer,
    /// The goal is not reached, and the model gets no further
    Stuck,
}

impl From<Outcome> for TurnOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Finished => Self::Finished,
            Outcome::Interrupted => Self::Interrupted,
            Outcome::Failed => Self::Failed,
            Outcome::RoundLimit => Self::RoundLimit,
            Outcome::Budget => Self::Budget,
            Outcome::Repeating => Self::Repeating,
            Outcome::Refused => Self::Refused,
            Outcome::Unproven => Self::Unproven,
            Outcome::InvalidAnswer => Self::InvalidAnswer,
            Outcome::Stuck => Self::Stuck,
        }
    }
}

/// What happened to a file
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileChangeKind {
    /// The file is new
    Created,
    /// Its content or its permissions differ
    Modified,
    /// The file is gone
    Deleted,
}

impl From<ChangeKind> for FileChangeKind {
    fn from(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Created => Self::Created,
            ChangeKind::Modified => Self::Modified,
            ChangeKind::Deleted => Self::Deleted,
        }
    }
}

/// What a session may do without an approval
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PermissionMode {
    /// Read in the workspace; everything else is denied
    ReadOnly,
    /// Read in the workspace, and run commands whose changes are dropped, until a plan is accepted; everything else is denied
    Plan,
    /// Read in the workspace; everything else needs an approval
    Ask,
    /// Read and write in the workspace; everything else needs an approval
    AcceptEdits,
    /// Everything
    Full,
}

impl From<Mode> for PermissionMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::ReadOnly => Self::ReadOnly,
            Mode::Plan => Self::Plan,
            Mode::Ask => Self::Ask,
            Mode::AcceptEdits => Self::AcceptEdits,
            Mode::Full => Self::Full,
        }
    }
}

/// State of a job
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobState {
    /// Not started
    Pending,
    /// A session works on it
    Running,
    /// It needs an answer, or its process is gone
    Waiting,
    /// Done, with evidence
    Completed,
    /// Not done
    Failed,
    /// A person stopped it
    Cancelled,
}

impl From<JobStatus> for JobState {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Pending => Self::Pending,
            JobStatus::Running => Self::Running,
            JobStatus::Waiting => Self::Waiting,
            JobStatus::Completed => Self::Completed,
            JobStatus::Failed => Self::Failed,
            JobStatus::Cancelled => Self::Cancelled,
        }
    }
}

/// What sending an item of an outbox does
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutboxItemKind {
    /// Run a command that reaches what lies outside of its view
    Command,
    /// Push commits, a package or an image
    Push,
    /// Send a request to a server
    Request,
    /// Call a tool of an MCP server
    Mcp,
    /// Send a message to people
    Message,
}

impl From<ItemKind> for OutboxItemKind {
    fn from(kind: ItemKind) -> Self {
        match kind {
            ItemKind::Command => Self::Command,
            ItemKind::Push => Self::Push,
            ItemKind::Request => Self::Request,
            ItemKind::Mcp => Self::Mcp,
            ItemKind::Message => Self::Message,
        }
    }
}

/// What became of an item of an outbox
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutboxItemState {
    /// It waits for a person
    Queued,
    /// The item's call has begun
    Sending,
    /// The item's call succeeded
    Sent,
    /// The item's call failed
    Failed,
    /// The item's call was cut off: what it did is unknown
    Unknown,
    /// A person does not want it, or its turn was undone
    Dropped,
}

impl From<ItemState> for OutboxItemState {
    fn from(state: ItemState) -> Self {
        match state {
            ItemState::Queued => Self::Queued,
            ItemState::Sending => Self::Sending,
            ItemState::Sent => Self::Sent,
            ItemState::Failed => Self::Failed,
            ItemState::Unknown => Self::Unknown,
            ItemState::Dropped => Self::Dropped,
        }
    }
}
