//! [`write`]: writes the conversation to a file.
use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

/// Writes `text` to the file `name` below `folder`, or to one that is named after the session. A file that is there is left
/// alone; the error says so.
pub(crate) fn write(folder: &Path, name: Option<&str>, session: &str, text: &str) -> Result<PathBuf, String> {
    let file = folder.join(name.map_or_else(|| format!("haft-{session}.md"), str::to_owned));
    let written = File::create_new(&file).and_then(|mut new| new.write_all(text.as_bytes()));
    let why = |error: std::io::Error| format!("cannot export to `{}`: {error}", file.display());
    written.map_err(why).map(|()| file)
}
