//! [`PromptQueue`]: prompts and background events that wait for the next round or turn.
use super::mailbox::CommandTicket;
use haft_core::{Entry, Fact, waiting_prompts};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

/// Facts that wait for the next round or turn of a session. Clones share the same queue.
#[derive(Clone, Default)]
pub(crate) struct PromptQueue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Queued>,
    /// Commands that joined the running turn.
    joined: Vec<CommandTicket>,
}

/// A fact that opens a turn, or joins the running one.
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

    /// Removes and returns the next fact, if it is `wanted`.
    pub(crate) fn pop_if(&self, wanted: impl FnOnce(&Fact) -> bool) -> Option<Queued> {
        let mut state = self.lock();
        let is_wanted = state.waiting.front().is_some_and(|queued| wanted(&queued.fact));
        if is_wanted { state.waiting.pop_front() } else { None }
    }

    /// Removes and returns the last prompt.
    pub(crate) fn withdraw(&self) -> Option<Queued> {
        let mut state = self.lock();
        let is_prompt = |queued: &Queued| matches!(queued.fact, Fact::Prompted { .. });
        let place = state.waiting.iter().rposition(is_prompt)?;
        state.waiting.remove(place)
    }

    /// Number of waiting prompts.
    pub(crate) fn prompts(&self) -> usize {
        self.lock().waiting.iter().filter(|queued| matches!(queued.fact, Fact::Prompted { .. })).count()
    }

    /// Adds the command of `ticket` to the running turn: the command is done when the turn ends.
    pub(crate) fn join(&self, ticket: CommandTicket) {
        if ticket.is_wanted() {
            self.lock().joined.push(ticket);
        }
    }

    /// Removes and returns the commands that joined the turn, which has ended.
    pub(crate) fn take_joined(&self) -> Vec<CommandTicket> {
        std::mem::take(&mut self.lock().joined)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no code panics while it holds the queue")
    }
}
