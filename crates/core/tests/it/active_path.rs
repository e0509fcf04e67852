//! Tests of `facts/active_path.rs`, through the public names.
use haft_core::Fact;
use haft_core::*;
use haft_core::{Entry, Seq};
use std::sync::Arc;

// C09, C10: a dropped line leaves a gap
#[test]
fn the_active_path_skips_abandoned_branches_and_gaps() {
    let entry = |seq: u64, parent: Option<u64>| {
        Arc::new(Entry {
            seq: Seq(seq),
            parent: parent.map(Seq),
            at: 0,
            fact: Fact::Interrupted,
            chain: None,
        })
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
