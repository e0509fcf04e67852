//! Tests of `facts/changed.rs`, through the public names.
use haft_core::changed::*;
use haft_core::{CallId, Change, Fact};
use haft_core::{FileState, Hash, ToolResult, Tracking};

fn change(path: &str, before: &str, after: &str) -> Change {
    let state = |text: &str| (!text.is_empty()).then(|| FileState::file(Hash(text.into()), 0o644));
    Change { path: path.into(), before: state(before), after: state(after), new_folders: 0 }
}

fn staged(call: &str, changes: Vec<Change>) -> Fact {
    Fact::Staged {
        call: CallId(call.into()),
        changes,
        how: Tracking::Declared,
        result: ToolResult::default(),
        unrecorded: vec![],
    }
}

#[test]
fn what_was_left_alone_was_not_done_and_a_file_is_told_once() {
    let unsettled = |call: &str| Fact::Unsettled { call: CallId(call.into()), paths: vec!["b".into()] };
    let changed = Changed::of(&[
        staged("1", vec![change("a", "", "1"), change("b", "", "1")]),
        unsettled("1"),
        staged("2", vec![change("a", "1", "2"), change("c", "x", "y")]),
        staged("3", vec![change("c", "y", "x")]),
    ]);
    let steps: Vec<&str> = changed.steps().filter_map(|change| change.path.to_str()).collect();
    assert_eq!(steps, ["a", "a", "c", "c"]);
    assert_eq!(changed.whole(), [change("a", "", "2")]);
    assert!(Changed::of(&[staged("1", vec![change("b", "", "1")]), unsettled("1")]).is_empty());
}

#[test]
fn attributes_that_a_later_step_does_not_name_are_as_the_step_before_left_them() {
    let state = |text: &str, note: Option<&str>| {
        let notes = note.map(|note| [("user.note".to_owned(), note.to_owned())].into());
        Some(FileState::file(Hash(text.into()), 0o644).with_attributes(notes))
    };
    let step = |before: Option<FileState>, after| Change { path: "a".into(), before, after, new_folders: 0 };
    let edit = step(state("1", None), state("2", None));
    let note = step(state("2", Some("31")), state("2", Some("32")));
    let again = step(state("2", None), state("3", None));
    assert_eq!(squash([&edit, &note, &again]), [step(state("1", Some("31")), state("3", Some("32")))]);
    let back = note.inverse();
    assert_eq!(squash([&edit, &note, &back, &edit.inverse()]), []);
    let made = step(None, state("2", None));
    let noted = step(state("2", Some("31")), state("2", Some("32")));
    assert_eq!(squash([&made, &noted]), [step(None, state("2", Some("32")))]);
}

#[test]
fn folders_that_were_made_for_a_file_come_and_go_with_it() {
    let folder = || Some(FileState::folder(0o755));
    let at = |path: &str, before, after| Change { path: path.into(), before, after, new_folders: 0 };
    let made = Change { new_folders: 2, ..change("new/deep/f", "", "1") };
    let gone = [change("new/deep/f", "1", ""), at("new/deep", folder(), None), at("new", folder(), None)];
    let steps: Vec<&Change> = [&made].into_iter().chain(&gone).collect();
    assert_eq!(squash(steps.iter().copied()), []);
    let back: Vec<Change> = steps.iter().rev().map(|step| step.inverse()).collect();
    assert_eq!(squash(&back), []);
    // A folder that was there before, and for which another one came.
    let again = [at("new", folder(), None), Change { new_folders: 1, ..change("new/f", "", "1") }];
    assert_eq!(squash(&again), [again[1].clone()]);
}
