//! [`Summary`]: one line of a list of sessions, read from the beginning and the end of a journal, because the middle
//! may be long.
use super::JournalError;
use haft_core::{
    Entry, Fact, Forked, SessionId, SessionOpened, event::JOURNAL_VERSION, line::is_one_of, text_of,
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// The summary of a session: a line of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// ID of the session.
    pub id: SessionId,
    /// When it was opened, in milliseconds since 1970-01-01 UTC.
    pub opened_at: u64,
    /// When the last entry was recorded.
    pub last_at: u64,
    /// The folder that it works in.
    pub workspace: PathBuf,
    /// The model it began with.
    pub model: String,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// Its name, otherwise the beginning of the first prompt.
    pub title: String,
    /// How many entries it has.
    pub entries: usize,
    /// The session that delegated to it.
    pub delegated_by: Option<SessionId>,
    /// The session whose entries it begins with.
    pub forked_from: Option<Forked>,
    /// The user of a server who began it.
    pub user: Option<String>,
}

impl Summary {
    /// Reads the summary of the session `id` from its journal. `None` if it has no readable entries.
    ///
    /// # Errors
    /// Fails if the journal was written by a newer Haft or cannot be opened.
    pub(crate) fn read(id: SessionId, journal: &Path) -> Result<Option<Self>, JournalError> {
        let path = || journal.to_owned();
        let file = match File::open(journal) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|source| JournalError::Io { action: "open", path: path(), source })?,
        };
        let mut reader = BufReader::new(file);
        match first_fact(&mut reader) {
            Some((_, SessionOpened { version, .. })) if version > JOURNAL_VERSION => {
                Err(JournalError::Newer { path: path(), found: version })
            }
            first => Ok(first.and_then(|first| Self::of(id, first, reader))),
        }
    }

    /// Makes the summary of the session `id` from its first entry `opened`; `reader` has its other lines.
    fn of(
        id: SessionId,
        (opened_at, opened): (u64, SessionOpened),
        mut reader: BufReader<File>,
    ) -> Option<Self> {
        let SessionOpened { workspace, model, delegated_by, forked_from, user, .. } = opened;
        let title = first_prompt(&mut reader);
        let title = title.trim_start().lines().next().unwrap_or_default().chars().take(60).collect();
        let last = last_entry(&mut reader.into_inner()).ok()??;
        // Entries are numbered in order without gaps, so the last number gives their count.
        let entries = usize::try_from(last.seq.0 + 1).unwrap_or(usize::MAX);
        let last_at = last.at.max(opened_at);
        Some(Self {
            id,
            opened_at,
            last_at,
            workspace,
            model,
            name: None,
            title,
            entries,
            delegated_by,
            forked_from,
            user,
        })
    }

    /// The time of the last entry, in UTC in the format of RFC 3339.
    pub fn updated(&self) -> String {
        let at = jiff::Timestamp::from_millisecond(i64::try_from(self.last_at).unwrap_or_default());
        at.unwrap_or_default().to_string()
    }
}

/// The fact in the first line, and when it was recorded.
pub(crate) fn first_fact(journal: &mut impl BufRead) -> Option<(u64, SessionOpened)> {
    let mut first = Vec::new();
    journal.read_until(b'\n', &mut first).ok()?;
    let entry: Entry = serde_json::from_slice(&first).ok()?;
    entry.opened().map(|opened| (entry.at, opened.clone()))
}

/// Parses only lines that begin like a prompt: most lines are other entries, and many are long.
fn first_prompt(journal: &mut impl BufRead) -> String {
    let mut line = Vec::new();
    while let Ok(1..) = journal.read_until(b'\n', &mut line) {
        if is_one_of(&line, &[PROMPTED_TYPE])
            && let Ok(Entry { fact: Fact::Prompted { parts, .. }, .. }) = serde_json::from_slice(&line)
        {
            return text_of(&parts);
        }
        line.clear();
    }
    String::new()
}

const PROMPTED_TYPE: &[u8] = br#""type":"prompted""#;

/// Bytes read first from the end of a file; then twice as much, and so on.
const TAIL_BYTES: u64 = 8 << 10;

/// The last complete and valid line, searched from the end.
pub(crate) fn last_entry(journal: &mut (impl Read + Seek)) -> io::Result<Option<Entry>> {
    let end = journal.seek(SeekFrom::End(0))?;
    let mut length = TAIL_BYTES.min(end);
    loop {
        let mut tail = vec![0; usize::try_from(length).unwrap_or_default()];
        journal.seek(SeekFrom::Start(end - length))?;
        journal.read_exact(&mut tail)?;
        let is_all = length == end;
        // Unless the tail is the whole file, its first piece is the end of a line.
        let lines = tail.split_inclusive(|byte| *byte == b'\n').skip(usize::from(!is_all));
        let whole: Vec<&[u8]> = lines.filter(|line| line.ends_with(b"\n")).collect();
        let last = whole.iter().rev().find_map(|line| serde_json::from_slice(line).ok());
        if last.is_some() || is_all {
            return Ok(last);
        }
        length = (length * 2).min(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn line(seq: u64, length: usize) -> String {
        let message = "x".repeat(length);
        format!(r#"{{"seq":{seq},"at":{seq},"type":"model_failed","message":"{message}","hint":null}}"#)
            + "\n"
    }

    #[test]
    fn the_last_entry_is_found_from_the_end_however_long_lines_are() {
        let long = 3 * TAIL_BYTES as usize;
        let table = [
            ("nothing", String::new(), None),
            ("one line", line(0, 1), Some(0)),
            ("short lines", line(0, 1) + &line(1, 1), Some(1)),
            ("a long last line", line(0, 1) + &line(1, long), Some(1)),
            ("a torn line behind it", line(0, 1) + &line(1, long) + r#"{"seq":2,"at":2"#, Some(1)),
            ("a long torn line behind it", line(0, 1) + &line(1, 1) + &"x".repeat(long), Some(1)),
            ("zeros behind it", line(0, long) + &"\0".repeat(long), Some(0)),
            ("lines that cannot be read behind it", line(0, 1) + "junk\n\n{}\n", Some(0)),
            ("only such lines", "junk\n".repeat(long), None),
        ];
        for (what, text, expected) in table {
            let found = last_entry(&mut Cursor::new(text)).unwrap();
            assert_eq!(found.map(|entry| entry.at), expected, "{what}");
        }
    }
}
