//! A session and those below it: how deep they go, and how many there are.
use haft_core::{ToolError, ToolErrorKind};
use serde::Deserialize;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore, SemaphorePermit};

/// How far work is delegated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Delegation {
    /// Sessions below sessions: 1 is one level, 0 is none.
    pub depth: usize,
    /// So many sessions of one level work at the same time; others wait.
    pub at_once: usize,
    /// So many sessions in a tree while the process runs.
    pub total: usize,
}

impl Default for Delegation {
    /// One level; 16 at once are what a model asks for in one reply at most; 200 in all.
    fn default() -> Self {
        Self { depth: 1, at_once: 16, total: 200 }
    }
}

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
