//! [`Lease`]: how long a worker has a job, as far as the worker itself can know.
//!
//! PostgreSQL decides by its own clock. The worker's own clock is never less strict: a lease counts from the time at
//! which its renewal was *sent*, by a monotonic clock.
use haft_core::SessionId;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// A job that a worker has claimed.
#[derive(Debug)]
pub struct Lease {
    /// The job's ID, which is also the ID of its session.
    pub job: SessionId,
    /// The fencing token.
    pub token: i64,
    length: Duration,
    /// When the last renewal that PostgreSQL accepted was sent.
    sent: Mutex<Instant>,
    lost: CancellationToken,
}

impl Lease {
    /// `sent`: when the claim was sent.
    pub fn new(job: SessionId, token: i64, length: Duration, sent: Instant) -> Self {
        Self { job, token, length, sent: Mutex::new(sent), lost: CancellationToken::new() }
    }

    /// Whether the lease may still be valid.
    pub fn lasts(&self) -> bool {
        self.lasts_at(Instant::now())
    }

    fn lasts_at(&self, now: Instant) -> bool {
        !self.lost.is_cancelled() && now < self.end()
    }

    fn end(&self) -> Instant {
        *self.sent.lock() + self.length
    }

    /// Records that PostgreSQL accepted a renewal that was sent at `sent`.
    pub fn renewed(&self, sent: Instant) {
        let mut last = self.sent.lock();
        *last = sent.max(*last);
    }

    /// Records that, according to PostgreSQL, another worker may have the job.
    pub fn lose(&self) {
        self.lost.cancel();
    }

    /// Waits until the lease has ended. A process that was stopped notices that when it continues.
    pub async fn lost(&self) {
        loop {
            let end = self.end();
            tokio::select! {
                () = self.lost.cancelled() => return,
                () = tokio::time::sleep_until(end.into()) => {}
            }
            if !self.lasts() {
                self.lose();
                return;
            }
        }
    }
}

/// The leases of one worker.
#[derive(Default)]
pub struct Leases(Mutex<HashMap<String, Arc<Lease>>>);

impl Leases {
    /// Adds a lease. It stays until it is removed.
    pub fn add(&self, lease: Arc<Lease>) {
        self.0.lock().insert(lease.job.0.clone(), lease);
    }

    /// Removes a lease that was returned, settled or lost.
    pub fn remove(&self, lease: &Lease) {
        let mut held = self.0.lock();
        if held.get(&lease.job.0).is_some_and(|held| held.token == lease.token) {
            held.remove(&lease.job.0);
        }
    }

    /// All leases.
    pub fn all(&self) -> Vec<Arc<Lease>> {
        self.0.lock().values().cloned().collect()
    }

    /// The lease of this job.
    pub fn find(&self, job: &str) -> Option<Arc<Lease>> {
        self.0.lock().get(job).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_counts_from_when_its_renewal_was_sent() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let lease = Lease::new(SessionId("a".into()), 1, second * 3, begun);
        let lasts = |after: u32| lease.lasts_at(begun + second * after);
        assert_eq!([0, 2, 3].map(lasts), [true, true, false]);
        lease.renewed(begun + second * 2);
        // A late response extends the lease only from the time at which its request was sent.
        lease.renewed(begun + second);
        assert_eq!([3, 4, 5].map(lasts), [true, true, false]);
        lease.lose();
        assert!(!lasts(0));
    }
}
