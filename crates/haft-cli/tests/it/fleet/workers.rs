//! Jobs on many machines: real workers, a real PostgreSQL, real repositories.
#![expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
use crate::kit::{
    Ran,
    fleet::{Fleet, TABLES, count, end, publish, say},
    project::git,
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

#[test]
fn a_job_goes_on_with_another_worker_where_the_first_one_was_killed() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.add();
    for (steps, expected) in [
        // After a change, and after a commit.
        (vec![count(), json!({"hang": true})], "1"),
        (vec![count(), publish(), json!({"hang": true})], "2"),
    ] {
        let script = fleet.place.script("first.jsonl", &steps);
        let mut first = fleet.worker(&script, &["--lease", "1", "--name", "twin"]);
        let ended = format!(
            "SELECT count(*) FROM entries WHERE job = '{id}' AND line LIKE '%\"type\":\"tool_ended\"%'"
        );
        fleet.wait_for("a call has ended", || (fleet.server.sql(&ended) == expected).then_some(()));
        first.kill().unwrap();
        first.wait().unwrap();
        assert_eq!(fleet.job(&id, "status, attempts"), format!("running|{expected}"));
    }
    assert_eq!(git(&fleet.remote(), &["branch", "--list", "haft/*"]), "");
    let script = fleet.place.script("second.jsonl", &[count(), publish(), say()]);
    let mut second = fleet.worker(&script, &["--lease", "2", "--name", "twin"]);
    fleet.wait_until_completed(&id);
    fleet.wait_for("its branch stands", || (fleet.job(&id, "published = head") == "t").then_some(()));
    assert_eq!(fleet.counted(&id), "+end");
    assert_eq!(git(&fleet.remote(), &["log", "--format=%s", &format!("main..haft/{id}")]), "Count");
    assert_eq!(fleet.job(&id, "head"), git(&fleet.remote(), &["rev-parse", &format!("haft/{id}")]));
    // As where a worker dies between what it recorded and what it settles: what was recorded stands, and nothing is added.
    let written = || fleet.number("SELECT count(*) FROM entries");
    let (before, attempts) = (written(), fleet.job(&id, "attempts"));
    fleet.server.sql("UPDATE jobs SET status = 'pending', conclusion = NULL, ended = NULL");
    fleet.wait_until_completed(&id);
    assert!(fleet.job(&id, "attempts") > attempts && written() == before, "{}", fleet.log());
    end(&mut second);
    let left = fleet.place.path().join("home/fleet/attempts");
    assert_eq!(std::fs::read_dir(left).unwrap().count(), 0, "{}", fleet.log());
}

#[test]
fn the_evidence_of_a_job_names_the_commit_that_it_began_with() {
    let Some(fleet) = Fleet::new() else { return };
    let base = git(&fleet.remote(), &["rev-parse", "main"]);
    let remote = fleet.remote().display().to_string();
    for named in [None, Some("main"), Some(base.as_str())] {
        let mut words = vec!["fleet", "add", "builder", "Count once", "--repository", &remote];
        words.extend(named.iter().flat_map(|base| ["--base", base]));
        assert_eq!(fleet.run(&words).code, 0, "{named:?}");
    }
    let script = fleet.place.script("steps.jsonl", &[count(), publish(), say()]);
    let mut worker = fleet.worker(&script, &[]);
    fleet.wait_for("all are completed", || (fleet.over() == 3).then_some(()));
    for line in fleet.run(&["fleet", "list", "--json"]).out.lines() {
        let job: Value = serde_json::from_str(line).unwrap();
        assert_eq!(job["output"]["evidence"][0]["base"], json!(base), "{job}");
    }
    end(&mut worker);
}

