//! [`active_path`]: selects the active entries, without those that an undo abandoned.
use crate::{Entry, Seq};
use std::sync::Arc;

/// The entries from the root to the last one: each follows its `parent`, or else the line before it.
pub fn active_path(entries: &[Arc<Entry>]) -> Vec<&Arc<Entry>> {
    let place_of = |seq: Seq| entries.partition_point(|entry| entry.seq <= seq).checked_sub(1);
    let mut path = Vec::new();
    let mut at = entries.len().checked_sub(1);
    while let Some(place) = at {
        let entry = &entries[place];
        path.push(entry);
        at = match entry.parent {
            Some(parent) if parent < entry.seq => place_of(parent),
            _ => place.checked_sub(1),
        };
    }
    path.reverse();
    path
}
