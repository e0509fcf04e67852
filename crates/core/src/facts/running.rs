//! [`Running`]: a background task that has not ended, folded from a journal.
use crate::{CallId, Entry, Fact, TaskId, Tracking};
use std::{collections::HashMap, sync::Arc};

/// A background task that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// ID of the task.
    pub job: TaskId,
    /// What it does, in a few words.
    pub title: String,
    /// How much of its file changes is recorded.
    pub how: Tracking,
}

impl Running {
    /// Returns the tasks that began in `entries` and did not end there, oldest first.
    pub fn of(entries: &[Arc<Entry>]) -> Vec<Self> {
        let (mut running, mut started): (Vec<Self>, HashMap<&CallId, Tracking>) = Default::default();
        for entry in entries {
            match &entry.fact {
                Fact::TaskStarted { task: job, title, how } => begin(&mut running, job, title, Some(*how)),
                Fact::ToolStarted { call, how, .. } => {
                    started.insert(call, *how);
                }
                // The end of the call may be recorded before the start of its task.
                Fact::ToolEnded { call, name, result, .. } => {
                    let how = started.get(call).copied();
                    result.job.iter().for_each(|job| begin(&mut running, job, name, how));
                }
                Fact::TaskEnded { task: job, .. } => running.retain(|other| other.job != *job),
                _ => {}
            }
        }
        running
    }
}

fn begin(running: &mut Vec<Running>, job: &TaskId, title: &str, how: Option<Tracking>) {
    match running.iter_mut().find(|other| other.job == *job) {
        Some(known) => {
            known.title = title.to_owned();
            known.how = how.unwrap_or(known.how);
        }
        None => {
            let how = how.unwrap_or(Tracking::Untracked);
            running.push(Running { job: job.clone(), title: title.to_owned(), how });
        }
    }
}
