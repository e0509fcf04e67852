//! [`CallRun::settle_task`]: settles the changes of an ended background task, judged like the changes of a call.
use crate::{
    links,
    part::Part,
    round::{CallRun, Done, Stopped},
};
use haft_core::{Change, ChangeKind, ToolError, ToolErrorKind, ToolResult, Tracking, View};
use std::{io, path::PathBuf, sync::Arc};

/// The note in the result of a task whose changes are dropped.
const NOTHING_KEPT_NOTE: &str = "[nothing that it changed was kept]";

/// Maximum files that a result names; it counts the rest.
const MAX_NAMED_FILES: usize = 20;

impl CallRun<'_> {
    /// Settles the changes of an ended task in `view`, judged like the changes of a call. Returns its result, with a
    /// note about its changes.
    pub async fn settle_task(&self, result: ToolResult, view: Arc<dyn View>) -> ToolResult {
        let judged = tokio::select! {
            biased;
            () = self.round.cancel.cancelled() => Err(ToolError::interrupted().into()),
            judged = self.judge_task(&result, view) => judged,
        };
        match judged {
            Ok(done) => match self.commit(done).await {
                Ok(settled) => settled,
                Err(stopped) => self.task_failed(result, stopped),
            },
            Err(stopped) => nothing_kept(self.task_failed(result, stopped)),
        }
    }

    async fn judge_task(&self, result: &ToolResult, view: Arc<dyn View>) -> Result<Done, Stopped> {
        let comparing = view.clone();
        let compared = tokio::task::spawn_blocking(move || comparing.own_changes()).await;
        let (changes, others) =
            compared.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(not_kept)?;
        let bulk = view.bulk();
        let accepted = self.judge_changes(&changes, &bulk, Tracking::Staged, Some(&self.call)).await?;
        let (changes, note, edits) = match accepted {
            Some(accepted) => {
                let Part { changes, note, edits } = self.part(changes, accepted).await?;
                (changes, Some(note), edits)
            }
            None => (changes, None, String::new()),
        };
        let view = Some(view).filter(|_| note.is_none());
        let mut result = with_changes(result.clone(), &changes, &others);
        self.add_note(&mut result, &note.unwrap_or_default());
        self.add_note(&mut result, &links::note(&changes, &self.round.scope.workspace).unwrap_or_default());
        Ok(Done { result, changes, how: Tracking::Staged, view, edits })
    }

    fn task_failed(&self, result: ToolResult, stopped: Stopped) -> ToolResult {
        let Stopped::Error(error) = stopped else { return result };
        let failed = self.render_result(Err(error));
        ToolResult { content: format!("{}\n{}", result.content, failed.content), ..failed }
    }
}

/// Adds a note that the changes of a task are dropped.
pub fn nothing_kept(result: ToolResult) -> ToolResult {
    with_note(result, NOTHING_KEPT_NOTE)
}

/// Adds a line to the content for the model.
pub fn with_note(result: ToolResult, note: &str) -> ToolResult {
    ToolResult { content: format!("{}\n{note}", result.content), ..result }
}

fn not_kept(error: io::Error) -> ToolError {
    let message = format!("nothing that the task changed was kept: {error}");
    ToolError::new(ToolErrorKind::System, message).caused_by(error)
}

/// Adds a note that names the files that a task changed, and those that it could not change.
fn with_changes(mut result: ToolResult, changes: &[Change], others: &[PathBuf]) -> ToolResult {
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
        [("changed", changes), ("left alone, since another program changed it while the task ran", others)];
    for (what, files) in parts.into_iter().filter(|(_, files)| !files.is_empty()) {
        let named = files.iter().take(MAX_NAMED_FILES).cloned().collect::<Vec<_>>().join(", ");
        let more = match files.len().saturating_sub(MAX_NAMED_FILES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        result = with_note(result, &format!("[{what}: {named}{more}]"));
    }
    result
}
