//! [`Questions`]: the open questions of a session, asked one after the other at the terminal.
use crate::{Editor, approval, asking::Asking, diffs::Diffs, question};
use haft_core::{Entry, Event, Fact, HOOK_ASKS, Seq};
use haft_engine::Session;
use haft_present::{safe, unattended};
use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::Arc,
};

/// The questions of a session that are open. There is one person and one line at a time, so that the first one is asked and
/// the others wait.
#[derive(Debug, Default)]
pub struct Questions {
    /// Entries that ask, the first first.
    waiting: VecDeque<Arc<Entry>>,
    /// The one in front, while the person is asked.
    asking: Option<(Seq, Asking)>,
    diffs: Diffs,
    editor: Option<Editor>,
}

impl Questions {
    /// Questions that show diffs in this way and edit files with `editor`.
    pub fn with(diffs: Diffs, editor: Option<Editor>) -> Self {
        Self { diffs, editor, ..Self::default() }
    }

    /// Asks what is asked, or answers in place of a person who is not there. Drops questions that were answered, here
    /// or elsewhere, or whose session is gone.
    pub fn hear(&mut self, session: &Session, event: &Event, can_ask: bool) {
        let Event::Recorded(entry) = event else { return };
        // In a joined session, the process that has it open may have a person to ask.
        let may_refuse = !session.is_joined();
        match &entry.fact {
            Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } if can_ask && !session.may_allow() => {
                let text = "note: a call asks; it can be answered only where the session is open";
                let _no_terminal = writeln!(io::stderr(), "{text}");
            }
            Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } if can_ask => {
                self.waiting.push_back(entry.clone());
            }
            Fact::ApprovalAsked { call, effects, reason, .. } if may_refuse => {
                let hint = match reason.contains(HOOK_ASKS) {
                    true => "a person can answer it in a conversation: `haft -c`".to_owned(),
                    false => unattended::hint(session, effects),
                };
                let _nobody_reads = writeln!(io::stderr(), "hint: {}", safe::text(&hint));
                unattended::refuse(session, call);
            }
            Fact::QuestionAsked { call, .. } if may_refuse => unattended::reply(session, call),
            Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. } => {
                let text =
                    "note: a call waits for an answer, which can be given in another terminal or on the page";
                let _no_terminal = writeln!(io::stderr(), "{text}");
            }
            fact => self.waiting.retain(|asked| !ends(fact, asked)),
        }
        self.ask_first(session);
    }

    /// Whether a question waits for a person.
    pub fn is_open(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn ask_first(&mut self, session: &Session) {
        while self.waiting.front().is_some_and(|asked| is_over(session, asked)) {
            self.waiting.pop_front();
        }
        let first = self.waiting.front();
        if self.asking.as_ref().map(|(seq, _)| *seq) == first.map(|asked| asked.seq) {
            return;
        }
        // Withdrawn before the next one begins: they read the same lines.
        self.asking = None;
        self.asking = first.and_then(|asked| Some((asked.seq, self.ask(session, &asked.fact)?)));
    }

    fn ask(&self, session: &Session, fact: &Fact) -> Option<Asking> {
        match fact {
            Fact::ApprovalAsked { .. } => approval::ask(session, fact, self.diffs, self.editor.clone()),
            Fact::QuestionAsked { call, question } => {
                Some(question::ask(session, call, question, self.editor.clone()))
            }
            _ => None,
        }
    }
}

/// A question that arrives late may have its answer in the journal already.
fn is_over(session: &Session, asked: &Entry) -> bool {
    let entries = session.entries();
    let since = entries.partition_point(|entry| entry.seq <= asked.seq);
    entries[since..].iter().any(|entry| ends(&entry.fact, asked))
}

fn ends(fact: &Fact, asked: &Entry) -> bool {
    let (Fact::ApprovalAsked { call: waiting, .. } | Fact::QuestionAsked { call: waiting, .. }) = &asked.fact
    else {
        return true;
    };
    match fact {
        Fact::ApprovalAnswered { call, .. }
        | Fact::QuestionAnswered { call, .. }
        | Fact::ToolEnded { call, .. } => call == waiting,
        Fact::TurnEnded { .. } => true,
        _ => false,
    }
}
