//! [`make_room`]: evicts parts of the history so that a request fits the window.
use super::compact::compact;
use crate::{
    journal::JournalError,
    session::context::{Log, SessionContext},
};
use haft_core::{
    Evicted, Fact, Message, ToolResult, Window, tokens,
    window::{self, Cut, Room},
};
use haft_process::{own_folder, write_own_file};
use std::{
    io,
    path::{Path, PathBuf},
};
use tokio_util::sync::CancellationToken;

/// Evicts what does not fit `window`. Returns whether anything was evicted.
pub(crate) async fn make_room(
    log: &mut Log,
    session: &SessionContext,
    window: &Window,
    cancel: &CancellationToken,
) -> Result<bool, JournalError> {
    let begin = log.transcript.size(window.fixed);
    let mut size = begin;
    while !cancel.is_cancelled() {
        match window::room(&log.transcript, window) {
            Room::Fits => break,
            Room::Evict(cuts) => evict(log, session, &cuts)?,
            Room::Compact { kept } => compact(log, session, window, kept, cancel).await?,
        }
        let before = std::mem::replace(&mut size, log.transcript.size(window.fixed));
        // Nothing is gained if the note is longer than the evicted text.
        if size >= before && !log.transcript.is_compacted() {
            break;
        }
    }
    Ok(size < begin)
}

/// Evicts results. They stay readable in the session's own folder.
fn evict(log: &mut Log, session: &SessionContext, cuts: &[Cut]) -> Result<(), JournalError> {
    let next = log.journal.last(|_| true).map_or(0, |last| last.0 + 1);
    let results = cuts.iter().filter_map(|cut| match &*log.transcript.messages()[cut.message] {
        Message::Tool { name, result, .. } => {
            let file = session.calls.artifacts.join(format!("result-{next}-{}.txt", cut.message));
            let kept = keep(&file, &result.content);
            Some(Evicted {
                message: cut.message,
                text: in_place_of(name, result, cut.keep, kept.ok().as_ref()),
            })
        }
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let results = results.collect();
    // A result that is no longer in the prompt cannot be referred to.
    session.calls.repeats.clear();
    log.record(Fact::Evicted { results })
}

fn keep(file: &Path, content: &str) -> io::Result<PathBuf> {
    own_folder(file.parent().unwrap_or(file))?;
    write_own_file(file, content)?;
    Ok(file.to_owned())
}

/// The text that replaces a result: a note, or the beginning and the end of the result.
fn in_place_of(name: &str, result: &ToolResult, keep: u64, file: Option<&PathBuf>) -> String {
    let how = match file {
        Some(file) => format!("read `{}` to see it again", file.display()),
        None => "call it again to see it".to_owned(),
    };
    let content = &result.content;
    if keep > 0 {
        return tokens::fit(content, keep, &how);
    }
    let failed = if result.is_ok() { "" } else { " failed" };
    format!(
        "[`{name}`{failed}: {} bytes, {} lines, put aside to save room; {how}]",
        content.len(),
        content.lines().count()
    )
}
