//! What runs unasked in a session: the engine's rules, and a mode that a person may change up to a ceiling.
use haft_core::{Change, Effect, Entry, Fact, Mode, Policy, Verdict};
use std::{
    path::Path,
    sync::{Arc, RwLock, RwLockReadGuard},
};

/// The policy of one session. All clones are one.
#[derive(Clone)]
pub(crate) struct Permission {
    policy: Arc<RwLock<Policy>>,
    /// What the engine and the agent allow.
    ceiling: Mode,
}

impl Permission {
    /// `most` is what the engine and the agent allow; a mode that a person chose in this session holds below it. An undo
    /// takes no choice back: it is about the work, not about who may do what.
    pub(crate) fn new(most: Policy, entries: &[Arc<Entry>]) -> Self {
        let permission = Self { ceiling: most.mode, policy: Arc::new(RwLock::new(most)) };
        let chosen = entries.iter().rev().find_map(|entry| match entry.fact {
            Fact::ModeSet { mode } => Some(mode),
            _ => None,
        });
        if let Some(mode) = chosen {
            permission.set(mode);
        }
        permission
    }

    /// The most that can be set.
    pub(crate) fn ceiling(&self) -> Mode {
        self.ceiling
    }

    pub(crate) fn mode(&self) -> Mode {
        self.policy().mode
    }

    /// What holds from here on: `mode`, or the ceiling where that is less.
    pub(crate) fn set(&self, mode: Mode) -> Mode {
        let mode = mode.min(self.ceiling);
        self.policy.write().expect("no code panics while it holds a policy").mode = mode;
        mode
    }

    /// See [`Policy::judge`].
    pub(crate) fn judge(&self, effects: &[Effect], workspace: &Path) -> Verdict {
        self.policy().judge(effects, workspace)
    }

    /// See [`Policy::judge_changes`].
    pub(crate) fn judge_changes(&self, changes: &[Change], workspace: &Path) -> Verdict {
        self.policy().judge_changes(changes, workspace)
    }

    fn policy(&self) -> RwLockReadGuard<'_, Policy> {
        self.policy.read().expect("no code panics while it holds a policy")
    }
}
