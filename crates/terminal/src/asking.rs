//! [`Asking`]: a question to the user at the terminal, which is withdrawn when its answer is not needed.
use parking_lot::Mutex;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::{
    io::{self, BufRead, BufReader, Read, Write, stdin},
    os::fd::AsFd,
    sync::Arc,
};

/// Maximum delay until the thread of a withdrawn question ends.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// An open question; dropping it withdraws it.
#[derive(Debug)]
pub(crate) struct Asking(Withdrawn);

impl Asking {
    /// Asks on a separate thread, so that events continue; `answered` gets what `read` returns.
    pub(crate) fn begin<T: Send + 'static>(
        read: impl FnOnce(&mut dyn BufRead, &mut dyn Write) -> T + Send + 'static,
        answered: impl FnOnce(T) + Send + 'static,
    ) -> Self {
        let withdrawn = Withdrawn::default();
        let asking = Self(withdrawn.clone());
        tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(Lines { source: stdin(), withdrawn: &withdrawn });
            let mut shown = Shown { screen: io::stderr(), withdrawn: &withdrawn };
            let answer = read(&mut lines, &mut shown);
            if !withdrawn.now(|is| *is) {
                answered(answer);
            }
        });
        asking
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.now(|is| *is = true);
    }
}

/// Whether a question is withdrawn. Locked while a line is read: a withdrawn question reads no lines, not even one that
/// is being typed, since that is meant for what comes next.
#[derive(Clone, Debug, Default)]
struct Withdrawn(Arc<Mutex<bool>>);

impl Withdrawn {
    fn now<T>(&self, what: impl FnOnce(&mut bool) -> T) -> T {
        what(&mut self.0.lock())
    }
}

/// Writes to the screen until the question is withdrawn, and discards later output.
struct Shown<'a, S> {
    screen: S,
    withdrawn: &'a Withdrawn,
}

impl<S: Write> Write for Shown<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.withdrawn.now(|is| if *is { Ok(bytes.len()) } else { self.screen.write(bytes) })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.screen.flush()
    }
}

/// Reads input until the question is withdrawn, then reports the end of the input.
struct Lines<'a, S> {
    source: S,
    withdrawn: &'a Withdrawn,
}

impl<S: Read + AsFd> Read for Lines<'_, S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            is_ready(&self.source, POLL_INTERVAL)?;
            let read = self.withdrawn.now(|is| match *is {
                true => Ok(Some(0)),
                false if is_ready(&self.source, NO_WAIT)? => self.source.read(bytes).map(Some),
                false => Ok(None),
            })?;
            if let Some(read) = read {
                return Ok(read);
            }
        }
    }
}

fn is_ready(source: &impl AsFd, within: Timespec) -> io::Result<bool> {
    match poll(&mut [PollFd::new(source, PollFlags::IN)], Some(&within)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{thread, time::Duration};

    #[test]
    fn nothing_is_shown_of_a_question_that_is_withdrawn_before_it_begins() {
        let withdrawn = Withdrawn::default();
        let asking = Asking(withdrawn.clone());
        let mut shown = Shown { screen: Vec::new(), withdrawn: &withdrawn };
        shown.write_all(b"which?").unwrap();
        drop(asking);
        shown.write_all(b"what?").unwrap();
        assert_eq!(shown.screen, b"which?");
    }

    /// The question waits for a line and is withdrawn; the next line arrives before the question notices.
    #[test]
    fn a_line_behind_the_withdrawal_is_left() {
        let (source, mut writer) = io::pipe().unwrap();
        let withdrawn = Withdrawn::default();
        let asking = Asking(withdrawn.clone());
        writer.write_all(b"for the question\n").unwrap();
        let mut lines = Lines { source, withdrawn: &withdrawn };
        let mut line = [0; 17];
        lines.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"for the question\n");
        let left = thread::scope(|scope| {
            let waiting = scope.spawn(|| (lines.read(&mut [0; 32]).unwrap(), lines.source));
            thread::sleep(Duration::from_millis(20));
            drop(asking);
            writer.write_all(b"for what comes next\n").unwrap();
            drop(writer);
            let (taken, source) = waiting.join().unwrap();
            assert_eq!(taken, 0);
            io::read_to_string(source).unwrap()
        });
        assert_eq!(left, "for what comes next\n");
    }
}
