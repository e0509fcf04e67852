//! A fleet in simulated time: seeded workers, networks and clocks, and the real statements on a real PostgreSQL.
//!
//! Who has a job is decided by SQL, so PostgreSQL itself runs here, with a clock that the simulation sets: a function
//! `clock_timestamp()` stands before PostgreSQL's own in the search path. Everything else (workers, their clocks, what the
//! network loses) is the simulation's, on one thread, in an order that the seed alone decides. Frameworks that simulate a
//! network (turmoil, madsim) would need a PostgreSQL of their own making.
#![expect(clippy::print_stdout, reason = "`make soak` prints the figures")]
use fastrand::Rng;
use haft_core::{Conclusion, JobSpec, JobStatus, SessionId};
use haft_fleet::{
    Claimed, DEFAULT_QUEUE, Database, Lease, NewJob, Owner, Settled, add, add_owner, claim, migrate, renew,
    settle, sweep,
};
use haft_testing::{postgres::Postgres, tries};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

/// Milliseconds of simulated time.
type Time = u64;

const SECOND: Time = 1_000;
const LEASE: Time = 30 * SECOND;
/// Jobs that a worker has at the same time.
const PLACES: usize = 2;
/// Owners; the first one has nine jobs of ten.
const OWNERS: usize = 10;
/// How long a worker works on average until something happens to it, and PostgreSQL.
const FAULTS_OF_A_WORKER: Time = 120 * SECOND;
const FAULTS_OF_SERVER: Time = 240 * SECOND;
/// How far the clock of PostgreSQL may stay behind before it is set.
const CLOCK_STEP: Time = 50;

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A worker looks for a job.
    Claim {
        worker: usize,
    },
    /// A worker renews its leases.
    Renew {
        worker: usize,
    },
    /// A worker looks for jobs of workers that are gone.
    Sweep {
        worker: usize,
    },
    /// A worker has done a job.
    Settle {
        worker: usize,
        token: i64,
        job: usize,
    },
    /// Something goes wrong with a worker, and with PostgreSQL.
    Fault,
    ServerFault,
}

/// What becomes of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// It is carried out, and its sender does not hear of it.
    AnswerLost,
    /// It never arrives.
    Lost,
}

/// A job that a worker believes to have.
struct Held {
    job: usize,
    lease: Arc<Lease>,
    /// By the worker's own clock.
    until: Time,
    /// Jumps of PostgreSQL's clock before the last renewal was sent.
    jumps: u32,
}

#[derive(Default)]
struct Worker {
    /// No statement of it arrives before.
    cut_off_until: Time,
    /// It stands still until then: all that it does comes later.
    paused_until: Time,
    /// How much slower its disk is than others'.
    slowness: Time,
    holds: Vec<Held>,
}

/// What a run came to.
#[derive(Debug, Default)]
struct Counts {
    attempts: u64,
    refused: u64,
    crashes: u64,
    pauses: u64,
    partitions: u64,
    jumps: u64,
    restarts: u64,
}

