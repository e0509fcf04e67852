//! What a background task leaves: judged and settled like the changes of a call, where no call of the session runs.
use super::calls::attended;
use crate::{
    call::{Done, Stopped, commit, errors::interrupted, judge::judge_changes, links, worded},
    journal::JournalError,
    session::{
        context::{Log, SessionContext},
        notes::Notes,
    },
};
use haft_core::{
    Change, ChangeKind, Entry, Fact, How, JobId, ToolCall, ToolError, ToolErrorKind, ToolResult, View,
    active_path,
};
use serde_json::json;
use std::{io, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Of `fact`, which is about to be recorded: where it tells the end of a task that worked in a view, what that one changed
/// is real on return, and the fact tells it.
pub(super) async fn settled(
    log: &mut Log,
    session: &SessionContext,
    fact: Fact,
    cancel: &CancellationToken,
) -> Result<Fact, JournalError> {
    let Fact::JobEnded { job, result } = fact else { return Ok(fact) };
    let Some(view) = session.jobs.take_view(&job) else { return Ok(Fact::JobEnded { job, result }) };
    let entries = log.journal.entries();
    if !result.is_ok() {
        return Ok(Fact::JobEnded { job, result: with(result, NOTHING_KEPT) });
    }
    if is_undone(&entries, &job) {
        let why = "[the call that began it was taken back; nothing that it changed was kept]";
        return Ok(Fact::JobEnded { job, result: with(result, why) });
    }
    let task = Task { call: ToolCall { id: job.call(), ..call_of(&entries, &job) }, result, view };
    let result = attended(log, async |notes| task.settle(session, cancel, &notes).await).await?;
    Ok(Fact::JobEnded { job, result })
}

/// What a result says of a task whose view is gone.
pub(super) const NOTHING_KEPT: &str = "[nothing that it changed was kept]";

fn with(result: ToolResult, more: &str) -> ToolResult {
    ToolResult { content: format!("{}\n{more}", result.content), ..result }
}

/// A task that has ended well.
struct Task {
    call: ToolCall,
    result: ToolResult,
    view: Arc<dyn View>,
}

impl Task {
    async fn settle(self, session: &SessionContext, cancel: &CancellationToken, notes: &Notes) -> ToolResult {
        let judged = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(interrupted().into()),
            judged = self.judged(session, notes) => judged,
        };
        let settled = match judged {
            Ok(done) => commit(session, &self.call, done, cancel, notes, None).await,
            Err(stopped) => return with(self.failed(session, stopped), NOTHING_KEPT),
        };
        settled.unwrap_or_else(|stopped| self.failed(session, stopped))
    }

    fn failed(&self, session: &SessionContext, stopped: Stopped) -> ToolResult {
        let Stopped::Error(error) = stopped else { return self.result.clone() };
        let failed = worded(session, &self.call, Err(error));
        ToolResult { content: format!("{}\n{}", self.result.content, failed.content), ..failed }
    }

    /// What it did, where it may be made real.
    async fn judged(&self, session: &SessionContext, notes: &Notes) -> Result<Done, Stopped> {
        let view = self.view.clone();
        let looked = tokio::task::spawn_blocking(move || view.changes_of_its_own()).await;
        let (changes, others) =
            looked.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(not_kept)?;
        let bulk = self.view.bulk();
        judge_changes(session, &self.call, &changes, &bulk, How::Staged, Some(&self.call), notes).await?;
        let mut result = told(self.result.clone(), &changes, &others);
        result.content += &links::told(&changes, &session.shared.setup.workspace).unwrap_or_default();
        Ok(Done { result, changes, how: How::Staged, view: Some(self.view.clone()) })
    }
}

fn not_kept(error: io::Error) -> ToolError {
    let message = format!("nothing that the task changed was kept: {error}");
    ToolError::new(ToolErrorKind::System, message).caused_by(error)
}

/// More files than these are counted.
const NAMED: usize = 20;

fn told(mut result: ToolResult, changes: &[Change], others: &[PathBuf]) -> ToolResult {
    let change = |change: &Change| {
        let sign = match change.kind() {
            ChangeKind::Created => '+',
            ChangeKind::Modified => '~',
            ChangeKind::Deleted => '-',
        };
        format!("{sign} {}", change.path.display())
    };
    let changes: Vec<String> = changes.iter().map(change).collect();
    let others: Vec<String> = others.iter().map(|path| path.display().to_string()).collect();
    let parts =
        [("changed", changes), ("left alone, since somebody else changed it while the task ran", others)];
    for (what, files) in parts.into_iter().filter(|(_, files)| !files.is_empty()) {
        let named = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = match files.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        result = with(result, &format!("[{what}: {named}{more}]"));
    }
    result
}

/// Whether the conversation has gone back to before the task began.
fn is_undone(entries: &[Arc<Entry>], job: &JobId) -> bool {
    !active_path(entries).iter().any(|entry| entry.fact.begins(job))
}

/// The call that began it, as it ran.
fn call_of(entries: &[Arc<Entry>], job: &JobId) -> ToolCall {
    let mut before = entries.iter().rev();
    let ended = before.find_map(|entry| match &entry.fact {
        Fact::ToolEnded { call, result, .. } if result.job.as_ref() == Some(job) => Some(call),
        _ => None,
    });
    let begun = before.find_map(|entry| match &entry.fact {
        Fact::ToolStarted { call, name, arguments, .. } if Some(call) == ended => {
            Some(ToolCall::new(call.0.clone(), name.clone(), arguments.clone()))
        }
        _ => None,
    });
    begun.unwrap_or_else(|| ToolCall::new(job.call().0, "job", json!({"id": job})))
}
