//! What people wrote down beside the configuration, read with the care that a repository of others asks for.
use crate::config::Places;
use haft::sandbox::read_regular;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A larger file is not read, in bytes.
const MOST: u64 = 1 << 20;

/// Tells a person what was left out, and why.
pub(crate) type Aside<'a> = &'a dyn Fn(String);

/// A folder that a person or a project fills: `agents`, `skills`, `commands`.
pub(crate) struct Shelf {
    /// Where it lies.
    pub(crate) folder: PathBuf,
    /// Nothing outside of this is read; none where the person vouches for it.
    pub(crate) within: Option<PathBuf>,
}

/// The person's shelf of this name, and the project's.
pub(crate) fn shelves(places: &Places, workspace: &Path, name: &str) -> [Shelf; 2] {
    let own = Shelf { folder: places.user_file.with_file_name(name), within: None };
    let folder = workspace.join(".haft").join(name);
    [own, Shelf { folder, within: Some(workspace.to_owned()) }]
}

impl Shelf {
    /// Whether the person vouches for what lies here.
    pub(crate) fn is_own(&self) -> bool {
        self.within.is_none()
    }

    /// What lies in it, by name.
    pub(crate) fn entries(&self) -> Vec<PathBuf> {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        entries.sort();
        entries
    }
}

/// The text of a file; none where there is no such file, or where it cannot be read, which `aside` is told.
pub(crate) fn text(path: &Path, within: Option<&Path>, aside: Aside<'_>) -> Option<String> {
    match read(path, within) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            aside(format!("`{}` was left out: {error}", path.display()));
            None
        }
    }
}

/// As [`bytes`]. A link that leads out of `within` is not followed: a repository could make any file a part of what a
/// model reads.
pub(crate) fn read(path: &Path, within: Option<&Path>) -> io::Result<String> {
    let real = path.canonicalize()?;
    if let Some(folder) = within.filter(|folder| !real.starts_with(folder)) {
        return Err(io::Error::other(format!("it leads out of `{}`", folder.display())));
    }
    Ok(String::from_utf8_lossy(&bytes(&real)?).into_owned())
}

/// What a person or a project wrote: a regular file of a size that somebody may have written. Everything of that kind is
/// read here; whatever else lies in its place is told, and holds nobody up.
pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_regular(path, MOST)
}
