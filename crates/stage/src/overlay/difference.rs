//! [`Difference`]: the differences between a workspace and the view of a command.
mod bulk;

pub(super) use bulk::{Listing, Moves, Weight};

use super::{
    ignored::Ignored,
    upper::{Seen, SeenFolder, look},
};
use crate::{
    attributes,
    place::open_file,
    sparse::{self, Stop},
};
use bulk::{PutOff, weight};
use haft_core::{Bulk, Change, FileState, Hash};
use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsString,
    fs::{self, Metadata},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

/// The changes of a command.
pub(super) struct Difference<'a> {
    pub(super) changes: Vec<Change>,
    /// Files that other programs changed as well since the command began.
    pub(super) others: Vec<PathBuf>,
    /// The paths of the contents that the changes name.
    pub(super) contents: Vec<(PathBuf, FileState)>,
    named: HashSet<Hash>,
    /// Files that are moved without a record for an undo: see [`MAX_IGNORED`].
    pub(super) bulk: Bulk,
    pub(super) moves: Moves,
    root: PathBuf,
    opened: (i64, i64),
    stop: &'a Stop,
    /// Files and folders of the workspace that the command must not see, absolute.
    hidden: &'a [PathBuf],
    /// Length of the files that were compared, in bytes.
    compared: u64,
    ignored: Option<Ignored>,
    /// Ignored paths, put off until their total size is known.
    put_off: Vec<PutOff>,
}

/// Files that were changed or removed at their path, each with its weight, and all others.
type Weighed = (Vec<(Weight, PutOff)>, Vec<PutOff>);

/// Maximum weight of ignored files that are recorded for an undo. Larger changes are the output of a build, which can
/// be built again.
const MAX_IGNORED: Weight = Weight { entries: 500, bytes: 8 << 20 };

/// Maximum weight of other files that are recorded. A command can create a file of any length in a moment, and hashing
/// takes one second per gigabyte.
const MAX_RECORDED: Weight = Weight { entries: 200_000, bytes: 8 << 30 };

impl<'a> Difference<'a> {
    /// `opened`: when the command began.
    ///
    /// # Errors
    /// Fails if a file cannot be read, if the command changed too much, or once `stop` is set.
    pub(super) fn of(
        root: &Path,
        upper: &Path,
        opened: (i64, i64),
        stop: &'a Stop,
        hidden: &'a [PathBuf],
    ) -> io::Result<Self> {
        let mut difference = Self::empty(root, opened, stop, hidden);
        let seen = SeenFolder { upper: Some(upper.to_owned()), lower: Some(root.to_owned()) };
        difference.folder(Path::new(""), &seen, true)?;
        difference.rest(upper)?;
        Ok(difference)
    }

    /// An empty difference, to which files are added.
    pub(super) fn empty(root: &Path, opened: (i64, i64), stop: &'a Stop, hidden: &'a [PathBuf]) -> Self {
        Self {
            changes: Vec::new(),
            others: Vec::new(),
            contents: Vec::new(),
            named: HashSet::new(),
            bulk: Bulk::default(),
            moves: Moves::default(),
            root: root.to_owned(),
            opened,
            stop,
            hidden,
            compared: 0,
            ignored: Some(Ignored::in_workspace(root)),
            put_off: Vec::new(),
        }
    }

    /// Compares or lists the put-off paths.
    fn rest(&mut self, upper: &Path) -> io::Result<()> {
        self.ignored = None;
        let put_off = std::mem::take(&mut self.put_off);
        let (files, mut others) = Self::weighed_files(upper, put_off)?;
        let (mut all, mut kept) = (Weight::default(), Vec::new());
        for (weight, file) in files {
            match all + weight {
                more if more.is_within(&MAX_IGNORED) => {
                    all = more;
                    kept.push(file);
                }
                _ => others.push(file),
            }
        }
        for (path, ..) in &others {
            all = all + weight(&upper.join(path))?;
        }
        let by_path = |(path, ..): &PutOff, (other, ..): &PutOff| path.cmp(other);
        if all.is_within(&MAX_IGNORED) {
            kept.append(&mut others);
        }
        kept.sort_by(by_path);
        others.sort_by(by_path);
        if !others.is_empty() {
            (self.bulk, self.moves) = Listing::of(self, upper, others)?;
        }
        kept.into_iter().try_for_each(|(path, seen, found)| self.compare(&path, seen, found))
    }

    /// Splits the put-off paths into files that were changed or removed at their path, the smallest first, and all
    /// others. The others are recorded together or not at all, because one may be the renamed content of another.
    fn weighed_files(upper: &Path, put_off: Vec<PutOff>) -> io::Result<Weighed> {
        let (mut files, mut others) = (Vec::new(), Vec::new());
        for one in put_off {
            let (path, seen, found) = &one;
            match found.as_ref().filter(|found| found.is_file() && !matches!(seen, Seen::Folder(_))) {
                Some(found) => {
                    let gone = Weight { entries: 0, bytes: found.len() };
                    files.push((weight(&upper.join(path))? + gone, one));
                }
                None => others.push(one),
            }
        }
        files.sort_by_key(|(weight, _)| weight.bytes);
        Ok((files, others))
    }

    /// Whether git ignores the path.
    fn is_ignored(&mut self, path: &Path, seen: &Seen, found: Option<&Metadata>) -> bool {
        let Some(ignored) = &mut self.ignored else { return false };
        let is_folder = match seen {
            Seen::Folder(_) => true,
            Seen::Absent => found.is_some_and(Metadata::is_dir),
            Seen::File(_) | Seen::Other => false,
        };
        ignored.holds(path, is_folder)
    }

