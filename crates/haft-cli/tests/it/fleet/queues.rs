//! Queues: which workers take a job. Real workers, a real PostgreSQL.
use crate::kit::{
    fleet::{Fleet, count, end, publish, say},
    serving::Serving,
};
use serde_json::{Value, json};

fn add(fleet: &Fleet, more: &[&str]) -> String {
    let remote = fleet.remote().display().to_string();
    let words = ["fleet", "add", "builder", "Count once", "--repository", remote.as_str()];
    let ran = fleet.run(&[&words, more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.trim().to_owned()
}

// H-95
#[test]
fn a_worker_of_a_queue_takes_its_jobs_alone() {
    let Some(fleet) = Fleet::new() else { return };
    let (usual, gpu) = (add(&fleet, &[]), add(&fleet, &["--queue", "gpu"]));
    let script = fleet.place.script("all.jsonl", &[count(), publish(), say()]);
    let mut worker = fleet.worker(&script, &["--queue", "gpu", "--queue", "huge", "--name", "big"]);
    fleet.wait_until_completed(&gpu);
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let made = server.ask("POST /v1/jobs", r#"{"description":"Count once","queue":"huge"}"#);
    assert!(made.status == 201 && made.json()["queue"] == "huge", "{made:?}");
    let huge = made.json()["job"].as_str().unwrap().to_owned();
    fleet.wait_for("it is begun", || (fleet.job(&huge, "attempts") != "0").then_some(()));
    assert_eq!(fleet.job(&usual, "status, attempts"), "pending|0");
    let status: Value = serde_json::from_str(&fleet.run(&["fleet", "status", "--json"]).out).unwrap();
    assert_eq!(status["workers"][0]["queues"], json!(["gpu", "huge"]), "{status}");
    let counts = status["jobs"].as_array().unwrap();
    let expected = json!({"owner": "admin", "queue": "default", "status": "pending", "count": 1});
    assert!(counts.contains(&expected), "{status}");
    let listed = fleet.run(&["fleet", "list", "--queue", "gpu", "--json"]).events();
    assert_eq!((listed.len(), &listed[0]["job"]), (1, &json!(gpu)));
    end(&mut worker);
    // One that names no queue takes all.
    let mut worker = fleet.worker(&script, &[]);
    fleet.wait_until_completed(&usual);
    end(&mut worker);
    for words in [
        &["fleet", "add", "builder", "x", "--queue", "a b"][..],
        &["worker", "--model", &script, "--queue", ""],
    ] {
        let ran = fleet.run(words);
        assert!(ran.code == 2 && ran.err.contains("cannot be a queue"), "{words:?}: {ran:?}");
    }
}

// H-95
#[test]
fn a_queue_is_limited_and_paused_by_itself() {
    let Some(fleet) = Fleet::new() else { return };
    assert_eq!(fleet.run(&["fleet", "limit", "--queue", "gpu", "--running", "1"]).code, 0);
    assert_eq!(
        fleet.run(&["fleet", "pause", "--queue", "slow"]).out,
        "paused the queue `slow`; running jobs continue\n"
    );
    let jobs = ["gpu", "gpu", "default", "slow"].map(|queue| add(&fleet, &["--queue", queue]));
    let script = fleet.place.script("hangs.jsonl", &[count(), json!({"hang": true})]);
    let mut worker = fleet.worker(&script, &["--workers", "4", "--lease", "2"]);
    let is_running = |id: &str| (fleet.job(id, "status") == "running").then_some(());
    for id in [&jobs[0], &jobs[2]] {
        fleet.wait_for("it runs", || is_running(id));
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    for id in [&jobs[1], &jobs[3]] {
        assert_eq!(fleet.job(id, "status, attempts"), "pending|0");
    }
    let status = fleet.run(&["fleet", "status"]).out;
    for expected in ["the queue `gpu` is at its limit of 1 running jobs", "paused: the queue `slow`"] {
        assert!(status.contains(expected), "{expected}: {status}");
    }
    assert_eq!(fleet.run(&["fleet", "resume", "--queue", "slow"]).out, "resumed the queue `slow`\n");
    fleet.wait_for("it runs", || is_running(&jobs[3]));
    assert_eq!(fleet.job(&jobs[1], "status, attempts"), "pending|0");
    end(&mut worker);
}

// H-104
#[test]
fn only_owners_with_access_give_jobs_to_a_queue() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let token = |name: &str| fleet.run(&["fleet", "owner", name]).out.trim().to_owned();
    let (ann, bob) = (token("ann"), token("bob"));
    let mut give = |token: &str, queue: &str| {
        token.clone_into(&mut server.token);
        server.ask("POST /v1/jobs", &json!({"description": "x", "queue": queue}).to_string())
    };
    let access = |words: &[&str]| fleet.run(&[&["fleet", "access"], words].concat());
    assert_eq!(access(&[]).out, "all owners may use all queues\n");
    assert_eq!(give(&bob, "web").status, 201);
    let set = access(&["--queue", "web", "--owner", "ann", "--json"]);
    assert_eq!(
        serde_json::from_str::<Value>(&set.out).unwrap(),
        json!([{"queue": "web", "owners": ["ann"]}])
    );
    let statuses =
        [(&ann, "web"), (&bob, "web"), (&bob, "default")].map(|(who, queue)| give(who, queue).status);
    assert_eq!(statuses, [201, 403, 201]);
    let refused = give(&bob, "web");
    assert!(refused.body.contains("the owner `bob` may not use the queue `web`"), "{refused:?}");
    // Nor is a job that is over run again there.
    let kept = fleet.server.sql("SELECT id FROM jobs WHERE owner = 'bob' AND queue = 'web'");
    fleet.server.sql(&format!("UPDATE jobs SET status = 'cancelled', ended = now() WHERE id = '{kept}'"));
    bob.clone_into(&mut server.token);
    let again = server.ask(&format!("POST /v1/jobs/{kept}/retry"), "");
    assert!(again.status == 403 && again.body.contains("may not use the queue `web`"), "{again:?}");
    assert_eq!(fleet.run(&["fleet", "retry", &kept]).code, 0);
    let mut give = |token: &str, queue: &str| {
        token.clone_into(&mut server.token);
        server.ask("POST /v1/jobs", &json!({"description": "x", "queue": queue}).to_string())
    };
    // The administrator may, but not in the name of bob; what bob gave before stays.
    add(&fleet, &["--queue", "web"]);
    let by_name = fleet.run(&["fleet", "add", "builder", "x", "--queue", "web", "--owner", "bob"]);
    assert!(by_name.code == 2 && by_name.err.contains("haft fleet access"), "{by_name:?}");
    assert_eq!(fleet.number("SELECT count(*) FROM jobs WHERE queue = 'web'"), 3);
    for (words, expected) in [
        (&["--queue", "web", "--owner", "carol"][..], "there is no owner `carol`; create it"),
        (&["--queue", "a b", "--owner", "ann"], "cannot be a queue"),
    ] {
        let ran = access(words);
        assert!(ran.code == 2 && ran.err.contains(expected), "{words:?}: {ran:?}");
    }
    assert_eq!(access(&["--queue", "web", "--all"]).out, "all owners may use the queue `web`\n");
    assert_eq!(give(&bob, "web").status, 201);
}
