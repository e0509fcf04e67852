//! The queue, leases and journals on a real PostgreSQL.
use haft_core::{
    CallId, Change, Conclusion, Entry, Fact, FileState, Hash, JobSpec, JobStatus, Outcome, Seq, SessionId,
    ToolResult, Tracking, Usage, line,
};
use haft_fleet::{
    Claimed, DEFAULT_QUEUE, Database, FleetClient, FleetError, Lease, Limited, Limits, Migrated, Moved,
    NewJob, Owner, Period, Settled, Writer, add, add_owner, cancel, claim, client_of, entries_since, job,
    migrate, put_back, release_others, renew, retry, set_limits, settle, status, sweep,
};
use haft_testing::postgres::Postgres;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::task::TaskTracker;

/// The version of the tables.
const NEWEST: i32 = 9;

const LONG: Duration = Duration::from_secs(3600);

fn new_job(id: &str, owner: &str) -> NewJob {
    let order = JobSpec {
        kind: "builder".into(),
        job_type: "build".into(),
        description: format!("Do {id}\nwith care"),
        origin: PathBuf::new(),
        branch: None,
        start: None,
        debug: false,
    };
    NewJob {
        id: SessionId(id.into()),
        owner: Owner(owner.into()),
        queue: DEFAULT_QUEUE.into(),
        order,
        repository: None,
        base: None,
        priority: 0,
        max_attempts: 3,
        model: "none".into(),
        profile: "default".into(),
    }
}

async fn open(server: &Postgres, owners: &[&str]) -> Database {
    migrate(&server.address()).await.expect("a new database");
    let database = Database::open(&server.address()).await.expect("tables");
    for owner in owners {
        add_owner(&database, &Owner((*owner).into()), Some(&format!("token of {owner}")))
            .await
            .expect("an owner");
    }
    database
}

fn lease(job: &Claimed) -> Arc<Lease> {
    Arc::new(Lease::new(job.id.clone(), job.token, LONG, Instant::now()))
}

fn done() -> Conclusion {
    Conclusion { status: JobStatus::Completed, reason: "done".into(), evidence: Vec::new() }
}

fn late(server: &Postgres, id: &str) {
    server.sql(&format!(
        "UPDATE jobs SET leased_until = now() - interval '1 second' WHERE id = '{id}' AND status = 'running'"
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrations_are_made_once_and_again_where_one_was_interrupted() {
    let Some(server) = Postgres::start() else { return };
    let address = server.address();
    let early = Database::open(&address).await.map(|_| ()).expect_err("there are no tables");
    assert!(early.to_string().contains("`haft fleet migrate`"), "{early}");
    // One that waits for its turn is killed in the middle of its transaction.
    let hold = "SELECT pg_advisory_lock(x'68616674'::int); SELECT pg_sleep(600)";
    std::thread::scope(|scope| {
        let held =
            scope.spawn(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.sql(hold))));
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()";
        while server.sql(waits) != "1" {}
        let killed = scope.spawn(|| {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(migrate(&address))
        });
        let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        while server.sql(waiting) != "1" {}
        server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        );
        let error = killed.join().expect("no panic").expect_err("its connection was ended");
        assert!(error.is_passing(), "{error}");
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'");
        let _it_was_ended = held.join();
    });
    assert_eq!(server.sql("SELECT count(*) FROM pg_tables WHERE tablename = 'jobs'"), "0");
    // Several at once make it once.
    let all = futures::future::join_all((0..4).map(|_| migrate(&address))).await;
    assert!(all.iter().all(|made| made.as_ref().is_ok_and(|made| made.to == NEWEST)), "{all:?}");
    assert_eq!(migrate(&address).await.expect("tables"), Migrated { from: NEWEST, to: NEWEST });
    Database::open(&address).await.expect("tables");
    for (version, expected) in [(NEWEST + 1, "upgrade haft"), (NEWEST, "")] {
        server.sql(&format!("DELETE FROM migrations WHERE version > {NEWEST}"));
        server.sql(&format!("INSERT INTO migrations VALUES ({version}, 'x') ON CONFLICT DO NOTHING"));
        let told = Database::open(&address).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains(expected) && told.is_empty() == expected.is_empty(), "{version}: {told}");
    }
}

