//! What a profile chooses among.
use serde::Deserialize;

/// Whether a call is made again that can bring nothing new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redundancy {
    /// It is.
    #[default]
    Off,
    /// Not in the same turn: a call that only reads files which are as they were is answered with a reference to the
    /// earlier result.
    SameTurn,
}

/// Which files may be changed that the model has not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// All.
    Allow,
    /// Those that the call itself reads: an edit names the text that it replaces.
    #[default]
    Edit,
    /// None.
    Refuse,
}

/// How far work is delegated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Delegation {
    /// Sessions below sessions: 1 is one level, 0 is none.
    pub depth: usize,
    /// So many sessions of one level work at the same time; others wait.
    pub at_once: usize,
    /// So many sessions in a tree while the process runs.
    pub total: usize,
}

impl Default for Delegation {
    /// One level; 16 at once are what a model asks for in one reply at most; 200 in all.
    fn default() -> Self {
        Self { depth: 1, at_once: 16, total: 200 }
    }
}
