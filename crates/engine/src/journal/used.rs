//! [`Used`]: what each request of each session used, read off the journals: of all other lines only the first bytes.
use super::summary::first_fact;
use crate::setup::Home;
use haft_core::{Fact, Seq, SessionId, SessionOpened, Usage, line};
use serde::Deserialize;
use std::{
    collections::HashMap,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// What the requests of a session took.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// Which.
    pub session: SessionId,
    /// The folder that a person asked for its work in: jobs and their subagents work in a copy of it.
    pub asked_in: PathBuf,
    /// Requests to models, including abandoned ones and those for summaries.
    pub requests: Vec<UsedRequest>,
}

/// What a request took.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedRequest {
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The model that was asked: that of the session, or one that took over.
    pub model: Arc<str>,
    /// Tokens of the request.
    pub usage: Usage,
}

/// A line that tells what a request took. Whatever else is in it is passed over.
#[derive(Deserialize)]
struct Counted {
    seq: Seq,
    at: u64,
    #[serde(default)]
    usage: Usage,
}

/// The facts that have a usage of their own; the one at the end of a turn is the sum of those.
const USAGE_TYPES: [&[u8]; 3] = [br#""type":"replied""#, br#""type":"retried""#, br#""type":"compacted""#];

/// The facts that say which model is asked from there on; two of them under their earlier names, too.
const MODEL_TYPES: [&[u8]; 7] = [
    br#""type":"setup_changed""#,
    br#""type":"model_changed""#,
    br#""type":"waiting""#,
    br#""type":"model_switched""#,
    br#""type":"model_awaited""#,
    br#""type":"turn_ended""#,
    br#""type":"rewound""#,
];

impl Home {
    /// What all sessions used since `since`, in milliseconds since 1970-01-01 UTC. What a fork took over counts where it
    /// was used. A journal to which nothing was added since is not opened.
    pub fn used(&self, since: u64) -> Vec<Used> {
        let from = SystemTime::UNIX_EPOCH + Duration::from_millis(since);
        let used = |name: String| {
            let session = SessionId(name);
            let changed = fs::metadata(self.journal(&session)).and_then(|known| known.modified());
            // If the time of its last change is unknown, it is read.
            if changed.is_ok_and(|changed| changed < from) {
                return None;
            }
            self.used_by(session, since)
        };
        let (mut copies, mut all) = (HashMap::new(), Vec::new());
        for (workspace, used) in self.names().into_iter().filter_map(used) {
            if workspace != used.asked_in {
                copies.insert(workspace, used.asked_in.clone());
            }
            if !used.requests.is_empty() {
                all.push(used);
            }
        }
        for used in &mut all {
            if let Some(origin) = copies.get(&used.asked_in) {
                used.asked_in.clone_from(origin);
            }
        }
        all
    }

    /// What this session used, with the folder that it works in.
    fn used_by(&self, session: SessionId, since: u64) -> Option<(PathBuf, Used)> {
        let mut journal = BufReader::with_capacity(1 << 16, File::open(self.journal(&session)).ok()?);
        let (_, opened) = first_fact(&mut journal)?;
        let asked_in = opened.asked_in().clone();
        let SessionOpened { model, workspace, forked_from, .. } = opened;
        let taken_over = forked_from.map(|from| from.seq);
        let mut own: Arc<str> = model.into();
        let (mut model, mut requests, mut line) = (own.clone(), Vec::new(), Vec::new());
        while let Ok(1..) = journal.read_until(b'\n', &mut line) {
            if line::is_one_of(&line, &USAGE_TYPES)
                && let Ok(Counted { seq, at, usage }) = serde_json::from_slice(&line)
                && at >= since
                && taken_over.is_none_or(|last| seq > last)
            {
                requests.push(UsedRequest { at, model: model.clone(), usage });
            } else if line::is_one_of(&line, &MODEL_TYPES) {
                model = asked_after(&line, &mut own);
            }
            line.clear();
        }
        Some((workspace, Used { session, asked_in, requests }))
    }
}

/// The model that is asked from there on: one that took over or is waited for, or that of the session, `own`, with which a turn
/// begins.
fn asked_after(line: &[u8], own: &mut Arc<str>) -> Arc<str> {
    match line::entry(line).ok().map(|entry| entry.fact) {
        Some(Fact::ModelSwitched { to: model, .. } | Fact::ModelAwaited { model, .. }) => model.into(),
        Some(Fact::SetupChanged { setup, .. }) => {
            *own = setup.model.into();
            own.clone()
        }
        _ => own.clone(),
    }
}