/// What an older program left goes on: a job that waited for a worker is pending.
#[tokio::test]
async fn jobs_of_older_tables_keep_their_places() {
    let Some(server) = Postgres::start() else { return };
    server.sql(include_str!("../migrations/0001_begin.sql"));
    server.sql("CREATE TABLE migrations (version integer PRIMARY KEY, name text NOT NULL, made timestamptz DEFAULT now())");
    server.sql("INSERT INTO migrations VALUES (1, 'begin'); INSERT INTO owners VALUES ('ann')");
    for (id, status, rest) in
        [("a", "waiting", "NULL, NULL"), ("b", "running", "'w', now()"), ("c", "dead", "NULL, NULL")]
    {
        server.sql(&format!(
            "INSERT INTO jobs (id, owner, kind, title, status, worker, leased_until) \
             VALUES ('{id}', 'ann', 'builder', 'x', '{status}', {rest})"
        ));
    }
    assert_eq!(migrate(&server.address()).await.expect("tables"), Migrated { from: 1, to: NEWEST });
    assert_eq!(
        server.sql("SELECT string_agg(id || ' ' || stands, ', ' ORDER BY id) FROM standing"),
        "a pending, b running, c dead"
    );
    let database = Database::open(&server.address()).await.expect("tables");
    let claimed = claim(&database, "w", Duration::from_secs(30), &[]).await.expect("a claim").expect("a job");
    assert_eq!(claimed.id.0, "a");
}

#[tokio::test]
async fn an_address_where_nobody_lets_in_is_told_so() {
    let Some(server) = Postgres::start() else { return };
    let address = server.address();
    let table = [
        ("mysql://x/y".to_owned(), "expected `postgres://"),
        (
            address.replace("haft@", "no-such-role@"),
            "refuses the connection: role \"no-such-role\" does not exist",
        ),
        (
            address.replace("/postgres?", "/nothing?"),
            "refuses the connection: database \"nothing\" does not exist",
        ),
        (
            "postgres://haft@127.0.0.1:1/x".to_owned(),
            "cannot reach PostgreSQL at 127.0.0.1:1: error connecting",
        ),
    ];
    for (address, expected) in table {
        let error = Database::open(&address).await.map(|_| ()).expect_err(&address).to_string();
        assert!(error.contains(expected), "{address}: {error}");
    }
}

#[tokio::test]
async fn whoever_has_least_is_next_then_what_matters_most_then_what_waits_longest() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["many", "few"]).await;
    for (id, owner, priority) in [
        ("m1", "many", 0),
        ("m2", "many", 0),
        ("m3", "many", 5),
        ("f1", "few", 0),
        ("f2", "few", -1),
        ("m4", "many", 0),
    ] {
        add(&database, &NewJob { priority, ..new_job(id, owner) }).await.expect("a job");
    }
    let mut order = Vec::new();
    while let Some(claimed) = claim(&database, "w", LONG, &[]).await.expect("an answer") {
        order.push(claimed.id.0);
    }
    assert_eq!(order, ["m3", "f1", "m1", "f2", "m2", "m4"]);
    let token = |owner: &str| format!("token of {owner}");
    let few = FleetClient { owner: Owner("few".into()), is_admin: false, may_approve: true, role: None };
    assert_eq!(client_of(&database, &token("few")).await.expect("an answer"), Some(few));
    assert_eq!(client_of(&database, "unknown token").await.expect("an answer"), None);
    // An owner neither sees nor stops what is another's.
    let few = Owner("few".into());
    assert!(job(&database, "m1", Some(&few)).await.expect("an answer").is_none());
    assert!(cancel(&database, "m1", Some(&few)).await.expect("an answer").is_none());
    assert_eq!(server.sql("SELECT count(*) FROM jobs WHERE is_cancelled"), "0");
    let bad =
        add(&database, &NewJob { repository: Some("ext::sh -c id".into()), ..new_job("x", "few") }).await;
    assert!(matches!(bad, Err(FleetError::Usage(_))), "{bad:?}");
}

