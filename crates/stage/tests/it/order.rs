//! Nothing is gone before what takes its place is there, and what fails half-way is as if it had never begun.
use crate::kit::Place;
use haft_core::{Change, Effect, Stage};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The changes of a call that moves `from` to `to`.
fn moved(place: &Place, from: &str, to: &str) -> Vec<Change> {
    let view = place.open(&[from, to].map(|path| Effect::Write(path.into())));
    let content = fs::read(view.locate(Path::new(from))).unwrap();
    fs::write(view.locate(Path::new(to)), content).unwrap();
    fs::remove_file(view.locate(Path::new(from))).unwrap();
    view.changes().unwrap()
}

/// The same changes with another name: no view takes one that no file system has.
fn renamed(changes: Vec<Change>, from: &str, to: &str) -> Vec<Change> {
    let path = |path: PathBuf| if path == Path::new(from) { to.into() } else { path };
    changes.into_iter().map(|change| Change { path: path(change.path), ..change }).collect()
}

#[test]
fn what_is_moved_stays_where_it_cannot_be_written() {
    let too_long = "x".repeat(300);
    let table: [(&str, &str); 3] = [
        ("a name that is too long", &too_long),
        ("a folder that takes no files", "/proc/haft-cannot-be-made"),
        ("a file in its way", "b/inside"),
    ];
    for (what, target) in table {
        for reversed in [false, true] {
            let place = Place::new(&[("a", "1"), ("b", "theirs"), ("c", "1")]);
            let mut changes = renamed(moved(&place, "a", "new"), "new", target);
            changes.extend(place.written("c", "2"));
            if reversed {
                changes.reverse();
            }
            let settled = place.stage.settle(&place.workspace, &changes);
            assert!(
                settled.as_ref().is_ok_and(|left| left.iter().any(|path| path == Path::new(target)))
                    || settled.as_ref().is_err_and(|error| error.to_string().contains(target)),
                "{what}: {settled:?}"
            );
            assert_eq!(place.get("a").as_deref(), Some("1"), "{what}");
            assert_eq!(place.get("b").as_deref(), Some("theirs"), "{what}");
            // Of an error nothing is done, of a conflict everything else.
            let expected = if settled.is_ok() { "2" } else { "1" };
            assert_eq!(place.get("c").as_deref(), Some(expected), "{what}");
            assert_eq!(place.names(), ["a", "b", "c"], "{what}");
        }
    }
}

#[test]
fn what_is_moved_stays_where_somebody_has_taken_its_place() {
    let place = Place::new(&[("a", "1")]);
    let changes = moved(&place, "a", "new");
    place.put("new", "theirs");
    assert_eq!(place.settle(&changes), ["a", "new"].map(PathBuf::from));
    assert_eq!((place.get("a").as_deref(), place.get("new").as_deref()), (Some("1"), Some("theirs")));
    // Once it is free, the same changes are made.
    fs::remove_file(place.workspace.join("new")).unwrap();
    assert!(place.settle(&changes).is_empty());
    assert_eq!((place.get("a"), place.get("new").as_deref()), (None, Some("1")));
    assert!(place.settle(&changes).is_empty());
}

#[test]
fn a_file_that_is_changed_twice_is_changed_in_that_order() {
    let place = Place::new(&[("a", "1")]);
    let first = place.written("a", "2");
    place.settle(&first);
    let second = place.written("a", "3");
    place.settle(&second);
    let there = [first, second].concat();
    let back: Vec<Change> = there.iter().rev().map(Change::inverse).collect();
    assert!(place.settle(&back).is_empty());
    assert_eq!(place.get("a").as_deref(), Some("1"));
    assert!(place.settle(&there).is_empty());
    assert_eq!(place.get("a").as_deref(), Some("3"));
}

// More than a process may have open, too.
#[test]
fn many_files_are_settled() {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit { current: Some(512), ..most },
    )
    .unwrap();
    let place = Place::in_memory();
    let paths: Vec<String> = (0..600).map(|number| format!("folder{}/file{number}", number % 7)).collect();
    let view = place.open(&paths.iter().map(|path| Effect::Write(path.into())).collect::<Vec<_>>());
    for path in &paths {
        fs::write(view.locate(Path::new(path)), path).unwrap();
    }
    let mut changes = view.changes().unwrap();
    let last = changes.len() - 1;
    let path = std::mem::replace(&mut changes[last].path, "x".repeat(300).into());
    place.stage.settle(&place.workspace, &changes).unwrap_err();
    assert!(paths.iter().all(|path| place.get(path).is_none()), "all of them or none");
    changes[last].path = path;
    assert!(place.settle(&changes).is_empty());
    for path in &paths {
        assert_eq!(place.get(path).as_ref(), Some(path));
    }
    let back: Vec<Change> = changes.iter().map(Change::inverse).collect();
    assert!(place.settle(&back).is_empty());
    assert!(paths.iter().all(|path| place.get(path).is_none()));
    assert_eq!(place.names(), Vec::<String>::new(), "nothing is left over");
}

// What a process left that was killed before it put a file in place, or right after.
#[test]
fn what_a_killed_process_left_beside_a_file_is_tidied_up() {
    for (what, now, beside) in [
        ("nothing written yet", "old content", ""),
        ("half written", "old content", "new con"),
        ("written", "old content", "new content"),
        ("put in place", "new content", "old content"),
    ] {
        let place = Place::new(&[("a", "old content")]);
        let changes = place.written("a", "new content");
        let name = leftover_name(&place, &changes);
        place.put("a", now);
        place.put(&name, beside);
        assert!(place.settle(&changes).is_empty(), "{what}");
        assert_eq!((place.get("a").as_deref(), place.names().len()), (Some("new content"), 1), "{what}");
    }
    let place = Place::new(&[("a", "old content")]);
    let changes = place.written("a", "new content");
    let name = leftover_name(&place, &changes);
    place.put("a", "old content");
    place.put(&name, "another's");
    assert!(place.settle(&changes).is_empty());
    assert_eq!(
        (place.get("a").as_deref(), place.get(&name).as_deref()),
        (Some("new content"), Some("another's"))
    );
}

/// The name that a change takes beside its file, caught while the change is made and fails.
fn leftover_name(place: &Place, changes: &[Change]) -> String {
    let content = place.folder.path().join("blobs").join(&changes[0].after.as_ref().unwrap().hash.0);
    let kept = content.with_extension("kept");
    fs::rename(&content, &kept).unwrap();
    // A pipe in the place of the content: settling waits for a program that writes into it.
    let made = std::process::Command::new("mkfifo").arg(&content).status().unwrap();
    assert!(made.success());
    let name = std::thread::scope(|scope| {
        let settling = scope.spawn(|| place.stage.settle(&place.workspace, changes));
        let name = loop {
            let names = place.names();
            if let Some(name) = names.into_iter().find(|name| name.starts_with(".haft-")) {
                break name;
            }
            std::thread::yield_now();
        };
        // Nothing comes, which is not the content.
        drop(fs::File::options().write(true).open(&content).unwrap());
        let refused = settling.join().unwrap().unwrap_err();
        assert!(refused.to_string().contains("was changed since it was recorded"), "{refused}");
        name
    });
    fs::remove_file(&content).unwrap();
    fs::rename(kept, content).unwrap();
    name
}