    /// Compares the contents of a folder in the view with those of the workspace at `path`.
    fn folder(&mut self, path: &Path, seen: &SeenFolder, is_there: bool) -> io::Result<()> {
        for (name, child, found) in self.children(path, seen, is_there)? {
            self.compare(&path.join(name), child, found)?;
        }
        Ok(())
    }

    /// The names of a folder that may differ from the workspace, each with its state in the view and in the workspace.
    /// `is_there`: whether `path` is a folder in the workspace; a link there leads elsewhere.
    pub(super) fn children(
        &self,
        path: &Path,
        seen: &SeenFolder,
        is_there: bool,
    ) -> io::Result<Vec<(OsString, Seen, Option<Metadata>)>> {
        let real = self.root.join(path);
        let mut all = BTreeSet::new();
        if let Some(upper) = &seen.upper {
            open_up(upper)?;
            all.extend(names(upper)?);
        }
        // A folder that shows its own lower folder is unchanged.
        if seen.lower.as_ref() != Some(&real) {
            if let Some(lower) = &seen.lower {
                all.extend(names(lower)?);
            }
            if is_there {
                all.extend(names(&real).map_err(|error| not_read(path, error))?);
            }
        }
        let child = |name: OsString| {
            let place = real.join(&name);
            let found = if is_there { look(&place)? } else { None };
            let shown = seen.seen(&name, &self.root)?;
            self.keeps_its_name(&place, &shown)?;
            Ok((name, shown, found))
        };
        all.into_iter().map(child).collect()
    }

    /// Fails if a command renamed a folder above a hidden file: files are hidden by their path, so they must keep it.
    fn keeps_its_name(&self, place: &Path, shown: &Seen) -> io::Result<()> {
        match shown {
            Seen::File(lies)
                if lies != place && self.hidden.iter().any(|hidden| lies.starts_with(hidden)) =>
            {
                Err(renamed_hidden(lies))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether another process changed it since the command began.
    pub(super) fn is_newer(&self, found: &Metadata) -> bool {
        (found.ctime(), found.ctime_nsec()) > self.opened
    }

    pub(super) fn compare(&mut self, path: &Path, seen: Seen, found: Option<Metadata>) -> io::Result<()> {
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
                let after = self.state(path, &file)?;
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

    /// Adds the removal of a file or folder that the view no longer shows.
    fn removed(&mut self, path: &Path, found: Option<Metadata>) -> io::Result<()> {
        match self.before(path, found)? {
            Some(before) => self.changed(path, before, None),
            None => Ok(()),
        }
    }

    /// Returns the current state of `path`, and adds the removal of everything below it; `None` if another process has
    /// changed any of that since the command began.
    fn before(&mut self, path: &Path, found: Option<Metadata>) -> io::Result<Option<Option<FileState>>> {
        let Some(found) = found else { return Ok(Some(None)) };
        let real = self.root.join(path);
        if found.is_dir() {
            let others = self.others.len();
            for name in names(&real).map_err(|error| not_read(path, error))? {
                let path = path.join(name);
                let found = look(&self.root.join(&path))?;
                self.removed(&path, found)?;
            }
            return Ok((self.others.len() == others).then(|| Some(folder_state(&real, found.mode()))));
        }
        if self.is_newer(&found) {
            self.others.push(path.to_owned());
            return Ok(None);
        }
        if !(found.is_file() || found.is_symlink()) {
            return Ok(Some(None));
        }
        self.state(path, &real).map(|state| Some(Some(state)))
    }

    /// The state of the file or link at the real path `lies`, which the view or the workspace shows at `path`.
    fn state(&mut self, path: &Path, lies: &Path) -> io::Result<FileState> {
        let found = fs::symlink_metadata(lies)?;
        if found.is_symlink() {
            let target = fs::read_link(lies)?;
            return Ok(FileState::link(Hash::of(target.as_os_str().as_bytes())?));
        }
        self.compared += found.len();
        if self.compared > MAX_RECORDED.bytes {
            let why = format!(
                "with `{}` the command changed files of {} GB, and more than {} GB are not recorded; nothing of it was kept",
                path.display(),
                self.compared >> 30,
                MAX_RECORDED.bytes >> 30
            );
            return Err(io::Error::other(why));
        }
        let file = open_file(lies).map_err(|error| not_read(path, error))?;
        let state = FileState::file(sparse::hash(&file, self.stop)?, found.mode());
        Ok(state.with_attributes(attributes::at(lies)))
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
        if self.changes.len() as u64 > MAX_RECORDED.entries {
            let why = format!(
                "the command changed more than {} files; nothing of it was kept",
                MAX_RECORDED.entries
            );
            return Err(io::Error::other(why));
        }
        Ok(())
    }
}

fn not_read(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()))
}

/// The error if a command renamed a folder that contains `hidden`.
pub(super) fn renamed_hidden(hidden: &Path) -> io::Error {
    let why = format!(
        "`{}` is hidden from commands, and the command renamed a folder in which it lies; nothing that the command changed was kept",
        hidden.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

fn folder_state(path: &Path, mode: u32) -> FileState {
    FileState::folder(mode).with_attributes(attributes::at(path))
}

/// Makes a folder readable for its owner that a command has closed. Its mode was recorded before.
fn open_up(folder: &Path) -> io::Result<()> {
    let mode = fs::symlink_metadata(folder)?.mode();
    match mode & 0o700 {
        0o700 => Ok(()),
        _ => fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700)),
    }
}
