//! [`Writer`]: writes what an attempt records to the database, before it counts.
//!
//! Lines go through a channel to one task, which writes all lines received so far in one statement. Before that, it
//! writes the contents that the lines name, and uploads the commits that they name to the repository. Every statement
//! checks the token and the lease, and locks the job's row until it is done.
use crate::{
    database::{Database, Parameters},
    error::FleetError,
    lease::Lease,
    objects::Objects,
    places::Moved,
    push::announce_calls,
};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Asking, CallId, Event, Fact, Outcome, Seq, SessionId, Usage, changed, line};
use haft_engine::{Replica, Replicas};
use serde::Serialize;
use std::{
    collections::HashSet,
    fs, io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use tokio::sync::{OnceCell, mpsc, oneshot, watch};
use tokio_postgres::types::Type;
use tokio_util::task::TaskTracker;

/// Maximum number of lines in one statement.
const MAX_LINES_PER_WRITE: usize = 1000;
/// Maximum bytes of lines in one statement; a single line may be longer.
const MAX_BYTES_PER_WRITE: usize = 4 << 20;
/// Maximum number of tokens of each kind that are counted for a turn. A vendor may report any number, and sums in
/// PostgreSQL must not overflow.
const MAX_TOKENS: u64 = 1 << 40;

/// Uploads the commits of an attempt to where the next attempt finds them.
pub trait CommitUploader: Send + Sync {
    /// Uploads the last commit; returns it, or `None` if it is the same as last time. On return, it can be fetched.
    fn upload(&self) -> BoxFuture<'_, Result<Option<String>, FleetError>>;
}

/// The writer for an attempt's sessions. Cheap to clone; all clones write for the same attempt.
#[derive(Clone)]
pub struct Writer {
    to: mpsc::UnboundedSender<Message>,
    failure: Arc<OnceLock<FleetError>>,
    asks: watch::Receiver<bool>,
}

enum Message {
    Line { session: SessionId, seq: Seq, line: String },
    Sync(oneshot::Sender<()>),
}

impl Writer {
    /// Writes for the attempt that holds `lease`. `blobs`: the folder of its contents. The writer's task ends with the
    /// last clone.
    pub fn new(
        database: Database,
        lease: Arc<Lease>,
        moved: Moved,
        blobs: PathBuf,
        uploader: Option<Arc<dyn CommitUploader>>,
        tasks: &TaskTracker,
    ) -> Self {
        let ((to, from), failure) = (mpsc::unbounded_channel(), Arc::new(OnceLock::new()));
        let (told, asks) = watch::channel(false);
        let (storage, known, asking) = Default::default();
        let failed = failure.clone();
        let task = Task {
            database,
            lease,
            moved,
            blobs,
            uploader,
            storage,
            known,
            failure: failed,
            asking,
            asks: told,
        };
        tasks.spawn(task.run(from));
        Self { to, failure, asks }
    }

    /// Adds the line of an entry, without waiting.
    pub fn append(&self, session: &SessionId, seq: Seq, line: &str) {
        let line = Message::Line { session: session.clone(), seq, line: line.to_owned() };
        let _told_by_sync = self.to.send(line);
    }

    /// Waits until all lines added so far, and the contents that they name, are in the database.
    ///
    /// If they will never be: the lease is lost, or PostgreSQL refuses them.
    pub async fn sync(&self) -> io::Result<()> {
        let (done, waits) = oneshot::channel();
        let _told_below = self.to.send(Message::Sync(done));
        let answered = waits.await;
        match (self.failure.get(), answered) {
            (Some(failure), _) => Err(io::Error::other(failure.to_string())),
            (None, Ok(())) => Ok(()),
            (None, Err(_)) => Err(io::Error::other("the program that writes to the fleet's database ends")),
        }
    }

    /// The replicas for an engine, so that all of its sessions record here.
    pub fn replicas(&self) -> Replicas {
        let writer = self.clone();
        Arc::new(move |session| Arc::new(OfSession { session: session.clone(), writer: writer.clone() }))
    }

    /// Whether the job's session waits for the user, according to the database. Updated with each write.
    pub fn asks(&self) -> watch::Receiver<bool> {
        self.asks.clone()
    }

    /// The error after which nothing more can be written.
    pub fn failure(&self) -> Option<&FleetError> {
        self.failure.get()
    }
}

/// The replica of one session.
struct OfSession {
    session: SessionId,
    writer: Writer,
}

impl Replica for OfSession {
    fn append(&self, seq: Seq, line: &str) {
        self.writer.append(&self.session, seq, line.trim_end());
    }

    fn sync(&self) -> BoxFuture<'_, io::Result<()>> {
        self.writer.sync().boxed()
    }
}

