//! [`open_regular`] and [`read_regular`]: open regular files so that no other kind of file in their place can block the
//! caller.
use rustix::fs::OFlags;
use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Opens a regular file. It does not wait for a pipe, adopt a terminal or read a device in its place: the error is of
/// the kind `InvalidInput`, that of a folder `IsADirectory`. Follows links.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_no_file_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        let told = |name: &str, most| {
            read_regular(&at(name), most).map(|content| content.len()).map_err(|error| error.to_string())
        };
        let not_regular = || Err("it is not a regular file".to_owned());
        assert_eq!((told("file", 4), told("link", 4)), (Ok(4), Ok(4)));
        assert_eq!(told("file", 3), Err("it has more than 3 bytes".into()));
        assert_eq!((told("zero", 1 << 20), told("pipe", 1)), (not_regular(), not_regular()));
        assert!(told(".", 1).is_err_and(|error| error.contains("directory")));
    }
}
