//! [`write_own_file`] and [`read_regular`]: make files that only this user may read, and open files so that no other kind of
//! file in their place can block the caller.
use rustix::fs::OFlags;
use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
    time::Duration,
};

/// Creates a folder that only this user may access, and missing parent folders. An existing folder stays unchanged. The
/// error names the folder.
pub fn own_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
        let what = format!("cannot create the directory `{}`: {error}", folder.display());
        io::Error::new(error.kind(), what)
    })
}

/// Writes a file, and replaces its content. A new file can be read only by this user; an existing one keeps its mode.
pub fn write_own_file(file: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    file.write_all(content.as_ref())
}

/// Opens a regular file. Never waits for a pipe, adopts a terminal or reads a device: fails with the kind
/// `InvalidInput` for these, and with `IsADirectory` for a folder. Follows links.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        return Ok(file);
    }
    Err(match found.is_dir() {
        true => ErrorKind::IsADirectory.into(),
        false => io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"),
    })
}

/// Reads all of a regular file. If it has more than `most` bytes, the error is of the kind `FileTooLarge`.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path, OpenOptions::new().read(true))?;
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        let told = if most >= 1 << 20 { format!("{} MB", most >> 20) } else { format!("{most} bytes") };
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {told}")));
    }
    Ok(content)
}

/// How often a folder is checked for a file that is to appear.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until `file` exists, and removes it. With such a file, programs that share only a folder with this process can
/// ask it to stop. Without a `file`, waits forever.
pub async fn appears(file: Option<&Path>) {
    let Some(file) = file else { return std::future::pending().await };
    while std::fs::remove_file(file).is_err() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
