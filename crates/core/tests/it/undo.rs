//! Tests of `facts/undo.rs`, through the public names.
use haft_core::undo::*;
use haft_core::{CallId, Change, Direction, Entry, Fact, Seq, Tracking};
use haft_core::{FileState, Hash, Message, Part, ToolResult, Transcript, text_of};
use std::sync::Arc;

fn state(text: &str) -> Option<FileState> {
    (!text.is_empty()).then(|| FileState::file(Hash(text.into()), 0o644))
}
fn change(before: &str, after: &str) -> Change {
    Change { path: "f".into(), before: state(before), after: state(after), new_folders: 0 }
}
fn staged(before: &str, after: &str) -> Fact {
    let result = ToolResult::default();
    Fact::Staged {
        call: CallId(format!("{before}-{after}")),
        changes: vec![change(before, after)],
        how: Tracking::Declared,
        result,
        unrecorded: vec![],
    }
}
fn prompted() -> Fact {
    Fact::Prompted { parts: vec![Part::text("go")], channel: None }
}
fn rewound(way: Direction, changes: Vec<Change>) -> Fact {
    let (conflicts, untracked, calls, merged, marked) = Default::default();
    Fact::Rewound { way, changes, conflicts, failed: Default::default(), untracked, calls, merged, marked }
}
fn journal(facts: Vec<(Fact, Option<u64>)>) -> Vec<Arc<Entry>> {
    let entries = facts.into_iter().enumerate();
    entries
        .map(|(seq, (fact, parent))| {
            Arc::new(Entry { seq: Seq(seq as u64), parent: parent.map(Seq), at: 0, fact, chain: None })
        })
        .collect()
}

#[test]
fn what_an_undo_left_alone_is_known_until_somebody_speaks() {
    let left = Fact::Rewound {
        way: Direction::Undo,
        changes: vec![change("2", "1"), change("1", "")],
        conflicts: vec!["f".into()],
        untracked: vec![],
        calls: vec![],
        merged: vec![],
        marked: vec![],
        failed: Default::default(),
    };
    let start = vec![(Fact::Interrupted, None), (prompted(), None), (staged("", "2"), None), (left, Some(0))];
    let with = |more: Vec<(Fact, Option<u64>)>| left_alone(&journal([start.clone(), more].concat()));
    assert_eq!(with(vec![]), [change("2", "")]);
    assert_eq!(with(vec![(prompted(), None)]), []);
    assert_eq!(left_alone(&journal(vec![(rewound(Direction::Undo, vec![change("2", "1")]), None)])), []);
}

// C-73, trap 6
#[test]
fn going_back_turns_the_changes_round_newest_first() {
    let entries = journal(vec![
        (Fact::Interrupted, None),
        (prompted(), None),
        (staged("", "1"), None),
        (prompted(), None),
        (staged("1", "2"), None),
        (staged("2", ""), None),
    ]);
    assert_eq!(before_last_turn(&entries), Some(Seq(2)));
    assert_eq!(back_to(&entries, Seq(2)).changes, [change("", "2"), change("2", "1")]);
    assert_eq!(before_last_calls(&entries, 1), Some(Seq(4)));
    assert_eq!(before_last_calls(&entries, 9), Some(Seq(1)));
    assert_eq!(back_to(&entries, Seq(0)).changes.len(), 3);
}

#[test]
fn an_undo_can_be_taken_back_until_somebody_speaks() {
    let undo = || rewound(Direction::Undo, vec![change("1", "")]);
    let start =
        vec![(Fact::Interrupted, None), (prompted(), None), (staged("", "1"), None), (undo(), Some(0))];
    let with = |more: Vec<(Fact, Option<u64>)>| journal([start.clone(), more].concat());
    assert_eq!(last_undo(&with(vec![])), Some((vec![change("", "1")], Seq(2))));
    assert_eq!(last_undo(&with(vec![(prompted(), None)])), None);
    let redone = with(vec![(rewound(Direction::Redo, vec![change("", "1")]), Some(2))]);
    assert_eq!(last_undo(&redone), None);
    assert_eq!(back_to(&redone, Seq(0)).changes, [change("1", "")]);
}

#[test]
fn one_call_is_undone_and_the_conversation_stays() {
    let undone = Fact::Rewound {
        way: Direction::Undo,
        changes: vec![change("2", "1")],
        conflicts: vec![],
        untracked: vec![],
        calls: vec![1],
        merged: vec![],
        marked: vec![],
        failed: Default::default(),
    };
    let start = vec![(Fact::Interrupted, None), (prompted(), None), (staged("1", "2"), None), (undone, None)];
    let entries = journal(start.clone());
    let messages = Transcript::replay(&entries).messages().to_vec();
    let Some(Message::User { parts }) = messages.last().map(AsRef::as_ref) else { panic!("{messages:?}") };
    assert!(text_of(parts).ends_with("you should read again before you rely on them: `f`"), "{parts:?}");
    // The undo of the turn takes both back, and redo the one undo.
    assert_eq!(back_to(&entries, Seq(0)).changes, [change("1", "2"), change("2", "1")]);
    assert_eq!(last_undo(&entries), Some((vec![change("1", "2")], Seq(2))));
    let redone = journal([start, vec![(rewound(Direction::Redo, vec![change("1", "2")]), Some(2))]].concat());
    assert_eq!(back_to(&redone, Seq(0)).changes, [change("2", "1")]);
}

/// A call that a person made is undone alone, if it changed something.
#[test]
fn a_call_in_place_of_the_model_is_a_turn_of_its_own() {
    let called =
        || (Fact::Called { made: haft_core::ToolCall::new("own", "memory", serde_json::json!({})) }, None);
    let start = vec![(Fact::Interrupted, None), (prompted(), None), (staged("", "1"), None)];
    let with = |more: Vec<(Fact, Option<u64>)>| before_last_turn(&journal([start.clone(), more].concat()));
    assert_eq!(with(vec![called(), (staged("1", "2"), None)]), Some(Seq(2)));
    assert_eq!(with(vec![called()]), Some(Seq(0)));
    assert_eq!(with(vec![called(), (staged("1", "2"), None), called()]), Some(Seq(2)));
}
