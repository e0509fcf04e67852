//! [`active_path`]: selects the entries that count, without those that an undo left behind.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fact;

    // C09, C10: a dropped line leaves a gap
    #[test]
    fn the_active_path_skips_abandoned_branches_and_gaps() {
        let entry = |seq: u64, parent: Option<u64>| {
            Arc::new(Entry { seq: Seq(seq), parent: parent.map(Seq), at: 0, fact: Fact::Interrupted })
        };
        let table = [
            (vec![], vec![]),
            (vec![(0, None), (1, None), (2, None)], vec![0, 1, 2]),
            (vec![(0, None), (1, None), (2, Some(0)), (3, None)], vec![0, 2, 3]),
            (vec![(0, None), (2, None), (3, Some(1)), (4, None)], vec![0, 3, 4]),
            (vec![(0, None), (1, Some(7))], vec![0, 1]),
        ];
        for (entries, expected) in table {
            let entries: Vec<_> = entries.into_iter().map(|(seq, parent)| entry(seq, parent)).collect();
            let path: Vec<u64> = active_path(&entries).iter().map(|entry| entry.seq.0).collect();
            assert_eq!(path, expected);
        }
    }
}
