//! What a call does in a view, and what becomes of it.
use crate::kit::Place;
use haft_core::{Change, ChangeKind, Effect, Stage, Tracking};
use proptest::prelude::*;
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
};

#[test]
fn the_effects_decide_what_a_call_works_in() {
    let place = Place::new(&[("a", "1")]);
    let (read, write) = (Effect::Read("a".into()), Effect::Write("a".into()));
    let (run, talk) = (Effect::execute("ls"), Effect::Network("h".into()));
    let table = [
        ("none", vec![], Tracking::Untracked, false),
        ("a command", vec![write.clone(), run], Tracking::Untracked, false),
        ("the network", vec![read.clone(), talk], Tracking::Untracked, false),
        ("only reading", vec![read.clone()], Tracking::Declared, false),
        ("writing", vec![read, write], Tracking::Declared, true),
    ];
    for (what, effects, how, private) in table {
        let view = place.open(&effects);
        let real = view.locate(Path::new("a")) == place.workspace.join("a");
        assert_eq!((view.how(), !real, view.root() != place.workspace), (how, private, private), "{what}");
        assert!(view.changes().unwrap().is_empty(), "{what}");
    }
}

#[test]
fn nothing_is_real_before_it_is_settled() {
    let place = Place::new(&[("a", "1")]);
    let view = place.open(&["a", "new/b", "c"].map(|path| Effect::Write(path.into())));
    assert_eq!(fs::metadata(view.root().parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    fs::write(view.locate(Path::new("a")), "2").unwrap();
    fs::write(view.locate(&place.workspace.join("new/b")), "b").unwrap();
    fs::write(view.root().join("undeclared"), "?").unwrap();
    assert_eq!((place.get("a").unwrap(), place.names()), ("1".into(), vec!["a".to_owned()]));

    let changes = view.changes().unwrap();
    let kinds: Vec<_> = changes.iter().map(|change| (change.path.to_str().unwrap(), change.kind())).collect();
    assert_eq!(kinds, [("a", ChangeKind::Modified), ("new/b", ChangeKind::Created)]);
    let private = view.root().to_owned();
    drop(view);
    assert!(!private.exists());

    assert!(place.settle(&changes).is_empty());
    assert_eq!((place.get("a"), place.get("new/b")), (Some("2".into()), Some("b".into())));
    for state in [&changes[0].before, &changes[0].after] {
        let content = place.stage.content(&state.as_ref().unwrap().hash).unwrap();
        assert!(content == b"1" || content == b"2");
    }
}

#[test]
fn a_view_is_compared_with_the_file_as_it_was_when_it_was_opened() {
    let place = Place::new(&[("a", "1"), ("b", "1")]);
    let view = place.open(&["a", "b"].map(|path| Effect::Write(path.into())));
    place.put("a", "theirs");
    place.put("b", "theirs");
    fs::write(view.locate(Path::new("b")), "mine").unwrap();
    let changes = view.changes().unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(place.stage.content(&changes[0].before.as_ref().unwrap().hash).unwrap(), b"1");
    // B41
    assert_eq!(place.settle(&changes), [Path::new("b")]);
    assert_eq!(place.get("b").unwrap(), "theirs");
}

// B34
#[test]
fn a_link_stays_a_link_and_a_mode_stays() {
    let place = Place::new(&[("run.sh", "1")]);
    fs::set_permissions(place.workspace.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", place.workspace.join("link")).unwrap();
    let changes = place.written("link", "2");
    assert_eq!(changes[0].path, Path::new("run.sh"));
    place.settle(&changes);
    assert!(fs::symlink_metadata(place.workspace.join("link")).unwrap().is_symlink());
    assert_eq!(place.get("run.sh").unwrap(), "2");
    assert_eq!(fs::metadata(place.workspace.join("run.sh")).unwrap().mode() & 0o777, 0o755);
}

// D43
#[test]
fn a_hard_link_keeps_the_old_content() {
    let place = Place::new(&[("a", "1")]);
    fs::hard_link(place.workspace.join("a"), place.folder.path().join("other")).unwrap();
    place.settle(&place.written("a", "2"));
    assert_eq!(fs::read_to_string(place.folder.path().join("other")).unwrap(), "1");
}

#[test]
fn a_mode_and_a_removal_are_changes_too() {
    let place = Place::new(&[("a", "1"), ("b", "1")]);
    let view = place.open(&["a", "b"].map(|path| Effect::Write(path.into())));
    fs::set_permissions(view.locate(Path::new("a")), fs::Permissions::from_mode(0o700)).unwrap();
    fs::remove_file(view.locate(Path::new("b"))).unwrap();
    let changes = view.changes().unwrap();
    place.settle(&changes);
    assert_eq!(fs::metadata(place.workspace.join("a")).unwrap().mode() & 0o777, 0o700);
    assert_eq!(place.names(), ["a"]);
    let back: Vec<_> = changes.iter().rev().map(Change::inverse).collect();
    place.settle(&back);
    assert_eq!((place.get("a"), place.get("b")), (Some("1".into()), Some("1".into())));
}

#[test]
fn files_outside_the_workspace_are_recorded_by_their_absolute_path() {
    let place = Place::new(&[]);
    let outside = place.workspace.with_file_name("outside.txt");
    let changes = place.written(outside.to_str().unwrap(), "x");
    assert_eq!(changes[0].path, outside);
    assert!(!outside.exists());
    place.settle(&changes);
    assert_eq!(fs::read_to_string(outside).unwrap(), "x");
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let place = Place::new(&[("a", "1")]);
    fs::create_dir(place.workspace.join("sub")).unwrap();
    let table = [
        ("sub", io::ErrorKind::IsADirectory),
        ("/dev/null", io::ErrorKind::InvalidInput),
        ("a/b", io::ErrorKind::NotADirectory),
    ];
    for (path, kind) in table {
        let refused = place.stage.open(&place.workspace, &[Effect::Write(path.into())]);
        let Err(error) = refused else { panic!("`{path}` was opened") };
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[test]
fn settling_leaves_alone_what_it_does_not_know() {
    type Spoil = fn(&Place);
    let table: [(&str, Spoil); 6] = [
        ("other content", |place| place.put("sub/a", "theirs")),
        ("removed", |place| fs::remove_file(place.workspace.join("sub/a")).unwrap()),
        ("another mode", |place| {
            fs::set_permissions(place.workspace.join("sub/a"), fs::Permissions::from_mode(0o600)).unwrap();
        }),
        ("a folder in its place", |place| {
            fs::remove_file(place.workspace.join("sub/a")).unwrap();
            fs::create_dir(place.workspace.join("sub/a")).unwrap();
        }),
        ("a link in its place", |place| {
            fs::rename(place.workspace.join("sub/a"), place.workspace.join("b")).unwrap();
            symlink("../b", place.workspace.join("sub/a")).unwrap();
        }),
        ("a link in the place of its folder", |place| {
            fs::rename(place.workspace.join("sub"), place.workspace.with_file_name("gone")).unwrap();
            symlink("../gone", place.workspace.join("sub")).unwrap();
        }),
    ];
    for (what, spoil) in table {
        let place = Place::new(&[]);
        fs::create_dir(place.workspace.join("sub")).unwrap();
        place.put("sub/a", "1");
        fs::set_permissions(place.workspace.join("sub/a"), fs::Permissions::from_mode(0o644)).unwrap();
        let changes = place.written("sub/a", "2");
        spoil(&place);
        let before = place.get("sub/a");
        assert_eq!(place.settle(&changes), [Path::new("sub/a")], "{what}");
        assert_eq!(place.get("sub/a"), before, "{what}");
    }
}

// Two sessions make the same file in a folder that neither has seen.
#[test]
fn of_two_that_make_the_same_file_one_is_told() {
    for round in 0..30 {
        let place = Place::new(&[]);
        let [one, two] = ["one", "two"].map(|text| place.written("new/folder/file", text));
        let start = Barrier::new(2);
        let settled = |changes: &[Change]| {
            start.wait();
            place.settle(changes).is_empty()
        };
        let (first, second) = thread::scope(|scope| {
            let other = scope.spawn(|| settled(&two));
            (settled(&one), other.join().unwrap())
        });
        assert_ne!(first, second, "round {round}");
        let expected = if first { "one" } else { "two" };
        assert_eq!(place.get("new/folder/file").as_deref(), Some(expected), "round {round}");
    }
}

// B32: whatever goes wrong while files are written, the old ones stay and nothing else does.
#[test]
fn a_failed_write_leaves_the_old_content_and_no_other_file() {
    let place = Place::new(&[("a", "1"), ("b", "1")]);
    let paths = ["a", "new/folder/c", "b"];
    let changes: Vec<_> = paths.into_iter().flat_map(|path| place.written(path, path)).collect();
    let lost = &changes[2].after.as_ref().unwrap().hash.0;
    fs::remove_file(place.folder.path().join("blobs").join(lost)).unwrap();
    let error = place.stage.settle(&place.workspace, &changes).unwrap_err();
    assert!(error.to_string().starts_with("cannot write `b`: "), "{error}");
    assert_eq!((place.get("a"), place.get("b")), (Some("1".into()), Some("1".into())));
    assert_eq!(place.names(), ["a", "b"]);
}

const NAMES: [&str; 3] = ["a", "sub/b", "c"];

/// What a call does: leaves this content in this file, or removes it.
fn deeds() -> impl Strategy<Value = Vec<(usize, Option<String>)>> {
    prop::collection::vec((0..NAMES.len(), prop::option::of("[xy]{0,2}")), 0..6)
}

fn act(place: &Place, deeds: &[(usize, Option<String>)]) -> Vec<Change> {
    let view = place.open(&NAMES.map(|name| Effect::Write(name.into())));
    for (file, text) in deeds {
        let path = view.locate(Path::new(NAMES[*file]));
        match text {
            Some(text) => fs::write(path, text).unwrap(),
            None => drop(fs::remove_file(path)),
        }
    }
    view.changes().unwrap()
}

fn contents(place: &Place) -> [Option<String>; 3] {
    NAMES.map(|name| place.get(name))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn settling_twice_is_settling_once_and_the_inverse_restores(first in deeds(), second in deeds()) {
        let place = Place::new(&[]);
        place.settle(&act(&place, &first));
        let before = contents(&place);
        let changes = act(&place, &second);
        prop_assert!(place.settle(&changes).is_empty());
        let after = contents(&place);
        prop_assert!(place.settle(&changes).is_empty());
        prop_assert_eq!(&contents(&place), &after);
        let back: Vec<_> = changes.iter().rev().map(Change::inverse).collect();
        prop_assert!(place.settle(&back).is_empty());
        prop_assert_eq!(contents(&place), before);
    }

    #[test]
    fn files_changed_by_others_are_left_alone(deeds in deeds(), theirs in 0..NAMES.len()) {
        let place = Place::new(&[]);
        fs::create_dir(place.workspace.join("sub")).unwrap();
        let changes = act(&place, &deeds);
        place.put(NAMES[theirs], "theirs");
        let conflicts = place.settle(&changes);
        let touched = changes.iter().any(|change| change.path == Path::new(NAMES[theirs]));
        prop_assert_eq!(conflicts, touched.then(|| PathBuf::from(NAMES[theirs])).into_iter().collect::<Vec<_>>());
        prop_assert_eq!(place.get(NAMES[theirs]).unwrap(), "theirs");
    }
}

#[test]
fn a_call_that_searches_a_folder_has_the_files_that_its_view_shows_there() {
    let place = Place::new(&[("a.txt", "one"), ("gone.txt", "gone")]);
    let removed = place.open_to_write("gone.txt");
    fs::remove_file(removed.locate(Path::new("gone.txt"))).unwrap();
    let changes =
        [place.written("a.txt", "two"), place.written("new.txt", "new"), removed.changes().unwrap()];
    let effects = [Effect::Read(place.workspace.clone())];
    let view = place.stage.open_with(&place.workspace, &effects, &changes.concat()).unwrap();
    let shown = view.shown().into_iter().map(|(real, lies)| {
        assert_eq!(view.locate(&real), lies);
        let name = real.strip_prefix(&place.workspace).unwrap().to_owned();
        (name.to_str().unwrap().to_owned(), fs::read_to_string(lies).ok())
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort();
    let expected = [("a.txt", Some("two")), ("gone.txt", None), ("new.txt", Some("new"))];
    assert_eq!(shown, expected.map(|(name, text)| (name.to_owned(), text.map(str::to_owned))));
    assert_eq!(view.changes().unwrap().len(), 3);
}
