//! [`CallRules`]: how calls are checked and their results worded.
use haft_core::{Clip, Render, Validation};
use serde::Deserialize;

/// How calls are checked and their results worded: a part of a profile.
#[derive(Clone, Debug, Default)]
pub struct CallRules {
    /// How arguments are checked against their schema.
    pub validation: Validation,
    /// Which files may be changed that the model has not read.
    pub unread: Unread,
    /// Whether a call is made again that cannot bring anything new.
    pub redundancy: Redundancy,
    /// How results are worded.
    pub render: Render,
    /// The longest result; `None` for no limit.
    pub clip: Option<Clip>,
    /// Seconds that a call may take; 0 for no limit.
    pub call_seconds: u64,
}

/// Whether a call is made again that cannot bring anything new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redundancy {
    /// Repeated calls run.
    #[default]
    Off,
    /// A call that repeats another one of the turn, and only reads files that have not changed, is answered with a
    /// reference to the earlier result.
    SameTurn,
}

/// Which files may be changed that the model has not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// All files.
    Allow,
    /// Edits: an edit names the text that it replaces.
    #[default]
    Edit,
    /// No files.
    Refuse,
}
