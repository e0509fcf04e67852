//! [`Conversations`]: finds the session of a conversation by everything that was said in it.
use haft_core::{Seq, SessionId};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

/// What tells the beginning of a conversation from others: SHA-256 of all that was said.
pub(crate) type Key = [u8; 32];

/// Conversations that are remembered; of the others a new session is told what was said.
const MAX_CONVERSATIONS: usize = 10_000;

/// All that were held lately.
#[derive(Default)]
pub(crate) struct Conversations(Mutex<Known>);

#[derive(Default)]
struct Known {
    by_key: HashMap<Key, (SessionId, Seq)>,
    order: VecDeque<Key>,
}

impl Conversations {
    /// The session, and the last entry of that conversation in it.
    pub(crate) fn find(&self, key: &Key) -> Option<(SessionId, Seq)> {
        self.0.lock().by_key.get(key).cloned()
    }

    pub(crate) fn add(&self, key: Key, session: SessionId, end: Seq) {
        let mut known = self.0.lock();
        if known.by_key.insert(key, (session, end)).is_none() {
            known.order.push_back(key);
        }
        if known.order.len() > MAX_CONVERSATIONS
            && let Some(oldest) = known.order.pop_front()
        {
            known.by_key.remove(&oldest);
        }
    }
}
