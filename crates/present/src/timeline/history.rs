//! [`prompts`], [`usage`], [`cost`] and [`moved`]: the history of a session: its prompts, its usage, and the files that
//! undo and redo changed.
use crate::safe;
use futures::StreamExt;
use haft_core::{
    Change, Command, Direction, Entry, Event, Fact, FileKind, Price, Seq, TurnModels, Usage, changed,
    policy::is_gits_own, text_of,
};
use haft_engine::Session;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The places from which a conversation can be continued: its prompts, each with the entry before it.
pub fn prompts(entries: &[Arc<Entry>]) -> Vec<(Seq, String)> {
    let path = haft_core::active_path(entries);
    let before = std::iter::once(None).chain(path.iter().map(Some));
    let pairs = path.iter().zip(before);
    let prompts = pairs.filter_map(|(entry, before)| match &entry.fact {
        Fact::Prompted { parts, .. } => Some((before?.seq, text_of(parts))),
        _ => None,
    });
    prompts.collect()
}

/// The latest part of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recap {
    /// Number of turns that were begun and not undone.
    pub turns: usize,
    /// The last prompt; empty before the first one.
    pub prompt: String,
    /// The last reply with text; empty before the first one.
    pub reply: String,
}

/// Returns the number of turns, the last prompt and the last reply of a session with these entries.
pub fn recap(entries: &[Arc<Entry>]) -> Recap {
    let (mut recap, mut is_in_turn) = (Recap::default(), false);
    for entry in haft_core::active_path(entries) {
        match &entry.fact {
            Fact::Prompted { parts, .. } => {
                recap.turns += usize::from(!std::mem::replace(&mut is_in_turn, true));
                recap.prompt = text_of(parts);
            }
            Fact::Replied { parts, .. } => {
                let text = text_of(parts);
                if !text.trim().is_empty() {
                    recap.reply = text;
                }
            }
            Fact::TurnEnded { .. } => is_in_turn = false,
            _ => {}
        }
    }
    recap
}

/// The tokens of all requests of a session.
pub fn usage(entries: &[Arc<Entry>]) -> Usage {
    let mut usage = Usage::default();
    entries.iter().filter_map(|entry| requested(&entry.fact)).for_each(|more| usage += more);
    usage
}

/// US dollars for programs: rounded, since a sum of fractions ends in meaningless digits.
#[must_use]
pub fn rounded_usd(usd: f64) -> f64 {
    (usd * 1e9).round() / 1e9
}

/// The cost of all requests of a session in US dollars, each by the price of its model; `first` is the price of the
/// model with which the session began. `None` if a price is unknown.
pub fn cost(entries: &[Arc<Entry>], first: Option<Price>) -> Option<f64> {
    let mut models = TurnModels::default();
    let costs = entries.iter().filter_map(|entry| {
        models.apply(&entry.fact);
        let usage = requested(&entry.fact)?;
        Some(models.price(first).map(|price| price.cost(usage)))
    });
    costs.sum()
}

/// The usage of the model request in the fact, if it has one.
fn requested(fact: &Fact) -> Option<Usage> {
    match fact {
        Fact::Replied { usage, .. }
        | Fact::Retried { usage, .. }
        | Fact::Sampled { usage, .. }
        | Fact::Compacted { usage, .. } => Some(*usage),
        _ => None,
    }
}

/// Runs an undo or redo, and returns the files that it changed, one line each.
pub async fn moved(session: &Session, command: Command) -> anyhow::Result<Vec<String>> {
    let mut events = Box::pin(session.events(crate::cursor::next(session)));
    session.send(command)?;
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        if let Some(files) = moved_by(&entry.fact) {
            return Ok(files);
        }
    }
    anyhow::bail!("the session closed")
}

/// The files that an undo or redo changed, one line each; `None` for other facts.
pub fn moved_by(fact: &Fact) -> Option<Vec<String>> {
    let files = files(fact)?;
    let nothing = files.is_empty().then(|| "there were no files to restore".to_owned());
    Some(files.into_iter().chain(nothing).collect())
}

