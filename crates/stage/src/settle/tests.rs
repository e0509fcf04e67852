//! Replacements of one kind of file by another: undone after an error, and continued after a kill.
use super::*;
use haft_core::{FileState, Hash};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

struct Ground {
    _folder: tempfile::TempDir,
    root: PathBuf,
    blobs: Blobs,
}

impl Ground {
    /// A file `A`, a link `L`, a folder `D` with a file.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("w/D")).unwrap();
        let ground = Self { blobs: Blobs::new(root.join("blobs")), root, _folder: folder };
        ground.put("A", "old");
        ground.put("D/1", "one");
        symlink("A", ground.at("L")).unwrap();
        fs::set_permissions(ground.at("D"), fs::Permissions::from_mode(0o750)).unwrap();
        ground
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join("w").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(0o644)).unwrap();
    }

    fn file(&self, text: &str) -> Option<FileState> {
        Some(FileState::file(self.blobs.keep_content(text.as_bytes()).unwrap(), 0o644))
    }

    /// `A` and `L` become folders, and `D` becomes a file.
    fn changes(&self) -> Vec<Change> {
        let link: Option<FileState> = Some(FileState::link(self.blobs.keep_content(b"A").unwrap()));
        let folder = |mode| Some(FileState::folder(mode));
        let change = |path: &str, before, after| Change { path: path.into(), before, after, new_folders: 0 };
        vec![
            change("A", self.file("old"), folder(0o755)),
            change("A/in", None, self.file("in")),
            change("D", folder(0o750), self.file("flat")),
            change("D/1", self.file("one"), None),
            change("L", link, folder(0o555)),
            change("L/in", None, self.file("in")),
        ]
    }

    fn settle(&self, changes: &[Change]) -> io::Result<Vec<PathBuf>> {
        let (workspace, locks) = (&*self.root.join("w"), &Locks::default());
        Settling { blobs: &self.blobs, locks, workspace, is_first: false }.settle(changes)
    }

    /// All paths, each with its mode and content.
    fn tree(&self) -> Vec<(PathBuf, u32, String)> {
        let mut ahead = vec![self.at("")];
        let mut found = Vec::new();
        while let Some(folder) = ahead.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let mode = fs::symlink_metadata(&path).unwrap().mode();
                let text = match fs::read_link(&path) {
                    Ok(target) => target.display().to_string(),
                    Err(_) => fs::read_to_string(&path).unwrap_or_default(),
                };
                if !path.is_symlink() && path.is_dir() {
                    ahead.push(path.clone());
                }
                found.push((path.strip_prefix(self.at("")).unwrap().to_owned(), mode, text));
            }
        }
        found.sort();
        found
    }
}

#[test]
fn an_error_takes_back_what_replaced_files_links_and_folders() {
    let ground = Ground::new();
    let before = ground.tree();
    let mut changes = ground.changes();
    let (path, after) = ("x".repeat(300).into(), ground.file("new"));
    changes.push(Change { path, before: None, after, new_folders: 0 });
    ground.settle(&changes).unwrap_err();
    assert_eq!(ground.tree(), before);
    // The content of the file that replaces the folder is missing.
    let changes = ground.changes();
    let Hash(name) = &changes[2].after.as_ref().unwrap().hash;
    fs::remove_file(ground.root.join("blobs").join(name)).unwrap();
    ground.settle(&changes).unwrap_err();
    assert_eq!(ground.tree(), before);
}

#[test]
fn one_thing_takes_the_place_of_another_and_gives_it_back() {
    let ground = Ground::new();
    let (before, changes) = (ground.tree(), ground.changes());
    assert_eq!(ground.settle(&changes).unwrap(), Vec::<PathBuf>::new());
    let after = ground.tree();
    let names = ["A", "A/in", "D", "L", "L/in"].map(PathBuf::from);
    assert_eq!(after.iter().map(|(path, ..)| path.clone()).collect::<Vec<_>>(), names);
    assert_eq!(ground.settle(&changes).unwrap(), Vec::<PathBuf>::new());
    assert_eq!(ground.tree(), after);
    let back: Vec<Change> = changes.iter().rev().map(Change::inverse).collect();
    assert_eq!(ground.settle(&back).unwrap(), Vec::<PathBuf>::new());
    assert_eq!(ground.tree(), before);
}

