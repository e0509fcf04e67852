//! [`Opened`]: the open sessions ([`Held`]), and since when each has been idle.
use super::now::{Now, SessionState};
use haft_core::{Seq, SessionId};
use haft_engine::Session;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Timeout for a session to close and to send its last events to its followers.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// An open session.
pub(super) struct Held {
    /// Distinguishes it from a session with the same ID that is opened later.
    serial: u64,
    session: Session,
    now: Now,
    /// Entries before this one are folded into `now`.
    next: Seq,
    used: Instant,
    /// Whether another part of the program closes the session.
    is_pinned: bool,
}

/// The open sessions, by ID.
#[derive(Default)]
pub(super) struct Opened(Mutex<HashMap<SessionId, Held>>);

impl Held {
    /// `from`: work that was recorded before this entry counts as ended.
    pub(super) fn new(session: Session, from: Seq, is_pinned: bool) -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Self { serial, session, now: Now::default(), next: from, used: Instant::now(), is_pinned }
    }

    /// The state with all recorded entries, so that a client that received the end of a turn finds the session idle.
    fn now(&mut self) -> &Now {
        for entry in self.session.entries_since(self.next) {
            self.now.apply(&entry);
            self.next = Seq(entry.seq.0 + 1);
        }
        &self.now
    }

    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    fn is_closable(&mut self) -> bool {
        !self.is_pinned && self.now().is_idle()
    }
}

impl Opened {
    /// Adds a session. If a session with this ID is open already, returns that one and adds nothing.
    pub(super) fn add(&self, held: Held) -> Option<Session> {
        let mut all = self.0.lock();
        let id = held.session.id().clone();
        if let Some(first) = all.get_mut(&id).filter(|_| !held.is_pinned) {
            first.used = Instant::now();
            return Some(first.session.clone());
        }
        all.insert(id, held);
        None
    }

    pub(super) fn find(&self, id: &SessionId) -> Option<Session> {
        let mut all = self.0.lock();
        let held = all.get_mut(id)?;
        held.used = Instant::now();
        Some(held.session.clone())
    }

    pub(super) fn sessions(&self) -> Vec<Session> {
        self.0.lock().values().map(|held| held.session.clone()).collect()
    }

    pub(super) fn touch(&self, id: &SessionId) {
        if let Some(held) = self.0.lock().get_mut(id) {
            held.used = Instant::now();
        }
    }

    pub(super) fn state(&self, id: &SessionId) -> Option<SessionState> {
        self.0.lock().get_mut(id).map(|held| held.now().state())
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Notes activity in the session with this serial number.
    pub(super) fn used(&self, id: &SessionId, serial: u64) {
        if let Some(held) = self.0.lock().get_mut(id).filter(|held| held.serial == serial) {
            held.used = Instant::now();
        }
    }

    pub(super) fn remove(&self, id: &SessionId, serial: u64) {
        let mut all = self.0.lock();
        if all.get(id).is_some_and(|held| held.serial == serial) {
            all.remove(id);
        }
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Closes the session, unless it is working.
    pub(super) fn close(&self, id: &SessionId) -> bool {
        let mut all = self.0.lock();
        let is_free = all.get_mut(id).is_none_or(Held::is_closable);
        if is_free {
            all.remove(id);
        }
        is_free
    }

    /// Closes the session that has been idle longest; returns false if all are working.
    pub(super) fn close_oldest(&self) -> bool {
        let mut all = self.0.lock();
        let closable = all.iter_mut().filter_map(|(id, held)| held.is_closable().then_some((held.used, id)));
        let oldest = closable.min_by_key(|(used, _)| *used).map(|(_, id)| id.clone());
        oldest.is_some_and(|id| all.remove(&id).is_some())
    }

    /// When the next session will have been idle for `idle`. A working session is checked again after `idle`.
    pub(super) fn next_idle(&self, idle: Duration) -> Option<Instant> {
        let all = self.0.lock();
        all.values().filter(|held| !held.is_pinned).map(|held| held.used + idle).min()
    }

    /// Closes the sessions that have been idle for `idle`, and returns their number.
    pub(super) fn close_due(&self, idle: Duration) -> usize {
        let now = Instant::now();
        let mut all = self.0.lock();
        let before = all.len();
        all.retain(|_, held| {
            if held.used + idle > now {
                return true;
            }
            let stays = !held.is_closable();
            if stays {
                held.used = now;
            }
            stays
        });
        before - all.len()
    }
}
