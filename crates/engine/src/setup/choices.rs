//! [`Delegation`]: how far work is delegated.
use serde::Deserialize;

/// How far work is delegated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Delegation {
    /// Levels of child sessions; 0 for no delegation.
    pub depth: usize,
    /// Maximum sessions of one level that work at the same time; others wait.
    pub at_once: usize,
    /// Maximum sessions in a tree while the process runs.
    pub total: usize,
}

impl Default for Delegation {
    /// One level; 16 at once, the most that a model asks for in one reply; 200 in all.
    fn default() -> Self {
        Self { depth: 1, at_once: 16, total: 200 }
    }
}
