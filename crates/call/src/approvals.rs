//! [`Interactions`] and [`Asker`]: the questions of calls to the user, and what the user has allowed for the session.
use crate::recorder::{Unrecorded, WeakRecorder};
use futures::future::BoxFuture;
use haft_core::{
    Accepted, Answer, BulkFolder, CallId, Change, DiagnosticsChange, Effect, Entry, Fact, FileKind, Person,
    Question, ToolCall,
};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Open approvals and questions of a session, and what the user has allowed for the whole session. Clones share the
/// same state.
#[derive(Clone, Default)]
pub struct Interactions(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    approvals: HashMap<CallId, WaitingApproval>,
    questions: HashMap<CallId, oneshot::Sender<Replied>>,
    waits: HashMap<CallId, Wait>,
    granted: HashSet<Effect>,
    /// The accepted parts of the changes of calls, if the user accepts only a part.
    accepted: HashMap<CallId, Accepted>,
    /// The call that the user has typed.
    typed: Option<CallId>,
    /// The call whose changes always need an approval.
    proposed: Option<CallId>,
    /// The call that sends an item of the outbox, and the ID of the item.
    sent: Option<(CallId, String)>,
    is_unattended: bool,
    /// Whether questions are answered at once, because no user can be asked.
    asks_nothing: bool,
}

/// A call that waits for an approval.
struct WaitingApproval {
    sender: oneshot::Sender<Answered>,
    /// Whether a child session asks through this call.
    is_below: bool,
}

/// What happened to an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerTaken {
    /// The call does not wait for an answer.
    NotAsked,
    /// The call received the answer. The session must pass on the instruction for the model, unless a subagent asked
    /// and received it itself.
    Taken {
        /// What the model of this session should do instead.
        because: Option<String>,
    },
}

/// How long a call has waited for the user.
#[derive(Default)]
struct Wait {
    since: Option<Instant>,
    before: Duration,
}

impl Wait {
    fn end(&mut self) {
        self.before += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }
}

impl Interactions {
    /// The interactions of a session in which no user can be asked.
    pub fn unattended() -> Self {
        let interactions = Self::default();
        interactions.0.lock().is_unattended = true;
        interactions
    }

    /// Whether no user can be asked.
    pub(crate) fn is_unattended(&self) -> bool {
        self.0.lock().is_unattended
    }

    /// Restores from a journal what the user has allowed for the whole session.
    pub fn replay(entries: &[Arc<Entry>]) -> Self {
        let interactions = Self::default();
        let mut asked: HashMap<&CallId, &Vec<Effect>> = HashMap::new();
        for entry in entries {
            match &entry.fact {
                Fact::ApprovalAsked { call, effects, .. } => {
                    asked.insert(call, effects);
                }
                Fact::ApprovalAnswered { call, answer, .. } => {
                    let asked = asked.get(call).map(|effects| effects.as_slice()).unwrap_or_default();
                    interactions.grant(*answer, asked);
                }
                _ => {}
            }
        }
        interactions
    }

    /// Answers the approval that `call` waits for. Does nothing if it waits for none.
    pub fn answer(&self, call: &CallId, mut answered: Answered) -> AnswerTaken {
        let mut state = self.0.lock();
        let Some(WaitingApproval { sender, is_below }) = state.approvals.remove(call) else {
            return AnswerTaken::NotAsked;
        };
        state.end_waiting(call);
        let because = answered.because.take_if(|_| !is_below);
        match sender.send(answered) {
            Ok(()) => AnswerTaken::Taken { because },
            Err(_) => AnswerTaken::NotAsked,
        }
    }

    /// Answers the approval that `call` waits for by accepting these parts of its changes. Returns false, and does
    /// nothing, if it waits for none.
    pub fn answer_in_part(&self, call: &CallId, accepted: Accepted, by: Option<String>) -> bool {
        {
            let mut state = self.0.lock();
            if state.approvals.contains_key(call) {
                state.accepted.insert(call.clone(), accepted);
            }
        }
        self.answer(call, Answered { by, ..Answer::Once.into() }) != AnswerTaken::NotAsked
    }

    /// Replies to the question that `call` waits for. Returns false, and does nothing, if it waits for none.
    pub fn reply(&self, call: &CallId, answer: Option<String>, by: Option<String>) -> bool {
        let mut state = self.0.lock();
        let Some(waiting) = state.questions.remove(call) else { return false };
        state.end_waiting(call);
        waiting.send(Replied { answer, by }).is_ok()
    }

    /// Sets the call that the user has typed; `None` once it has ended.
    pub fn set_typed(&self, call: Option<CallId>) {
        self.0.lock().typed = call;
    }

    /// Whether the user has typed `call` and thereby allowed it.
    pub(crate) fn is_typed(&self, call: &CallId) -> bool {
        self.0.lock().typed.as_ref() == Some(call)
    }

