//! [`Place`]: a file of a call. Opening it cannot block, and errors become messages for the model.
use haft_core::{Effect, Readable, ToolContext, ToolError, ToolErrorKind};
use haft_process::{open_regular, read_regular};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A file of a call.
pub(crate) struct Place {
    /// The path as the model wrote it.
    pub(crate) name: PathBuf,
    /// Path of the file in the view of the call.
    real: PathBuf,
    /// The folder whose names are suggested if the file does not exist.
    folder: PathBuf,
    /// The files that the call may read: other names of the folder are not shown.
    readable: Arc<Readable>,
}

impl Place {
    pub(crate) fn new(ctx: &ToolContext, name: &Path) -> Self {
        let folder = ctx.path(name.parent().unwrap_or(Path::new("")));
        Self { name: name.to_owned(), real: ctx.path(name), folder, readable: ctx.readable.clone() }
    }

    /// Opens the file for reading. `verb`: the purpose of the call, for errors.
    pub(crate) fn open(&self, verb: &str) -> Result<File, ToolError> {
        open_regular(&self.real, OpenOptions::new().read(true)).map_err(|error| self.cannot(verb, error))
    }

    /// The whole content, if that is at most `most` bytes.
    pub(crate) fn content(&self, verb: &str, most: u64) -> Result<Vec<u8>, ToolError> {
        self.content_if_any(verb, most)?.ok_or_else(|| self.missing(verb))
    }

    /// Like [`Place::content`], or `None` if the file does not exist.
    pub(crate) fn content_if_any(&self, verb: &str, most: u64) -> Result<Option<Vec<u8>>, ToolError> {
        let file = match open_regular(&self.real, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| self.cannot(verb, error))?,
        };
        let mut content = Vec::new();
        let read = file.take(most + 1).read_to_end(&mut content);
        read.map_err(|error| self.cannot(verb, error))?;
        if content.len() as u64 > most {
            let why = format!("cannot {verb} `{}`: it has more than {most} bytes", self.name.display());
            return Err(ToolError::new(ToolErrorKind::User, why).hint("work on it with a command"));
        }
        Ok(Some(content))
    }

    /// The error for the model if the file does not exist.
    pub(crate) fn missing(&self, verb: &str) -> ToolError {
        self.cannot(verb, ErrorKind::NotFound.into())
    }

    /// Whether both are the same file.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.real == other.real
    }

    /// Whether its folder exists and contains no similar name.
    pub(crate) fn is_likely_new(&self) -> bool {
        let names = names_in(&self.folder, &self.readable).unwrap_or_default();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let name = self.name.file_name().and_then(|name| name.to_str());
        self.folder.is_dir() && name.is_some_and(|name| haft_core::schema::nearest(name, &known).is_none())
    }

    /// Permission bits of the file.
    pub(crate) fn mode(&self) -> Option<u32> {
        fs::metadata(&self.real).ok().map(|found| found.permissions().mode() & 0o7777)
    }

    /// Sets these permission bits.
    pub(crate) fn set_mode(&self, mode: u32) -> Result<(), ToolError> {
        let set = fs::set_permissions(&self.real, fs::Permissions::from_mode(mode));
        set.map_err(|error| self.cannot("write", error))
    }

    /// Removes it.
    pub(crate) fn remove(&self) -> Result<(), ToolError> {
        fs::remove_file(&self.real).map_err(|error| self.cannot("delete", error))
    }

    /// Replaces its whole content, and makes missing folders above it.
    pub(crate) fn write(&self, content: &[u8]) -> Result<(), ToolError> {
        let write = || {
            fs::create_dir_all(self.real.parent().unwrap_or(Path::new("/")))?;
            let mut options = OpenOptions::new();
            open_regular(&self.real, options.write(true).create(true).truncate(true))?.write_all(content)
        };
        write().map_err(|error| self.cannot("write", error))
    }

    /// Appends this to the file, or creates the file.
    pub(crate) fn append(&self, content: &[u8]) -> Result<(), ToolError> {
        let append = || {
            fs::create_dir_all(self.real.parent().unwrap_or(Path::new("/")))?;
            open_regular(&self.real, OpenOptions::new().append(true).create(true))?.write_all(content)
        };
        append().map_err(|error| self.cannot("write", error))
    }

    /// The error for the model.
    pub(crate) fn cannot(&self, verb: &str, error: io::Error) -> ToolError {
        let (kind, why) = match error.kind() {
            ErrorKind::NotFound => (ToolErrorKind::User, "no such file".into()),
            ErrorKind::IsADirectory => (ToolErrorKind::User, "it is a folder".into()),
            ErrorKind::NotADirectory => {
                (ToolErrorKind::User, "a part of the path is a file, not a folder".into())
            }
            ErrorKind::InvalidInput => (ToolErrorKind::User, "it is not a regular file".into()),
            ErrorKind::PermissionDenied => (ToolErrorKind::Permission, "permission denied".into()),
            _ => (ToolErrorKind::System, error.to_string()),
        };
        let told = ToolError::new(kind, format!("cannot {verb} `{}`: {why}", self.name.display()));
        let hint = match error.kind() {
            ErrorKind::NotFound => near_names(&self.name, &self.folder, &self.readable),
            ErrorKind::IsADirectory => content_of(&self.real, &self.readable),
            ErrorKind::NotADirectory => Some("leave out what comes after the name of the file".into()),
            _ => None,
        };
        ToolError { hint, ..told }.caused_by(error)
    }
}

/// The effects of changing a part of a file.
pub(crate) fn changes(workspace: &Path, path: &Path) -> Vec<Effect> {
    let path = workspace.join(path);
    vec![Effect::Read(path.clone()), Effect::Write(path)]
}

/// A small file of the project, as text; `None` if it cannot be read.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(read_regular(path, MAX_SMALL).ok()?).ok()
}

/// Maximum bytes of a project's settings file.
const MAX_SMALL: u64 = 4 << 20;

/// Maximum number of names in a hint.
const MAX_LISTED: usize = 20;

/// Maximum number of names in a folder that are searched.
const MAX_SEARCHED: usize = 2_000;

fn near_names(name: &Path, folder: &Path, readable: &Readable) -> Option<String> {
    let parent = name.parent().unwrap_or(Path::new(""));
    let Some(names) = names_in(folder, readable) else {
        return Some(format!("there is no folder `{}`", parent.display()));
    };
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    match haft_core::schema::nearest(name.file_name()?.to_str()?, &known) {
        Some(near) => Some(format!("did you mean `{}`?", parent.join(near).display())),
        None => content_of(folder, readable),
    }
}

fn content_of(folder: &Path, readable: &Readable) -> Option<String> {
    let names = names_in(folder, readable)?;
    if names.is_empty() {
        return Some("the folder is empty".into());
    }
    let dots = if names.len() > MAX_LISTED { ", …" } else { "" };
    Some(format!("the folder holds {}{dots}", names[..names.len().min(MAX_LISTED)].join(", ")))
}

fn names_in(folder: &Path, readable: &Readable) -> Option<Vec<String>> {
    let entries = fs::read_dir(folder).ok()?.take(MAX_SEARCHED).filter_map(Result::ok);
    let resolved = folder.canonicalize().ok()?;
    let entries = entries.filter(|entry| readable.holds(&resolved.join(entry.file_name())));
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Some(names)
}

/// Runs `work` on a thread that may block. If the future is dropped, the work still runs to its end, and its result is
/// lost.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => {
            Err(ToolError::new(ToolErrorKind::System, "not run: the program ends").caused_by(error))
        }
    }
}
