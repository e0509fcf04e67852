//! Questions to the person at the terminal, withdrawn when nobody needs the answer any more.
use crate::{approval, question};
use haft_core::{CallId, Event, Fact};
use haft_engine::Session;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::{
    io::{self, BufRead, BufReader, Read, Write, stdin},
    os::fd::AsFd,
    sync::{Arc, Mutex, PoisonError},
};

/// How soon the thread of a withdrawn question ends.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The questions of a session that are open.
#[derive(Debug, Default)]
pub struct Questions(Vec<(CallId, Asking)>);

impl Questions {
    /// Asks what is asked, or answers in place of a person who is not there. Who was answered, here or elsewhere, and who
    /// is gone asks no more.
    pub fn hear(&mut self, session: &Session, event: &Event, can_ask: bool) {
        let Event::Recorded(entry) = event else { return };
        // Somebody may sit where a joined session is open.
        let may_refuse = !session.is_joined();
        match &entry.fact {
            Fact::ApprovalAsked { call, reason, changes, .. } if can_ask => {
                let question = approval::Question { call, reason, changes };
                self.0.push((call.clone(), approval::ask(session, &question)));
            }
            Fact::QuestionAsked { call, question } if can_ask => {
                self.0.push((call.clone(), question::ask(session, call, question)));
            }
            Fact::ApprovalAsked { call, .. } if may_refuse => approval::refuse(session, call),
            Fact::QuestionAsked { call, .. } if may_refuse => question::nobody(session, call),
            Fact::ApprovalAnswered { call, .. }
            | Fact::QuestionAnswered { call, .. }
            | Fact::ToolEnded { call, .. } => self.0.retain(|(waiting, _)| waiting != call),
            Fact::TurnEnded { .. } => self.0.clear(),
            _ => {}
        }
    }
}

/// A question that is open; dropping it withdraws it.
#[derive(Debug)]
pub struct Asking(Withdrawn);

impl Asking {
    /// Asks on a thread of its own, so that the events go on; `answered` gets what `read` makes of the lines.
    pub fn begin<T: Send + 'static>(
        read: impl FnOnce(&mut dyn BufRead, &mut dyn Write) -> T + Send + 'static,
        answered: impl FnOnce(T) + Send + 'static,
    ) -> Self {
        let withdrawn = Withdrawn::default();
        let asking = Self(withdrawn.clone());
        tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(Lines { source: stdin(), withdrawn: &withdrawn });
            let answer = read(&mut lines, &mut io::stderr());
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

/// Whether a question is withdrawn. Held while a line is taken: once a question is withdrawn it takes none, not even one
/// that was on its way, since that is meant for what comes next.
#[derive(Clone, Debug, Default)]
struct Withdrawn(Arc<Mutex<bool>>);

impl Withdrawn {
    fn now<T>(&self, what: impl FnOnce(&mut bool) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is typed until the question is withdrawn, which is its end.
struct Lines<'a, S> {
    source: S,
    withdrawn: &'a Withdrawn,
}

impl<S: Read + AsFd> Read for Lines<'_, S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            is_ready(&self.source, LOOK)?;
            let read = self.withdrawn.now(|is| match *is {
                true => Ok(Some(0)),
                false if is_ready(&self.source, NOW)? => self.source.read(bytes).map(Some),
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

    /// It waits for a line, is withdrawn, and the next line comes before it has looked.
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
