//! Room for one job at work. A job that waits for a person leaves it to another one.
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Jobs that wait for people beside those at work: each has its work tree on the disk of the worker.
const MAX_WAITING: usize = 64;

/// Where slots come from, for a worker or a server. All clones are one.
#[derive(Clone)]
pub struct Slots {
    work: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Slots {
    /// Room for this many jobs at work.
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
    /// Whether the job may work.
    pub fn is_held(&self) -> bool {
        self.work.is_some()
    }

    /// Leaves it to another job, unless too many wait already.
    pub fn leave(&mut self) {
        if let Ok(waiting) = self.slots.waiting.clone().try_acquire_owned() {
            (self.work, self.waiting) = (None, Some(waiting));
        }
    }

    /// Waits until there is room again.
    pub async fn take_back(&mut self) {
        if !self.is_held() {
            self.work = self.slots.work.clone().acquire_owned().await.ok();
            self.waiting = None;
        }
    }
}