#[tokio::test]
async fn what_fails_is_tried_later_and_at_last_left_to_people() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["a"]).await;
    add(&database, &new_job("j", "a")).await.expect("a job");
    for attempt in 1..=3 {
        let claimed = claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
        assert_eq!(claimed.attempt, attempt);
        put_back(&database, &lease(&claimed), "no model", true).await.expect("an answer");
        let pause: f64 =
            server.sql("SELECT extract(epoch FROM run_after - now()) FROM jobs").parse().unwrap_or(0.0);
        assert!(pause > f64::from(1 << attempt) * 0.5, "{attempt}: {pause}");
        assert_eq!(claim(&database, "w", LONG, &[]).await.expect("an answer"), None);
        server.sql("UPDATE jobs SET run_after = now()");
    }
    let now = status(&database).await.expect("an answer");
    assert_eq!((now.dead[0].id.as_str(), now.dead[0].reason.as_deref()), ("j", Some("no model")));
    assert!(retry(&database, "j", None).await.expect("an answer"));
    // A worker that is not heard of any more has tried as well; one that ends in order has not.
    let claimed = claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
    put_back(&database, &lease(&claimed), "it ends", false).await.expect("an answer");
    for _ in 0..3 {
        let claimed = claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
        late(&server, "j");
        sweep(&database).await.expect("an answer");
        let refused = settle(&database, &lease(&claimed), &done(), None).await.expect("an answer");
        assert_eq!(refused, Settled::Refused);
        server.sql("UPDATE jobs SET run_after = now()");
    }
    assert_eq!(server.sql("SELECT status, attempts FROM jobs"), "dead|3");
}

/// PostgreSQL may carry out a claim that its worker has given up.
#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_given_back_and_not_counted() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["a"]).await;
    for id in ["held", "lost"] {
        add(&database, &new_job(id, "a")).await.expect("a job");
    }
    let held = claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
    let lost = claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
    let other = claim(&database, "v", LONG, &[]).await.expect("an answer");
    assert_eq!((held.id.0.as_str(), lost.id.0.as_str(), other), ("held", "lost", None));
    release_others(&database, "w", &[lease(&held)]).await.expect("an answer");
    assert_eq!(server.sql("SELECT status, attempts FROM jobs ORDER BY id"), "running|1\npending|0");
    let again = claim(&database, "v", LONG, &[]).await.expect("an answer").expect("a job");
    assert_eq!((again.id.0.as_str(), again.attempt), ("lost", 1));
    release_others(&database, "w", &[lease(&held)]).await.expect("an answer");
    assert_eq!(server.sql("SELECT DISTINCT status FROM jobs"), "running");
    let refused = settle(&database, &lease(&lost), &done(), None).await.expect("an answer");
    assert_eq!(refused, Settled::Refused);
}

#[tokio::test]
async fn a_canceled_job_ends_also_if_its_worker_does_not_hear_of_it() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["a"]).await;
    for id in ["dies", "returns"] {
        add(&database, &new_job(id, "a")).await.expect("a job");
    }
    claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
    let returns = claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
    for id in ["dies", "returns"] {
        cancel(&database, id, None).await.expect("an answer").expect("a job");
    }
    late(&server, "dies");
    sweep(&database).await.expect("an answer");
    put_back(&database, &lease(&returns), "no model", false).await.expect("an answer");
    let ended = "SELECT status, reason, conclusion::json->>'status', ended IS NOT NULL FROM jobs ORDER BY id";
    let line = "cancelled|stopped by a person|cancelled|t";
    assert_eq!(server.sql(ended), format!("{line}\n{line}"));
}

#[tokio::test]
async fn a_description_has_a_limit_and_lists_show_its_beginning() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["a"]).await;
    let mut long = new_job("j", "a");
    long.order.description = "x".repeat(300_000);
    let refused = add(&database, &long).await.expect_err("it is too long");
    assert!(matches!(&refused, FleetError::Usage(why) if why.contains("at most 262144")), "{refused}");
    long.order.description = "é".repeat(1_000);
    add(&database, &long).await.expect("a job");
    assert_eq!(server.sql("SELECT title FROM jobs"), format!("{}…", "é".repeat(200)));
    let odd = job(&database, "a\0b", None).await.expect_err("no ID is like this");
    assert!(matches!(&odd, FleetError::Usage(_)), "{odd}");
    server.sql("CREATE ROLE stranger LOGIN");
    let stranger = server.address().replace("haft@", "stranger@");
    let refused = match Database::open(&stranger).await {
        Err(error) => error,
        Ok(database) => job(&database, "j", None).await.expect_err("it may not read"),
    };
    assert!(refused.to_string().contains("too few rights (permission denied"), "{refused}");
}

/// How many jobs the workers of the simulation have.
const JOBS: u8 = 25;

/// A worker of the simulation, with a handle that it may have lost long ago.
struct Simulated {
    name: String,
    holds: Option<(Arc<Lease>, Writer, u64)>,
}

