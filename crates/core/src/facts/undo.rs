//! [`Plan`]: the changes that an undo would make, computed from the journal without touching files.
//!
//! An undo or a redo is recorded twice. [`Fact::Rewinding`] is on disk before the first file is touched and lists all
//! changes; [`Fact::Rewound`] follows as soon as the files are changed. A journal that ends with `rewinding` belongs to
//! a process that died in between. The next process that opens the session repeats the changes before it does anything
//! else ([`interrupted`]). Repeating a change has no further effect, so the files are never left between two states.
use crate::{
    CallId, Change, ChangeKind, Changed, Direction, Entry, Fact, Rewind, Seq, SessionOpened, TaskId,
    Tracking, active_path, changed, past_calls::PastCalls, policy::is_git_object,
};
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The changes of an undo back to an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Changes to settle, in this order.
    pub changes: Vec<Change>,
    /// Calls in the undone range whose changes were not recorded.
    pub untracked: Vec<CallId>,
}

/// Returns the undo or redo that a process began and did not finish, and its entry. A forked session ignores such an
/// entry that it copied: the other session handles its files.
pub fn interrupted(entries: &[Arc<Entry>]) -> Option<(Seq, &Rewind)> {
    let last = entries.last()?;
    let Fact::Rewinding(rewind) = &last.fact else { return None };
    let taken_over = SessionOpened::of(entries).and_then(|opened| opened.forked_from.as_ref());
    taken_over.is_none_or(|from| from.seq < last.seq).then_some((last.seq, rewind))
}

/// Returns the reversed changes of all staged calls after `to`, newest first.
pub fn back_to(entries: &[Arc<Entry>], to: Seq) -> Plan {
    let path = active_path(entries);
    let undone = path.iter().map(|entry| (entry.seq, &entry.fact)).filter(|(seq, _)| *seq > to);
    let undone: Vec<&Fact> = undone.map(|(_, fact)| fact).collect();
    let untracked = undone.iter().rev().filter_map(|fact| match fact {
        Fact::ToolStarted { call, how: Tracking::Untracked, .. }
        | Fact::SubagentChanged { call, how: Tracking::Untracked, .. } => Some(call.clone()),
        Fact::Staged { call, unrecorded, .. } | Fact::SubagentChanged { call, unrecorded, .. }
            if !unrecorded.is_empty() =>
        {
            Some(call.clone())
        }
        _ => None,
    });
    let mut untracked: Vec<CallId> = untracked.collect();
    untracked.dedup();
    let changes = Changed::of(undone).steps().rev().map(Change::inverse).collect();
    Plan { changes: without_objects(changes), untracked }
}

/// Whether a call changed files up to `to` and ended only later. Going back to `to` would keep these changes and leave
/// the call without a result.
pub fn is_within_call(entries: &[Arc<Entry>], to: Seq) -> bool {
    let before = entries.partition_point(|entry| entry.seq <= to);
    let mut open = HashSet::new();
    for entry in active_path(&entries[..before]) {
        match &entry.fact {
            Fact::Staged { call, .. } | Fact::SubagentChanged { call, .. } => drop(open.insert(call)),
            Fact::ToolEnded { call, .. } => drop(open.remove(call)),
            // The changes of a background task are recorded under its own call ID.
            Fact::TaskEnded { task, .. } => drop(open.remove(&task.call())),
            _ => {}
        }
    }
    !open.is_empty()
}

/// Returns the changes of an undo without the removal of Git objects of a repository that stays: later commits of the
/// user may need them, and Git itself removes unused ones.
pub fn without_objects(changes: Vec<Change>) -> Vec<Change> {
    let is_removed = |change: &&Change| change.kind() == ChangeKind::Deleted;
    let heads = changes.iter().filter(is_removed).filter(|change| change.path.ends_with(".git/HEAD"));
    let gone: Vec<PathBuf> = heads.filter_map(|head| head.path.parent().map(Path::to_owned)).collect();
    let stays = |change: &Change| {
        is_removed(&change)
            && is_git_object(&change.path)
            && !gone.iter().any(|gone| change.path.starts_with(gone))
    };
    changes.into_iter().filter(|change| !stays(change)).collect()
}

/// The entry before the prompt that opened the last turn, or before the last call that changed files and was made in
/// place of the model. Going back to this entry undoes the last turn. Without such a prompt or call, it is the entry
/// before the first call that changed files.
pub fn before_last_turn(entries: &[Arc<Entry>]) -> Option<Seq> {
    let path = active_path(entries);
    let has_changed = |place: usize| !Changed::of(path[place..].iter().map(|entry| &entry.fact)).is_empty();
    // A prompt that waits while a turn runs becomes a part of it.
    let (mut opened, mut waiting, mut is_running) = (Vec::new(), 0_usize, false);
    for (place, entry) in path.iter().enumerate() {
        match entry.fact {
            Fact::PromptQueued { .. } => waiting += 1,
            Fact::PromptDenied { .. } | Fact::PromptWithdrawn => waiting = waiting.saturating_sub(1),
            Fact::Prompted { channel: Some(ref channel), .. } if channel.is_reminder() => is_running = true,
            Fact::Prompted { .. } => {
                if !is_running || waiting == 0 {
                    opened.push(place);
                }
                (waiting, is_running) = (waiting.saturating_sub(1), true);
            }
            Fact::Called { .. } => opened.push(place),
            Fact::TurnEnded { .. } => is_running = false,
            _ => {}
        }
    }
    let is_prompt = |place: usize| matches!(path[place].fact, Fact::Prompted { .. });
    match opened.into_iter().rev().find(|place| is_prompt(*place) || has_changed(*place)) {
        Some(place) => place.checked_sub(1).map(|before| path[before].seq),
        // The end of a background task opens a turn without a prompt.
        None => before_last_calls(entries, usize::MAX),
    }
}

