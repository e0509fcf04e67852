//! [`Contents`]: the parsed content of a journal file.
use super::JournalError;
use haft_core::{
    Entry, Seq, SessionOpened,
    chain::{self, ChainValue},
    event::JOURNAL_VERSION,
    line,
};
use memchr::memchr;
use std::{
    fs::File,
    io::{Read, Seek},
    path::Path,
    sync::Arc,
    thread,
};

/// The content of a journal file: complete entries, their length in bytes, and the damage.
pub(super) struct Contents {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) next: Seq,
    pub(super) length: u64,
    pub(super) damage: Vec<String>,
    /// The chain value after the last complete entry.
    pub(super) chain: ChainValue,
}

pub(super) fn read(file: &mut File, path: &Path) -> Result<Contents, JournalError> {
    let mut bytes = Vec::new();
    let failed = |source| JournalError::Io { action: "read", path: path.to_owned(), source };
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(failed)?;
    let contents = parse(&bytes);
    match SessionOpened::of(&contents.entries) {
        Some(opened) if opened.version > JOURNAL_VERSION => {
            Err(JournalError::Newer { path: path.to_owned(), found: opened.version })
        }
        // The file may have a newer, unknown format. Damage of a known format never affects only the first line.
        None if contents.entries.is_empty() && bytes.contains(&b'\n') => {
            Err(JournalError::Unreadable { path: path.to_owned(), why: "no line of it can be read".into() })
        }
        _ => Ok(contents),
    }
}

fn parse(bytes: &[u8]) -> Contents {
    let mut contents = Contents {
        entries: Vec::new(),
        next: Seq(0),
        length: 0,
        damage: Vec::new(),
        chain: ChainValue::default(),
    };
    for (number, (line, entry)) in lines(bytes).into_iter().enumerate() {
        let whole = line.ends_with(b"\n");
        let entry = entry.filter(|_| whole);
        let place = match &entry {
            Some(entry) => Some(entry.seq),
            // The number of an entry is never greater than the number of its line.
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
    let whole = usize::try_from(contents.length).ok().and_then(|length| bytes.get(..length));
    contents.chain = chain::end(whole.unwrap_or(bytes));
    contents
}

/// Minimum bytes of a journal that is parsed on all cores.
const PARALLEL_BYTES: usize = 1 << 20;

/// A line, and its entry if it is valid.
type Line<'a> = (&'a [u8], Option<Arc<Entry>>);

fn lines(bytes: &[u8]) -> Vec<Line<'_>> {
    let cores =
        if bytes.len() < PARALLEL_BYTES { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    match cores {
        1 => read_lines(bytes),
        cores => thread::scope(|scope| {
            let parts = parts(bytes, cores).into_iter();
            let readers: Vec<_> = parts.map(|part| scope.spawn(move || read_lines(part))).collect();
            let read =
                readers.into_iter().map(|reader| reader.join().expect("to read a line does not panic"));
            read.reduce(|mut all, next| {
                all.extend(next);
                all
            })
        })
        .unwrap_or_default(),
    }
}

/// Splits `bytes` into `number` parts of complete lines.
fn parts(mut bytes: &[u8], number: usize) -> Vec<&[u8]> {
    let size = bytes.len() / number;
    let mut parts = Vec::new();
    for _ in 1..number {
        let (part, rest) = bytes.split_at(end_of_line(bytes, size));
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}

fn read_lines(mut bytes: &[u8]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    while !bytes.is_empty() {
        let (line, rest) = bytes.split_at(end_of_line(bytes, 0));
        lines.push((line, line::entry(line).ok().map(Arc::new)));
        bytes = rest;
    }
    lines
}

/// The position after the first line that ends at `from` or later.
fn end_of_line(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    memchr(b'\n', rest).map_or(bytes.len(), |at| from + at + 1)
}
