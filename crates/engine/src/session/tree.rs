//! [`Tree`]: a session's place in the tree of its child sessions, with the limits on their depth and number.
use crate::setup::Delegation;
use haft_call::{ParentCall, Permission};
use haft_core::{Budget, Limits, SessionId, Stage, ToolError, ToolErrorKind};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

/// What a child session gets from the call that delegated to it.
#[derive(Clone)]
pub(crate) struct Caller {
    /// The session of that call.
    pub(crate) session: SessionId,
    /// The place of the child session.
    pub(crate) tree: Tree,
    pub(crate) ceiling: Ceiling,
    /// The stage of all sessions of a tree, so that each can show the changes of another one.
    pub(crate) stage: Arc<dyn Stage>,
    pub(crate) parent: ParentCall,
    /// The attempt at a goal that the session is.
    pub(crate) attempt: Option<AttemptPlace>,
}

/// A session that is an attempt at a goal. Its changes are only in its stage, and are not recorded in parent sessions.
#[derive(Clone, Copy)]
pub(crate) struct AttemptPlace {
    /// Number of the attempt; the turn itself is number 1.
    pub(crate) number: u32,
    /// The limits of the parent session, of whose budget it has a part.
    pub(crate) whole: Budget,
}

/// The limits that the parent session sets for a child session.
#[derive(Clone)]
pub(crate) struct Ceiling {
    pub(crate) permission: Permission,
    pub(crate) limits: Limits,
}

/// The place of a session in its tree.
#[derive(Clone)]
pub(crate) struct Tree {
    depth: usize,
    limits: Delegation,
    begun: Arc<AtomicUsize>,
    places: Arc<Semaphore>,
    /// Locked by the session of the tree that settles.
    pub(crate) settling: Arc<Mutex<()>>,
}

impl Tree {
    /// The place of a session that was not delegated.
    pub(crate) fn root(limits: Delegation) -> Self {
        Self { depth: 0, limits, begun: Arc::default(), places: places(limits), settling: Arc::default() }
    }

    /// The place of a child session.
    pub(crate) fn below(&self) -> Self {
        // Each level has its own permits, because a session that waits for its children keeps its permit.
        Self { depth: self.depth + 1, places: places(self.limits), ..self.clone() }
    }

    /// The place of a child session that may not delegate.
    pub(crate) fn leaf(&self) -> Self {
        Self { depth: self.limits.depth.max(self.depth + 1), ..self.below() }
    }

    /// Whether a session here may delegate at all.
    pub(crate) fn may_delegate(&self) -> bool {
        self.depth < self.limits.depth
    }

    /// Waits for a permit. The child session works while it is held.
    pub(crate) async fn enter(&self) -> Result<SemaphorePermit<'_>, ToolError> {
        if self.begun.fetch_add(1, Ordering::Relaxed) >= self.limits.total {
            let message = format!("cannot delegate: {} tasks were delegated already", self.limits.total);
            return Err(ToolError::new(ToolErrorKind::User, message).hint("do the rest yourself"));
        }
        Ok(self.places.acquire().await.expect("the semaphore is never closed"))
    }
}

fn places(limits: Delegation) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(limits.at_once.max(1)))
}
