//! What a session was told, what it took, and what going back or forward moved.
use crate::safe;
use futures::StreamExt;
use haft_core::{Change, Command, Entry, Event, Fact, Seq, Usage, changed, text_of};
use haft_engine::Session;
use std::{path::PathBuf, sync::Arc};

/// Where a conversation can be taken up again: its prompts, and the entry before each.
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

/// What the replies of a session took.
pub fn usage(entries: &[Arc<Entry>]) -> Usage {
    let mut usage = Usage::default();
    for entry in entries {
        match &entry.fact {
            Fact::Replied { usage: more, .. }
            | Fact::Retried { usage: more, .. }
            | Fact::Compacted { usage: more, .. } => usage += *more,
            _ => {}
        }
    }
    usage
}

/// Goes back or forward, and tells which files were moved, one line each.
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

/// Which files going back or forward has moved, one line each; nothing of another fact.
pub fn moved_by(fact: &Fact) -> Option<Vec<String>> {
    let Fact::Rewound { changes, conflicts, untracked, .. } = fact else { return None };
    let files = files(changes, conflicts, untracked.len());
    let nothing = files.is_empty().then(|| "no file was changed by a call that was tracked".to_owned());
    Some(files.into_iter().chain(nothing).collect())
}

pub(super) fn files(changes: &[Change], conflicts: &[PathBuf], untracked: usize) -> Vec<String> {
    let name = |path: &PathBuf| safe::text(&path.to_string_lossy()).into_owned();
    let whole = changed::whole(changes);
    let moved = whole.iter().filter(|change| !conflicts.contains(&change.path));
    let moved = moved.map(|change| format!("{} {}", crate::diff::sign(change.kind()), name(&change.path)));
    let kept = conflicts.iter().map(|path| format!("! {} left alone: somebody changed it since", name(path)));
    let unknown = (untracked > 0)
        .then(|| format!("{untracked} calls were not tracked, so what they did to files stands"));
    moved.chain(kept).chain(unknown).collect()
}
