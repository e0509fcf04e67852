//! What waits for people while a turn runs, and what they said meanwhile.
use super::receipt::Receipt;
use haft_core::{Answer, CallId, Effect, Entry, Fact, waiting_prompts};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Where people and a running turn meet.
#[derive(Clone, Default)]
pub(crate) struct Inbox(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    approvals: HashMap<CallId, oneshot::Sender<Answer>>,
    questions: HashMap<CallId, oneshot::Sender<Option<String>>>,
    /// Since when a call waits for a person, and how long it has waited before.
    waits: HashMap<CallId, (Option<Instant>, Duration)>,
    queue: VecDeque<Queued>,
    /// Commands that joined the turn that runs.
    joined: Vec<Receipt>,
    granted: HashSet<Effect>,
    /// The call that a person has typed.
    typed: Option<CallId>,
}

/// What opens a turn, or joins the one that runs.
pub(crate) struct Queued {
    pub(crate) fact: Fact,
    pub(crate) receipt: Receipt,
}

/// Of the effects that a person was asked about, those that are not asked about again in the session: after "always" all
/// of them, after any yes the hosts that a confined command reaches.
pub(crate) fn granted(answer: Answer, asked: &[Effect]) -> impl Iterator<Item = &Effect> {
    let is_confined = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.confined);
    let has_confined = asked.iter().any(is_confined);
    asked.iter().filter(move |effect| match answer {
        Answer::Always => true,
        Answer::Once => has_confined && matches!(effect, Effect::Network(_)),
        Answer::No | Answer::Nobody => false,
    })
}

impl Inbox {
    /// With what people have allowed for the whole session, and what they said that nobody has taken up.
    pub(crate) fn replay(entries: &[Arc<Entry>]) -> Self {
        let inbox = Self::default();
        let waiting = waiting_prompts(entries.iter().map(Arc::as_ref));
        waiting.into_iter().for_each(|prompt| inbox.queue(prompt, Receipt::none()));
        let mut asked: HashMap<&CallId, &Vec<Effect>> = HashMap::new();
        for entry in entries {
            match &entry.fact {
                Fact::ApprovalAsked { call, effects, .. } => {
                    asked.insert(call, effects);
                }
                Fact::ApprovalAnswered { call, answer } => {
                    let asked = asked.get(call).map(|effects| effects.as_slice()).unwrap_or_default();
                    inbox.grant(granted(*answer, asked).cloned());
                }
                _ => {}
            }
        }
        inbox
    }

    pub(crate) fn wait_for(&self, call: &CallId) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let mut inbox = self.lock();
        inbox.begin_waiting(call);
        inbox.approvals.insert(call.clone(), sender);
        receiver
    }

    pub(crate) fn wait_for_reply(&self, call: &CallId) -> oneshot::Receiver<Option<String>> {
        let (sender, receiver) = oneshot::channel();
        let mut inbox = self.lock();
        inbox.begin_waiting(call);
        inbox.questions.insert(call.clone(), sender);
        receiver
    }

    pub(crate) fn grant(&self, effects: impl IntoIterator<Item = Effect>) {
        self.lock().granted.extend(effects);
    }

    pub(crate) fn has_granted(&self, effects: &[Effect]) -> bool {
        let inbox = self.lock();
        !effects.is_empty() && effects.iter().all(|effect| inbox.granted.contains(effect))
    }

    pub(crate) fn set_typed(&self, call: Option<CallId>) {
        self.lock().typed = call;
    }

    /// Whether a person has typed `call`: whoever does that has nobody to ask.
    pub(crate) fn is_typed(&self, call: &CallId) -> bool {
        self.lock().typed.as_ref() == Some(call)
    }

    pub(crate) fn next_queued(&self) -> Option<Queued> {
        self.next_queued_if(|_| true)
    }

    /// The next one, where it is `wanted`; else it stays where it is.
    pub(crate) fn next_queued_if(&self, wanted: impl FnOnce(&Fact) -> bool) -> Option<Queued> {
        let mut inbox = self.lock();
        let is_wanted = inbox.queue.front().is_some_and(|queued| wanted(&queued.fact));
        if is_wanted { inbox.queue.pop_front() } else { None }
    }

    pub(crate) fn answer(&self, call: &CallId, answer: Answer) {
        let mut inbox = self.lock();
        if let Some(waiting) = inbox.approvals.remove(call) {
            inbox.end_waiting(call);
            let _call_is_gone = waiting.send(answer);
        }
    }

    pub(crate) fn reply(&self, call: &CallId, answer: Option<String>) {
        let mut inbox = self.lock();
        if let Some(waiting) = inbox.questions.remove(call) {
            inbox.end_waiting(call);
            let _call_is_gone = waiting.send(answer);
        }
    }

    /// How long a call that has ended waited for a person.
    pub(crate) fn waited(&self, call: &CallId) -> Duration {
        let mut inbox = self.lock();
        inbox.end_waiting(call);
        inbox.waits.remove(call).map_or(Duration::ZERO, |(_, waited)| waited)
    }

    /// How many prompts wait.
    pub(crate) fn prompts(&self) -> usize {
        self.lock().queue.iter().filter(|queued| matches!(queued.fact, Fact::Prompted { .. })).count()
    }

    pub(crate) fn queue(&self, fact: Fact, receipt: Receipt) {
        self.lock().queue.push_back(Queued { fact, receipt });
    }

    /// The command of `receipt` is done when the turn that runs has ended.
    pub(crate) fn joins(&self, receipt: Receipt) {
        if receipt.is_wanted() {
            self.lock().joined.push(receipt);
        }
    }

    /// The turn has ended.
    pub(crate) fn take_joined(&self) -> Vec<Receipt> {
        std::mem::take(&mut self.lock().joined)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no code panics while it holds the inbox")
    }
}

impl State {
    fn begin_waiting(&mut self, call: &CallId) {
        self.waits.entry(call.clone()).or_default().0 = Some(Instant::now());
    }

    fn end_waiting(&mut self, call: &CallId) {
        if let Some((since, waited)) = self.waits.get_mut(call) {
            *waited += since.take().map_or(Duration::ZERO, |since| since.elapsed());
        }
    }
}
