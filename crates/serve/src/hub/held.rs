//! The sessions that are held open, and since when nobody has needed them.
use super::now::{Now, State};
use haft_core::{Entry, SessionId};
use haft_engine::Session;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How long those who follow may take to hear the last words.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// A session that is open.
pub(super) struct Held {
    /// Tells it from one of the same name that is opened later.
    serial: u64,
    session: Session,
    now: Now,
    used: Instant,
    /// Somebody else closes it.
    is_pinned: bool,
}

/// All of them, by name.
#[derive(Default)]
pub(super) struct Opened(Mutex<HashMap<SessionId, Held>>);

impl Held {
    /// `before`: what was recorded and may go on still.
    pub(super) fn new(session: Session, before: &[Arc<Entry>], is_pinned: bool) -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let mut now = Now::default();
        for entry in before {
            now.apply(entry);
        }
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Self { serial, session, now, used: Instant::now(), is_pinned }
    }

    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    fn is_closable(&self) -> bool {
        self.now.is_idle() && !self.is_pinned
    }
}

impl Opened {
    /// Gives the one that was there before, where there is one that still listens.
    pub(super) fn add(&self, held: Held) -> Option<Session> {
        let mut all = self.lock();
        let id = held.session.id().clone();
        if let Some(first) = all.get_mut(&id).filter(|_| !held.is_pinned) {
            first.used = Instant::now();
            return Some(first.session.clone());
        }
        all.insert(id, held);
        None
    }

    pub(super) fn find(&self, id: &SessionId) -> Option<Session> {
        let mut all = self.lock();
        let held = all.get_mut(id)?;
        held.used = Instant::now();
        Some(held.session.clone())
    }

    pub(super) fn touch(&self, id: &SessionId) {
        if let Some(held) = self.lock().get_mut(id) {
            held.used = Instant::now();
        }
    }

    pub(super) fn state(&self, id: &SessionId) -> Option<State> {
        self.lock().get(id).map(|held| held.now.state())
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// How it stands, where that has changed.
    pub(super) fn apply(&self, id: &SessionId, serial: u64, entry: &Entry) -> Option<State> {
        let mut all = self.lock();
        let held = all.get_mut(id).filter(|held| held.serial == serial)?;
        held.used = Instant::now();
        held.now.apply(entry).then(|| held.now.state())
    }

    pub(super) fn remove(&self, id: &SessionId, serial: u64) {
        let mut all = self.lock();
        if all.get(id).is_some_and(|held| held.serial == serial) {
            all.remove(id);
        }
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// Closes it, unless something goes on in it.
    pub(super) fn close(&self, id: &SessionId) -> bool {
        let mut all = self.lock();
        let is_free = all.get(id).is_none_or(Held::is_closable);
        if is_free {
            all.remove(id);
        }
        is_free
    }

    /// Closes the one that nobody has needed for longest; says whether there was one.
    pub(super) fn close_oldest(&self) -> bool {
        let mut all = self.lock();
        let closable = all.iter().filter(|(_, held)| held.is_closable());
        let oldest = closable.min_by_key(|(_, held)| held.used).map(|(id, _)| id.clone());
        oldest.is_some_and(|id| all.remove(&id).is_some())
    }

    /// When the next one is due. What is at work then is looked at again after as long.
    pub(super) fn next_idle(&self, idle: Duration) -> Option<Instant> {
        let all = self.lock();
        all.values().filter(|held| !held.is_pinned).map(|held| held.used + idle).min()
    }

    /// Closes those that are due; says how many.
    pub(super) fn close_due(&self, idle: Duration) -> usize {
        let now = Instant::now();
        let mut all = self.lock();
        let before = all.len();
        all.retain(|_, held| {
            let is_due = held.used + idle <= now;
            if is_due && !held.is_closable() {
                held.used = now;
            }
            !is_due || !held.is_closable()
        });
        before - all.len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Held>> {
        self.0.lock().expect("no code panics while it holds the open sessions")
    }
}