/// The real statements in any order: workers that pause, are stopped and come back with what they had; leases that run
/// out at any moment; PostgreSQL's word alone counts, since no lease here ends by the worker's own clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_order_of_steps_settles_or_writes_twice() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["a"]).await;
    let (tasks, seed) = (TaskTracker::new(), fastrand::u64(..));
    let mut chance = fastrand::Rng::with_seed(seed);
    let (mut settled, mut claims, mut refused): (HashMap<String, i64>, HashMap<String, i64>, u32) =
        Default::default();
    let mut workers: Vec<Simulated> =
        (0..3).map(|number| Simulated { name: format!("w{number}"), holds: None }).collect();
    for number in 0..JOBS {
        add(&database, &NewJob { max_attempts: 1000, ..new_job(&format!("j{number}"), "a") })
            .await
            .expect("a job");
    }
    let mut left_behind = Vec::new();
    for step in 0..600 {
        let worker = &mut workers[chance.usize(..3)];
        match (chance.u8(..12), worker.holds.take()) {
            (0 | 1, held) => {
                // Restarted, or so long away that it begins anew; the old handle may still speak.
                left_behind.extend(held);
                if let Some(job) = claim(&database, &worker.name, LONG, &[]).await.expect("an answer") {
                    let before = claims.insert(job.id.0.clone(), job.token);
                    assert!(before.is_none_or(|before| before < job.token), "seed {seed}, step {step}");
                    assert!(!settled.contains_key(&job.id.0), "seed {seed}, step {step}: {job:?}");
                    let lease = lease(&job);
                    let moved = Moved::new(&job.id, Path::new("/attempt"));
                    let writer =
                        Writer::new(database.clone(), lease.clone(), moved, PathBuf::new(), None, &tasks);
                    let next =
                        entries_since(&database, &job.id.0, 0, 10_000).await.expect("lines").len() as u64;
                    worker.holds = Some((lease, writer, next));
                }
            }
            (2, held) => {
                late(&server, &format!("j{}", chance.u8(..JOBS)));
                worker.holds = held;
            }
            (3, held) => {
                sweep(&database).await.expect("an answer");
                server.sql("UPDATE jobs SET run_after = now()");
                worker.holds = held;
            }
            (4, Some((lease, writer, next))) => {
                let leases = [lease.clone()];
                // What it hears of a lost lease it forgets: only PostgreSQL keeps it from what it does next.
                let fresh = Arc::new(Lease::new(lease.job.clone(), lease.token, LONG, Instant::now()));
                renew(&database, &worker.name, &leases, LONG).await.expect("an answer");
                worker.holds = Some((fresh, writer, next));
            }
            (5, Some((lease, _, _))) => {
                let fresh = Lease::new(lease.job.clone(), lease.token, LONG, Instant::now());
                match settle(&database, &fresh, &done(), None).await.expect("an answer") {
                    Settled::Stands => {
                        assert_eq!(claims.get(&lease.job.0), Some(&lease.token), "seed {seed}, step {step}");
                        let before = settled.insert(lease.job.0.clone(), lease.token);
                        assert!(before.is_none_or(|token| token == lease.token), "seed {seed}, step {step}");
                    }
                    Settled::Refused => refused += 1,
                }
            }
            (6, Some((lease, _, _))) => {
                put_back(&database, &lease, "simulated", true).await.expect("an answer")
            }
            (7, held) if !left_behind.is_empty() => {
                // One that everybody took for dead goes on.
                worker.holds = Some(left_behind.swap_remove(chance.usize(..left_behind.len())));
                left_behind.extend(held);
            }
            (_, Some((lease, writer, next))) => {
                writer.append(&lease.job, Seq(next), &format!("{{\"token\":{}}}", lease.token));
                match writer.sync().await {
                    Ok(()) => {
                        assert_eq!(claims.get(&lease.job.0), Some(&lease.token), "seed {seed}, step {step}");
                        worker.holds = Some((lease, writer, next + 1));
                    }
                    Err(_) => refused += 1,
                }
            }
            (_, None) => {}
        }
    }
    // All that were ever left go on once more, and none of them counts.
    for (lease, writer, next) in left_behind {
        let is_last = claims.get(&lease.job.0) == Some(&lease.token) && !settled.contains_key(&lease.job.0);
        writer.append(&lease.job, Seq(next), "{}");
        assert!(writer.sync().await.is_err() || is_last, "seed {seed}: {lease:?}");
        let fresh = Lease::new(lease.job.clone(), lease.token, LONG, Instant::now());
        let stands = settle(&database, &fresh, &done(), None).await.expect("an answer") == Settled::Stands;
        assert!(
            !stands || is_last || settled.get(&lease.job.0) == Some(&lease.token),
            "seed {seed}: {lease:?}"
        );
        if stands {
            settled.insert(lease.job.0.clone(), lease.token);
        }
        refused += u32::from(!stands);
    }
    assert!(refused > 0 && !settled.is_empty(), "seed {seed}: {refused} refused, {} settled", settled.len());
    for (id, token) in &claims {
        let lines = entries_since(&database, id, 0, 10_000).await.expect("lines");
        let places: Vec<i64> = lines.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(places, (0..lines.len() as i64).collect::<Vec<_>>(), "seed {seed}: {id}");
        let tokens: Vec<i64> = server
            .sql(&format!("SELECT token FROM entries WHERE job = '{id}' ORDER BY seq"))
            .lines()
            .map(|token| token.parse().expect("a number"))
            .collect();
        assert!(tokens.is_sorted() && tokens.iter().all(|by| by <= token), "seed {seed}: {id}: {tokens:?}");
    }
    let completed: usize =
        server.sql("SELECT count(*) FROM jobs WHERE status = 'completed'").parse().expect("a number");
    assert_eq!(completed, settled.len(), "seed {seed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_database_is_away_nothing_counts_and_then_it_goes_on() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["a"]).await;
    let tasks = TaskTracker::new();
    for id in ["waits", "ends"] {
        add(&database, &new_job(id, "a")).await.expect("a job");
    }
    let claimed = [claim(&database, "w", LONG, &[]).await, claim(&database, "w", LONG, &[]).await];
    let [first, second] = claimed.map(|job| job.expect("an answer").expect("a job"));
    let short =
        Arc::new(Lease::new(second.id.clone(), second.token, Duration::from_millis(300), Instant::now()));
    let blobs = tempfile::tempdir().expect("a folder");
    let name = "b".repeat(64);
    std::fs::write(blobs.path().join(&name), [0, 1, 255]).expect("a content");
    let moved = Moved::new(&first.id, Path::new("/attempt"));
    let writer = |lease: Arc<Lease>| {
        Writer::new(database.clone(), lease, moved.clone(), blobs.path().to_owned(), None, &tasks)
    };
    let (long, lost) = (writer(lease(&first)), writer(short));
    server.stop();
    let after = Some(FileState::file(Hash(name), 0o644));
    let changes = vec![Change { path: "/attempt/tree/a".into(), before: None, after, new_folders: 0 }];
    let (call, how, result) = (CallId("c".into()), Tracking::Staged, ToolResult::default());
    let fact = Fact::Staged { call, changes, how, result, unrecorded: Vec::new() };
    let change = line::of_entry(&Entry { seq: Seq(1), parent: None, at: 1, fact, chain: None });
    long.append(&first.id, Seq(1), &change);
    lost.append(&second.id, Seq(1), "{}");
    let waits = {
        let long = long.clone();
        tasks.spawn(async move { long.sync().await })
    };
    let refused = lost.sync().await.expect_err("its lease ended meanwhile").to_string();
    assert!(refused.contains("lost the lease of the job `ends`"), "{refused}");
    assert!(!waits.is_finished());
    server.begin();
    waits.await.expect("no panic").expect("it goes on");
    assert_eq!(entries_since(&database, "waits", 1, 9).await.expect("lines").len(), 1);
    assert_eq!(server.sql("SELECT encode(bytes, 'hex') FROM contents WHERE job = 'waits'"), "0001ff");
    assert_eq!(server.sql("SELECT line LIKE '%/fleet/waits/tree%' FROM entries WHERE seq = 1"), "t");
    assert_eq!(server.sql("SELECT count(*) FROM entries WHERE job = 'ends'"), "1");
    let stands = settle(&database, &lease(&first), &done(), None).await.expect("an answer");
    assert_eq!(
        (stands, job(&database, "waits", None).await.expect("an answer").expect("a job").status),
        (Settled::Stands, "completed".into())
    );
}