    /// Returns how long a call that has ended waited for the user.
    pub(crate) fn waited(&self, call: &CallId) -> Duration {
        let mut wait = self.0.lock().waits.remove(call).unwrap_or_default();
        wait.end();
        wait.before
    }

    /// Sets the call whose changes need an approval even if the rules and the mode allow them; `None` once it has
    /// ended.
    pub fn set_proposed(&self, call: Option<CallId>) {
        self.0.lock().proposed = call;
    }

    /// Whether the changes of `call` always need an approval.
    pub(crate) fn is_proposed(&self, call: &CallId) -> bool {
        self.0.lock().proposed.as_ref() == Some(call)
    }

    /// Sets the call that sends an outbox item, and the item's ID; `None` once it has ended.
    pub fn set_sent(&self, sent: Option<(CallId, String)>) {
        self.0.lock().sent = sent;
    }

    /// The item of the outbox that `call` sends.
    pub(crate) fn item_of(&self, call: &CallId) -> Option<String> {
        let state = self.0.lock();
        state.sent.as_ref().filter(|(sent, _)| sent == call).map(|(_, item)| item.clone())
    }

    /// Stops asking: from now on, each question is answered at once by "no person can answer".
    pub fn ask_nothing(&self) {
        self.0.lock().asks_nothing = true;
    }

    fn asks_nothing(&self) -> bool {
        self.0.lock().asks_nothing
    }

    fn take_accepted(&self, call: &CallId) -> Option<Accepted> {
        self.0.lock().accepted.remove(call)
    }

    fn wait_for_answer(&self, call: &CallId, is_below: bool) -> oneshot::Receiver<Answered> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.0.lock();
        if !state.is_unattended {
            state.begin_waiting(call);
            state.approvals.insert(call.clone(), WaitingApproval { sender, is_below });
        }
        receiver
    }

    fn wait_for_reply(&self, call: &CallId) -> oneshot::Receiver<Replied> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.0.lock();
        if !state.is_unattended {
            state.begin_waiting(call);
            state.questions.insert(call.clone(), sender);
        }
        receiver
    }

    /// Remembers which of the effects `asked` are allowed for the rest of the session: after "always" all of them;
    /// after any approval the hosts that a confined command reaches.
    fn grant(&self, answer: Answer, asked: &[Effect]) {
        let is_confined =
            |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.confined);
        let has_confined = asked.iter().any(is_confined);
        let is_granted = |effect: &&Effect| match answer {
            Answer::Always => true,
            Answer::Once => has_confined && matches!(effect, Effect::Network(_)),
            Answer::No | Answer::Unanswered | Answer::NotUnderstood => false,
        };
        self.0.lock().granted.extend(asked.iter().filter(is_granted).cloned());
    }

    fn has_granted(&self, effects: &[Effect]) -> bool {
        let state = self.0.lock();
        !effects.is_empty() && effects.iter().all(|effect| state.granted.contains(effect))
    }
}

impl State {
    fn begin_waiting(&mut self, call: &CallId) {
        self.waits.entry(call.clone()).or_default().since = Some(Instant::now());
    }

    fn end_waiting(&mut self, call: &CallId) {
        if let Some(wait) = self.waits.get_mut(call) {
            wait.end();
        }
    }
}

/// What a call wants to do, and why it needs an approval. The fields are those of [`Fact::ApprovalAsked`].
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// Why the policy asks.
    pub reason: String,
    /// The effects that the answer applies to.
    pub effects: Vec<Effect>,
    /// The changes of the call in its view.
    pub changes: Vec<Change>,
    /// Folders that the call has changed and that are shown as a summary.
    pub bulk: Vec<BulkFolder>,
    /// The call that runs, if it is not the call as the model made it.
    pub runs: Option<Box<ToolCall>>,
    /// Errors and warnings of the workspace that `changes` would add and remove; `None` if unknown.
    pub diagnostics: Option<Box<DiagnosticsChange>>,
}

impl ApprovalRequest {
    /// Whether a grant for the whole session does not cover this request: a grant covers only contents of single files,
    /// not the removal of a file or its replacement by a link.
    fn exceeds_grants(&self) -> bool {
        let is_content = |change: &Change| match (&change.before, &change.after) {
            (_, Some(after)) if after.kind() == FileKind::Link => false,
            (before, after) => before.is_none() || after.is_some(),
        };
        !self.bulk.is_empty()
            || self.changes.iter().any(|change| change.gives_rights() || !is_content(change))
    }

    fn into_fact(self, call: CallId) -> Fact {
        let Self { reason, effects, changes, bulk, runs, diagnostics } = self;
        Fact::ApprovalAsked { call, reason, effects, changes, bulk, runs, diagnostics }
    }
}

