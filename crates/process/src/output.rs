//! [`Output`]: keeps the output of a process in bounded memory, and all of it on disk if the caller requested that.
use crate::{files::own_folder, mask::Mask};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The output of a stream, or its two ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// What was kept: all of it, or head and tail one after the other. Bytes that are not valid UTF-8 stand as `�`.
    pub text: String,
    /// Bytes left out between head and tail; 0 if `text` is complete.
    pub missing_bytes: u64,
    /// Line ends in the part that is left out.
    pub missing_lines: u64,
}

/// The stream of a piece of output.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    Stdout,
    Stderr,
}

/// Everything that a process has printed so far.
pub(crate) struct Output {
    masks: [Mask; 2],
    ends: [Ends; 2],
    decoders: [Decoder; 2],
    spill: Spill,
}

impl Output {
    /// Keeps at most `most` bytes of each stream in memory; if there is more, the whole output in a file in `folder`.
    pub(crate) fn new(most: usize, folder: Option<PathBuf>) -> Self {
        let nothing = Mask::new(&Arc::default());
        Self {
            masks: [nothing.clone(), nothing],
            ends: [Ends::new(most), Ends::new(most)],
            decoders: Default::default(),
            spill: Spill { folder, file: None, room: MAX_SPILLED },
        }
    }

    /// Hides these texts in what is kept and shown.
    pub(crate) fn without(mut self, hidden: &Arc<[String]>) -> Self {
        let mask = Mask::new(hidden);
        self.masks = [mask.clone(), mask];
        self
    }

    /// Keeps `bytes` and returns them as text for live display.
    pub(crate) fn push(&mut self, source: Source, bytes: &[u8]) -> String {
        let shown = self.masks[source as usize].push(bytes);
        self.keep(source, &shown)
    }

    /// Returns what was held back, at the end of the input.
    pub(crate) fn rest(&mut self, source: Source) -> String {
        let shown = self.masks[source as usize].finish();
        self.keep(source, &shown)
    }

    fn keep(&mut self, source: Source, bytes: &[u8]) -> String {
        let index = source as usize;
        if self.ends[index].overflows(bytes.len()) {
            self.spill.open(&self.ends);
        }
        self.spill.push(bytes);
        self.ends[index].push(bytes);
        self.decoders[index].decode(bytes)
    }

    /// Standard output, standard error, and the file with both.
    pub(crate) fn finish(self) -> ([Captured; 2], Option<PathBuf>) {
        (self.ends.map(|ends| ends.captured()), self.spill.file.map(|(_, path)| path))
    }
}

/// Head and tail of a stream.
struct Ends {
    most: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    missing_bytes: u64,
    missing_lines: u64,
}

impl Ends {
    fn new(most: usize) -> Self {
        Self { most, head: Vec::new(), tail: VecDeque::new(), missing_bytes: 0, missing_lines: 0 }
    }

    /// Half of the limit is for the beginning.
    fn push(&mut self, bytes: &[u8]) {
        let room = (self.most - self.most / 2).saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.most / 2);
        let dropped = self.tail.drain(..excess);
        self.missing_lines += dropped.filter(|byte| *byte == b'\n').count() as u64;
        self.missing_bytes += excess as u64;
    }

    fn overflows(&self, more: usize) -> bool {
        self.head.len() + self.tail.len() + more > self.most
    }

    fn bytes(&self) -> Vec<u8> {
        self.head.iter().chain(&self.tail).copied().collect()
    }

    fn captured(&self) -> Captured {
        let text = String::from_utf8_lossy(&self.bytes()).into_owned();
        Captured { text, missing_bytes: self.missing_bytes, missing_lines: self.missing_lines }
    }
}

/// Maximum bytes written to disk for one command: output without end must not fill the disk.
const MAX_SPILLED: usize = 64 * 1024 * 1024;

/// The file for output that does not fit in memory. It begins with the earlier output, standard output first; from
/// there on the streams are mixed as they arrive. If it cannot be written, the command continues without it.
struct Spill {
    folder: Option<PathBuf>,
    file: Option<(File, PathBuf)>,
    room: usize,
}

impl Spill {
    fn open(&mut self, so_far: &[Ends]) {
        // Taken, so that creating the file is tried only once.
        let Some(folder) = self.folder.take() else { return };
        self.file = new_file(&folder).ok();
        so_far.iter().for_each(|ends| self.push(&ends.bytes()));
    }

    fn push(&mut self, bytes: &[u8]) {
        let Some((file, _)) = &mut self.file else { return };
        let fits = &bytes[..bytes.len().min(self.room)];
        self.room -= fits.len();
        if file.write_all(fits).is_err() {
            self.file = None;
        }
    }
}

/// Creates a file in `folder`, and the folder if it is missing: `output-1.txt`, or the next free number. Only this user
/// may read it.
pub fn new_file(folder: &Path) -> io::Result<(File, PathBuf)> {
    own_folder(folder)?;
    for number in 1.. {
        let path = folder.join(format!("output-{number}.txt"));
        match File::options().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (file, path)),
        }
    }
    unreachable!("some number is free")
}

/// Decodes bytes as text, chunk by chunk. A character that is split between chunks is kept until it is complete.
#[derive(Default)]
struct Decoder {
    half: Vec<u8>,
}

impl Decoder {
    fn decode(&mut self, bytes: &[u8]) -> String {
        self.half.extend_from_slice(bytes);
        let end = self.half.len() - unfinished(&self.half);
        let rest = self.half.split_off(end);
        let text = String::from_utf8_lossy(&self.half).into_owned();
        self.half = rest;
        text
    }
}

/// Returns how many bytes at the end begin a character without finishing it.
fn unfinished(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        Some(chunk) if is_beginning(chunk.invalid()) => chunk.invalid().len(),
        _ => 0,
    }
}

fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(most: usize, chunks: &[&str]) -> (String, u64, u64) {
        let mut ends = Ends::new(most);
        chunks.iter().for_each(|chunk| ends.push(chunk.as_bytes()));
        let Captured { text, missing_bytes, missing_lines } = ends.captured();
        (text, missing_bytes, missing_lines)
    }

    #[test]
    fn head_and_tail_are_kept_however_the_output_is_cut() {
        for chunks in [vec!["ab\ncd\nef"], vec!["a", "b\nc", "d\ne", "f"], vec!["ab\n", "", "cd\nef"]] {
            assert_eq!(captured(8, &chunks), ("ab\ncd\nef".into(), 0, 0));
            assert_eq!(captured(5, &chunks), ("ab\nef".into(), 3, 1));
            assert_eq!(captured(0, &chunks), (String::new(), 8, 2));
        }
    }

    // B07
    #[test]
    fn a_character_cut_by_a_chunk_is_put_together() {
        let mut decoder = Decoder::default();
        let chunks: [&[u8]; 6] = [b"a\xc3", b"\xa4b\xff", b"\xf0\x9f", b"\x98\x80", b"\xe2\x82", b"x"];
        let text: Vec<_> = chunks.into_iter().map(|chunk| decoder.decode(chunk)).collect();
        assert_eq!(text, ["a", "äb\u{fffd}", "", "😀", "", "\u{fffd}x"]);
    }
}
