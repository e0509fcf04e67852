//! [`Permission`]: the policy of a session: the rules, a mode that the user may change up to a ceiling, and folders
//! that the user adds to the workspace.
use crate::roots::Root;
use haft_core::{
    Change, Effect, Entry, Fact, FollowedLink, Links, Mode, Policy, Readable, Tracking, Verdict, outbox,
};
use parking_lot::RwLock;
use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The policy of one session. Clones share the same state.
#[derive(Clone)]
pub struct Permission {
    policy: Arc<RwLock<Policy>>,
    /// The most permissive mode that the engine and the agent allow.
    ceiling: Mode,
    /// The folders that were added to the workspace.
    roots: Arc<RwLock<Vec<Root>>>,
    /// Whether the user is never asked, and calls whose effects cannot be undone are queued.
    has_outbox: Arc<AtomicBool>,
    /// The permission of the parent session, which is an upper limit at any moment.
    above: Option<Arc<Permission>>,
}

impl Permission {
    /// `begin` applies until the user chooses a mode in this session, which applies up to `ceiling`. An undo does not
    /// revert this choice: it affects the work, not permissions.
    pub fn new(begin: Policy, ceiling: Mode, entries: &[Arc<Entry>]) -> Self {
        let chosen = entries.iter().rev().find_map(|entry| match entry.fact {
            Fact::ModeSet { mode } => Some(mode),
            _ => None,
        });
        let mode = chosen.unwrap_or(begin.mode).min(ceiling);
        let roots = entries.iter().filter_map(|entry| match &entry.fact {
            Fact::RootAdded { root } => Some(Root::new(root.clone())),
            _ => None,
        });
        let roots = Arc::new(RwLock::new(roots.collect()));
        let has_outbox = Arc::new(AtomicBool::new(outbox::has_outbox(entries)));
        let policy = Arc::new(RwLock::new(Policy { mode, ..begin }));
        Self { ceiling, policy, roots, has_outbox, above: None }
    }

    /// Limits this permission by what `above` allows at any moment.
    pub fn below(self, above: Option<Self>) -> Self {
        Self { above: above.map(Arc::new), ..self }
    }

    /// The most permissive mode that can be set.
    pub fn ceiling(&self) -> Mode {
        self.above.as_ref().map_or(self.ceiling, |above| self.ceiling.min(above.ceiling()))
    }

    /// The mode of this moment.
    pub fn mode(&self) -> Mode {
        let own = self.policy.read().mode;
        self.above.as_ref().map_or(own, |above| own.min(above.mode()))
    }

    /// Sets `mode`, or the ceiling if that is stricter, and returns the mode that was set.
    pub fn set(&self, mode: Mode) -> Mode {
        let mode = mode.min(self.ceiling());
        self.policy.write().mode = mode;
        mode
    }

    /// Judges files below `root`, an absolute path without links, like those of the workspace from here on. Returns
    /// whether `root` was added; it may have been there before.
    pub fn add_root(&self, root: &Path) -> bool {
        let is_new = !self.roots().iter().any(|known| root.starts_with(&known.folder));
        if is_new {
            self.roots.write().push(Root::new(root.to_owned()));
        }
        is_new
    }

    /// Stops asking the user: from now on, effects that cannot be undone are queued in the outbox.
    pub fn open_outbox(&self) {
        self.has_outbox.store(true, Relaxed);
    }

    /// Whether the session, or one above it, queues calls whose effects cannot be undone.
    pub fn has_outbox(&self) -> bool {
        self.has_outbox.load(Relaxed) || self.above.as_ref().is_some_and(|above| above.has_outbox())
    }

    /// Added folders of this session and of the sessions above.
    fn roots(&self) -> Vec<Root> {
        let above = self.above.as_ref().map(|above| above.roots()).unwrap_or_default();
        self.roots.read().iter().cloned().chain(above).collect()
    }

    /// See [`Policy::judge`]. In a session with an outbox, `Ask` stands for a call that is queued.
    pub fn judge(&self, effects: &[Effect], workspace: &Path) -> Verdict {
        if effects.is_empty() {
            return Verdict::Allow;
        }
        let policy = through_links(self.policy(), effects, workspace);
        match self.has_outbox() {
            true => {
                Policy { mode: self.mode(), ..policy }.judge_with_outbox(effects, workspace, &is_repository)
            }
            false => policy.judge(effects, workspace, &is_repository),
        }
    }

    /// See [`Policy::judge_names`]. In a session with an outbox, nothing is asked.
    pub fn judge_names(&self, effects: &[Effect], workspace: &Path) -> Verdict {
        if effects.is_empty() {
            return Verdict::Allow;
        }
        let verdict = self.policy().judge_names(effects, workspace);
        if self.has_outbox() { verdict.without_question() } else { verdict }
    }