/// The states after a kill at different moments.
#[test]
fn what_a_killed_process_had_begun_is_finished() {
    let expected = Ground::new();
    assert!(expected.settle(&expected.changes()).unwrap().is_empty());
    type Killed = fn(&Ground, &dyn Fn(usize) -> PathBuf);
    let moments: [(&str, Killed); 6] = [
        ("the folder is made", |_, beside| fs::create_dir(beside(0)).unwrap()),
        ("they are exchanged", |ground, beside| {
            fs::rename(ground.at("A"), beside(0)).unwrap();
            fs::create_dir(ground.at("A")).unwrap();
            fs::set_permissions(ground.at("A"), fs::Permissions::from_mode(0o700)).unwrap();
        }),
        ("a link went aside where nothing can be exchanged", |ground, beside| {
            fs::rename(ground.at("L"), beside(4)).unwrap();
        }),
        ("the folders are finished", |ground, beside| {
            fs::rename(ground.at("L"), beside(4)).unwrap();
            fs::create_dir(ground.at("L")).unwrap();
            ground.put("L/in", "in");
            fs::set_permissions(ground.at("L"), fs::Permissions::from_mode(0o555)).unwrap();
        }),
        ("what takes the place of the folder is prepared", |_, beside| fs::write(beside(2), "fla").unwrap()),
        ("it is in place", |ground, beside| {
            fs::remove_dir_all(ground.at("D")).unwrap();
            ground.put("D", "flat");
            fs::create_dir(beside(2)).unwrap();
        }),
    ];
    for (what, killed) in moments {
        let ground = Ground::new();
        let changes = ground.changes();
        let beside = |place: usize| {
            let name = temp_names::names(&changes[place]).next().unwrap();
            ground.at(name.to_str().unwrap())
        };
        killed(&ground, &beside);
        assert_eq!(ground.settle(&changes).unwrap(), Vec::<PathBuf>::new(), "{what}");
        assert_eq!(ground.tree(), expected.tree(), "{what}");
    }
}

/// A file was added to the folder while it was under its temporary name, and then the process was killed.
#[test]
fn a_folder_with_files_that_a_killed_process_left_aside_comes_back() {
    let ground = Ground::new();
    let changes = ground.changes();
    let beside = temp_names::names(&changes[2]).next().unwrap();
    fs::remove_file(ground.at("D/1")).unwrap();
    ground.put("D/theirs", "theirs");
    fs::rename(ground.at("D"), ground.at(beside.to_str().unwrap())).unwrap();
    ground.put("D", "flat");
    for again in [false, true] {
        assert_eq!(ground.settle(&changes).unwrap(), [PathBuf::from("D")], "{again}");
        let names: Vec<PathBuf> = ground.tree().into_iter().map(|(path, ..)| path).collect();
        let expected = ["A", "A/in", "D", "D/theirs", "L", "L/in"].map(PathBuf::from);
        assert_eq!(names, expected, "{again}");
    }
}

#[test]
fn a_folder_of_another_process_stays() {
    let ground = Ground::new();
    fs::remove_file(ground.at("A")).unwrap();
    fs::create_dir(ground.at("A")).unwrap();
    ground.put("A/theirs", "theirs");
    fs::set_permissions(ground.at("A"), fs::Permissions::from_mode(0o700)).unwrap();
    let left = ground.settle(&ground.changes()).unwrap();
    assert!(left.contains(&"A".into()), "{left:?}");
    assert_eq!(fs::read_to_string(ground.at("A/theirs")).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(ground.at("D/1")).unwrap(), "one");
}
