//! [`own_folder`] and [`write_own_file`]: make files and folders that only this user may read.
use std::{
    fs::{DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Makes a folder, and the missing ones above it. An existing one stays as it is.
pub fn own_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file, and replaces its content.
pub fn write_own_file(file: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    file.write_all(content.as_ref())
}
