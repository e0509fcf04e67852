//! [`write()`]: writes the conversation to a file.
use haft_engine::{Remote, Session};
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The folder to write to: the workspace of the session, or the current directory if the workspace is on another
/// machine.
pub(crate) fn folder<'a>(session: &Session, workspace: &'a Path, here: &'a Path) -> &'a Path {
    if Remote::of(session).is_some() { here } else { workspace }
}

/// Writes `text` to the file `name` below `folder`, or to a file that is named after the session. Fails if the file
/// exists.
pub(crate) fn write(folder: &Path, name: Option<&str>, session: &str, text: &str) -> Result<PathBuf, String> {
    let file = folder.join(name.map_or_else(|| format!("haft-{session}.md"), str::to_owned));
    let written = File::create_new(&file).and_then(|mut new| new.write_all(text.as_bytes()));
    let why = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("cannot export to `{}`: there is a file of this name", file.display())
        }
        _ => format!("cannot export to `{}`: {error}", file.display()),
    };
    written.map_err(why).map(|()| file)
}
