//! Work that outlived its call, folded from a journal.
use crate::{Entry, Fact, JobId};
use std::sync::Arc;

/// Work that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its name.
    pub job: JobId,
    /// What it does, in a few words.
    pub title: String,
}

impl Running {
    /// Returns the work that `entries` began and whose end they do not have, oldest first.
    pub fn of(entries: &[Arc<Entry>]) -> Vec<Self> {
        let mut running: Vec<Self> = Vec::new();
        for entry in entries {
            match &entry.fact {
                Fact::JobStarted { job, title } => begin(&mut running, job, title),
                // The call may have ended before its work is recorded.
                Fact::ToolEnded { name, result, .. } => {
                    result.job.iter().for_each(|job| begin(&mut running, job, name));
                }
                Fact::JobEnded { job, .. } => running.retain(|other| other.job != *job),
                _ => {}
            }
        }
        running
    }
}

fn begin(running: &mut Vec<Running>, job: &JobId, title: &str) {
    match running.iter_mut().find(|other| other.job == *job) {
        Some(known) => known.title = title.to_owned(),
        None => running.push(Running { job: job.clone(), title: title.to_owned() }),
    }
}