#[test]
fn a_worker_that_was_paused_can_neither_write_nor_settle() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.add();
    // It is about to hear the end of a reply, and then to publish and to settle.
    let slow = json!({"say": "I have counted, and soon I am done.", "pieces": 7, "delay_ms": 400});
    let script = fleet.place.script("first.jsonl", &[count(), slow]);
    let mut first = fleet.worker(&script, &["--lease", "1"]);
    let by = |token: u8| format!("SELECT count(*) FROM entries WHERE job = '{id}' AND token = {token}");
    let ended = format!("{} AND line LIKE '%\"type\":\"tool_ended\"%'", by(1));
    fleet.wait_for("the change is made", || (fleet.number(&ended) == 1).then_some(()));
    signal(&first, "STOP");
    let written = fleet.number(&by(1));
    let script = fleet.place.script("second.jsonl", &[count(), publish(), say()]);
    let mut second = fleet.worker(&script, &["--lease", "2"]);
    fleet.wait_until_completed(&id);
    fleet.wait_for("its branch stands", || (fleet.job(&id, "published = head") == "t").then_some(()));
    let settled = fleet.job(&id, "token, head, reason, ended");
    signal(&first, "CONT");
    let left = format!("stopped working on the job `{id}`: lost the lease of the job `{id}`");
    fleet.wait_for("it leaves the job", || fleet.log().contains(&left).then_some(()));
    end(&mut first);
    end(&mut second);
    assert_eq!((fleet.number(&by(1)), fleet.job(&id, "token, head, reason, ended")), (written, settled));
    assert_eq!(fleet.counted(&id), "+end");
}

/// What may happen to workers in a storm.
enum Weather {
    /// The process is killed, and another one begins.
    Killed,
    /// It is stopped for longer than its lease, and goes on as if nothing had been.
    Paused,
}

/// Chance that a failed run can name.
struct Storm {
    chance: fastrand::Rng,
    script: String,
    workers: Vec<Child>,
    /// Who was stopped, and since when.
    paused: Option<(usize, Instant)>,
    kills: u32,
    pauses: u32,
}

/// Of the workers in a storm, in seconds.
const LEASE: u64 = 2;

impl Storm {
    fn begin(fleet: &Fleet, script: &str, count: usize, seed: u64) -> Self {
        let workers = (0..count).map(|_| Self::worker(fleet, script)).collect();
        let chance = fastrand::Rng::with_seed(seed);
        Self { chance, script: script.to_owned(), workers, paused: None, kills: 0, pauses: 0 }
    }

    fn worker(fleet: &Fleet, script: &str) -> Child {
        fleet.worker(script, &["--lease", &LEASE.to_string(), "--sandbox", "off"])
    }

    fn next(&mut self, fleet: &Fleet) {
        if let Some((place, since)) = self.paused {
            if since.elapsed() > Duration::from_millis(LEASE * 1000 + 700) {
                signal(&self.workers[place], "CONT");
                self.paused = None;
            }
            return;
        }
        let place = self.chance.usize(..self.workers.len());
        match if self.chance.bool() { Weather::Killed } else { Weather::Paused } {
            Weather::Killed => {
                self.workers[place].kill().unwrap();
                self.workers[place].wait().unwrap();
                self.workers[place] = Self::worker(fleet, &self.script);
                self.kills += 1;
            }
            Weather::Paused => {
                signal(&self.workers[place], "STOP");
                self.paused = Some((place, Instant::now()));
                self.pauses += 1;
            }
        }
    }

    fn end(self) {
        if let Some((place, _)) = self.paused {
            signal(&self.workers[place], "CONT");
        }
        for mut worker in self.workers {
            signal(&worker, "TERM");
            let ended = worker.wait().unwrap();
            // One that has just begun knows no signals yet.
            assert!(ended.success() || ended.signal() == Some(15), "{ended:?}");
        }
    }
}

fn signal(worker: &Child, name: &str) {
    let words = [format!("-{name}"), worker.id().to_string()];
    assert!(Command::new("kill").args(words).status().unwrap().success());
}

