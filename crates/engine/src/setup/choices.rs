//! [`Delegation`]: how far work is delegated.
use serde::Deserialize;

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
