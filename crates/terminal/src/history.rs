//! [`load`] and [`append`]: the history of typed lines of all conversations: a file with one JSON string per line.
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Maximum bytes that are read, from the end of the file.
const MAX_READ_BYTES: u64 = 256 << 10;
/// Maximum length of an entry: longer text was pasted, and would not be recalled.
const MAX_ENTRY_LENGTH: usize = 10_000;

/// The last entries, oldest first; empty if there is no file.
pub fn load(path: &Path) -> Vec<String> {
    let text = end_of(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn end_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_READ_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Appends an entry. The file is readable only by its owner.
pub fn append(path: &Path, text: &str) -> io::Result<()> {
    if text.len() > MAX_ENTRY_LENGTH {
        return Ok(());
    }
    path.parent().map_or(Ok(()), haft_process::own_folder)?;
    let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(format!("{}\n", serde_json::Value::from(text)).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_there_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/history");
        assert_eq!(load(&path), [""; 0]);
        for text in ["one", "two\nlines", "\"three\""] {
            append(&path, text).unwrap();
        }
        append(&path, &"x".repeat(MAX_ENTRY_LENGTH + 1)).unwrap();
        assert_eq!(load(&path), ["one", "two\nlines", "\"three\""]);
    }
}