fn owner(name: &str) -> Limited {
    Limited::Owner(Owner(name.into()))
}

fn running(most: i32) -> Limits {
    Limits { running: Some(most), ..Limits::default() }
}

/// Claims until no job is left, each on a connection of its own, and looks after each claim how many jobs run.
async fn claim_side_by_side(server: &Postgres, claimers: usize, most: &[(&str, usize)]) -> usize {
    let claimer = async |number: usize| {
        let database = Database::open(&server.address()).await.expect("tables");
        let (client, connection) =
            tokio_postgres::connect(&server.address(), tokio_postgres::NoTls).await.expect("a connection");
        let looking = TaskTracker::new().spawn(connection);
        let mut claims = 0;
        loop {
            let Some(job) = claim(&database, &format!("w{number}"), LONG, &[]).await.expect("an answer")
            else {
                let left = client.query_one("SELECT count(*) FROM jobs WHERE ended IS NULL", &[]).await;
                if left.expect("an answer").get::<_, i64>(0) == 0 {
                    break;
                }
                tokio::task::yield_now().await;
                continue;
            };
            claims += 1;
            for (of, most) in most {
                let count = format!("SELECT count(*) FROM jobs WHERE status = 'running' AND {of}");
                let count: i64 = client.query_one(&count, &[]).await.expect("an answer").get(0);
                assert!(count as usize <= *most, "{of}: {count} jobs run");
            }
            let stands = settle(&database, &lease(&job), &done(), None).await.expect("an answer");
            assert_eq!(stands, Settled::Stands);
        }
        drop(client);
        let _it_ends_with_its_client = looking.await;
        claims
    };
    futures::future::join_all((0..claimers).map(claimer)).await.into_iter().sum()
}

