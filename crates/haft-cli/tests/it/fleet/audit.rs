//! `haft fleet audit`: who changed what, and that no line of it was changed.
use crate::kit::{
    Ran,
    fleet::{Fleet, count, end, publish, say},
    serving::Serving,
};
use serde_json::{Value, json};
use std::process::Stdio;

/// The lines of the log: user, role, what was asked, and the status.
fn log(ran: &Ran) -> Vec<(String, String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |line: Value| {
        let asked = format!("{} {}", text(&line["method"]), text(&line["path"]));
        (text(&line["user"]), text(&line["role"]), asked, line["status"].clone())
    };
    ran.events().into_iter().map(line).collect()
}

// H-110
#[test]
fn what_people_change_in_a_fleet_is_in_a_log_that_is_only_appended_to() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let admin = server.token.clone();
    fleet.run(&["fleet", "owner", "ann"]).out.trim().clone_into(&mut server.token);
    let made = server.ask("POST /v1/jobs", r#"{"description":"Count once"}"#);
    let job = made.json()["job"].as_str().unwrap().to_owned();
    assert_eq!(server.ask("GET /v1/jobs", "").status, 200, "what only reads is not logged");
    assert_eq!(server.ask("POST /v1/jobs/nothing/retry", "").status, 404);
    server.token = admin;
    assert_eq!(server.ask(&format!("POST /v1/jobs/{job}/cancel"), "").status, 202);
    let olga = |words: &[&str]| fleet.haft(words).env("USER", "olga").output().unwrap().status.code();
    assert_eq!(olga(&["fleet", "pause", "ann"]), Some(0));
    assert_eq!(olga(&["fleet", "cancel", "nothing"]), Some(2));
    assert_eq!(fleet.run(&["fleet", "list"]).code, 0);

    let read = fleet.run(&["fleet", "audit", "--json"]);
    assert_eq!(read.code, 0, "{read:?}");
    let lines = log(&read);
    let line = |user: &str, role: &str, asked: String, status: Value| {
        (user.to_owned(), role.to_owned(), asked, status)
    };
    let jobs = || "POST /v1/jobs".to_owned();
    let expected = [
        line("ann", "owner", jobs(), Value::Null),
        line("ann", "owner", jobs(), json!(201)),
        line("ann", "owner", "POST /v1/jobs/nothing/retry".to_owned(), Value::Null),
        line("ann", "owner", "POST /v1/jobs/nothing/retry".to_owned(), json!(404)),
        line("", "", format!("POST /v1/jobs/{job}/cancel"), Value::Null),
        line("", "", format!("POST /v1/jobs/{job}/cancel"), json!(202)),
        line("olga", "command line", "haft fleet pause ann".to_owned(), Value::Null),
        line("olga", "command line", "haft fleet pause ann".to_owned(), json!(0)),
        line("olga", "command line", "haft fleet cancel nothing".to_owned(), Value::Null),
        line("olga", "command line", "haft fleet cancel nothing".to_owned(), json!(2)),
    ];
    assert!(lines[1].2 == "haft fleet owner ann" && lines[2..] == expected, "{lines:?}");
    let of_ann = fleet.run(&["fleet", "audit", "--owner", "ann"]);
    assert!(of_ann.out.contains("POST /v1/jobs") && !of_ann.out.contains("olga"), "{of_ann:?}");

    // No program changes a line. Who may drop the trigger can, and that shows.
    for statement in ["DELETE FROM audit", "UPDATE audit SET line = line", "TRUNCATE audit"] {
        let refused = fleet.server.sql(&format!(
            "DO $$ BEGIN {statement}; EXCEPTION WHEN raise_exception THEN RAISE NOTICE 'kept'; END $$; \
             SELECT count(*) FROM audit"
        ));
        assert!(refused.ends_with("12"), "{statement}: {refused}");
    }
    fleet.server.sql(
        "ALTER TABLE audit DISABLE TRIGGER ALL; UPDATE audit SET line = replace(line, 'ann', 'bob') WHERE number = 3",
    );
    let changed = fleet.run(&["fleet", "audit"]);
    assert_eq!(changed.code, 5, "{changed:?}");
    assert!(changed.err.contains("the audit log of the fleet is not as it was written"), "{changed:?}");
}

