//! [`Conversations`]: finds the session of a conversation by all its messages.
use haft_core::{Seq, SessionId};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

/// Identifies the beginning of a conversation: SHA-256 of all its messages.
pub(crate) type Key = [u8; 32];

/// Maximum number of remembered conversations. For any other, a new session gets the earlier messages.
const MAX_CONVERSATIONS: usize = 10_000;

/// The conversations that were held lately, each of one user. All clones are one.
#[derive(Clone, Default)]
pub(crate) struct Conversations(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// By the name of the user, if users have names.
    by_key: HashMap<(Option<String>, Key), (SessionId, Seq)>,
    order: VecDeque<(Option<String>, Key)>,
    /// Sessions with a running request.
    taken: HashSet<SessionId>,
}

/// A session with a running request; another request that arrives meanwhile forks it.
pub(crate) struct Claim {
    conversations: Conversations,
    session: SessionId,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.conversations.0.lock().taken.remove(&self.session);
    }
}

impl Conversations {
    /// The session of this conversation of `user`, and the last entry of the conversation in it.
    pub(crate) fn find(&self, user: Option<&str>, key: Key) -> Option<(SessionId, Seq)> {
        self.0.lock().by_key.get(&(user.map(str::to_owned), key)).cloned()
    }

    /// Takes `session` for a request; `None` if another one has it.
    pub(crate) fn claim(&self, session: &SessionId) -> Option<Claim> {
        let is_free = self.0.lock().taken.insert(session.clone());
        is_free.then(|| Claim { conversations: self.clone(), session: session.clone() })
    }

    pub(crate) fn add(&self, user: Option<&str>, key: Key, session: SessionId, end: Seq) {
        let (mut known, key) = (self.0.lock(), (user.map(str::to_owned), key));
        if known.by_key.insert(key.clone(), (session, end)).is_none() {
            known.order.push_back(key);
        }
        if known.order.len() > MAX_CONVERSATIONS
            && let Some(oldest) = known.order.pop_front()
        {
            known.by_key.remove(&oldest);
        }
    }
}