/// The entry before the last `count` calls that changed files, including calls of child sessions.
pub fn before_last_calls(entries: &[Arc<Entry>], count: usize) -> Option<Seq> {
    let path = active_path(entries);
    let (mut reply, mut begun) = (0, HashMap::new());
    for (place, entry) in path.iter().enumerate() {
        match &entry.fact {
            // Later replies may use the same call IDs.
            Fact::Replied { .. } => reply = place,
            Fact::Staged { call, .. } | Fact::SubagentChanged { call, .. } | Fact::Unsettled { call, .. } => {
                let new = (place..place, Changed::default());
                let (places, changed) = begun.entry((reply, call)).or_insert(new);
                places.end = place;
                changed.apply(&entry.fact);
            }
            _ => {}
        }
    }
    let begun = begun.into_values().filter(|(_, changed)| !changed.is_empty());
    let mut begun: Vec<Range<usize>> = begun.map(|(places, _)| places).collect();
    begun.sort_unstable_by_key(|places| Reverse(places.start));
    let mut place = begun.get(count.max(1).min(begun.len()).checked_sub(1)?)?.start;
    // A call that began before `place` and ended after it is undone as a whole. The calls are sorted newest first, so
    // one pass is enough.
    for places in begun {
        if places.start < place && place <= places.end {
            place = places.start;
        }
    }
    place.checked_sub(1).map(|before| path[before].seq)
}

/// The last undo that was not redone: the changes that redo what it undid, and the entry where the conversation then
/// continues. `None` if nothing was undone, or if a prompt was sent since.
pub fn last_undo(entries: &[Arc<Entry>]) -> Option<(Vec<Change>, Seq)> {
    let path = active_path(entries);
    for (place, entry) in path.iter().enumerate().rev() {
        match &entry.fact {
            // The end of a task that the undo took back.
            Fact::TurnEnded { rounds: 0, .. } if ends_taken_back(&path[..place]) => {}
            Fact::TaskEnded { task, .. } if !has_begun(&path[..place], task) => {}
            Fact::Rewound { way: Direction::Undo, changes, .. } => {
                let place = entries.partition_point(|other| other.seq < entry.seq);
                let head = entries.get(place.checked_sub(1)?)?;
                return Some((changes.iter().rev().map(Change::inverse).collect(), head.seq));
            }
            // The redo had conflicts, which may be gone: offer these files again.
            Fact::Rewound { way: Direction::Redo, changes, conflicts, .. } if !conflicts.is_empty() => {
                let left = changes.iter().filter(|change| conflicts.contains(&change.path));
                return Some((left.cloned().collect(), entry.parent?));
            }
            Fact::Rewound { way: Direction::Redo, .. } | Fact::Rewinding(_) => {}
            _ => return None,
        }
    }
    None
}

/// The Git objects that the calls of the last undo had added. The undo kept them ([`without_objects`]), but Git may
/// have removed them since, and the redo needs them.
pub fn objects_of_last_undo(entries: &[Arc<Entry>]) -> Vec<Change> {
    let path = active_path(entries);
    let Some(undo) = path.iter().rfind(|entry| matches!(entry.fact, Fact::Rewound { .. })) else {
        return Vec::new();
    };
    let before = &entries[..entries.partition_point(|other| other.seq < undo.seq)];
    let Fact::Rewound { way: Direction::Undo, calls, .. } = &undo.fact else { return Vec::new() };
    let made: Vec<Change> = match calls.is_empty() {
        true => {
            let undone = active_path(before).into_iter().filter(|entry| Some(entry.seq) > undo.parent);
            Changed::of(undone.map(|entry| &entry.fact)).whole()
        }
        false => {
            let past = PastCalls::of(before);
            past.calls
                .into_iter()
                .filter(|call| calls.contains(&call.number))
                .flat_map(|call| call.changes)
                .collect()
        }
    };
    made.into_iter().filter(|change| change.before.is_none() && is_git_object(&change.path)).collect()
}

fn ends_taken_back(path: &[&Arc<Entry>]) -> bool {
    let Some((last, before)) = path.split_last() else { return false };
    matches!(&last.fact, Fact::TaskEnded { task, .. } if !has_begun(before, task))
}

fn has_begun(path: &[&Arc<Entry>], task: &TaskId) -> bool {
    path.iter().any(|entry| entry.fact.begins(task))
}

/// Whether a rewind went back to before the background task began.
pub fn is_taken_back(entries: &[Arc<Entry>], task: &TaskId) -> bool {
    !has_begun(&active_path(entries), task)
}

/// The changes that the last undo could not make, one for each file that it left unchanged; empty once a prompt has
/// followed.
pub fn left_alone(entries: &[Arc<Entry>]) -> Vec<Change> {
    let path = active_path(entries);
    let since = path.iter().rev().take_while(|entry| !matches!(entry.fact, Fact::Prompted { .. }));
    let undone = since.filter_map(|entry| match &entry.fact {
        Fact::Rewound { way: Direction::Undo, changes, conflicts, .. } => Some((changes, conflicts)),
        _ => None,
    });
    let left = |(changes, conflicts): (&Vec<Change>, &Vec<PathBuf>)| {
        changed::squash(changes).into_iter().filter(|change| conflicts.contains(&change.path)).collect()
    };
    undone.map(left).next().unwrap_or_default()
}