    /// See [`Policy::judge_changes`]. In a session with an outbox, nothing is asked.
    pub fn judge_changes(
        &self,
        changes: &[Change],
        bulk: &[PathBuf],
        how: Tracking,
        workspace: &Path,
    ) -> Verdict {
        let verdict = self.judge_all_changes(changes, bulk, how, workspace);
        if self.has_outbox() { verdict.without_question() } else { verdict }
    }

    fn judge_all_changes(
        &self,
        changes: &[Change],
        bulk: &[PathBuf],
        how: Tracking,
        workspace: &Path,
    ) -> Verdict {
        // Cached, because thousands of paths may be in the same folders.
        let known = RefCell::new(HashMap::<PathBuf, bool>::new());
        let is_repository = |folder: &Path| {
            let looked = known.borrow().get(folder).copied();
            looked.unwrap_or_else(|| {
                let found = is_repository(folder);
                known.borrow_mut().insert(folder.to_owned(), found);
                found
            })
        };
        let policy = through_links(self.policy(), &[Effect::Write(PathBuf::new())], workspace);
        policy.judge_changes(changes, bulk, how, workspace, &is_repository)
    }

    /// See [`Readable::new`].
    pub fn readable(&self, effects: &[Effect], workspace: &Path, own: Vec<PathBuf>) -> Readable {
        let policy = through_links(self.policy(), &[Effect::Read(PathBuf::new())], workspace);
        Readable::new(&policy, workspace, effects, own)
    }

    /// The rules, with the mode of this moment; in a session with an outbox, the mode for its edits.
    pub fn policy(&self) -> Policy {
        let mode = self.mode();
        // Effects that only touch the workspace can be undone.
        let has_edits = self.has_outbox() && matches!(mode, Mode::Ask | Mode::Full);
        let mode = if has_edits { Mode::AcceptEdits } else { mode };
        let mut policy = Policy { mode, ..self.policy.read().clone() };
        policy.rules.extend(self.roots().iter().flat_map(|root| root.rules(mode).cloned()));
        policy
    }
}

/// See [`Policy::through_links`].
pub fn through_links(policy: Policy, effects: &[Effect], workspace: &Path) -> Policy {
    let follow = |path: &Path| match path.strip_prefix(workspace) {
        Ok(inside) => follow(workspace, inside),
        Err(_) => vec![path.to_owned()],
    };
    policy.through_links(effects, workspace, Links { follow: &follow, below: &links_below })
}

/// Maximum links in a chain that are followed, as in the kernel (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// Follows `path` below `folder`: returns each link that it passes through, and last the path where it ends. `folder`
/// must lead through no link.
fn follow(folder: &Path, path: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let (mut at, mut passed) = (folder.to_owned(), Vec::new());
    let mut rest: Vec<OsString> = parts(path).into_iter().rev().collect();
    while let Some(part) = rest.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        // `join` replaces the path if `part` is absolute.
        let next = at.join(&part);
        match fs::read_link(&next) {
            Ok(target) if passed.len() < MAX_LINKS => {
                rest.extend(parts(&target).into_iter().rev());
                passed.push(next);
            }
            _ => at = next,
        }
    }
    passed.push(at);
    passed
}

fn follow_from_root(link: &Path) -> Vec<PathBuf> {
    // The folder of a link may lead through others.
    match (link.parent().map(Path::canonicalize), link.file_name()) {
        (Some(Ok(folder)), Some(name)) => follow(&folder, Path::new(name)),
        _ => vec![link.to_owned()],
    }
}

/// Maximum files of a folder that are searched for links.
const MAX_FILES_LOOKED_AT: usize = 10_000;

/// The links below `folder`, also below folders that they lead to.
fn links_below(folder: &Path) -> Vec<FollowedLink> {
    let (mut links, mut looked_at) = (Vec::new(), 0);
    let (mut folders, mut seen) = (vec![folder.to_owned()], HashSet::from([folder.to_owned()]));
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MAX_FILES_LOOKED_AT {
                return links;
            }
            let (path, kind) = (entry.path(), entry.file_type());
            match kind {
                Ok(kind) if kind.is_dir() && seen.insert(path.clone()) => folders.push(path),
                Ok(kind) if kind.is_symlink() => {
                    let places = follow_from_root(&path);
                    // Do not follow links to a parent of the folder.
                    let end = places.last().filter(|end| end.is_dir() && !folder.starts_with(end));
                    if end.is_some_and(|end| seen.insert(end.clone())) {
                        folders.push(path.clone());
                    }
                    links.push(FollowedLink { link: path, places });
                }
                _ => {}
            }
        }
    }
    links
}

/// Whether `folder` is the `.git` folder of a repository, whatever its name: a bare repository, or one separate from
/// its working tree (gitrepository-layout(5)).
pub fn is_repository(folder: &Path) -> bool {
    let has = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}
