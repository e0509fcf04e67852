//! [`Order`]: lets calls of one reply run concurrently with the same results as one after the other.
//!
//! Only calls that are expected to change nothing run concurrently, and as the last of them one that may change
//! something (`batch.rs`). Each works in a view of the same state. A call that has finished waits for the calls before
//! it. If one of these has changed something nevertheless (for example another program named `ls`), the call has seen
//! an outdated state and is repeated with the new state. None of its effects left its view, so it takes effect once.
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use tokio::sync::Notify;

/// The order of the calls of one batch.
#[derive(Default)]
pub(crate) struct Order {
    state: Mutex<State>,
    something_happened: Notify,
}

#[derive(Default)]
struct State {
    /// Whether each call has ended, by its position.
    ended: Vec<bool>,
    /// How many calls have changed files.
    changes: usize,
}

/// A call's position in its batch. Dropping it marks the call as ended.
pub(crate) struct Turn {
    order: Arc<Order>,
    place: usize,
    has_changed: AtomicBool,
}

impl Order {
    /// Creates `count` turns, in order.
    pub(crate) fn turns(count: usize) -> impl Iterator<Item = Turn> {
        let order = Arc::new(Self::default());
        order.state.lock().ended = vec![false; count];
        (0..count).map(move |place| Turn { order: order.clone(), place, has_changed: AtomicBool::new(false) })
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        loop {
            let happened = self.something_happened.notified();
            tokio::pin!(happened);
            happened.as_mut().enable();
            if holds(&self.state.lock()) {
                return;
            }
            happened.await;
        }
    }
}

impl Turn {
    /// Number of the state of files that the call sees if it begins now.
    pub(crate) fn sees(&self) -> usize {
        self.order.state.lock().changes
    }

    /// Returns the output of a run that began when the call saw `seen`, once the calls before this one have ended. Ends the
    /// run and returns `None` if one of them has changed files meanwhile.
    pub(crate) async fn finished<T>(&self, running: impl Future<Output = T>, seen: usize) -> Option<T> {
        let given = tokio::select! {
            given = running => Some(given),
            () = self.order.until(|state| state.changes != seen) => None,
        };
        self.order.until(|state| state.ended[..self.place].iter().all(|ended| *ended)).await;
        given.filter(|_| self.sees() == seen)
    }

    /// Records that the call is about to change files. The changes are complete only when the call has ended: a call
    /// that begins in between may have seen a part of them.
    pub(crate) fn changes(&self) {
        self.has_changed.store(true, Relaxed);
        self.order.state.lock().changes += 1;
        self.order.something_happened.notify_waiters();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.order.state.lock();
        state.ended[self.place] = true;
        state.changes += usize::from(self.has_changed.load(Relaxed));
        drop(state);
        self.order.something_happened.notify_waiters();
    }
}
