//! What differs between a workspace and what a command sees of it.
use super::{
    ignored::Ignored,
    moved::{Weight, weight},
    upper::{Seen, SeenFolder, look},
};
use crate::attributes;
use haft_core::{Change, FileState, Hash};
use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsString,
    fs::{self, File, Metadata},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

/// What a command changed.
#[derive(Default)]
pub(super) struct Difference {
    pub(super) changes: Vec<Change>,
    /// What somebody else changed as well, since the command began.
    pub(super) others: Vec<PathBuf>,
    /// Where the contents lie that the changes name.
    pub(super) contents: Vec<(PathBuf, FileState)>,
    named: HashSet<Hash>,
    /// What is moved as it is, and not kept for an undo: see [`KEPT`].
    pub(super) moved: Vec<PathBuf>,
    root: PathBuf,
    opened: (i64, i64),
    ignored: Option<Ignored>,
    /// What git ignores, put off until it is known how much that is.
    put_off: Vec<(PathBuf, Seen, Option<Metadata>)>,
    /// Of what was put off.
    weight: Weight,
}

/// What git ignores is kept for an undo up to this; more of it is what a build leaves, and a build makes it again.
const KEPT: Weight = Weight { entries: 500, bytes: 8 << 20 };

/// More than this of other files is no work of an agent's hands.
const MOST: Weight = Weight { entries: 200_000, bytes: 2 << 30 };

impl Difference {
    /// `opened`: when the command began.
    pub(super) fn of(root: &Path, upper: &Path, opened: (i64, i64)) -> io::Result<Self> {
        let ignored = Some(Ignored::in_workspace(root));
        let mut difference = Self { root: root.to_owned(), opened, ignored, ..Self::default() };
        let seen = SeenFolder { upper: Some(upper.to_owned()), lower: Some(root.to_owned()) };
        difference.folder(Path::new(""), &seen, true)?;
        difference.rest(upper)?;
        Ok(difference)
    }

    /// What was put off.
    fn rest(&mut self, upper: &Path) -> io::Result<()> {
        self.ignored = None;
        let put_off = std::mem::take(&mut self.put_off);
        for (path, ..) in &put_off {
            let Weight { entries, bytes } = weight(&upper.join(path))?;
            self.weight.entries += entries;
            self.weight.bytes += bytes;
        }
        if self.weight.entries > KEPT.entries || self.weight.bytes > KEPT.bytes {
            self.moved = put_off.into_iter().map(|(path, ..)| path).collect();
            return Ok(());
        }
        put_off.into_iter().try_for_each(|(path, seen, found)| self.compare(&path, seen, found))
    }

    /// Whether git ignores what is seen there.
    fn is_ignored(&mut self, path: &Path, seen: &Seen, found: Option<&Metadata>) -> bool {
        let Some(ignored) = &mut self.ignored else { return false };
        let is_folder = match seen {
            Seen::Folder(_) => true,
            Seen::Absent => found.is_some_and(Metadata::is_dir),
            Seen::File(_) | Seen::Other => false,
        };
        ignored.holds(path, is_folder)
    }

    /// Compares all that a folder shows with what lies at `path`. `is_there`: a folder; a link that lay there leads
    /// elsewhere.
    fn folder(&mut self, path: &Path, seen: &SeenFolder, is_there: bool) -> io::Result<()> {
        let real = self.root.join(path);
        let mut all = BTreeSet::new();
        if let Some(upper) = &seen.upper {
            open_up(upper)?;
            all.extend(names(upper)?);
        }
        // What shows itself is as it was.
        if seen.lower.as_ref() != Some(&real) {
            if let Some(lower) = &seen.lower {
                all.extend(names(lower)?);
            }
            if is_there {
                all.extend(names(&real)?);
            }
        }
        for name in all {
            let child = seen.seen(&name, &self.root)?;
            let found = if is_there { look(&real.join(&name))? } else { None };
            self.compare(&path.join(name), child, found)?;
        }
        Ok(())
    }