struct Simulation {
    seed: u64,
    chance: Rng,
    now: Time,
    /// PostgreSQL's clock at the beginning, in milliseconds since 1970, and what was added to it since.
    begin: i64,
    ahead: i64,
    set: Option<Time>,
    jumps: u32,
    away_until: Time,
    steps: BinaryHeap<Reverse<(Time, u64, Step)>>,
    order: u64,
    workers: Vec<Worker>,
    /// Jobs that have not ended.
    open: usize,
    /// By job: the token of the last claim, that of the attempt that ended it, and when it was claimed first.
    tokens: Vec<i64>,
    ended: Vec<Option<i64>>,
    claimed: Vec<Option<Time>>,
    counts: Counts,
    claims: Vec<Duration>,
    server: Postgres,
    database: Database,
    clock: Clock,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_job_of_a_simulated_fleet_ends_once_and_none_starves() {
    let Some(server) = Postgres::start() else { return };
    let jobs = tries(300) as usize;
    let workers = (jobs / 100).clamp(20, 1_000);
    let seed = std::env::var("HAFT_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    let begun = Instant::now();
    let mut simulation = Simulation::new(server, (jobs, workers), seed).await;
    while simulation.open > 0 {
        simulation.step().await;
    }
    simulation.check(begun.elapsed());
}

impl Simulation {
    async fn new(server: Postgres, (jobs, workers): (usize, usize), seed: u64) -> Self {
        migrate(&server.address()).await.expect("a new database");
        server.sql(
            "CREATE SCHEMA simulated; \
             CREATE SEQUENCE simulated.clock; \
             CREATE FUNCTION simulated.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ \
               SELECT to_timestamp(pg_sequence_last_value('simulated.clock'::regclass) / 1000.0) $$",
        );
        let address = format!(
            "{}&options=-c%20search_path%3Dsimulated%2Cpg_catalog%2Cpublic%20-c%20synchronous_commit%3Doff",
            server.address()
        );
        let database = Database::open(&address).await.expect("tables");
        for owner in 0..OWNERS {
            add_owner(&database, &Owner(format!("owner{owner}")), None).await.expect("an owner");
        }
        for job in 0..jobs {
            add(&database, &new_job(job)).await.expect("a job");
        }
        server.sql("ANALYZE");
        let clock = Clock::connect(&server).await;
        let begin = SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_millis() as i64;
        let mut simulation = Self {
            seed,
            chance: Rng::with_seed(seed),
            now: 0,
            begin,
            ahead: 0,
            set: None,
            jumps: 0,
            away_until: 0,
            steps: BinaryHeap::new(),
            order: 0,
            workers: (0..workers).map(|_| Worker::default()).collect(),
            open: jobs,
            tokens: vec![0; jobs],
            ended: vec![None; jobs],
            claimed: vec![None; jobs],
            counts: Counts::default(),
            claims: Vec::new(),
            server,
            database,
            clock,
        };
        simulation.begin_all();
        simulation
    }

    fn begin_all(&mut self) {
        for worker in 0..self.workers.len() {
            // One disk of twenty is slow.
            self.workers[worker].slowness = if self.chance.u8(..20) == 0 { 5 } else { 1 };
            for step in [Step::Claim { worker }, Step::Renew { worker }, Step::Sweep { worker }] {
                let after = self.chance.u64(..10 * SECOND);
                self.plan(after, step);
            }
        }
        self.plan(SECOND, Step::Fault);
        self.plan(FAULTS_OF_SERVER / 2, Step::ServerFault);
    }

    fn plan(&mut self, after: Time, step: Step) {
        self.order += 1;
        self.steps.push(Reverse((self.now + after, self.order, step)));
    }

    /// The next thing that happens.
    async fn step(&mut self) {
        let Reverse((at, _, step)) = self.steps.pop().expect("workers never cease");
        self.now = at;
        let paused = step.worker().map_or(0, |worker| self.workers[worker].paused_until);
        if paused > at {
            return self.plan(paused - at, step);
        }
        self.set_clock().await;
        match step {
            Step::Claim { worker } => self.claim(worker).await,
            Step::Renew { worker } => self.renew(worker).await,
            Step::Sweep { worker } => {
                if self.fate(worker) != Fate::Lost {
                    sweep(&self.database).await.expect("an answer");
                }
                self.plan(LEASE / 2, step);
            }
            Step::Settle { worker, job, token } => self.settle(worker, job, token).await,
            Step::Fault => self.fault(),
            Step::ServerFault => self.server_fault().await,
        }
    }

    async fn set_clock(&mut self) {
        if self.set.is_none_or(|set| set + CLOCK_STEP <= self.now) {
            let at = self.begin + self.ahead + self.now as i64;
            self.clock.set(at).await;
            self.set = Some(self.now);
        }
    }

    /// What becomes of a statement that this worker sends now.
    fn fate(&mut self, worker: usize) -> Fate {
        let is_cut_off = self.now < self.away_until.max(self.workers[worker].cut_off_until);
        match self.chance.u16(..1_000) {
            _ if is_cut_off => Fate::Lost,
            0..5 => Fate::Lost,
            5..10 => Fate::AnswerLost,
            _ => Fate::Answered,
        }
    }

    async fn claim(&mut self, worker: usize) {
        let fate = self.fate(worker);
        if self.workers[worker].holds.len() == PLACES || fate == Fate::Lost {
            return self.plan(SECOND, Step::Claim { worker });
        }
        let asked = Instant::now();
        let lease = Duration::from_millis(LEASE);
        let claimed = claim(&self.database, &format!("w{worker}"), lease, &[]).await.expect("an answer");
        self.claims.push(asked.elapsed());
        if let Some(claimed) = &claimed {
            self.tokens[number(&claimed.id)] = claimed.token;
        }
        let Some(claimed) = claimed.filter(|_| fate == Fate::Answered) else {
            return self.plan(SECOND, Step::Claim { worker });
        };
        self.begin_job(worker, &claimed);
        self.plan(1, Step::Claim { worker });
    }

    fn begin_job(&mut self, worker: usize, claimed: &Claimed) {
        let job = number(&claimed.id);
        let (now, seed, jumps) = (self.now, self.seed, self.jumps);
        assert_eq!(self.ended[job], None, "seed {seed}: {claimed:?} has ended");
        // As long as no clock jumps, no two workers believe to have one job.
        let others = self.workers.iter().flat_map(|worker| &worker.holds);
        let other =
            others.into_iter().find(|held| held.job == job && held.until > now && held.jumps == jumps);
        assert!(other.is_none(), "seed {seed}, at {now}: {claimed:?} is at work elsewhere");
        self.counts.attempts += 1;
        self.claimed[job].get_or_insert(now);
        // Far longer than the run takes: the workers of the simulation look at the simulated time.
        let lease =
            Lease::new(claimed.id.clone(), claimed.token, Duration::from_secs(1 << 30), Instant::now());
        let held = Held { job, lease: Arc::new(lease), until: now + LEASE, jumps };
        let own = &mut self.workers[worker];
        own.holds.push(held);
        let takes = SECOND * self.chance.u64(1..60) * own.slowness;
        self.plan(takes, Step::Settle { worker, job, token: claimed.token });
    }

    async fn renew(&mut self, worker: usize) {
        self.plan(LEASE / 3, Step::Renew { worker });
        let (now, jumps, fate) = (self.now, self.jumps, self.fate(worker));
        self.workers[worker].holds.retain(|held| held.until > now);
        let leases: Vec<_> = self.workers[worker].holds.iter().map(|held| held.lease.clone()).collect();
        if leases.is_empty() || fate == Fate::Lost {
            return;
        }
        let length = Duration::from_millis(LEASE);
        renew(&self.database, &format!("w{worker}"), &leases, length).await.expect("an answer");
        if fate == Fate::Answered {
            let holds = &mut self.workers[worker].holds;
            holds.retain(|held| held.lease.lasts());
            holds.iter_mut().for_each(|held| (held.until, held.jumps) = (now + LEASE, jumps));
        }
    }

    async fn settle(&mut self, worker: usize, job: usize, token: i64) {
        let holds = &self.workers[worker].holds;
        let is_same = |held: &Held| (held.job, held.lease.token) == (job, token);
        let Some(held) = holds.iter().find(|held| is_same(held)) else { return };
        // A process may stand still between the look at the clock and the statement.
        if held.until <= self.now && self.chance.bool() {
            return self.workers[worker].holds.retain(|held| !is_same(held));
        }
        let (lease, fate) = (held.lease.clone(), self.fate(worker));
        let settled = match fate {
            Fate::Lost => None,
            _ => Some(settle(&self.database, &lease, &done(), None).await.expect("an answer")),
        };
        match settled {
            Some(Settled::Stands) => {
                self.open -= usize::from(self.ended[job].is_none());
                let ended = *self.ended[job].get_or_insert(token);
                assert_eq!(ended, token, "seed {}: job {job} ended twice", self.seed);
                let last = self.tokens[job];
                assert_eq!(
                    last, token,
                    "seed {}: job {job} was ended by a worker that had lost it",
                    self.seed
                );
            }
            Some(Settled::Refused) => self.counts.refused += 1,
            None => {}
        }
        match fate {
            Fate::Answered => self.workers[worker].holds.retain(|held| !is_same(held)),
            _ => self.plan(SECOND, Step::Settle { worker, job, token }),
        }
    }

    /// Something goes wrong with workers or the network: the more workers there are, the more often.
    fn fault(&mut self) {
        let (worker, now) = (self.chance.usize(..self.workers.len()), self.now);
        let long = self.chance.u64(SECOND..3 * LEASE);
        match self.chance.u8(..3) {
            0 => {
                self.workers[worker].holds.clear();
                self.workers[worker].paused_until = now + long;
                self.counts.crashes += 1;
            }
            1 => {
                self.workers[worker].paused_until = now + long;
                self.counts.pauses += 1;
            }
            _ => {
                // A machine, or a whole row of them.
                let several = if self.chance.u8(..50) == 0 { self.workers.len() / 10 } else { 1 };
                for cut_off in self.workers.iter_mut().skip(worker).take(several) {
                    cut_off.cut_off_until = now + long;
                }
                self.counts.partitions += 1;
            }
        }
        let often = FAULTS_OF_A_WORKER / self.workers.len() as Time + 1;
        let after = self.chance.u64(1..2 * often);
        self.plan(after, Step::Fault);
    }

    /// Something goes wrong with PostgreSQL.
    async fn server_fault(&mut self) {
        if self.chance.bool() {
            self.ahead += self.chance.i64(-60_000..600_000);
            (self.jumps, self.set) = (self.jumps + 1, None);
            self.counts.jumps += 1;
        } else {
            let long = self.chance.u64(SECOND..3 * LEASE);
            self.restart(long).await;
        }
        let after = self.chance.u64(1..2 * FAULTS_OF_SERVER);
        self.plan(after, Step::ServerFault);
    }

    /// PostgreSQL goes in the middle of what it does, and comes back.
    async fn restart(&mut self, away: Time) {
        self.away_until = self.now + away;
        self.counts.restarts += 1;
        // Each time would take too long; what was committed is there either way.
        if self.counts.restarts <= 3 {
            self.server.stop();
            self.server.begin();
            self.clock = Clock::connect(&self.server).await;
            self.set = None;
        }
    }

    fn check(mut self, took: Duration) {
        let Self { seed, ref ended, ref claimed, ref counts, .. } = self;
        let rows = self.server.sql("SELECT status, count(*) FROM jobs GROUP BY status");
        assert_eq!(rows, format!("completed|{}", ended.len()), "seed {seed}");
        let hours = self.now as f64 / 3_600_000.0;
        let waits = |is_wanted: fn(usize) -> bool| {
            let waits = claimed.iter().enumerate().filter(|(job, _)| is_wanted(*job));
            waits.filter_map(|(_, at)| *at).max().unwrap_or_default()
        };
        let (busy, others) = (waits(|job| owner_of(job) == 0), waits(|job| owner_of(job) > 0));
        assert!(
            others < busy / 2 + 300 * SECOND,
            "seed {seed}: others waited {others} ms, the first {busy} ms"
        );
        self.claims.sort();
        let part = |part: usize| self.claims[self.claims.len() * part / 1_000].as_secs_f64() * 1_000.0;
        println!(
            "seed {seed}: {} jobs on {} workers ended once each, after {hours:.1} simulated hours ({took:.0?}); {counts:?}; \
             the last job of the owner with most began after {:.0} min, of the others after {:.0} min; \
             a claim took {:.1} ms (p50), {:.1} ms (p99)",
            ended.len(),
            self.workers.len(),
            busy as f64 / 60_000.0,
            others as f64 / 60_000.0,
            part(500),
            part(990),
        );
    }
}

impl Step {
    fn worker(self) -> Option<usize> {
        match self {
            Self::Claim { worker }
            | Self::Renew { worker }
            | Self::Sweep { worker }
            | Self::Settle { worker, .. } => Some(worker),
            Self::Fault | Self::ServerFault => None,
        }
    }
}

fn number(id: &SessionId) -> usize {
    id.0[1..].parse().expect("a number")
}

/// Whose job it is.
fn owner_of(job: usize) -> usize {
    if job.is_multiple_of(10) { 1 + job / 10 % (OWNERS - 1) } else { 0 }
}

fn new_job(job: usize) -> NewJob {
    let order = JobSpec {
        kind: "builder".into(),
        job_type: "build".into(),
        description: format!("Do {job}"),
        origin: PathBuf::new(),
        branch: None,
        start: None,
        debug: false,
    };
    NewJob {
        id: SessionId(format!("j{job}")),
        owner: Owner(format!("owner{}", owner_of(job))),
        order,
        repository: None,
        base: None,
        queue: DEFAULT_QUEUE.into(),
        priority: 0,
        max_attempts: 1_000,
        model: "none".into(),
        profile: "default".into(),
    }
}

fn done() -> Conclusion {
    Conclusion { status: JobStatus::Completed, reason: "done".into(), evidence: Vec::new() }
}

/// A connection that sets the clock.
struct Clock {
    client: Client,
    _connection: JoinSet<Result<(), tokio_postgres::Error>>,
}

impl Clock {
    async fn connect(server: &Postgres) -> Self {
        let connected = tokio_postgres::connect(&server.address(), NoTls).await;
        let (client, connection) = connected.expect("a connection");
        Self { client, _connection: JoinSet::from_iter([connection]) }
    }

    /// `at`: milliseconds since 1970.
    async fn set(&self, at: i64) {
        let set = self.client.query_one("SELECT setval('simulated.clock', $1)", &[&at]).await;
        set.expect("a clock that can be set");
    }
}
