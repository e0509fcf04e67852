//! `haft fleet limit`: what the jobs of an owner may use together. Real workers, a real PostgreSQL.
use crate::kit::{
    fleet::{Fleet, count, end, publish, say},
    serving::Serving,
};
use serde_json::{Value, json};

/// A fleet with these owners.
fn with_owners(names: &[&str]) -> Option<Fleet> {
    let fleet = Fleet::new()?;
    for name in names {
        assert_eq!(fleet.run(&["fleet", "owner", name]).code, 0);
    }
    Some(fleet)
}

fn add(fleet: &Fleet, owner: &str) -> String {
    let remote = fleet.remote().display().to_string();
    let ran = fleet.run(&[
        "fleet",
        "add",
        "builder",
        "Count once",
        "--owner",
        owner,
        "--repository",
        remote.as_str(),
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out.trim().to_owned()
}

fn reason(fleet: &Fleet, id: &str) -> Value {
    let shown: Value = serde_json::from_str(&fleet.run(&["fleet", "show", id, "--json"]).out).unwrap();
    shown["reason"].clone()
}

// H-94
#[test]
fn an_owner_runs_as_many_jobs_as_its_limit_allows_and_others_go_on() {
    let Some(fleet) = with_owners(&["ann", "bob"]) else { return };
    let set = fleet.run(&["fleet", "limit", "ann", "--running", "1"]);
    assert!(set.code == 0 && set.out.contains("the owner `ann`"), "{set:?}");
    let (first, second, other) = (add(&fleet, "ann"), add(&fleet, "ann"), add(&fleet, "bob"));
    let script = fleet.place.script("hangs.jsonl", &[count(), json!({"hang": true})]);
    let mut worker = fleet.worker(&script, &["--workers", "4", "--lease", "2"]);
    let is = |id: &str, status: &str| (fleet.job(id, "status") == status).then_some(());
    for id in [&first, &other] {
        fleet.wait_for("it runs", || is(id, "running"));
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(fleet.job(&second, "status, attempts"), "pending|0");
    let why = "the owner `ann` is at its limit of 1 running jobs";
    assert_eq!(reason(&fleet, &second), why);
    for words in [&["fleet", "status"][..], &["fleet", "top"], &["fleet", "list"]] {
        let ran = fleet.run(words);
        assert!(ran.out.contains(why), "{words:?}: {ran:?}");
    }
    let limits = fleet.run(&["fleet", "limit", "ann", "--json"]).out;
    let expected = json!([{
        "owner": "ann", "queue": null, "max_running": 1, "max_pending": null, "budget_usd": null, "period": null,
        "running": 1, "pending": 1, "spent_usd": 0.0, "reached": why,
    }]);
    assert_eq!(serde_json::from_str::<Value>(&limits).unwrap(), expected);
    // Without the limit it begins.
    assert_eq!(fleet.run(&["fleet", "limit", "ann", "--running", "none"]).out, "no limits\n");
    fleet.wait_for("it runs", || is(&second, "running"));
    end(&mut worker);
}

/// A model with a price, whose first reply costs a dollar.
fn paid(fleet: &Fleet) -> String {
    let mut first = count();
    first["usage"] = json!({"input": 10, "output": 10_000});
    let (mut second, mut third) = (publish(), say());
    (second["usage"], third["usage"]) =
        (json!({"input": 10, "output": 1}), json!({"input": 10, "output": 1}));
    let script = fleet.place.script("paid.jsonl", &[first, second, third]);
    let price = "price = { input = 0.001, output = 100.0 }";
    fleet.place.configure(&format!("[models.\"{script}\"]\nwindow = 10000000\n{price}"));
    script
}

// H-94
#[test]
fn jobs_wait_while_their_owner_is_over_its_budget() {
    let Some(fleet) = with_owners(&["ann"]) else { return };
    let script = paid(&fleet);
    let set = fleet.run(&["fleet", "limit", "ann", "--budget", "1.5", "--per", "week"]);
    assert!(set.code == 0 && set.out.contains("$0.00 of $1.50 a week"), "{set:?}");
    let jobs = [add(&fleet, "ann"), add(&fleet, "ann"), add(&fleet, "ann")];
    let mut worker = fleet.worker(&script, &["--workers", "1"]);
    let is_over = |id: &str| (fleet.job(id, "ended IS NOT NULL") == "t").then_some(());
    for id in &jobs[..2] {
        fleet.wait_for("it is over", || is_over(id));
    }
    // The second one had half a dollar.
    let ends = |id: &str| fleet.run(&["fleet", "logs", id]).out.contains("\"outcome\":\"budget\"");
    assert_eq!([ends(&jobs[0]), ends(&jobs[1])], [false, true], "{}", fleet.log());
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(fleet.job(&jobs[2], "status, attempts"), "pending|0");
    let why = "the owner `ann` is over its budget of $1.50 a week";
    assert_eq!(reason(&fleet, &jobs[2]), why);
    assert!(fleet.run(&["fleet", "status"]).out.contains(&format!("pending jobs wait: {why}")));
    let spent: f64 = fleet.server.sql("SELECT sum(usd) FROM spending").parse().unwrap();
    assert!((1.5..=2.1).contains(&spent), "{spent}");
    assert_eq!(fleet.run(&["fleet", "limit", "ann", "--budget", "9"]).code, 0);
    fleet.wait_for("it goes on", || is_over(&jobs[2]));
    assert_eq!(fleet.job(&jobs[2], "status"), "completed");
    end(&mut worker);
}

#[test]
fn a_job_waits_where_the_rest_of_a_budget_is_too_little_for_its_first_request() {
    let Some(fleet) = with_owners(&["ann"]) else { return };
    // A cent is no reply.
    let script = paid(&fleet);
    fleet
        .server
        .sql("INSERT INTO spending VALUES ('ann', 'default', (now() AT TIME ZONE 'UTC')::date, 0.99)");
    assert_eq!(fleet.run(&["fleet", "limit", "ann", "--budget", "1", "--per", "month"]).code, 0);
    let jobs = [(); 3].map(|()| add(&fleet, "ann"));
    let mut worker = fleet.worker(&script, &["--workers", "1"]);
    for id in &jobs {
        let is_back = || (fleet.job(id, "status = 'pending' AND token = 2") == "t").then_some(());
        fleet.wait_for("it comes back", is_back);
        assert_eq!(fleet.job(id, "attempts, run_after > now()"), "0|t", "{}", fleet.log());
        let why = "the budgets of its owner and its queue leave $0.0100, too little for its first request";
        assert_eq!(reason(&fleet, id), why);
    }
    assert_eq!(fleet.run(&["fleet", "limit", "ann", "--budget", "9"]).code, 0);
    for id in &jobs {
        fleet.wait_until_completed(id);
        assert_eq!(fleet.job(id, "attempts"), "1");
    }
    end(&mut worker);
}

// H-94
#[test]
fn a_job_beyond_what_may_be_pending_is_refused() {
    let Some(fleet) = with_owners(&["bob"]) else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    fleet.run(&["fleet", "owner", "ann"]).out.trim().clone_into(&mut server.token);
    assert_eq!(fleet.run(&["fleet", "limit", "ann", "--pending", "1"]).code, 0);
    let job = r#"{"description":"Count once"}"#;
    assert_eq!(server.ask("POST /v1/jobs", job).status, 201);
    let refused = server.ask("POST /v1/jobs", job);
    let why = "cannot queue the job: the owner `ann` is at its limit of 1 pending jobs";
    assert_eq!(
        (refused.status, refused.error().as_str(), &refused.json()["error"]["message"]),
        (429, "rate_limit", &json!(why)),
        "{refused:?}"
    );
    let ran = fleet.run(&["fleet", "add", "builder", "Count once", "--owner", "ann"]);
    assert!(ran.code == 2 && ran.err.contains(why) && ran.out.is_empty(), "{ran:?}");
    add(&fleet, "bob");
    assert_eq!(fleet.number("SELECT count(*) FROM jobs"), 2);
}

#[test]
fn what_cannot_be_a_limit_is_refused() {
    let Some(fleet) = Fleet::new() else { return };
    for (words, expected) in [
        (&["missing", "--running", "1"][..], "there is no owner `missing`; create it"),
        (&["--running", "1"], "no owner and no queue is named"),
        (&["--queue", "a b", "--running", "1"], "`a b` cannot be a queue"),
        (&["admin", "--running", "-1"], "unexpected argument"),
        (&["admin", "--pending", "few"], "expected a number of jobs, or `none`"),
        (&["admin", "--budget", "NaN"], "expected an amount in US dollars, or `none`"),
        (&["admin", "--budget", "1", "--per", "year"], "expected `day`, `week` or `month`"),
        (&["admin", "--queue", "gpu"], "cannot be used with"),
    ] {
        let ran = fleet.run(&[&["fleet", "limit"], words].concat());
        assert!(ran.code == 2 && ran.err.contains(expected), "{words:?}: {ran:?}");
    }
    assert_eq!(fleet.run(&["fleet", "limit"]).out, "no limits\n");
}