struct Task {
    database: Database,
    lease: Arc<Lease>,
    moved: Moved,
    blobs: PathBuf,
    uploader: Option<Arc<dyn CommitUploader>>,
    storage: OnceCell<Option<Arc<Objects>>>,
    /// Contents that are already stored.
    known: HashSet<String>,
    failure: Arc<OnceLock<FleetError>>,
    /// Open questions of the job's own session, including those of its subagents.
    asking: Asking,
    asks: watch::Sender<bool>,
}

/// The lines of one statement.
#[derive(Default)]
struct Group {
    sessions: Vec<String>,
    places: Vec<i64>,
    lines: Vec<String>,
    /// For each line the turn that it ends, if any, as [`EndedTurn`] in JSON.
    turns: Vec<Option<String>>,
    contents: Vec<String>,
    /// Open questions of the job's own session after these lines.
    asking: Asking,
}

impl Task {
    async fn run(mut self, mut from: mpsc::UnboundedReceiver<Message>) {
        while let Some(first) = from.recv().await {
            let mut group = Group { asking: self.asking.clone(), ..Group::default() };
            let (mut waiting, mut bytes) = (Vec::new(), 0);
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Sync(done) => waiting.push(done),
                    Message::Line { session, seq, line } => {
                        bytes += line.len();
                        group.add((&session, seq), &line, &self.moved, session == self.lease.job);
                    }
                }
                let has_room = group.lines.len() < MAX_LINES_PER_WRITE && bytes < MAX_BYTES_PER_WRITE;
                next = if has_room { from.try_recv().ok() } else { None };
            }
            if self.failure.get().is_none()
                && let Err(error) = self.write(&group).await
            {
                let _only_here = self.failure.set(error);
            }
            for done in waiting {
                let _nobody_waits = done.send(());
            }
        }
    }

    async fn write(&mut self, group: &Group) -> Result<(), FleetError> {
        if group.lines.is_empty() {
            return Ok(());
        }
        if !self.lease.lasts() {
            return Err(FleetError::Lost(self.lease.job.0.clone()));
        }
        for hash in &group.contents {
            self.keep(hash).await?;
        }
        let head = match &self.uploader {
            Some(uploader) => uploader.upload().await?,
            None => None,
        };
        self.put(group, head).await?;
        self.announce(&group.asking);
        self.asking.clone_from(&group.asking);
        self.asks.send_replace(!group.asking.is_empty());
        Ok(())
    }

    async fn put(&self, group: &Group, head: Option<String>) -> Result<(), FleetError> {
        // Lines that were written before the connection broke are counted as well: they are the same lines of the same
        // attempt.
        let statement = "WITH held AS MATERIALIZED (SELECT id, owner, queue FROM jobs WHERE id = $1 AND token = $2 \
             AND status = 'running' AND leased_until > clock_timestamp() FOR NO KEY UPDATE), \
           lines AS (SELECT session, seq, line, turn::jsonb AS turn FROM unnest($3::text[], $4::int8[], $5::text[], $8::text[]) \
             AS lines (session, seq, line, turn)), \
           put AS (INSERT INTO entries SELECT held.id, lines.session, lines.seq, $2, lines.line FROM lines, held \
             ON CONFLICT DO NOTHING RETURNING session, seq), \
           over AS (SELECT turn.* FROM put JOIN lines USING (session, seq), jsonb_to_record(lines.turn) AS turn \
               (outcome text, input int8, output int8, cache_read int8, cache_write int8, usd float8) \
             WHERE lines.turn IS NOT NULL), \
           spent AS (SELECT coalesce(sum(usd), 0) AS usd FROM over), \
           counted AS (INSERT INTO spending (owner, queue, day, usd) \
             SELECT held.owner, held.queue, (clock_timestamp() AT TIME ZONE 'UTC')::date, usd FROM held, spent WHERE usd > 0 \
             ON CONFLICT (owner, queue, day) DO UPDATE SET usd = spending.usd + excluded.usd), \
           summed AS (INSERT INTO turns SELECT held.queue, outcome, count(*), sum(input), sum(output), sum(cache_read), \
               sum(cache_write) FROM held, over GROUP BY held.queue, outcome ORDER BY outcome \
             ON CONFLICT (queue, outcome) DO UPDATE SET ended = turns.ended + excluded.ended, \
               input = turns.input + excluded.input, output = turns.output + excluded.output, \
               cache_read = turns.cache_read + excluded.cache_read, cache_write = turns.cache_write + excluded.cache_write), \
           moved AS (UPDATE jobs SET head = coalesce($6, head), is_asking = $7, cost_usd = cost_usd + usd, \
               head_token = CASE WHEN $6 IS NULL THEN head_token ELSE $2 END FROM held, spent \
             WHERE jobs.id = held.id AND ($6 IS NOT NULL OR is_asking <> $7 OR usd > 0)) \
           SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM put) + (SELECT count(*) FROM entries e, lines \
             WHERE e.job = $1 AND e.session = lines.session AND e.seq = lines.seq AND e.token = $2 \
               AND e.line = lines.line), (SELECT pg_notify('haft_entries', id) FROM held)::text";
        let parameters: Parameters<'_> = &[
            (&self.lease.job.0, Type::TEXT),
            (&self.lease.token, Type::INT8),
            (&group.sessions, Type::TEXT_ARRAY),
            (&group.places, Type::INT8_ARRAY),
            (&group.lines, Type::TEXT_ARRAY),
            (&head, Type::TEXT),
            (&!group.asking.is_empty(), Type::BOOL),
            (&group.turns, Type::TEXT_ARRAY),
        ];
        let rows = self.while_it_lasts("append to a journal", statement, parameters).await?;
        let (held, put): (i64, i64) = (rows[0].get(0), rows[0].get(1));
        if held == 0 {
            self.lease.lose();
            return Err(FleetError::Lost(self.lease.job.0.clone()));
        }
        if put != group.lines.len() as i64 {
            let why = "other entries stand in their places".to_owned();
            return Err(FleetError::Statement { action: "append to a journal", why });
        }
        Ok(())
    }

    /// Notifies devices of calls that wait for an approval since this write. A failure does not affect the job.
    fn announce(&self, asking: &Asking) {
        let is_new = |call: &&CallId| !self.asking.calls().contains(call);
        let calls: Vec<String> = asking.calls().iter().filter(is_new).map(|call| call.0.clone()).collect();
        if calls.is_empty() {
            return;
        }
        let job = self.lease.job.clone();
        self.database.spawn(|database| async move {
            if let Err(error) = announce_calls(&database, &job, &calls).await {
                tracing::warn!(%job, %error, "no device is told that a call waits");
            }
        });
    }

    /// Stores a content. If it no longer exists when its entry is recorded, the session has dropped it, too.
    async fn keep(&mut self, hash: &str) -> Result<(), FleetError> {
        if self.known.contains(hash) {
            return Ok(());
        }
        let place = self.blobs.join(hash);
        let read = tokio::task::spawn_blocking(move || fs::read(place)).await.map_err(io::Error::from);
        let bytes = match read.flatten() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let action = format!("read the content `{hash}`");
                return Err(FleetError::Local { action, why: error.to_string() });
            }
        };
        let (bytes, place) = match self.storage().await? {
            None => (Some(bytes), None),
            Some(objects) => {
                self.unless_lost(objects.put(hash, bytes)).await?;
                (None, Some(objects.address.clone()))
            }
        };
        let statement = "WITH held AS MATERIALIZED (SELECT id FROM jobs WHERE id = $1 AND token = $2 \
             AND status = 'running' AND leased_until > clock_timestamp() FOR NO KEY UPDATE), \
           put AS (INSERT INTO contents (job, hash, bytes, place) SELECT id, $3, $4, $5 FROM held ON CONFLICT DO NOTHING) \
           SELECT count(*) FROM held";
        let parameters: Parameters<'_> = &[
            (&self.lease.job.0, Type::TEXT),
            (&self.lease.token, Type::INT8),
            (&hash, Type::TEXT),
            (&bytes, Type::BYTEA),
            (&place, Type::TEXT),
        ];
        let rows = self.while_it_lasts("keep a content", statement, parameters).await?;
        if rows[0].get::<_, i64>(0) == 0 {
            self.lease.lose();
            return Err(FleetError::Lost(self.lease.job.0.clone()));
        }
        self.known.insert(hash.to_owned());
        Ok(())
    }

    /// The object store for the contents of this attempt; `None` for PostgreSQL.
    async fn storage(&self) -> Result<Option<Arc<Objects>>, FleetError> {
        let read = || self.unless_lost(self.database.storage());
        self.storage.get_or_try_init(read).await.cloned()
    }

    async fn unless_lost<T>(
        &self,
        work: impl Future<Output = Result<T, FleetError>>,
    ) -> Result<T, FleetError> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.lease.lost() => Err(FleetError::Lost(self.lease.job.0.clone())),
        }
    }

    /// Repeats a statement while PostgreSQL is unreachable, until the lease has certainly ended.
    async fn while_it_lasts(
        &self,
        action: &'static str,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, FleetError> {
        let lost = || FleetError::Lost(self.lease.job.0.clone());
        tokio::select! {
            biased;
            answered = self.database.query_until(|| !self.lease.lasts(), action, statement, parameters) => {
                // If the server could not be reached until the lease ended, the error is that the lease is lost.
                answered.map_err(|error| if error.is_passing() && !self.lease.lasts() { lost() } else { error })
            }
            () = self.lease.lost() => Err(lost()),
        }
    }
}

