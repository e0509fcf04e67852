//! `haft fleet …` lists, shows, follows, stops and pauses jobs.
use crate::kit::{
    fleet::{Fleet, count, end, publish, say},
    serving::Serving,
};
use serde_json::{Value, json};
use std::{process::Stdio, time::Duration};

fn jobs(fleet: &Fleet, more: &[&str]) -> Vec<Value> {
    let ran = fleet.run(&[&["fleet", "list", "--json"], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()
}

fn ids(jobs: &[Value]) -> Vec<&str> {
    jobs.iter().map(|job| job["job"].as_str().unwrap()).collect()
}

#[test]
fn jobs_are_listed_shown_and_stopped() {
    let Some(fleet) = Fleet::new() else { return };
    assert_eq!(fleet.run(&["fleet", "list"]).out, "no such jobs: `haft fleet add` queues one\n");
    let (first, second) = (fleet.add(), fleet.add());
    assert_eq!(ids(&jobs(&fleet, &[])), [&second, &first], "the newest is first");
    assert_eq!(ids(&jobs(&fleet, &["--limit", "1"])), [&second]);
    assert_eq!(jobs(&fleet, &["--owner", "other"]), [] as [Value; 0]);
    let shown = fleet.run(&["fleet", "show", &first[..first.len() - 1], "--json"]);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(
        (&shown["job"], &shown["status"], &shown["kind"], &shown["description"], &shown["owner"]),
        (&json!(first), &json!("pending"), &json!("builder"), &json!("Count once"), &json!("admin"))
    );
    // A prefix of both.
    let several = fleet.run(&["fleet", "cancel", &first[..4]]);
    assert!(several.code == 2 && several.err.contains("several jobs begin with"), "{several:?}");
    let cancelled = fleet.run(&["fleet", "cancel", &first, "--json"]);
    assert_eq!(cancelled.out.trim(), json!({"job": first, "done": "canceled"}).to_string());
    assert_eq!(ids(&jobs(&fleet, &["--status", "cancelled"])), [&first]);
    let again = fleet.run(&["fleet", "cancel", &first]);
    assert!(again.code == 2 && again.err.contains("has ended: it is cancelled"), "{again:?}");
    assert_eq!(fleet.run(&["fleet", "retry", &first]).out, format!("requeued {first}\n"));
    assert_eq!(jobs(&fleet, &["--status", "pending"]).len(), 2);
    let top = fleet.run(&["fleet", "top"]);
    assert!(top.out.contains("no workers") && top.out.contains("Count once"), "{top:?}");
}

#[test]
fn a_dead_job_that_is_canceled_is_dead_no_more() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let metric = |count: usize| {
        let metrics = server.ask("GET /metrics", "").body;
        assert!(metrics.contains(&format!("haft_fleet_jobs{{status=\"dead\"}} {count}\n")), "{metrics}");
    };
    let (first, second) = (fleet.add(), fleet.add());
    fleet.server.sql("UPDATE jobs SET status = 'dead', reason = 'git failed', attempts = 5, ended = now()");
    metric(2);
    let cancelled = fleet.run(&["fleet", "cancel", &first]);
    assert_eq!((cancelled.code, cancelled.out), (0, format!("canceled {first}\n")));
    let cancelled = server.ask(&format!("POST /v1/jobs/{second}/cancel"), "");
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (202, &json!("cancelled")), "{cancelled:?}");
    metric(0);
    assert!(!fleet.run(&["fleet", "status"]).out.contains("git failed"));
    let listed = jobs(&fleet, &["--status", "cancelled"]);
    assert_eq!(ids(&listed), [&second, &first]);
    assert_eq!(listed[0]["reason"], "stopped by a person; the last attempt ended: git failed");
    assert_eq!(server.ask(&format!("POST /v1/jobs/{second}/cancel"), "").status, 409);
    assert_eq!(fleet.run(&["fleet", "retry", &second]).out, format!("requeued {second}\n"));
    // Why it ended is over as well.
    let pending = jobs(&fleet, &["--status", "pending"]);
    assert!(!pending[0]["reason"].to_string().contains("git failed"), "{pending:?}");
}

