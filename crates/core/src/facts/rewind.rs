//! [`Rewind`]: an undo or a redo that is about to change files.
use crate::{CallId, Change, Seq};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// An undo or a redo that is about to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewind {
    /// Whether files go back or forward.
    pub way: Direction,
    /// Changes to settle, in this order.
    pub changes: Vec<Change>,
    /// Where the conversation continues; `None` if it stays where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Seq>,
    /// Calls in the undone range whose changes were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untracked: Vec<CallId>,
    /// Numbers of the calls to undo one by one, in ascending order; empty if the conversation goes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<usize>,
    /// Files that another program changed, into which both changes are merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<PathBuf>,
    /// Files in `merged` that get conflict markers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<PathBuf>,
}

/// The direction in which files change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Back to what they were.
    Undo,
    /// Forward to their state before an undo.
    Redo,
}
