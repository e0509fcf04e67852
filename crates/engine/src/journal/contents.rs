//! What the file of a journal holds.
use super::JournalError;
use haft_core::{Entry, Fact, Seq, event::JOURNAL_VERSION, line};
use std::{
    fs::File,
    io::{Read, Seek},
    path::Path,
    sync::Arc,
    thread,
};

/// What a file holds: whole entries, how many bytes they take, and what was left out.
pub(super) struct Contents {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) next: Seq,
    pub(super) length: u64,
    pub(super) damage: Vec<String>,
}

pub(super) fn read(file: &mut File, path: &Path) -> Result<Contents, JournalError> {
    let mut bytes = Vec::new();
    let failed = |source| JournalError::Io { action: "read", path: path.to_owned(), source };
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(failed)?;
    let contents = parse(&bytes);
    match contents.entries.first().map(|entry| &entry.fact) {
        Some(Fact::SessionOpened { version, .. }) if *version > JOURNAL_VERSION => {
            Err(JournalError::Newer { path: path.to_owned(), found: *version })
        }
        // A newer format may also look like nothing we know; an older damage never takes the first line alone.
        None if bytes.contains(&b'\n') => {
            Err(JournalError::Unreadable { path: path.to_owned(), why: "no line of it can be read".into() })
        }
        _ => Ok(contents),
    }
}

fn parse(bytes: &[u8]) -> Contents {
    let mut contents = Contents { entries: Vec::new(), next: Seq(0), length: 0, damage: Vec::new() };
    for (number, (line, entry)) in lines(bytes).into_iter().enumerate() {
        let whole = line.ends_with(b"\n");
        let entry = entry.filter(|_| whole);
        let place = match &entry {
            Some(entry) => Some(entry.seq),
            // No place lies behind the number of its line.
            None => line::seq_of(line).filter(|seq| whole && seq.0 <= number as u64),
        };
        contents.next = contents.next.max(place.map_or(Seq(0), |seq| Seq(seq.0.saturating_add(1))));
        match entry {
            Some(entry) if contents.entries.last().is_none_or(|last| last.seq < entry.seq) => {
                contents.entries.push(entry);
            }
            Some(_) => {
                contents.damage.push(format!("line {} stands there twice and was left out", number + 1))
            }
            None if whole => {
                contents.damage.push(format!("line {} cannot be read and was left out", number + 1))
            }
            None => {
                contents
                    .damage
                    .push(format!("the last {} bytes are half an entry and were cut off", line.len()));
                break;
            }
        }
        contents.length += line.len() as u64;
    }
    contents
}

/// A journal of more bytes is read by all cores.
const LARGE: usize = 1 << 20;

/// Each line, and the entry that it is.
fn lines(bytes: &[u8]) -> Vec<(&[u8], Option<Arc<Entry>>)> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let cores = if bytes.len() < LARGE { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    let read = |part: &[&'_ [u8]]| part.iter().map(|line| line::entry(line).ok().map(Arc::new)).collect();
    let entries: Vec<Option<Arc<Entry>>> = match cores {
        1 => read(&lines),
        cores => thread::scope(|scope| {
            let parts = lines.chunks(lines.len().div_ceil(cores).max(1));
            let readers: Vec<_> = parts.map(|part| scope.spawn(move || read(part))).collect();
            readers
                .into_iter()
                .flat_map(|reader| reader.join().expect("to read a line does not panic"))
                .collect()
        }),
    };
    lines.into_iter().zip(entries).collect()
}