#[test]
fn a_task_of_several_lines_is_shown_whole_and_listed_by_its_first_line() {
    let Some(fleet) = Fleet::new() else { return };
    let task = "Count once.\nThen write\tthe number down.";
    let id = fleet.run(&["fleet", "add", "builder", task]).out.trim().to_owned();
    assert_eq!(jobs(&fleet, &[])[0]["description"], "Count once.");
    let shown: Value = serde_json::from_str(&fleet.run(&["fleet", "show", &id, "--json"]).out).unwrap();
    assert_eq!(shown["description"], task);
    let shown = fleet.run(&["fleet", "show", &id]).out;
    let lines = format!("description  Count once.\n{:13}Then write\tthe number down.\nowner", "");
    assert!(shown.contains(&lines), "{shown}");
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let asked = |path: &str| server.ask(&format!("GET {path}"), "").json();
    assert_eq!(asked(&format!("/v1/jobs/{id}"))["description"], task);
    assert_eq!(asked("/v1/jobs")["jobs"][0]["description"], "Count once.");

    // Why the attempt before ended is not why this one stands where it does.
    fleet.server.sql(
        "UPDATE jobs SET status = 'running', worker = 'w', attempts = 2, reason = 'git failed:\n  no space', \
           leased_until = now() + interval '1 hour'",
    );
    let reason = "the attempt before ended: git failed:\n  no space";
    assert_eq!(asked(&format!("/v1/jobs/{id}"))["progress"], reason);
    fleet.server.sql("UPDATE jobs SET status = 'dead', ended = now()");
    let status = fleet.run(&["fleet", "status"]).out;
    assert!(status.ends_with("Count once.  git failed:   no space\n"), "{status}");
}

#[test]
fn a_journal_is_followed_until_the_job_ends() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.add();
    let before = fleet.run(&["fleet", "logs", &id]);
    assert_eq!(before.recorded(), ["session_opened"]);
    let follower = fleet.haft(&["fleet", "logs", "--follow", &id]).stdout(Stdio::piped()).spawn().unwrap();
    let script = fleet.place.script("all.jsonl", &[count(), publish(), say()]);
    let mut worker = fleet.worker(&script, &["--name", "first"]);
    let followed = follower.wait_with_output().unwrap();
    fleet.wait_until_completed(&id);
    end(&mut worker);
    let after = fleet.run(&["fleet", "logs", &id]);
    assert_eq!(String::from_utf8(followed.stdout).unwrap(), after.out, "every entry, once");
    assert!(after.recorded().contains(&"concluded".to_owned()), "{:?}", after.recorded());
    let job = &jobs(&fleet, &["--status", "completed"])[0];
    assert_eq!((&job["branch"], &job["attempts"]), (&json!(format!("haft/{id}")), &json!(1)));
    // A worker that has ended is named by its jobs, and is no worker of the fleet.
    assert_eq!(job["worker"], "first");
    assert!(fleet.run(&["fleet", "top"]).out.contains("no workers"));
}

