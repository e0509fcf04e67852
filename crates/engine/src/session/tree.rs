//! A session and those below it: how deep they go, and how many there are.
use crate::setup::Delegation;
use haft_core::{ToolError, ToolErrorKind};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore, SemaphorePermit};

/// The place of a session in its tree.
#[derive(Clone)]
pub(crate) struct Tree {
    depth: usize,
    limits: Delegation,
    begun: Arc<AtomicUsize>,
    places: Arc<Semaphore>,
    settling: Arc<Mutex<()>>,
}

/// Nobody else of the tree settles while this is held.
pub(crate) type Alone = OwnedMutexGuard<()>;

impl Tree {
    /// Of a session that a person opened.
    pub(crate) fn root(limits: Delegation) -> Self {
        Self { depth: 0, limits, begun: Arc::default(), places: places(limits), settling: Arc::default() }
    }

    /// Of a session below this one.
    pub(crate) fn below(&self) -> Self {
        // Whoever waits for those below keeps its own place, so each level has places of its own.
        Self { depth: self.depth + 1, places: places(self.limits), ..self.clone() }
    }

    /// Whether a session here may delegate at all.
    pub(crate) fn may_delegate(&self) -> bool {
        self.depth < self.limits.depth
    }

    /// Waits until nobody else of the tree settles.
    pub(crate) async fn alone(&self) -> Alone {
        self.settling.clone().lock_owned().await
    }

    /// Waits for a place; the session below works while it is held.
    pub(crate) async fn enter(&self) -> Result<SemaphorePermit<'_>, ToolError> {
        if self.begun.fetch_add(1, Ordering::Relaxed) >= self.limits.total {
            let message = format!("cannot delegate: {} tasks were delegated already", self.limits.total);
            return Err(ToolError::new(ToolErrorKind::User, message).hint("do the rest yourself"));
        }
        Ok(self.places.acquire().await.expect("nobody closes it"))
    }
}

fn places(limits: Delegation) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(limits.at_once.max(1)))
}
