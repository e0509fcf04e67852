//! Steps that are made, reverted, and concurrent with other processes.
use super::*;
use crate::place::Lookup;
use haft_core::Hash;
use std::path::PathBuf;

struct Ground {
    _folder: tempfile::TempDir,
    blobs: Blobs,
    file: PathBuf,
}

impl Ground {
    /// A folder with this text in its file, if any.
    fn new(now: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        fs::create_dir_all(root.join("blobs")).unwrap();
        let file = root.join("w/file");
        if let Some(text) = now {
            put(&file, text);
        }
        Self { blobs: Blobs::new(root.join("blobs")), file, _folder: folder }
    }

    fn state(&self, text: &str) -> FileState {
        let hash = Hash::of(text.as_bytes()).unwrap();
        fs::write(self.file.with_file_name("../blobs").join(&hash.0), text).unwrap();
        FileState::file(hash, 0o644)
    }

    fn change(&self, before: Option<&str>, after: Option<&str>) -> Change {
        let state = |text: Option<&str>| text.map(|text| self.state(text));
        Change { path: self.file.clone(), before: state(before), after: state(after), new_folders: 0 }
    }

    fn step<'a>(&self, change: &'a Change) -> Step<'a> {
        let Lookup::Open(place) = Place::find(&self.file).unwrap() else { panic!("there is no folder") };
        let (_, old) = place.look().unwrap();
        Step::prepare(&self.blobs, change, place, CreatedDirs::default(), old.as_ref()).unwrap()
    }

    /// The file's text, and how many files there are.
    fn found(&self) -> (Option<String>, usize) {
        let names = fs::read_dir(self.file.parent().unwrap()).unwrap().count();
        (fs::read_to_string(&self.file).ok(), names)
    }
}

fn put(file: &std::path::Path, text: &str) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
}

#[test]
fn a_step_that_is_taken_back_has_changed_nothing() {
    for (before, after) in [(Some("old"), Some("new")), (None, Some("new")), (Some("old"), None)] {
        let ground = Ground::new(before);
        let change = ground.change(before, after);
        let mut step = ground.step(&change);
        assert!(matches!(step.commit().unwrap(), Committed::Done));
        assert_eq!(ground.found().0.as_deref(), after);
        step.take_back().unwrap();
        drop(step);
        assert_eq!(ground.found(), (before.map(str::to_owned), usize::from(before.is_some())));
    }
}

#[test]
fn what_somebody_puts_there_meanwhile_stays() {
    for (before, after) in [(Some("old"), Some("new")), (None, Some("new")), (Some("old"), None)] {
        let ground = Ground::new(before);
        let change = ground.change(before, after);
        let mut step = ground.step(&change);
        put(&ground.file, "theirs");
        assert!(matches!(step.commit().unwrap(), Committed::Left));
        drop(step);
        assert_eq!(ground.found(), (Some("theirs".into()), 1), "before");
        // After the step, content that another process wrote stays, too.
        put(&ground.file, before.unwrap_or("gone"));
        if before.is_none() {
            fs::remove_file(&ground.file).unwrap();
        }
        let mut step = ground.step(&change);
        assert!(matches!(step.commit().unwrap(), Committed::Done));
        let aside = ground.file.with_file_name("../theirs");
        put(&aside, "theirs");
        fs::rename(aside, &ground.file).unwrap();
        let _cannot_be_put_back = step.take_back();
        drop(step);
        assert_eq!(ground.found().0.as_deref(), Some("theirs"), "behind {before:?} {after:?}");
    }
}

#[test]
fn file_systems_that_know_less_are_served_too() {
    type Way = fn(&mut Step<'_>) -> io::Result<bool>;
    let over: Way = |step| step.write_over();
    let link: Way = |step| step.link_where_nothing_is();
    let look: Way = |step| step.look_and_rename();
    for (what, before, way) in [("over", Some("old"), over), ("link", None, link), ("look", None, look)] {
        for theirs in [false, true] {
            let ground = Ground::new(before);
            let change = ground.change(before, Some("new"));
            let mut step = ground.step(&change);
            if theirs {
                put(&ground.file, "theirs");
            }
            assert_eq!(way(&mut step).unwrap(), !theirs, "{what}");
            drop(step);
            let expected = if theirs { "theirs" } else { "new" };
            assert_eq!(ground.found(), (Some(expected.into()), 1), "{what}");
        }
    }
}

#[test]
fn a_folder_in_which_something_is_stays_where_a_file_is_to_be() {
    type Way = fn(&mut Step<'_>) -> io::Result<bool>;
    let exchange: Way = |step| Ok(!matches!(step.replace_folder()?, Committed::Left));
    let without: Way = |step| step.remove_folder_and_create();
    for (what, way) in [("exchange", exchange), ("without", without)] {
        for is_full in [true, false] {
            let ground = Ground::new(None);
            fs::create_dir(&ground.file).unwrap();
            let change =
                Change { before: Some(FileState::folder(0o755)), ..ground.change(None, Some("new")) };
            let mut step = ground.step(&change);
            if is_full {
                put(&ground.file.join("theirs"), "theirs");
            }
            assert_eq!(way(&mut step).unwrap(), !is_full, "{what}");
            drop(step);
            assert_eq!(ground.found(), ((!is_full).then(|| "new".into()), 1), "{what}");
            assert_eq!(ground.file.join("theirs").exists(), is_full, "{what}");
        }
    }
}

#[test]
fn a_folder_that_has_files_by_now_is_not_taken_back_and_what_it_replaced_is_kept() {
    for can_exchange in [true, false] {
        let ground = Ground::new(Some("old"));
        let change = Change { after: Some(FileState::folder(0o755)), ..ground.change(Some("old"), None) };
        let mut step = ground.step(&change);
        step.is_done = if can_exchange { step.exchange().unwrap() } else { step.write_over().unwrap() };
        put(&ground.file.join("theirs"), "theirs");
        let beside = step.place.above.join(&step.beside);
        let refused = step.take_back().unwrap_err().to_string();
        assert!(refused.contains(&beside.display().to_string()), "{refused}");
        drop(step);
        assert_eq!(fs::read_to_string(beside).unwrap(), "old");
        assert_eq!(fs::read_to_string(ground.file.join("theirs")).unwrap(), "theirs");
    }
}

// A backup, a hard link, an index: the content is what counts.
#[test]
fn a_file_that_was_only_touched_is_replaced() {
    let ground = Ground::new(Some("old"));
    let change = ground.change(Some("old"), Some("new"));
    let mut step = ground.step(&change);
    put(&ground.file, "old");
    assert!(matches!(step.commit().unwrap(), Committed::Done));
    drop(step);
    assert_eq!(ground.found(), (Some("new".into()), 1));
}

#[test]
fn a_file_system_that_cannot_exchange_is_served_for_folders_too() {
    let ground = Ground::new(Some("old"));
    let change = Change { after: Some(FileState::folder(0o755)), ..ground.change(Some("old"), None) };
    let mut step = ground.step(&change);
    assert!(step.write_over().unwrap());
    assert!(ground.file.is_dir() && ground.found().1 == 2);
    step.is_done = true;
    step.take_back().unwrap();
    drop(step);
    assert_eq!(ground.found(), (Some("old".into()), 1));
    // A folder of another process.
    let mut step = ground.step(&change);
    fs::remove_file(&ground.file).unwrap();
    fs::create_dir(&ground.file).unwrap();
    assert!(!step.write_over().unwrap());
    drop(step);
    assert!(ground.file.is_dir() && ground.found().1 == 1);
}