// H-94
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_in_the_same_moment_never_exceed_a_limit() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["ann", "bob"]).await;
    for number in 0..40 {
        for (name, queue) in [("ann", "default"), ("ann", "gpu"), ("bob", "gpu")] {
            let id = format!("{name}-{queue}-{number}");
            add(&database, &NewJob { queue: queue.into(), ..new_job(&id, name) }).await.expect("a job");
        }
    }
    set_limits(&database, &owner("ann"), &running(3)).await.expect("limits");
    set_limits(&database, &Limited::Queue("gpu".into()), &running(2)).await.expect("limits");
    let claims = claim_side_by_side(&server, 16, &[("owner = 'ann'", 3), ("queue = 'gpu'", 2)]).await;
    assert_eq!(claims, 120);
}

// H-94
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_are_added_in_the_same_moment_never_exceed_a_limit() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["ann", "bob"]).await;
    let limits = Limits { pending: Some(5), ..Limits::default() };
    set_limits(&database, &owner("ann"), &limits).await.expect("limits");
    let adding = async |number: usize| {
        let database = Database::open(&server.address()).await.expect("tables");
        add(&database, &new_job(&format!("j{number}"), "ann")).await
    };
    let added = futures::future::join_all((0..20).map(adding)).await;
    let refused: Vec<_> = added.iter().filter_map(|added| added.as_ref().err()).collect();
    assert_eq!((refused.len(), server.sql("SELECT count(*) FROM jobs").as_str()), (15, "5"));
    for error in refused {
        assert!(matches!(error, FleetError::Limit(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "cannot queue the job: the owner `ann` is at its limit of 5 pending jobs"
        );
    }
    // A job that is there already is not refused when it is sent again, and others are not concerned.
    let there = server.sql("SELECT min(id) FROM jobs");
    add(&database, &new_job(&there, "ann")).await.expect("it is there");
    add(&database, &new_job("b", "bob")).await.expect("a job");
    // One that is begun makes room, and a job that comes back is taken.
    let begun = claim(&database, "w", LONG, &[]).await.expect("an answer").expect("a job");
    assert_eq!(begun.left_usd, None);
    add(&database, &new_job("one-more", "ann")).await.expect("a job");
    put_back(&database, &lease(&begun), "it ends", false).await.expect("an answer");
    assert_eq!(server.sql("SELECT count(*) FROM jobs WHERE status = 'pending' AND owner = 'ann'"), "6");
}

/// Records the end of a turn that has cost so much. Whether it counts.
async fn spend(database: &Database, lease: &Arc<Lease>, seq: u64, usd: f64) -> bool {
    let tasks = TaskTracker::new();
    let moved = Moved::new(&lease.job, Path::new("/attempt"));
    let writer = Writer::new(database.clone(), lease.clone(), moved, PathBuf::new(), None, &tasks);
    let (outcome, usage, cost_usd) = (Outcome::Finished, Usage::default(), Some(usd));
    let fact = Fact::TurnEnded { outcome, rounds: 1, usage, cost_usd };
    let entry = Entry { seq: Seq(seq), parent: None, at: 1, fact, chain: None };
    writer.append(&lease.job, Seq(seq), &line::of_entry(&entry));
    writer.sync().await.is_ok()
}

// H-94
#[tokio::test]
async fn once_a_budget_is_spent_no_job_begins_until_the_next_period() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["ann", "bob"]).await;
    let take = async || claim(&database, "w", LONG, &[]).await.expect("an answer");
    for id in ["a1", "a2", "a3"] {
        add(&database, &new_job(id, "ann")).await.expect("a job");
    }
    let budget = |usd, period| Limits { budget: Some((usd, period)), ..Limits::default() };
    set_limits(&database, &owner("ann"), &budget(5.0, Period::Day)).await.expect("limits");
    set_limits(&database, &Limited::Queue(DEFAULT_QUEUE.into()), &budget(4.5, Period::Month))
        .await
        .expect("limits");
    let first = take().await.expect("a job");
    assert_eq!(first.left_usd, Some(4.5));
    let held = lease(&first);
    assert!(spend(&database, &held, 1, 3.0).await);
    // The same entry again is the same cost.
    assert!(spend(&database, &held, 1, 3.0).await);
    let second = take().await.expect("a job");
    assert_eq!(second.left_usd, Some(1.5));
    set_limits(&database, &Limited::Queue(DEFAULT_QUEUE.into()), &Limits::default())
        .await
        .expect("no limits");
    assert!(spend(&database, &lease(&second), 1, 2.5).await);
    // What a worker records that has lost the job costs nothing here.
    late(&server, "a2");
    assert!(!spend(&database, &lease(&second), 2, 100.0).await);
    assert_eq!(take().await, None);
    let waits = job(&database, "a3", None).await.expect("an answer").expect("a job");
    assert_eq!(waits.reason.as_deref(), Some("the owner `ann` is over its budget of $5.00 a day"));
    assert_eq!(server.sql("SELECT id, cost_usd FROM jobs ORDER BY id"), "a1|3\na2|2.5\na3|0");
    add(&database, &new_job("b1", "bob")).await.expect("a job");
    assert_eq!(take().await.expect("another owner's job").id.0, "b1");
    // The next day, in the same month or another one.
    server.sql("UPDATE spending SET day = day - 1");
    let next = take().await.expect("a job");
    assert_eq!((next.id.0.as_str(), next.left_usd), ("a3", Some(5.0)));
}