    fn compare(&mut self, path: &Path, seen: Seen, found: Option<Metadata>) -> io::Result<()> {
        if self.is_ignored(path, &seen, found.as_ref()) {
            self.put_off.push((path.to_owned(), seen, found));
            return Ok(());
        }
        let real = self.root.join(path);
        match seen {
            Seen::File(file) if file == real => Ok(()),
            Seen::Absent => self.removed(path, found),
            Seen::File(file) => {
                let Some(before) = self.before(path, found)? else { return Ok(()) };
                let after = state_of_changed(&file)?;
                self.changed(path, before, Some((file, after)))
            }
            Seen::Folder(folder) => {
                let is_there = found.as_ref().is_some_and(Metadata::is_dir);
                let before = match found {
                    Some(found) if is_there => Some(folder_state(&real, found.mode())),
                    found => match self.before(path, found)? {
                        Some(before) => before,
                        None => return Ok(()),
                    },
                };
                let lies = folder.lies().to_owned();
                let after = folder_state(&lies, fs::symlink_metadata(&lies)?.mode());
                self.changed(path, before, Some((lies, after)))?;
                self.folder(path, &folder, is_there)
            }
            Seen::Other => Ok(()),
        }
    }

    /// What was there, and is not seen any more.
    fn removed(&mut self, path: &Path, found: Option<Metadata>) -> io::Result<()> {
        match self.before(path, found)? {
            Some(before) => self.changed(path, before, None),
            None => Ok(()),
        }
    }

    /// What lies at `path` now, and what is below it is removed; `None` where somebody else has changed any of that since
    /// the command began.
    fn before(&mut self, path: &Path, found: Option<Metadata>) -> io::Result<Option<Option<FileState>>> {
        let Some(found) = found else { return Ok(Some(None)) };
        let real = self.root.join(path);
        if found.is_dir() {
            let others = self.others.len();
            for name in names(&real)? {
                let path = path.join(name);
                let found = look(&self.root.join(&path))?;
                self.removed(&path, found)?;
            }
            return Ok((self.others.len() == others).then(|| Some(folder_state(&real, found.mode()))));
        }
        if (found.ctime(), found.ctime_nsec()) > self.opened {
            self.others.push(path.to_owned());
            return Ok(None);
        }
        if !(found.is_file() || found.is_symlink()) {
            return Ok(Some(None));
        }
        state(&real).map(|state| Some(Some(state)))
    }

    fn changed(
        &mut self,
        path: &Path,
        before: Option<FileState>,
        after: Option<(PathBuf, FileState)>,
    ) -> io::Result<()> {
        let (lies, after) = after.unzip();
        let change = Change::between(path.to_owned(), before, after);
        if change.before == change.after {
            return Ok(());
        }
        let before = change.before.clone().map(|state| (self.root.join(path), state));
        let states = before.into_iter().chain(lies.zip(change.after.clone()));
        self.contents.extend(states.filter(|(_, state)| self.named.insert(state.hash.clone())));
        self.changes.push(change);
        if self.changes.len() as u64 > MOST.entries {
            let why = format!("the command changed more than {} files; nothing of it was kept", MOST.entries);
            return Err(io::Error::other(why));
        }
        Ok(())
    }
}

fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

fn folder_state(path: &Path, mode: u32) -> FileState {
    FileState::folder(mode).with_attributes(attributes::at(path))
}

/// A command may have left a folder so that its owner may not look into it. Its mode was read before.
fn open_up(folder: &Path) -> io::Result<()> {
    let mode = fs::symlink_metadata(folder)?.mode();
    match mode & 0o700 {
        0o700 => Ok(()),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700)),
    }
}

/// The same of one that only this view shows. A command may have left it so that its owner may not read it.
fn state_of_changed(file: &Path) -> io::Result<FileState> {
    match state(file) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let permissions = fs::metadata(file)?.mode();
            fs::set_permissions(file, fs::Permissions::from_mode(permissions | 0o400))?;
            Ok(FileState { mode: permissions & 0o7777, ..state(file)? })
        }
        state => state,
    }
}

/// Of a file or a link.
fn state(path: &Path) -> io::Result<FileState> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        let target = fs::read_link(path)?;
        return Ok(FileState::link(Hash::of(target.as_os_str().as_bytes())?));
    }
    let state = FileState::file(Hash::of(File::open(path)?)?, found.mode());
    Ok(state.with_attributes(attributes::at(path)))
}