impl Group {
    fn add(&mut self, (session, seq): (&SessionId, Seq), text: &str, moved: &Moved, is_own: bool) {
        let mut turn = None;
        if let Ok(Event::Recorded(entry)) = line::read(text.as_bytes()) {
            if is_own {
                self.asking.apply(&entry.fact);
                turn = EndedTurn::of(&entry.fact);
            }
            let states =
                changed::changes_in(&entry.fact).iter().flat_map(|change| [&change.before, &change.after]);
            let hashes = states.flatten().map(|state| state.hash.0.clone());
            self.contents.extend(hashes.filter(|hash| is_content(hash)));
        }
        self.sessions.push(session.0.clone());
        self.places.push(seq.0 as i64);
        self.lines.push(moved.kept(text));
        self.turns.push(turn.and_then(|turn| serde_json::to_string(&turn).ok()));
    }
}

/// A turn that has ended, including the sessions that it delegated to.
#[derive(Serialize)]
struct EndedTurn {
    outcome: Outcome,
    #[serde(flatten)]
    tokens: Usage,
    /// Cost in US dollars; 0 if a price is unknown.
    usd: f64,
}

impl EndedTurn {
    fn of(fact: &Fact) -> Option<Self> {
        let Fact::TurnEnded { outcome, usage, cost_usd, .. } = fact else { return None };
        let usd = cost_usd.filter(|usd| usd.is_finite() && *usd > 0.0).unwrap_or_default();
        let Usage { input, output, cache_read, cache_write } = *usage;
        let [input, output, cache_read, cache_write] =
            [input, output, cache_read, cache_write].map(|count| count.min(MAX_TOKENS));
        Some(Self { outcome: *outcome, tokens: Usage { input, output, cache_read, cache_write }, usd })
    }
}

/// Checks a hash from a journal: it must not lead out of the folder of contents.
fn is_content(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
