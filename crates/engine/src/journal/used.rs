//! [`Used`]: what each request of each session used, read off the journals: of all other lines only the first bytes.
use super::summary::first_fact;
use crate::setup::Home;
use haft_core::{Seq, SessionId, SessionOpened, Usage};
use serde::Deserialize;
use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// What the requests of a session took.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// Which.
    pub session: SessionId,
    /// The model it began with.
    pub model: String,
    /// Where it works.
    pub workspace: PathBuf,
    /// When, in milliseconds since 1970-01-01 UTC, and what; those that were given up and those for summaries, too.
    pub requests: Vec<(u64, Usage)>,
}

/// A line that tells what a request took. Whatever else stands in it is passed over.
#[derive(Deserialize)]
struct Counted {
    seq: Seq,
    at: u64,
    #[serde(default)]
    usage: Usage,
}

/// The facts that have a usage of their own; the one at the end of a turn is the sum of those.
const USAGE_TYPES: [&[u8]; 3] = [br#""type":"replied""#, br#""type":"retried""#, br#""type":"compacted""#];

/// The type of an entry stands in its first bytes, behind three numbers.
const HEAD_BYTES: usize = 128;

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
        self.names().into_iter().filter_map(used).filter(|used| !used.requests.is_empty()).collect()
    }

    fn used_by(&self, session: SessionId, since: u64) -> Option<Used> {
        let mut journal = BufReader::with_capacity(1 << 16, File::open(self.journal(&session)).ok()?);
        let (_, SessionOpened { model, workspace, forked_from, .. }) = first_fact(&mut journal)?;
        let taken_over = forked_from.map(|from| from.seq);
        let (mut requests, mut line) = (Vec::new(), Vec::new());
        while let Ok(1..) = journal.read_until(b'\n', &mut line) {
            let head = &line[..line.len().min(HEAD_BYTES)];
            let is_wanted = USAGE_TYPES.iter().any(|kind| head.windows(kind.len()).any(|part| part == *kind));
            if is_wanted
                && let Ok(Counted { seq, at, usage }) = serde_json::from_slice(&line)
                && at >= since
                && taken_over.is_none_or(|last| seq > last)
            {
                requests.push((at, usage));
            }
            line.clear();
        }
        Some(Used { session, model, workspace, requests })
    }
}
