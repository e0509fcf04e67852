//! [`pictures`]: asks a terminal what it supports.
use crate::Pictures;
use crossterm::{
    event,
    terminal::{WindowSize, window_size},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write, stdin, stdout};

/// Asks for the primary attributes (DA1), which every terminal since the VT100 answers.
const ATTRIBUTES_REQUEST: &str = "\x1b[c";
/// The beginning of the answer, which ends with a `c`.
const ATTRIBUTES_PREFIX: &str = "\x1b[?";
/// Timeout of the answer, long enough for a terminal far away.
const ANSWER_TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Asks the terminal how it shows pictures. Nothing else may read keys meanwhile. Keys that are pressed until the
/// answer arrives are lost, so the terminal is asked only once, and only if there is a picture.
pub(super) fn pictures() -> io::Result<Pictures> {
    // The reader of keys has stopped.
    event::poll(std::time::Duration::ZERO)?;
    stdout().write_all(ATTRIBUTES_REQUEST.as_bytes())?;
    stdout().flush()?;
    let cell = window_size().ok().and_then(cell);
    Ok(answered()?.map_or(Pictures::None, |answer| Pictures::of_attributes(&answer, cell)))
}

/// The size of a cell in pixels, which many terminals do not report.
fn cell(size: WindowSize) -> Option<(usize, usize)> {
    let part = |pixels: u16, cells: u16| Some(usize::from(pixels / cells.max(1))).filter(|part| *part > 0);
    Some((part(size.width, size.columns)?, part(size.height, size.rows)?))
}

/// Reads the answer without its prefix and end; `None` if there is no answer.
fn answered() -> io::Result<Option<String>> {
    let (stdin, mut read) = (stdin(), Vec::new());
    loop {
        let said = String::from_utf8_lossy(&read);
        let answer = said.rsplit_once(ATTRIBUTES_PREFIX).and_then(|(_, rest)| rest.split_once('c'));
        if let Some((answer, _)) = answer {
            return Ok(Some(answer.to_owned()));
        }
        if poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&ANSWER_TIMEOUT))? == 0 {
            return Ok(None);
        }
        let mut bytes = [0; 256];
        match rustix::io::read(&stdin, &mut bytes)? {
            0 => return Ok(None),
            length => read.extend_from_slice(&bytes[..length]),
        }
    }
}
