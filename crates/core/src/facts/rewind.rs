//! [`Rewind`]: an undo or a redo that is about to move files.
use crate::{CallId, Change, Seq};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What an undo or a redo is about to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewind {
    /// Whether files go back or forward.
    pub way: Direction,
    /// Changes to settle, in this order.
    pub changes: Vec<Change>,
    /// Where the conversation continues; `None` if it stays where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Seq>,
    /// Calls on the way whose changes were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untracked: Vec<CallId>,
    /// The calls to take back by their numbers, in ascending order; empty if the conversation goes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<usize>,
    /// Files that were changed elsewhere, and are to hold both changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<PathBuf>,
    /// Files in `merged` that get conflict markers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<PathBuf>,
}

/// Which way files were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Back to what they were.
    Undo,
    /// Forward to what an undo took back.
    Redo,
}