/// The command that merges the files that the last undo left alone, as typed in a session.
const MERGE_LEFT_ALONE: &str = "/undo merge";

/// Hint if an undo of single calls was refused.
pub const UNDO_HINT: &str = "`/undo CALL with-dependents` also undoes the later calls; `/undo CALL merge` merges the text, with \
                             conflict markers where both changed it";

/// Hint about `file`, which an undo or redo left alone. `changes`: what the undo or redo would have changed; `merge`:
/// the command that merges both versions.
pub fn next_step(file: &Path, way: Direction, changes: &[Change], merge: &str) -> String {
    let name = quoted(&file.to_string_lossy());
    if is_gits_own(file) {
        return "`git status` shows where the repository stands now; `git reset` makes its index that of `HEAD`".to_owned();
    }
    let whole = changed::squash(changes);
    let after = whole.iter().find(|change| change.path == file).and_then(|change| change.after.as_ref());
    match (way, after) {
        (Direction::Redo, _) => {
            format!("if {name} is to be as the session left it, put your version aside and redo once more")
        }
        (Direction::Undo, None) => {
            format!("{name} did not exist before; if you do not need it, remove it yourself")
        }
        (Direction::Undo, Some(state)) if state.kind() == FileKind::File => format!(
            "`haft undo --show {name}` prints the earlier version, to compare with yours; `>{name}.before` behind it keeps that \
             beside yours; `{merge}` merges both, with conflict markers"
        ),
        (Direction::Undo, Some(_)) => format!("{name} was no file before; put it back yourself"),
    }
}

/// What happened to the changes of others to `file`; empty if there were none.
pub fn kept(merged: &[PathBuf], marked: &[PathBuf], file: &Path) -> &'static str {
    match (merged.iter().any(|path| path == file), marked.iter().any(|path| path == file)) {
        (false, _) => "",
        (true, false) => "other changes of it are kept",
        (true, true) => {
            "other changes of it are kept, and it has conflict markers where both changed the same lines"
        }
    }
}

/// Hint about files that an undo or redo could not write.
pub fn next_step_if_failed(way: Direction) -> &'static str {
    match way {
        Direction::Undo => "once the reason is gone, `haft redo`, then `haft undo` once more",
        Direction::Redo => "once the reason is gone, `haft redo` once more",
    }
}

/// Quotes `name` as one word for a shell.
fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._/-+@%".contains(c);
    match name.chars().all(is_plain) && !name.starts_with('-') {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// The files that an undo or a redo changed, in words; `None` if it changed no file.
pub(super) fn files(fact: &Fact) -> Option<Vec<String>> {
    let Fact::Rewound { way, changes, conflicts, untracked, merged, marked, failed, .. } = fact else {
        return None;
    };
    let untracked = untracked.len();
    let name = |path: &PathBuf| safe::visible_line(&path.to_string_lossy());
    let whole = changed::squash(changes);
    let moved = whole.iter().filter(|change| !conflicts.contains(&change.path));
    let moved = moved.map(|change| {
        let moved = format!("{} {}", crate::diff::sign(change.kind()), name(&change.path));
        match kept(merged, marked, &change.path) {
            "" => moved,
            kept => format!("{moved} ({kept})"),
        }
    });
    let kept = conflicts.iter().map(|path| {
        let why = failed.get(path).map_or("it was changed since", String::as_str);
        format!("! {} left alone: {}", name(path), safe::visible_line(why))
    });
    let next = conflicts.first().map(|path| match failed.contains_key(path) {
        true => next_step_if_failed(*way).to_owned(),
        false => safe::text(&next_step(path, *way, changes, MERGE_LEFT_ALONE)).into_owned(),
    });
    let s = if untracked == 1 { "" } else { "s" };
    let unknown = (untracked > 0).then(|| {
        format!("what {untracked} command{s} did to files was not, or not all, recorded, and stays")
    });
    Some(moved.chain(kept).chain(next).chain(unknown).collect())
}
