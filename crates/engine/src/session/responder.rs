//! [`Responder`]: answers calls on behalf of the program, in place of the user. [`Approval`]: the request of a call.
use super::tool_call_in;
use crate::journal::Journal;
use futures::StreamExt;
use haft_call::{AnswerTaken, Answered, Interactions, last_words};
use haft_core::{
    Answer, BulkFolder, CallId, Change, Command, Effect, Entry, Event, Fact, Question, Seq, ToolCall,
};
use std::{
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
};
use tokio::sync::watch;

/// The request of a call for approval.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The call as it runs; `None` if only its session has it.
    pub call: Option<ToolCall>,
    /// ID of the call in [`Command::Answer`].
    pub id: CallId,
    /// Why the call needs an approval.
    pub reason: String,
    /// The effects that the answer applies to.
    pub effects: Vec<Effect>,
    /// The call's changes of files; it has already run in a private view.
    pub changes: Vec<Change>,
    /// Its additional changes below folders that Git ignores, which cannot be undone.
    pub bulk: Vec<BulkFolder>,
}

impl Approval {
    /// Returns the request in `fact`, if it asks for an approval.
    fn of(journal: &Journal, fact: &Fact) -> Option<Self> {
        let Fact::ApprovalAsked { call: id, reason, effects, changes, bulk, runs, .. } = fact else {
            return None;
        };
        let call = runs.as_deref().cloned().or_else(|| tool_call_in(&journal.entries(), id));
        let (id, reason) = (id.clone(), reason.clone());
        Some(Self {
            call,
            id,
            reason,
            effects: effects.clone(),
            changes: changes.clone(),
            bulk: bulk.clone(),
        })
    }
}

type Approve = dyn Fn(&Approval) -> Answer + Send + Sync;
type Reply = dyn Fn(&Question) -> Option<String> + Send + Sync;

/// Answers questions of calls in place of the user. See [`crate::Session::answered_by`].
#[derive(Clone, Default)]
pub struct Responder {
    /// Answers calls that need an approval.
    pub approve: Option<Arc<Approve>>,
    /// Answers the questions of calls; `None` if there is no answer.
    pub reply: Option<Arc<Reply>>,
}

impl Responder {
    /// The answer to the question in `fact`, if this responder answers such questions. If its function panics, the
    /// answer is [`refusal`].
    pub(crate) fn answer(&self, journal: &Journal, fact: &Fact) -> Option<Command> {
        match fact {
            Fact::ApprovalAsked { call, .. } => {
                let (approve, approval) = (self.approve.as_ref()?, Approval::of(journal, fact)?);
                let answer = guarded(|| approve(&approval)).unwrap_or(Answer::Unanswered);
                Some(Command::answer(call.clone(), answer))
            }
            Fact::QuestionAsked { call, question } => {
                let reply = self.reply.as_ref()?;
                Some(Command::reply(call.clone(), guarded(|| reply(question)).flatten()))
            }
            _ => None,
        }
    }

    /// Whether this responder answers the question in `fact`.
    pub(crate) fn answers(&self, fact: &Fact) -> bool {
        match fact {
            Fact::ApprovalAsked { .. } => self.approve.is_some(),
            Fact::QuestionAsked { .. } => self.reply.is_some(),
            _ => false,
        }
    }
}

fn guarded<T>(function: impl FnOnce() -> T) -> Option<T> {
    let called = catch_unwind(AssertUnwindSafe(function));
    called.map_err(|panic| tracing::error!("an answering function panicked: {}", last_words(&*panic))).ok()
}

/// The answer to the question in `fact` if no user can be asked.
pub(crate) fn refusal(fact: &Fact) -> Option<Command> {
    match fact {
        Fact::ApprovalAsked { call, .. } => Some(Command::answer(call.clone(), Answer::Unanswered)),
        Fact::QuestionAsked { call, .. } => Some(Command::reply(call.clone(), None)),
        _ => None,
    }
}

/// The questions in `entries` that were not answered before the end of the turn, oldest first.
pub(crate) fn open_questions(entries: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    let is_of_turn = |entry: &&Arc<Entry>| !matches!(entry.fact, Fact::TurnEnded { .. });
    let (mut open, mut closed) = (Vec::new(), Vec::new());
    for entry in entries.iter().rev().take_while(is_of_turn) {
        match &entry.fact {
            Fact::ApprovalAnswered { call, .. }
            | Fact::QuestionAnswered { call, .. }
            | Fact::ToolEnded { call, .. } => closed.push(call),
            Fact::ApprovalAsked { call, .. } | Fact::QuestionAsked { call, .. }
                if !closed.contains(&call) =>
            {
                open.push(entry.clone());
            }
            _ => {}
        }
    }
    open.reverse();
    open
}