// H-95
#[tokio::test]
async fn a_worker_takes_jobs_of_its_queues_alone_and_is_fair_inside_them() {
    let Some(server) = Postgres::start() else { return };
    let database = open(&server, &["ann", "bob"]).await;
    for (id, name, queue, priority) in [
        ("d1", "ann", "default", 9),
        ("d2", "ann", "default", 9),
        ("g1", "bob", "gpu", 0),
        ("g2", "bob", "gpu", 0),
        ("g3", "ann", "gpu", 0),
        ("h1", "ann", "huge", 0),
    ] {
        add(&database, &NewJob { queue: queue.into(), priority, ..new_job(id, name) }).await.expect("a job");
    }
    let take = async |queues: &[&str]| {
        let queues: Vec<String> = queues.iter().map(|name| (*name).to_owned()).collect();
        let claimed = claim(&database, "w", LONG, &queues).await.expect("an answer");
        claimed.map_or_else(|| "none".to_owned(), |job| job.id.0)
    };
    assert_eq!(take(&["default"]).await, "d1");
    assert_eq!(take(&["default"]).await, "d2");
    assert_eq!(take(&["default"]).await, "none");
    // A worker that is to take no more gets none, before it knows.
    server.sql("INSERT INTO workers (instance, name, version, is_draining) VALUES ('w', 'w', '0', true)");
    assert_eq!(take(&["gpu"]).await, "none");
    server.sql("DELETE FROM workers");
    // That an owner has many jobs in other queues does not count here.
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(take(&["gpu", "missing"]).await);
    }
    assert_eq!(order, ["g1", "g3", "g2", "none"]);
    assert_eq!(take(&[]).await, "h1");
    let wrong = add(&database, &NewJob { queue: "a b".into(), ..new_job("x", "ann") }).await;
    assert!(matches!(wrong, Err(FleetError::Usage(_))), "{wrong:?}");
}
