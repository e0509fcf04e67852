//! What runs unasked in a session: the engine's rules, and a mode that a person may change up to a ceiling.
use haft_core::{Change, Effect, Entry, Fact, How, Mode, Policy, Readable, Verdict};
use std::{
    cell::RefCell,
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
};

/// The policy of one session. All clones are one.
#[derive(Clone)]
pub(crate) struct Permission {
    policy: Arc<RwLock<Policy>>,
    /// What the engine and the agent allow.
    ceiling: Mode,
    /// What holds in the session above: nobody below it may do more, from one moment to the next.
    above: Option<Arc<Permission>>,
}

impl Permission {
    /// `begin` holds where nobody has chosen a mode in this session; one that a person chose holds below `ceiling`. An
    /// undo takes no choice back: it is about the work, not about who may do what.
    pub(crate) fn new(begin: Policy, ceiling: Mode, entries: &[Arc<Entry>]) -> Self {
        let chosen = entries.iter().rev().find_map(|entry| match entry.fact {
            Fact::ModeSet { mode } => Some(mode),
            _ => None,
        });
        let mode = chosen.unwrap_or(begin.mode).min(ceiling);
        Self { ceiling, policy: Arc::new(RwLock::new(Policy { mode, ..begin })), above: None }
    }

    /// The same, held by what `above` allows at any moment.
    pub(crate) fn below(self, above: Option<Self>) -> Self {
        Self { above: above.map(Arc::new), ..self }
    }

    /// The most that can be set.
    pub(crate) fn ceiling(&self) -> Mode {
        self.above.as_ref().map_or(self.ceiling, |above| self.ceiling.min(above.ceiling()))
    }

    pub(crate) fn mode(&self) -> Mode {
        let own = self.policy.read().expect("no code panics while it holds a policy").mode;
        self.above.as_ref().map_or(own, |above| own.min(above.mode()))
    }

    /// What holds from here on: `mode`, or the ceiling where that is less.
    pub(crate) fn set(&self, mode: Mode) -> Mode {
        let mode = mode.min(self.ceiling());
        self.policy.write().expect("no code panics while it holds a policy").mode = mode;
        mode
    }

    /// See [`Policy::judge`].
    pub(crate) fn judge(&self, effects: &[Effect], workspace: &Path) -> Verdict {
        self.policy().judge(effects, workspace, &is_repository)
    }

    /// See [`Policy::judge_changes`].
    pub(crate) fn judge_changes(
        &self,
        changes: &[Change],
        bulk: &[PathBuf],
        how: How,
        workspace: &Path,
    ) -> Verdict {
        // Thousands of paths lie in the same folders.
        let known = RefCell::new(HashMap::<PathBuf, bool>::new());
        let is_repository = |folder: &Path| {
            let looked = known.borrow().get(folder).copied();
            looked.unwrap_or_else(|| {
                let found = is_repository(folder);
                known.borrow_mut().insert(folder.to_owned(), found);
                found
            })
        };
        self.policy().judge_changes(changes, bulk, how, workspace, &is_repository)
    }

    /// See [`Readable::new`].
    pub(crate) fn readable(&self, effects: &[Effect], workspace: &Path, own: Vec<PathBuf>) -> Readable {
        Readable::new(&self.policy(), workspace, effects, own)
    }

    fn policy(&self) -> Policy {
        let mode = self.mode();
        Policy { mode, ..self.policy.read().expect("no code panics while it holds a policy").clone() }
    }
}

/// Whether `folder` is a git repository's own, whatever its name: a bare one, or one that lies apart from its files
/// (gitrepository-layout(5)).
pub fn is_repository(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}