// H-110
#[test]
fn nothing_is_done_that_cannot_be_logged() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    fleet.server.sql(
        "CREATE OR REPLACE FUNCTION append_to_audit(entry text) RETURNS void LANGUAGE plpgsql \
         AS $$ BEGIN RAISE EXCEPTION 'there is no room'; END $$",
    );
    let refused = server.ask("POST /v1/jobs", r#"{"description":"Count once"}"#);
    assert!(refused.status == 500 && refused.body.contains("there is no room"), "{refused:?}");
    let refused = fleet.run(&["fleet", "owner", "ann"]);
    assert!(refused.code != 0 && refused.err.contains("there is no room"), "{refused:?}");
    assert_eq!(fleet.server.sql("SELECT count(*) FROM jobs"), "0");
    assert_eq!(fleet.server.sql("SELECT count(*) FROM owners WHERE name = 'ann'"), "0");
}

// H-111
#[test]
fn an_owner_without_jobs_is_removed_with_all_that_lets_them_in() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    fleet.run(&["fleet", "owner", "ann"]).out.trim().clone_into(&mut server.token);
    for words in [
        &["limit", "ann", "--running", "1"][..],
        &["pause", "ann"],
        &["access", "--queue", "gpu", "--owner", "ann"],
    ] {
        let ran = fleet.run(&[&["fleet"], words].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let made = server.ask("POST /v1/jobs", r#"{"description":"Count once"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    let job = made.json()["job"].as_str().unwrap().to_owned();
    let refused = fleet.run(&["fleet", "owner", "ann", "--remove"]);
    assert!(refused.code == 2 && refused.err.contains("the fleet has 1 job of `ann`"), "{refused:?}");
    fleet.run(&["fleet", "cancel", &job]);
    fleet.server.sql("UPDATE jobs SET ended = now() - interval '2 days'");
    assert_eq!(fleet.run(&["fleet", "prune", "--days", "1"]).code, 0);
    let removed = fleet.run(&["fleet", "owner", "ann", "--remove"]);
    assert_eq!((removed.code, removed.out.as_str()), (0, "removed `ann`\n"), "{removed:?}");
    let left = "SELECT (SELECT count(*) FROM limits) + (SELECT count(*) FROM pauses) + (SELECT count(*) FROM queue_owners)";
    assert_eq!(fleet.server.sql(left), "0");
    let unknown = fleet.run(&["fleet", "owner", "ann", "--remove"]);
    assert!(unknown.code == 2 && unknown.err.contains("there is no owner `ann`"), "{unknown:?}");
    // A token is known for ten seconds.
    fleet
        .wait_for("the token holds no more", || (server.ask("GET /v1/jobs", "").status == 401).then_some(()));
}

// H-112
#[test]
fn a_job_that_no_worker_takes_says_so_and_an_answer_that_none_waits_for_is_refused() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let made = server.ask("POST /v1/jobs", r#"{"description":"Count once","queue":"gpu"}"#);
    let id = made.json()["job"].as_str().unwrap().to_owned();
    let progress = || server.ask(&format!("GET /v1/jobs/{id}"), "").json()["progress"].clone();
    assert_eq!(progress(), "no running worker takes jobs of the queue `gpu`");
    let script = fleet.place.script("steps.jsonl", &[count(), publish(), say()]);
    let words = ["worker", "--model", &script, "--permission", "ask", "--queue", "other"];
    let mut other = fleet.haft(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    fleet.wait_for("the other worker is there", || {
        (fleet.server.sql("SELECT count(*) FROM workers") == "1").then_some(())
    });
    assert_eq!(progress(), "no running worker takes jobs of the queue `gpu`");
    let words = [&words[..5], &["--queue", "gpu"]].concat();
    let mut worker = fleet.haft(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let asked = format!("GET /v1/sessions/{id}/asked");
    let call =
        fleet.wait_for("it asks", || server.ask(&asked, "").json()[0]["call"].as_str().map(str::to_owned));
    assert_eq!(progress(), "");
    let answer =
        |call: &str| server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#);
    let refused = answer("call_9_9");
    assert!(refused.status == 409 && refused.body.contains("no call `call_9_9` waits"), "{refused:?}");
    assert_eq!(answer(&call).status, 202);
    fleet.run(&["fleet", "cancel", &id]);
    end(&mut other);
    end(&mut worker);
}