/// An answer, and the user of a server who gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// The user; `None` if the front-end knows no users.
    pub by: Option<String>,
    /// What the model should do instead.
    pub because: Option<String>,
}

impl From<Answer> for Answered {
    fn from(answer: Answer) -> Self {
        Self { answer, by: None, because: None }
    }
}

/// The answer to a question, and the user of a server who gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replied {
    /// The answer; `None` if no user answered.
    pub answer: Option<String>,
    /// The user; `None` if the front-end knows no users.
    pub by: Option<String>,
}

/// The user's answer to a call that asks for approval.
#[derive(Clone, Debug)]
pub struct Approved {
    /// The answer.
    pub answered: Answered,
    /// The parts of its changes that the answer is about; `None` for all.
    pub accepted: Option<Accepted>,
}

/// Asks the user of a session on behalf of one call, and records questions and answers. Used by calls of the session
/// and of its subagents.
#[derive(Clone)]
pub struct Asker {
    call: CallId,
    interactions: Interactions,
    /// Weak: a subagent that still asks for a call that has ended must not keep its round open.
    recorder: WeakRecorder,
}

impl Asker {
    /// Returns an asker for `call`.
    pub fn new(call: CallId, interactions: Interactions, recorder: WeakRecorder) -> Self {
        Self { call, interactions, recorder }
    }

    /// Asks for an approval and returns the answer. `must_be_granted`: the user is not asked if these effects were
    /// allowed for the whole session. If `elsewhere` yields an answer first, that answer is recorded (a denial if it
    /// was dropped) and `None` is returned.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub async fn approve(
        &self,
        request: ApprovalRequest,
        must_be_granted: &[Effect],
        elsewhere: Option<&mut oneshot::Receiver<Answered>>,
    ) -> Result<Option<Approved>, Unrecorded> {
        if !request.exceeds_grants() && self.interactions.has_granted(must_be_granted) {
            return Ok(Some(Approved { answered: Answer::Once.into(), accepted: None }));
        }
        let given = self.interactions.wait_for_answer(&self.call, elsewhere.is_some());
        let call = self.call.clone();
        let effects = request.effects.clone();
        self.record(request.into_fact(call.clone())).await?;
        let answered_elsewhere = async {
            match elsewhere {
                Some(elsewhere) => elsewhere.await.unwrap_or_else(|_| Answer::No.into()),
                None => std::future::pending().await,
            }
        };
        let (answered, is_ours) = tokio::select! {
            biased;
            answered = answered_elsewhere => (answered, false),
            answered = given => (answered.unwrap_or_else(|_| Answer::Unanswered.into()), true),
        };
        let accepted = self.interactions.take_accepted(&call).filter(|_| is_ours);
        if let Some(accepted) = accepted.clone() {
            self.record(Fact::AcceptedPart { call: call.clone(), accepted }).await?;
        }
        let Answered { answer, by, .. } = answered.clone();
        self.record(Fact::ApprovalAnswered { call, answer, by }).await?;
        self.interactions.grant(answer, &effects);
        Ok(is_ours.then_some(Approved { answered, accepted }))
    }

    /// Asks a question and waits for the reply or for `elsewhere`. If `elsewhere` ends first, `None` is recorded as the
    /// answer, so that clients close their prompt.
    pub async fn ask_unless(&self, question: Question, elsewhere: impl Future<Output = ()>) -> Replied {
        if self.interactions.asks_nothing() {
            return Replied::default();
        }
        let reply = self.interactions.wait_for_reply(&self.call);
        let asked = Fact::QuestionAsked { call: self.call.clone(), question };
        if self.record(asked).await.is_err() {
            return Replied::default();
        }
        let mut withdrawn = WithdrawOnDrop { asker: self, is_open: true };
        let replied = tokio::select! {
            biased;
            () = elsewhere => Replied::default(),
            replied = reply => replied.unwrap_or_default(),
        };
        withdrawn.is_open = false;
        match self.record(self.answered(replied.clone())).await {
            Ok(()) => replied,
            Err(Unrecorded) => Replied::default(),
        }
    }

    fn answered(&self, Replied { answer, by }: Replied) -> Fact {
        Fact::QuestionAnswered { call: self.call.clone(), answer, by }
    }

    async fn record(&self, fact: Fact) -> Result<(), Unrecorded> {
        self.recorder.upgrade().ok_or(Unrecorded)?.record(fact).await
    }
}

impl Person for Asker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.ask_unless(question, std::future::pending()).await.answer })
    }
}

/// Guards an open question. Dropping it records the question as withdrawn, so that a late answer does not count for the
/// next question.
struct WithdrawOnDrop<'a> {
    asker: &'a Asker,
    is_open: bool,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        if self.is_open
            && let Some(recorder) = self.asker.recorder.upgrade()
        {
            recorder.record_later(self.asker.answered(Replied::default()));
        }
    }
}
