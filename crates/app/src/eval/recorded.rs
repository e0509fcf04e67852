//! [`task_of`]: makes a task of a session: its first prompt, the commit that it began at, and the test run that checked
//! its work.
use super::tasks::{Beginning, Check, ContentDigest, Task, commit_of};
use crate::{App, session::NO_MODEL};
use haft_core::{Entry, Fact, Part, SessionId, SessionOpened, active_path};
use haft_engine::Summary;
use haft_evidence::test_runs;
use haft_providers::direct;
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

/// A session that cannot serve as a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// ID of the session.
    pub session: SessionId,
    /// The reason, as the middle part of a sentence.
    pub why: String,
}

/// The sessions that the user began in `workspace` with a prompt, the newest first.
pub(super) fn sessions_in(app: &App, workspace: &Path) -> Vec<SessionId> {
    let is_wanted = |session: &Summary| {
        session.workspace == workspace
            && session.delegated_by.is_none()
            && session.forked_from.is_none()
            && ![NO_MODEL, direct::MODEL].contains(&session.model.as_str())
    };
    app.home().page(None, usize::MAX, is_wanted, |_| {}).into_iter().map(|session| session.id).collect()
}

/// The session `id` as a task that begins in the repository of `workspace`. `check`: the command that decides whether
/// it is solved; by default the session's last test run.
pub(super) fn task_of(
    app: &App,
    workspace: &Path,
    id: &SessionId,
    check: Option<&str>,
) -> Result<Task, LeftOut> {
    let left_out = |why: String| LeftOut { session: id.clone(), why };
    let entries = app.home().peek(&id.0).map_err(|error| left_out(error.to_string()))?;
    let path: Vec<Arc<Entry>> = active_path(&entries).into_iter().cloned().collect();
    let prompt = first_prompt(&path).ok_or_else(|| left_out("it has no prompt".into()))?;
    let commit = SessionOpened::of(&entries).and_then(|opened| opened.commit.clone());
    let commit = commit.ok_or_else(|| left_out("no commit is recorded that it began at".into()))?;
    if commit_of(workspace, &commit).is_none() {
        return Err(left_out(format!("the repository no longer has the commit {commit}")));
    }
    let (tool, arguments) = match check {
        Some(command) => ("bash".to_owned(), json!({"command": command})),
        None => last_tests(&path).map_err(|why| left_out(why.into()))?,
    };
    let mut digest = ContentDigest::default();
    [json!(prompt).to_string(), commit.clone(), tool.clone(), arguments.to_string()]
        .iter()
        .for_each(|part| digest.add(part));
    let begins = Beginning::Commit { folder: workspace.to_owned(), commit, session: Some(id.clone()) };
    Ok(Task {
        name: id.0.clone(),
        prompt,
        check: Check::Call { tool, arguments },
        begins,
        digest: digest.in_hex(),
    })
}

fn first_prompt(path: &[Arc<Entry>]) -> Option<Vec<Part>> {
    path.iter().find_map(|entry| match &entry.fact {
        Fact::Prompted { parts, .. } => Some(parts.clone()),
        _ => None,
    })
}

/// The call of the last test run, if it succeeded.
fn last_tests(path: &[Arc<Entry>]) -> Result<(String, Value), &'static str> {
    let runs = test_runs(path);
    let last = runs.last().ok_or("no run of tests is recorded; `--check COMMAND` says what checks it")?;
    if !last.ok {
        return Err("its last run of tests failed");
    }
    let call = path.iter().find_map(|entry| match &entry.fact {
        Fact::ToolEnded { call, .. } if entry.seq == last.seq => Some(call),
        _ => None,
    });
    let made = path.iter().rev().filter(|entry| entry.seq < last.seq).find_map(|entry| match &entry.fact {
        Fact::ToolStarted { call: started, name, arguments, .. } if Some(started) == call => {
            Some((name.clone(), arguments.clone()))
        }
        _ => None,
    });
    made.ok_or("the call that ran its tests is not recorded")
}
