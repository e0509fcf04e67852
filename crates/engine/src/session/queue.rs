//! [`PromptQueue`]: prompts and background events that wait for the next round or turn.
use super::mailbox::CommandTicket;
use haft_core::{Entry, Fact, waiting_prompts};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

/// What waits for the next round or turn of a session. All clones are one.
#[derive(Clone, Default)]
pub(crate) struct PromptQueue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Queued>,
    /// Commands that joined the turn that runs.
    joined: Vec<CommandTicket>,
}

/// A fact that opens a turn, or joins the one that runs.
pub(crate) struct Queued {
    pub(crate) fact: Fact,
    pub(crate) ticket: CommandTicket,
}

impl PromptQueue {
    /// Restores the prompts of a journal that no turn has taken.
    pub(crate) fn replay(entries: &[Arc<Entry>]) -> Self {
        let queue = Self::default();
        let waiting = waiting_prompts(entries.iter().map(Arc::as_ref));
        waiting.into_iter().for_each(|prompt| queue.push(prompt, CommandTicket::none()));
        queue
    }

    pub(crate) fn push(&self, fact: Fact, ticket: CommandTicket) {
        self.lock().waiting.push_back(Queued { fact, ticket });
    }

    pub(crate) fn pop(&self) -> Option<Queued> {
        self.pop_if(|_| true)
    }

    /// The next one, if it is `wanted`; otherwise it stays.
    pub(crate) fn pop_if(&self, wanted: impl FnOnce(&Fact) -> bool) -> Option<Queued> {
        let mut state = self.lock();
        let is_wanted = state.waiting.front().is_some_and(|queued| wanted(&queued.fact));
        if is_wanted { state.waiting.pop_front() } else { None }
    }

    /// Takes out the prompt that came last.
    pub(crate) fn withdraw(&self) -> Option<Queued> {
        let mut state = self.lock();
        let is_prompt = |queued: &Queued| matches!(queued.fact, Fact::Prompted { .. });
        let place = state.waiting.iter().rposition(is_prompt)?;
        state.waiting.remove(place)
    }

    /// How many prompts wait.
    pub(crate) fn prompts(&self) -> usize {
        self.lock().waiting.iter().filter(|queued| matches!(queued.fact, Fact::Prompted { .. })).count()
    }

    /// The command of `ticket` is done when the turn that runs has ended.
    pub(crate) fn join(&self, ticket: CommandTicket) {
        if ticket.is_wanted() {
            self.lock().joined.push(ticket);
        }
    }

    /// The commands that joined the turn, which has ended.
    pub(crate) fn take_joined(&self) -> Vec<CommandTicket> {
        std::mem::take(&mut self.lock().joined)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no code panics while it holds the queue")
    }
}