/// The responder of a session, if it has one, and the number of the first entry that it answers.
pub(crate) type AnsweredBy = Option<(Responder, Seq)>;

/// Answers the questions of a session's calls. All handles of the session share it.
pub(crate) struct Answering {
    /// The program's responder.
    pub(crate) by: watch::Sender<AnsweredBy>,
    /// Number of turns that code reads as streams and may answer.
    readers: watch::Sender<usize>,
    /// Counts the listeners that may answer: handles of turns that are not awaited, and streams of the session's
    /// events.
    listeners: watch::Sender<()>,
}

impl Answering {
    pub(crate) fn new() -> Self {
        Self {
            by: watch::Sender::new(None),
            readers: watch::Sender::new(0),
            listeners: watch::Sender::new(()),
        }
    }

    /// Returns a listener, which counts as able to answer until it is dropped.
    pub(crate) fn listen(&self) -> Listener {
        Listener(self.listeners.subscribe())
    }

    /// Waits until the program has set a responder and no other code of it can answer.
    async fn is_left_alone(&self) {
        let mut by = self.by.subscribe();
        if by.wait_for(Option::is_some).await.is_ok() {
            self.listeners.closed().await;
        }
    }

    /// Number of turns that are read as streams.
    pub(crate) fn readers(&self) -> watch::Receiver<usize> {
        self.readers.subscribe()
    }
}

/// A listener that may answer questions.
pub(crate) struct Listener(#[expect(dead_code, reason = "it is counted")] watch::Receiver<()>);

/// A turn that code reads as a stream, for as long as it does.
pub(crate) struct Reader(Arc<Answering>);

impl Reader {
    pub(crate) fn new(answering: Arc<Answering>) -> Self {
        answering.readers.send_modify(|readers| *readers += 1);
        Self(answering)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.readers.send_modify(|readers| *readers -= 1);
    }
}

/// Answers the questions of a session's calls, whichever command or event opened their turn. Questions that the
/// responder does not answer are refused if no code can answer them: while no handle of the session is left, and, if
/// [`crate::Session::answered_by`] was called, while there is no listener. `handles` counts the handles.
pub(crate) async fn answer_all(
    journal: &Journal,
    interactions: &Interactions,
    answering: &Answering,
    handles: &watch::Sender<()>,
) -> Infallible {
    let by_program = answer_by_program(journal, interactions, answering.by.subscribe());
    tokio::join!(by_program, refuse_unheard(journal, interactions, answering, handles));
    std::future::pending().await
}

async fn refuse_unheard(
    journal: &Journal,
    interactions: &Interactions,
    answering: &Answering,
    handles: &watch::Sender<()>,
) {
    let is_question = |event: &Event| match event {
        Event::Recorded(entry) => refusal(&entry.fact).is_some(),
        Event::Live(_) => false,
    };
    loop {
        tokio::select! {
            () = handles.closed() => {}
            () = answering.is_left_alone() => {}
        }
        let mut events = pin!(journal.follow(journal.next()));
        for asked in open_questions(&journal.entries()) {
            refuse(&asked.fact, interactions, answering);
        }
        loop {
            match events.next().await {
                Some(event) if is_question(&event) => break,
                Some(_) => {}
                None => return,
            }
        }
    }
}

/// Refuses the question in `asked`, unless the program answers it.
fn refuse(asked: &Fact, interactions: &Interactions, answering: &Answering) {
    let responder = answering.by.borrow().as_ref().map(|(responder, _)| responder.clone());
    match refusal(asked).filter(|_| !responder.unwrap_or_default().answers(asked)) {
        Some(Command::Answer { call, answer, by, because }) => {
            interactions.answer(&call, Answered { answer, by, because });
        }
        Some(Command::Reply { call, answer, by }) => drop(interactions.reply(&call, answer, by)),
        _ => {}
    }
}

async fn answer_by_program(
    journal: &Journal,
    interactions: &Interactions,
    mut answering: watch::Receiver<AnsweredBy>,
) {
    let set =
        answering.wait_for(Option::is_some).await.ok().and_then(|set| set.as_ref().map(|(_, from)| *from));
    if let Some(from) = set {
        let mut events = pin!(journal.follow(from));
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            let responder = answering.borrow().as_ref().map(|(responder, _)| responder.clone());
            match responder.and_then(|responder| responder.answer(journal, &entry.fact)) {
                Some(Command::Answer { call, answer, by, because }) => {
                    interactions.answer(&call, Answered { answer, by, because }) != AnswerTaken::NotAsked
                }
                Some(Command::Reply { call, answer, by }) => interactions.reply(&call, answer, by),
                _ => continue,
            };
        }
    }
}
