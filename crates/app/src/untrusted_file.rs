//! [`text`]: reads files of a user or a project, and treats them as untrusted.
use haft_process::read_regular;
use std::{io, path::Path};

/// Maximum size of a file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Tells the user what was left out, and why.
pub type Warn<'a> = &'a dyn Fn(String);

/// The text of a file; `None` if it does not exist or cannot be read, which `warn` reports.
pub fn text(path: &Path, within: Option<&Path>, warn: Warn<'_>) -> Option<String> {
    match read(path, within) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            warn(format!("`{}` was ignored: {error}", path.display()));
            None
        }
    }
}

/// Like [`bytes`], without a byte order mark. With `within`, a link out of that folder, or to a file with another
/// ending, is an error: otherwise a repository could show any file to a model.
pub fn read(path: &Path, within: Option<&Path>) -> io::Result<String> {
    let real = path.canonicalize()?;
    if let Some(folder) = within {
        if !real.starts_with(folder) {
            return Err(io::Error::other(format!("it points outside `{}`", folder.display())));
        }
        if path.is_symlink() && real.extension() != path.extension() {
            return Err(io::Error::other(format!(
                "it is a link to `{}`, which has another ending",
                real.display()
            )));
        }
    }
    let text = String::from_utf8_lossy(&bytes(&real)?).into_owned();
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads a regular file of limited size. Anything else, such as a pipe or a device, is an error and cannot block.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    read_regular(path, MAX_FILE_BYTES)
}
