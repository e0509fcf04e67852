//! [`hash`] and [`copy`]: read and copy files by their extents, so that large holes take neither time nor space
//! (lseek(2)).
use haft_core::Hash;
use rustix::{
    fs::{SeekFrom, ftruncate, seek},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, Read},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Minimum time for comparing, if the command has used up the time of its call.
const MIN_COMPARE_TIME: Duration = Duration::from_secs(10);

/// Ends long reads early: when it is set, or at the deadline of a call.
#[derive(Default)]
pub(crate) struct Stop {
    is_set: AtomicBool,
    deadline: OnceLock<Instant>,
    /// When reading began.
    began: OnceLock<Instant>,
}

impl Stop {
    pub(crate) fn set(&self) {
        self.is_set.store(true, Relaxed);
    }

    /// Sets the deadline; only the first one counts.
    pub(crate) fn at(&self, deadline: Instant) {
        self.deadline.get_or_init(|| deadline);
    }

    /// Fails once it is set, and after the deadline.
    pub(crate) fn check(&self) -> io::Result<()> {
        let is_late = |deadline: &Instant| {
            let least = *self.began.get_or_init(Instant::now) + MIN_COMPARE_TIME;
            Instant::now() > least.max(*deadline)
        };
        if self.is_set.load(Relaxed) || self.deadline.get().is_some_and(is_late) {
            let why = "comparing its files took longer than the call may take; nothing that the command changed was kept";
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        Ok(())
    }
}

/// SHA-256 of the content of `file`.
///
/// # Errors
/// Fails if the file cannot be read, or with [`io::ErrorKind::TimedOut`] if `stop` is set meanwhile.
pub(crate) fn hash(file: &File, stop: &Stop) -> io::Result<Hash> {
    Hash::of(Extents::of(file, stop)?)
}

/// Copies the content of `from` to the empty file `to`, including its holes.
pub(crate) fn copy(from: &File, to: &mut File) -> io::Result<()> {
    let length = from.metadata()?.len();
    let mut at = 0;
    while let Some((start, end)) = next_extent(from, at, length)? {
        seek(&*to, SeekFrom::Start(start))?;
        seek(from, SeekFrom::Start(start))?;
        io::copy(&mut from.take(end - start), to)?;
        at = end;
    }
    Ok(ftruncate(&*to, length)?)
}

/// The next part of a file that has content, from `at` on. On a file system without holes there is one part.
fn next_extent(file: &File, at: u64, length: u64) -> io::Result<Option<(u64, u64)>> {
    if at >= length {
        return Ok(None);
    }
    let start = match seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, length))),
        Err(error) => return Err(error.into()),
    };
    let end = seek(file, SeekFrom::Hole(start))?.min(length);
    Ok((start < end).then_some((start, end)))
}

/// The content of a file, with the zeros of its holes, which are not read.
struct Extents<'a> {
    file: &'a File,
    stop: &'a Stop,
    at: u64,
    length: u64,
    /// The part with content that is being read, or comes next.
    extent: Option<(u64, u64)>,
}

impl<'a> Extents<'a> {
    fn of(file: &'a File, stop: &'a Stop) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let extent = next_extent(file, 0, length)?;
        seek(file, SeekFrom::Start(extent.map_or(0, |(start, _)| start)))?;
        Ok(Self { file, stop, at: 0, length, extent })
    }

    fn zeros(&mut self, buffer: &mut [u8], end: u64) -> usize {
        let count = buffer.len().min(usize::try_from(end - self.at).unwrap_or(usize::MAX));
        buffer[..count].fill(0);
        self.at += count as u64;
        count
    }
}

impl Read for Extents<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stop.check()?;
        match self.extent {
            None => Ok(self.zeros(buffer, self.length)),
            Some((start, _)) if self.at < start => Ok(self.zeros(buffer, start)),
            Some((_, end)) => {
                let most = buffer.len().min(usize::try_from(end - self.at).unwrap_or(usize::MAX));
                let count = self.file.read(&mut buffer[..most])?;
                self.at += count as u64;
                // The file was truncated meanwhile.
                if count == 0 {
                    return Ok(0);
                }
                if self.at >= end {
                    self.extent = next_extent(self.file, self.at, self.length)?;
                    if let Some((start, _)) = self.extent {
                        seek(self.file, SeekFrom::Start(start))?;
                    }
                }
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_once_the_time_of_the_call_and_the_least_time_are_over() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let late = |since: Duration| {
            let stop = Stop::default();
            stop.at(Instant::now());
            stop.began.set(Instant::now().checked_sub(since).unwrap()).unwrap();
            hash(&file, &stop).map_err(|error| error.kind())
        };
        assert!(late(Duration::ZERO).is_ok());
        assert_eq!(late(MIN_COMPARE_TIME + Duration::from_secs(1)).unwrap_err(), io::ErrorKind::TimedOut);
    }
}