#[test]
fn no_job_of_a_paused_owner_or_fleet_begins() {
    let Some(fleet) = Fleet::new() else { return };
    for owner in ["ann", "bob"] {
        assert_eq!(fleet.run(&["fleet", "owner", owner]).code, 0);
    }
    let add = |owner: &str| {
        let ran = fleet.run(&["fleet", "add", "builder", "Say it", "--owner", owner]);
        ran.out.trim().to_owned()
    };
    assert_eq!(fleet.run(&["fleet", "pause", "ann"]).out, "paused `ann`; running jobs continue\n");
    let (of_ann, of_bob) = (add("ann"), add("bob"));
    let done = json!({"say": "It is said."});
    let script = fleet.place.script("say.jsonl", &[done.clone(), done.clone(), done.clone(), done]);
    let mut worker = fleet.worker(&script, &[]);
    let over = |id: &str| (!["pending", "running"].contains(&fleet.job(id, "status").as_str())).then_some(());
    fleet.wait_for("the other owner's job is over", || over(&of_bob));
    let status: Value = serde_json::from_str(&fleet.run(&["fleet", "status", "--json"]).out).unwrap();
    assert_eq!(status["paused"], json!({"fleet": false, "owners": ["ann"], "queues": []}));
    // All of them, twice: that is no error.
    for _ in 0..2 {
        assert_eq!(fleet.run(&["fleet", "pause"]).code, 0);
    }
    let later = add("bob");
    std::thread::sleep(Duration::from_secs(2));
    for id in [&of_ann, &later] {
        assert_eq!(fleet.job(id, "status, attempts"), "pending|0");
    }
    let status = fleet.run(&["fleet", "status"]).out;
    for expected in
        ["paused: the fleet; `haft fleet resume` ends", "paused: `ann`; `haft fleet resume ann` ends"]
    {
        assert!(status.contains(expected), "{expected}: {status}");
    }
    assert!(!status.contains("oldest runnable job"), "{status}");
    let shown = fleet.run(&["fleet", "show", &later]).out;
    assert!(shown.contains("the fleet is paused") && shown.contains("\nadded "), "{shown}");
    let owners: Value = serde_json::from_str(&fleet.run(&["fleet", "owner", "--json"]).out).unwrap();
    assert_eq!(owners[1], json!({"owner": "bob", "has_token": true, "jobs": 2}), "{owners}");
    assert_eq!(fleet.run(&["fleet", "resume"]).out, "resumed the fleet\n");
    fleet.wait_for("a later job is over", || over(&later));
    let listed = fleet.run(&["fleet", "list", "--status", "pending"]).out;
    assert!(listed.contains("the owner `ann` is paused"), "{listed}");
    assert_eq!(fleet.job(&of_ann, "attempts"), "0");
    assert_eq!(fleet.run(&["fleet", "resume", "ann"]).out, "resumed `ann`\n");
    fleet.wait_for("the paused job is over", || over(&of_ann));
    end(&mut worker);
}

// H-105
#[test]
fn jobs_that_ended_long_ago_are_removed_with_their_journals() {
    let Some(fleet) = Fleet::new() else { return };
    let script = fleet.place.script("all.jsonl", &[count(), publish(), say()]);
    let mut worker = fleet.worker(&script, &[]);
    let [old, new] = [fleet.add(), fleet.add()];
    fleet.wait_until_completed(&old);
    fleet.wait_until_completed(&new);
    end(&mut worker);
    let pending = fleet.add();
    let ago = |id: &str, what: &str| {
        fleet.server.sql(&format!("UPDATE jobs SET {what} = {what} - interval '31 days' WHERE id = '{id}'"));
    };
    ago(&old, "ended");
    ago(&pending, "made");
    let prune = |words: &[&str]| fleet.run(&[&["fleet", "prune", "--days", "30", "--json"], words].concat());
    let tried: Value = serde_json::from_str(&prune(&["--dry-run"]).out).unwrap();
    assert_eq!((&tried["jobs"], &tried["dry_run"]), (&json!(1), &json!(true)));
    assert!(tried["entries"].as_u64().unwrap() > 5 && tried["contents"].as_u64().unwrap() > 0, "{tried}");
    assert_eq!(fleet.number("SELECT count(*) FROM jobs"), 3);
    let removed: Value = serde_json::from_str(&prune(&[]).out).unwrap();
    let same = |object: &Value| [&object["jobs"], &object["entries"], &object["contents"]].map(Value::clone);
    assert_eq!(same(&removed), same(&tried));
    for table in ["jobs WHERE id", "entries WHERE job", "contents WHERE job"] {
        assert_eq!(fleet.number(&format!("SELECT count(*) FROM {table} = '{old}'")), 0, "{table}");
    }
    assert!(fleet.number(&format!("SELECT count(*) FROM entries WHERE job = '{new}'")) > 5);
    assert_eq!(fleet.run(&["fleet", "show", &old]).code, 2);
    assert_eq!(fleet.run(&["fleet", "prune", "--days", "0"]).out.split(',').next(), Some("removed 1 job"));
    assert_eq!(fleet.job(&pending, "status"), "pending");
}
