//! [`Questions`]: asks the open questions of a session one after the other at the terminal.
use crate::{Editor, approval, asking::Asking, diffs::Diffs, question};
use haft_core::{Entry, Event, Fact, HOOK_ASKS, Seq};
use haft_engine::Session;
use haft_present::{safe, unattended};
use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::Arc,
};

/// The open questions of a session. They share one input line, so the first one is asked and the others wait.
#[derive(Debug, Default)]
pub struct Questions {
    /// Entries that ask, oldest first.
    waiting: VecDeque<Arc<Entry>>,
    /// The first question, while it is being asked.
    asking: Option<(Seq, Asking)>,
    diffs: Diffs,
    editor: Option<Editor>,
}

impl Questions {
    /// Questions that show diffs as `diffs` says and edit files with `editor`.
    pub fn with(diffs: Diffs, editor: Option<Editor>) -> Self {
        Self { diffs, editor, ..Self::default() }
    }

    /// Asks the question of an event; if no user can be asked, refuses approvals and answers questions itself. Drops
    /// questions that were answered, here or elsewhere, or whose session is gone.
    pub fn hear(&mut self, session: &Session, event: &Event, can_ask: bool) {
        let Event::Recorded(entry) = event else { return };
        // In a joined session, the process that has it open may be able to ask a user.
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

    /// Whether a question is open.
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
        // Withdrawn before the next one begins, since both read the same lines.
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

/// Whether the journal has the answer to a question already, e.g., if its event arrives late.
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