/// In a storm: how many jobs, how often something happens, and the whole of what is printed about it.
fn storm(count: usize, every: Duration) -> String {
    let Some(fleet) = Fleet::new() else { return String::new() };
    let seed = fastrand::u64(..);
    fleet.add_many(count);
    // What a call did that was cut off is unknown: the model is told to make it again, as often as that happens.
    let again = (0..40).map(|number| if number % 2 == 0 { publish() } else { say() });
    let steps: Vec<Value> = std::iter::once(count_slowly()).chain(again).collect();
    let script = fleet.place.script("steps.jsonl", &steps);
    let (begun, mut restarts, mut shown) = (Instant::now(), 0, 0);
    let mut storm = Storm::begin(&fleet, &script, 4, seed);
    loop {
        std::thread::sleep(every);
        let over = fleet.over();
        if over == count {
            break;
        }
        if over * 3 > count * (restarts + 1) && restarts < 2 {
            fleet.server.stop();
            std::thread::sleep(Duration::from_millis(500));
            fleet.server.begin();
            restarts += 1;
        }
        if over / 500 > shown {
            shown = over / 500;
            eprintln!("{over} of {count} jobs after {:.0} s", begun.elapsed().as_secs_f64());
            // As the keeper of a repository does: a push looks at each branch that lies by itself.
            let mut pack = Command::new("git");
            pack.arg("-C").arg(fleet.remote()).args(["pack-refs", "--all"]).stderr(Stdio::null());
            let _a_push_may_hold_one = pack.status();
        }
        storm.next(&fleet);
        assert!(
            begun.elapsed() < Duration::from_secs(count as u64 + 120),
            "seed {seed}: {over}: {}",
            fleet.log()
        );
    }
    let (took, kills, pauses) = (begun.elapsed().as_secs_f64(), storm.kills, storm.pauses);
    storm.end();
    fleet.assert_each_once(count, seed);
    let log = fleet.log();
    let refused = log
        .lines()
        .filter(|line| line.contains("lost the lease") || line.contains("another worker has taken over"))
        .count();
    let attempts = fleet.number("SELECT sum(token) FROM jobs");
    assert!(
        restarts == 2 && (kills == 0 || attempts > count),
        "seed {seed}: {kills} kills, {attempts} attempts"
    );
    format!(
        "{count} jobs, 4 workers, {took:.0} s, {:.1} jobs/s: {kills} killed, {pauses} paused beyond the lease, \
         PostgreSQL restarted {restarts} times, tokens up to a sum of {attempts}, {refused} refusals told; \
         0 lost, 0 twice",
        count as f64 / took
    )
}

/// So that a storm finds jobs in the middle.
fn count_slowly() -> Value {
    let mut step = count();
    step["say"] = json!("I count.");
    step["delay_ms"] = json!(30);
    step
}

