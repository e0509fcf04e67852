//! [`Changed`]: the changes that calls have made to files, folded from facts.
use crate::{CallId, Change, Fact, FileState, Rewind};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
};

/// Changes in the order in which they happened, each with its call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changed {
    steps: Vec<(CallId, Change)>,
    /// Index of the first change of the last reply: later replies may use the same call IDs.
    reply: usize,
}

impl Changed {
    /// Folds all these facts.
    pub fn of<'a>(facts: impl IntoIterator<Item = &'a Fact>) -> Self {
        let mut changed = Self::default();
        facts.into_iter().for_each(|fact| changed.apply(fact));
        changed
    }

    /// Adds a fact.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Staged { call, changes, .. } | Fact::SubagentChanged { call, changes, .. } => {
                self.steps.extend(changes.iter().map(|change| (call.clone(), change.clone())));
            }
            Fact::Unsettled { call, paths } => paths.iter().for_each(|path| {
                let own = &self.steps[self.reply.min(self.steps.len())..];
                let place = own.iter().rposition(|(by, change)| by == call && change.path == *path);
                place.map(|place| self.steps.remove(self.reply + place));
            }),
            Fact::Replied { .. } => self.reply = self.steps.len(),
            // Other undos add no step: the changes that they reverted are not in `path`.
            Fact::Rewound { changes, conflicts, calls, .. } if !calls.is_empty() => {
                let done = changes.iter().filter(|change| !conflicts.contains(&change.path));
                self.steps.extend(done.map(|change| (CallId(String::new()), change.clone())));
            }
            _ => {}
        }
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the changes one by one, in order.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.steps.iter().map(|(_, change)| change)
    }

    /// Returns a change for each file, from its first state to its last, in the order of the first steps. A file that
    /// ended as it began is left out.
    pub fn whole(&self) -> Vec<Change> {
        squash(self.steps())
    }
}

/// See [`Changed::whole`]. Folders that were created for a file and are removed with it ([`Change::new_folders`]) count
/// like folders that a step names.
pub fn squash<'a>(steps: impl IntoIterator<Item = &'a Change>) -> Vec<Change> {
    let mut files: Vec<Change> = Vec::new();
    let (mut places, mut made) = (HashMap::<&Path, usize>::new(), HashSet::new());
    for step in steps {
        match places.get(&*step.path) {
            Some(place) => append(&mut files[*place], step),
            None => {
                places.insert(&step.path, files.len());
                let was_made = made.contains(&*step.path);
                files.push(Change { before: step.before.clone().filter(|_| !was_made), ..step.clone() });
            }
        }
        for folder in step.folders() {
            match places.get(folder).map(|place| &mut files[*place]) {
                None if step.after.is_some() => drop(made.insert(folder)),
                None => {}
                Some(file) if step.after.is_none() => file.after = None,
                Some(file) if file.after.is_none() => file.after.clone_from(&file.before),
                Some(_) => {}
            }
        }
    }
    files.retain(|file| file.before != file.after);
    files
}

/// The changes of folders that were created or removed together with files that are not in `whole`, the result of
/// [`squash`] for `steps`.
pub fn folders_without_files(steps: &[Change], whole: &[Change]) -> Vec<Change> {
    let named: HashSet<&Path> = steps.iter().map(|step| &*step.path).collect();
    let kept: HashSet<&Path> = whole.iter().map(|change| &*change.path).collect();
    let mut folders = BTreeMap::new();
    for step in steps.iter().filter(|step| !kept.contains(&*step.path)) {
        for folder in step.folders().filter(|folder| !named.contains(folder)) {
            folders.entry(folder).or_insert((step, step)).1 = step;
        }
    }
    let changes =
        folders.into_iter().filter_map(|(folder, (first, last))| match (&first.after, &last.after) {
            (Some(_), Some(_)) => {
                let after = Some(FileState::folder(0o755));
                Some(Change { path: folder.to_owned(), before: None, after, new_folders: 0 })
            }
            (None, None) => Some(Change { before: None, ..last.clone() }),
            _ => None,
        });
    let mut seen = HashSet::new();
    changes.filter(|change| seen.insert(change.path.clone())).collect()
}

/// Attributes that a step does not name stay as they are.
fn append(file: &mut Change, step: &Change) {
    let known = file.after.as_mut().and_then(|after| after.attributes.take());
    let first = step.before.as_ref().and_then(|before| before.attributes.clone());
    if let (Some(before), None) = (&mut file.before, &known) {
        before.attributes = before.attributes.take().or(first);
    }
    file.after.clone_from(&step.after);
    if let (Some(_), Some(after)) = (&step.before, &mut file.after) {
        after.attributes = after.attributes.take().or(known);
    }
}

/// The changes in a fact, whether made, proposed or undone: a session keeps their contents.
pub fn changes_in(fact: &Fact) -> &[Change] {
    match fact {
        Fact::Staged { changes, .. }
        | Fact::SubagentChanged { changes, .. }
        | Fact::ApprovalAsked { changes, .. }
        | Fact::Rewinding(Rewind { changes, .. })
        | Fact::Rewound { changes, .. } => changes,
        _ => &[],
    }
}

/// The paths of changes.
pub fn paths(changes: &[Change]) -> Vec<PathBuf> {
    changes.iter().map(|change| change.path.clone()).collect()
}
