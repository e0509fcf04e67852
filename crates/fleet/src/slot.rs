//! [`Slots`] and [`Slot`]: limit how many jobs run at the same time. A job that waits for an approval gives its slot to
//! another job.
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of jobs that wait without a slot, in addition to those that run: each has its work tree on the
/// worker's disk.
const MAX_WAITING: usize = 64;

/// The slots of a worker or a server. Clones share the same slots.
#[derive(Clone)]
pub struct Slots {
    work: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Slots {
    /// Slots for this many running jobs.
    pub fn new(jobs: usize) -> Self {
        Self { work: Arc::new(Semaphore::new(jobs)), waiting: Arc::new(Semaphore::new(MAX_WAITING)) }
    }

    /// Waits until a slot is free. `None` cannot happen: the semaphore is never closed.
    pub async fn take(&self) -> Option<Slot> {
        let work = self.work.clone().acquire_owned().await.ok()?;
        Some(Slot { slots: self.clone(), work: Some(work), waiting: None })
    }
}

/// The slot of a running job.
pub struct Slot {
    slots: Slots,
    work: Option<OwnedSemaphorePermit>,
    waiting: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// Whether the job may run.
    pub fn is_held(&self) -> bool {
        self.work.is_some()
    }

    /// Gives the slot to another job, unless too many jobs wait already.
    pub fn leave(&mut self) {
        if let Ok(waiting) = self.slots.waiting.clone().try_acquire_owned() {
            (self.work, self.waiting) = (None, Some(waiting));
        }
    }

    /// Waits until a slot is free again.
    pub async fn take_back(&mut self) {
        if !self.is_held() {
            self.work = self.slots.work.clone().acquire_owned().await.ok();
            self.waiting = None;
        }
    }
}
