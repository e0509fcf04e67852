//! [`Used`]: the usage of each request of a session, read from the journals. Of other lines, only the first bytes are
//! read.
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

/// The usage of the requests of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// The session.
    pub session: SessionId,
    /// The folder in which the user requested the work: jobs and their subagents work in a copy of it.
    pub asked_in: PathBuf,
    /// Requests to models, including abandoned ones and those for summaries.
    pub requests: Vec<UsedRequest>,
}

/// The usage of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedRequest {
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The model that was asked: the model of the session, or one that took over.
    pub model: Arc<str>,
    /// Tokens of the request.
    pub usage: Usage,
}

/// The usage in a line. Other fields are skipped.
#[derive(Deserialize)]
struct Counted {
    seq: Seq,
    at: u64,
    #[serde(default)]
    usage: Usage,
}

/// The facts with the usage of a request. The usage at the end of a turn is the sum of these.
const USAGE_TYPES: [&[u8]; 3] = [br#""type":"replied""#, br#""type":"retried""#, br#""type":"compacted""#];

/// The facts that change the model of later requests; two of them also under their earlier names.
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
    /// The usage of all sessions since `since`, in milliseconds since 1970-01-01 UTC. Entries that a fork copied count
    /// for the original session. Journals that have not grown since then are not opened.
    pub fn used(&self, since: u64) -> Vec<Used> {
        let from = SystemTime::UNIX_EPOCH + Duration::from_millis(since);
        let used = |name: String| {
            let session = SessionId(name);
            let changed = fs::metadata(self.journal(&session)).and_then(|known| known.modified());
            // A journal whose time of last change is unknown is read.
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

    /// The usage of this session, with the folder that it works in.
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

/// The model of later requests: a model that took over or is awaited, or the session's model `own`, with which each
/// turn begins.
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
