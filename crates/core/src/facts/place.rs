//! [`SessionId`] and [`Seq`]: IDs of sessions, and positions in their journals.
use serde::{Deserialize, Serialize};
use std::fmt;

/// Position of an entry in its journal, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// ID of a session, which is also the name of its folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a session branched off another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// The other session.
    pub session: SessionId,
    /// The last entry that both have.
    pub seq: Seq,
    /// The chain value of that entry, see [`crate::chain`]; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
}
