//! [`Conversations`]: finds the session of a conversation by the hash of all its messages.
use haft_core::{Seq, SessionId};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

/// Identifies the beginning of a conversation: SHA-256 of all its messages.
pub(crate) type Key = [u8; 32];

/// Maximum number of remembered conversations. A request of a forgotten conversation begins a new session with the
/// earlier messages.
const MAX_CONVERSATIONS: usize = 10_000;

/// The recent conversations, each of one user. Clones share the same state.
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

/// Claims a session for a running request; another request that arrives meanwhile forks the session.
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
    /// The session of a conversation of `user`, and the last entry of the conversation in it.
    pub(crate) fn find(&self, user: Option<&str>, key: Key) -> Option<(SessionId, Seq)> {
        self.0.lock().by_key.get(&(user.map(str::to_owned), key)).cloned()
    }

    /// Claims `session` for a request; `None` if another request has claimed it.
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