// C24, E02
#[test]
fn in_a_storm_every_job_ends_once() {
    let is_long = std::env::var_os("HAFT_SOAK").is_some();
    let jobs = std::env::var("HAFT_FLEET_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    let (count, every) = if is_long { (10_000, 700) } else { (30, 250) };
    eprintln!("{}", storm(jobs.unwrap_or(count), Duration::from_millis(every)));
    if is_long {
        tell_throughput();
    }
}

/// The figures of docs/deploy.md.
fn tell_throughput() {
    const JOBS: usize = 60;
    for workers in [1, 2, 4] {
        let Some(fleet) = Fleet::new() else { return };
        fleet.add_many(JOBS);
        let script = fleet.place.script("steps.jsonl", &[count(), publish(), say()]);
        let begun = Instant::now();
        let storm = Storm::begin(&fleet, &script, workers, 0);
        fleet.wait_for("all jobs are over", || (fleet.over() == JOBS).then_some(()));
        let took = begun.elapsed().as_secs_f64();
        storm.end();
        fleet.assert_each_once(JOBS, 0);
        eprintln!("{workers} workers: {:.1} jobs/s", JOBS as f64 / took);
    }
}

#[test]
fn a_job_that_fails_says_how_the_attempt_before_ended() {
    let Some(fleet) = Fleet::new() else { return };
    let hook = fleet.remote().join("hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho 'no pushes on Sundays'\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let id = fleet.add();
    let script = fleet.place.script("steps.jsonl", &[count(), publish(), say(), say(), say(), say()]);
    let mut worker = fleet.worker(&script, &[]);
    fleet.wait_for("it has ended", || ["failed", "dead"].contains(&&*fleet.job(&id, "status")).then_some(()));
    end(&mut worker);
    let shown = fleet.run(&["fleet", "show", &id]).out;
    assert!(
        shown.contains("; the attempt before ended: ") && shown.contains("no pushes on Sundays"),
        "{shown}"
    );
}

// D46
#[test]
fn a_server_of_a_fleet_shows_each_owner_what_is_its_own() {
    let Some(fleet) = Fleet::new() else { return };
    let token = |name: &str| {
        let made = fleet.run(&["fleet", "owner", name]);
        assert_eq!(made.code, 0, "{made:?}");
        made.out.trim().to_owned()
    };
    let (ann, bob) = (token("ann"), token("bob"));
    let address = fleet.server.address();
    let mut served = fleet
        .haft(&["serve", "--fleet", &address, "--listen", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = std::io::BufRead::lines(std::io::BufReader::new(served.stderr.take().unwrap()));
    let mut told = told.map(Result::unwrap);
    let url = told.find_map(|line| line.strip_prefix("note: listening on ").map(str::to_owned)).unwrap();
    let admin =
        told.find_map(|line| Some(line.split_once("Bearer ")?.1.trim_end_matches('`').to_owned())).unwrap();
    let ask = |token: &str, method: &str, path: &str, body: Option<Value>| -> (String, Value) {
        let mut curl = Command::new("curl");
        curl.args([
            "-s",
            "--max-time",
            "5",
            "-w",
            "\n%{http_code}",
            "-X",
            method,
            "-H",
            &format!("Authorization: Bearer {token}"),
        ]);
        if let Some(body) = body {
            curl.args(["-H", "Content-Type: application/json", "-d", &body.to_string()]);
        }
        let output = curl.arg(format!("{url}{path}")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, code) = text.rsplit_once('\n').unwrap();
        (code.to_owned(), serde_json::from_str(body).unwrap_or_else(|_| json!(body)))
    };
    let remote = fleet.remote().display().to_string();
    let (code, job) =
        ask(&ann, "POST", "/v1/jobs", Some(json!({"description": "Count once", "repository": remote})));
    assert_eq!(
        (code.as_str(), &job["status"], &job["owner"]),
        ("201", &json!("pending"), &json!("ann")),
        "{job}"
    );
    let id = job["job"].as_str().unwrap();
    let path = format!("/v1/jobs/{id}");
    let events = format!("/v1/sessions/{id}/events");
    for (who, token, expected) in [
        ("ann", &ann, "200"),
        ("bob", &bob, "404"),
        ("admin", &admin, "200"),
        ("unknown owner", &"0".repeat(64), "401"),
    ] {
        assert_eq!(ask(token, "GET", &path, None).0, expected, "{who}");
        let (code, list) = ask(token, "GET", "/v1/jobs", None);
        let sees = list["jobs"].as_array().map(Vec::len);
        assert_eq!(sees, if code == "401" { None } else { Some(usize::from(expected == "200")) }, "{who}");
    }
    for (route, body) in [("cancel", None), ("retry", None)] {
        assert_eq!(ask(&bob, "POST", &format!("{path}/{route}"), body).0, "404", "{route}");
    }
    for route in ["prompt", "interrupt", "events"] {
        let method = if route == "events" { "GET" } else { "POST" };
        let body = (route == "prompt").then(|| json!({"text": "Stop."}));
        assert_eq!(ask(&bob, method, &format!("/v1/sessions/{id}/{route}"), body).0, "404", "{route}");
    }
    let bad = ask(&ann, "POST", "/v1/jobs", Some(json!({"description": "x", "repository": "ext::sh"}))).1;
    assert!(bad["error"]["message"].as_str().unwrap().contains("is not a repository"), "{bad}");

    // A worker that waits is steered and stopped by the owner of the job.
    let script = fleet.place.script("hangs.jsonl", &[count(), json!({"hang": true})]);
    let mut worker = fleet.worker(&script, &["--lease", "2"]);
    let line = format!("SELECT count(*) FROM entries WHERE job = '{id}' AND line LIKE ");
    let has = |what: &str| fleet.number(&format!("{line}'%{what}%'")) > 0;
    fleet.wait_for("the model is asked again", || has("tool_ended").then_some(()));
    assert_eq!(
        ask(&ann, "POST", &format!("/v1/sessions/{id}/prompt"), Some(json!({"text": "Hurry up."}))).0,
        "202"
    );
    fleet.wait_for("nothing waits", || (fleet.number("SELECT count(*) FROM commands") == 0).then_some(()));
    assert_eq!(ask(&ann, "POST", &format!("{path}/cancel"), None).0, "202");
    fleet.wait_for("it has ended", || (fleet.job(id, "status") == "cancelled").then_some(()));
    let heard = ask(&ann, "GET", &events, None).1;
    let heard = heard.as_str().unwrap_or_default();
    for expected in
        ["id: 0\n", "/fleet/", "Hurry up.", "\"outcome\":\"interrupted\"", "\"status\":\"cancelled\""]
    {
        assert!(heard.contains(expected), "{expected}: {heard}");
    }
    assert_eq!(ask(&ann, "POST", &format!("{path}/cancel"), None).0, "409");

    // One that is drained ends by itself.
    let drained = fleet.run(&["fleet", "drain"]);
    assert_eq!((drained.code, drained.out.as_str()), (0, "draining 1 worker\n"), "{drained:?}");
    assert!(worker.wait().unwrap().success(), "{}", fleet.log());
    assert_eq!(ask(&ann, "POST", &format!("{path}/retry"), None).1["status"], "pending");
    assert_eq!(fleet.run(&["fleet", "drain"]).code, 2);
    let status: Value = serde_json::from_str(&fleet.run(&["fleet", "status", "--json"]).out).unwrap();
    assert_eq!(
        status["jobs"],
        json!([{"owner": "ann", "queue": "default", "status": "pending", "count": 1}]),
        "{status}"
    );
    end(&mut served);
}

#[test]
fn what_is_wrong_with_a_fleet_is_told_before_anything_begins() {
    let Some(fleet) = Fleet::new() else { return };
    let script = fleet.place.script("steps.jsonl", &[say()]);
    let address = fleet.server.address();
    let other = |from: &str, to: &str| address.replace(from, to);
    let ask = |url: Option<&str>, words: &[&str]| {
        let mut command = fleet.place.haft(words);
        url.map(|url| command.args(["--fleet", url]));
        let ran = Ran::from(command.output().unwrap());
        (ran.code, ran.err)
    };
    let worker = ["worker", "--model", script.as_str()];
    let table = [
        (None, 2, "no fleet database given"),
        (Some("http://example.org".to_owned()), 2, "expected `postgres://USER@HOST/DATABASE`"),
        (Some("postgres://haft@127.0.0.1:1/haft".to_owned()), 1, "cannot reach PostgreSQL at 127.0.0.1:1"),
        (Some(other("haft@", "stranger@")), 2, "refuses the connection: role \"stranger\" does not exist"),
        (Some(other("/postgres?", "/template1?")), 2, "create them with `haft fleet migrate`"),
    ];
    for (url, code, expected) in &table {
        for words in [&worker[..], &["fleet", "status"]] {
            let (ended, told) = ask(url.as_deref(), words);
            assert!(ended == *code && told.contains(expected), "{url:?} {words:?}: {ended} {told}");
        }
    }
    fleet.server.sql("INSERT INTO migrations VALUES (10, 'later')");
    for words in [&worker[..], &["fleet", "migrate"], &["serve", "--listen", "127.0.0.1:0"]] {
        let (code, told) = ask(Some(&address), words);
        assert!(
            code == 2
                && told.contains(&format!("version 10, and this haft supports at most version {TABLES}")),
            "{words:?}: {told}"
        );
    }
    fleet.server.sql("DELETE FROM migrations WHERE version = 10");
    for (words, expected) in [
        (
            &["fleet", "add", "builder", "x", "--owner", "missing"][..],
            "there is no owner `missing`; create it",
        ),
        (&["fleet", "add", "missing", "x"], "there is no agent `missing`"),
        (&["fleet", "retry", "x"], "the fleet has no job `x`"),
        (&["fleet", "show", "x"], "the fleet has no job `x`"),
        (&["fleet", "pause", "missing"], "the fleet has no owner `missing`"),
        (&["fleet", "resume"], "the fleet is not paused"),
        (&["fleet", "owner", "a b"], "`a b` cannot be an owner"),
        (&["worker", "--name", "a\nb"], "`a\\nb` cannot be the name of a worker"),
    ] {
        let (code, told) = ask(Some(&address), words);
        assert!(code == 2 && told.contains(expected), "{words:?}: {code} {told}");
    }
}

// H-103
#[test]
fn a_worker_that_drains_takes_jobs_again_if_that_is_undone() {
    let Some(fleet) = Fleet::new() else { return };
    let script = fleet.place.script("hangs.jsonl", &[json!({"hang": true})]);
    let mut worker = fleet.worker(&script, &["--workers", "2", "--lease", "2"]);
    let first = fleet.add();
    let is_running = |id: &str| (fleet.job(id, "status") == "running").then_some(());
    fleet.wait_for("the first job is begun", || is_running(&first));
    assert_eq!(fleet.run(&["fleet", "drain", "--undo"]).code, 2);
    assert_eq!(fleet.run(&["fleet", "drain"]).code, 0);
    let second = fleet.add();
    // Longer than the time between two signs of life.
    std::thread::sleep(Duration::from_millis(1_000));
    assert_eq!(fleet.job(&second, "status, attempts"), "pending|0");
    assert_eq!(fleet.run(&["fleet", "drain", "--undo"]).out, "1 worker takes jobs again\n");
    fleet.wait_for("the second job is begun", || is_running(&second));
    end(&mut worker);
}

#[test]
fn what_unconfined_commands_changed_before_a_worker_died_is_told_to_the_model() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.add();
    let make = json!({"calls": [{"name": "bash", "arguments": {"command": "echo one > made.txt"}}]});
    let script = fleet.place.script("first.jsonl", &[count(), make.clone(), json!({"hang": true})]);
    let mut first = fleet.worker(&script, &["--lease", "1", "--sandbox", "off"]);
    let ended =
        format!("SELECT count(*) FROM entries WHERE job = '{id}' AND line LIKE '%\"type\":\"tool_ended\"%'");
    fleet.wait_for("both calls have ended", || (fleet.number(&ended) == 2).then_some(()));
    first.kill().unwrap();
    first.wait().unwrap();
    let look = json!({"calls": [{"name": "bash", "arguments": {"command": "ls; cat counter.txt"}}]});
    let script = fleet.place.script("second.jsonl", &[count(), make, look, publish(), say()]);
    let mut second = fleet.worker(&script, &["--lease", "2", "--sandbox", "off"]);
    fleet.wait_until_completed(&id);
    end(&mut second);
    let entries = |text: &str| {
        let statement = format!("SELECT seq FROM entries WHERE job = '{id}' AND line LIKE '%{text}%'");
        let found = fleet.server.sql(&statement);
        found.lines().map(|seq| seq.parse().unwrap()).collect::<Vec<usize>>()
    };
    let told = entries("\"type\":\"prompted\"%missing unless it was committed:%`bash` echo one > made.txt");
    // Before the model's next reply.
    let replied = entries("\"type\":\"replied\"%ls; cat counter.txt");
    assert!(told.len() == 1 && told < replied, "{told:?} {replied:?}: {}", fleet.log());
    // The file is gone, and the recorded change is there.
    assert_eq!(entries("\"type\":\"tool_ended\"%counter.txt\\\\n+end").len(), 1, "{}", fleet.log());
    assert_eq!(entries("missing unless it was committed:%`edit`"), Vec::<usize>::new());
}
