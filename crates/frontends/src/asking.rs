//! Questions to the person at the terminal, withdrawn when nobody needs the answer any more.
use crate::{approval, question};
use haft_core::{CallId, Event, Fact};
use haft_engine::Session;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, BufRead, BufReader, Read, Write, stdin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// How soon a withdrawn question stops reading: it must not take the line that is meant for what comes next.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

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
pub struct Asking(Arc<AtomicBool>);

impl Asking {
    /// Asks on a thread of its own, so that the events go on; `answered` gets what `read` makes of the lines.
    pub fn begin<T: Send + 'static>(
        read: impl FnOnce(&mut dyn BufRead, &mut dyn Write) -> T + Send + 'static,
        answered: impl FnOnce(T) + Send + 'static,
    ) -> Self {
        let is_withdrawn = Arc::new(AtomicBool::new(false));
        let asking = Self(is_withdrawn.clone());
        tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(Lines { is_withdrawn: &is_withdrawn });
            let answer = read(&mut lines, &mut io::stderr());
            if !is_withdrawn.load(Ordering::Relaxed) {
                answered(answer);
            }
        });
        asking
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Standard input until the question is withdrawn, which is its end.
struct Lines<'a> {
    is_withdrawn: &'a AtomicBool,
}

impl Read for Lines<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let stdin = stdin();
        while !self.is_withdrawn.load(Ordering::Relaxed) {
            let ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&LOOK));
            match ready {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return stdin.lock().read(bytes),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(0)
    }
}
