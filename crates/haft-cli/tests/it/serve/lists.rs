//! Lists of `haft serve`, with and without a fleet: in pages, and by how things stand.
use crate::kit::{Place, fleet::Fleet, serving::Serving};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The IDs of all pages of a list, and how many pages there were.
fn paged(server: &Serving, path: &str, (rows, id): (&str, &str), cursor: &str) -> (Vec<String>, usize) {
    let (mut all, mut next, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let answered = server.ask(&format!("GET {path}{next}"), "");
        assert_eq!(answered.status, 200, "{path}: {answered:?}");
        let page = answered.json();
        let found = page[rows].as_array().unwrap();
        all.extend(found.iter().map(|row| row[id].as_str().unwrap().to_owned()));
        pages += 1;
        match page["next"].as_str() {
            Some(last) => next = format!("&{cursor}={last}"),
            None => return (all, pages),
        }
    }
}

fn newest_first(ids: &[String]) -> Vec<String> {
    let mut ids = ids.to_vec();
    ids.sort_by(|a, b| b.cmp(a));
    ids
}

fn until(what: &str, look: impl Fn() -> bool) {
    let begun = Instant::now();
    while !look() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sessions_and_jobs_are_listed_in_pages_and_by_how_they_stand() {
    let place = Place::new();
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "a\n"}}]});
    let model = place.script("model", &[write]);
    let server = Serving::start(&place, &["--model", &model, "--workers", "1"]);
    let sessions: Vec<String> = (0..6).map(|_| server.session("{}")).collect();
    let asking = &sessions[2];
    server.ask(&format!("POST /v1/sessions/{asking}/prompt"), r#"{"text":"write"}"#);
    let list = ("sessions", "id");
    for (limit, cursor, pages) in [(1, "after", 6), (3, "cursor", 2), (5, "behind", 2), (6, "after", 1)] {
        let found = paged(&server, &format!("/v1/sessions?limit={limit}"), list, cursor);
        assert_eq!(found, (newest_first(&sessions), pages), "{limit} by {cursor}");
    }
    let of = |status: &str| paged(&server, &format!("/v1/sessions?limit=2&status={status}"), list, "after").0;
    until("it asks", || of("asking") == [asking.clone()]);
    let others: Vec<String> = sessions.iter().filter(|id| *id != asking).cloned().collect();
    assert_eq!(of("idle"), newest_first(&others));
    assert_eq!(of("working"), [""; 0]);

    // The first job waits for a person, so that the others run meanwhile, and one of them is stopped.
    let job = || {
        let made = server.ask("POST /v1/jobs", r#"{"kind":"triager","description":"look"}"#).json();
        made["job"].as_str().unwrap().to_owned()
    };
    let jobs: Vec<String> = (0..5).map(|_| job()).collect();
    let of = |query: &str| paged(&server, &format!("/v1/jobs?limit=2{query}"), ("jobs", "job"), "after");
    assert_eq!(of(""), (newest_first(&jobs), 3));
    // What still runs would stand otherwise a moment later.
    let none = |status: &str| of(&format!("&status={status}")).0.is_empty();
    until("all wait or have ended", || none("pending") && none("running"));
    for status in ["running", "waiting", "completed", "failed", "cancelled"] {
        let found = of(&format!("&status={status}")).0;
        let stand = |id: &String| server.ask(&format!("GET /v1/jobs/{id}"), "").json()["status"].clone();
        assert!(found.iter().all(|id| stand(id) == json!(status)), "{status}: {found:?}");
    }
    for path in ["/v1/jobs?status=done", "/v1/sessions?status=pending", "/v1/jobs?limit=many"] {
        let refused = server.ask(&format!("GET {path}"), "");
        assert_eq!((refused.status, refused.error().as_str()), (400, "invalid_request"), "{path}");
    }
    let described = server.ask("GET /openapi.json", "").json();
    for path in ["/v1/jobs", "/v1/sessions"] {
        let told: Vec<&Value> =
            described["paths"][path]["get"]["parameters"].as_array().unwrap().iter().collect();
        for name in ["limit", "after", "status"] {
            assert!(told.iter().any(|parameter| parameter["name"] == name), "{path}: {name}");
        }
    }
}

#[test]
fn an_unreadable_schedule_file_does_not_hide_the_others() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Done."})]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let add = ["jobs", "add", "--kind", "triager", "--description", "each day", "--every", "1d"];
    let added = place.run(&add);
    assert_eq!(added.code, 0, "{added:?}");
    std::fs::write(place.path().join("home/schedule/broken.json"), "{").unwrap();
    for _ in 0..2 {
        let listed = server.ask("GET /v1/schedules", "");
        let schedules = &listed.json()["schedules"];
        assert_eq!(schedules[0]["description"], "each day", "{listed:?}");
        assert_eq!(schedules.as_array().unwrap().len(), 1, "{listed:?}");
    }
    server.stop();
    let said: Vec<String> =
        std::iter::from_fn(|| Some(server.line()).filter(|line| !line.is_empty())).collect();
    let warned = said.iter().filter(|line| line.contains("schedule/broken.json")).count();
    assert_eq!(warned, 1, "{said:?}");
    let listed = place.run(&["jobs", "list"]);
    assert!(listed.code == 0 && listed.out.contains("each day"), "{listed:?}");
    assert!(listed.err.contains("schedule/broken.json"), "{listed:?}");
}

/// Jobs of this agent need nothing of a repository.
const KEEPER: &str = "---\nname: keeper\ndescription: Keeps a log\ntools: [write]\n---\nYou keep a log.\n";

#[test]
fn a_job_that_waits_for_a_person_leaves_its_place_to_others() {
    let place = Place::new();
    let agents = place.path().join("person/.config/haft/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("keeper.md"), KEEPER).unwrap();
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "log.txt", "content": "kept\n"}}]});
    let model = place.script("model", &[write, json!({"say": "It is kept."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask", "--workers", "1"]);
    let jobs: Vec<String> = (0..3)
        .map(|_| {
            let made = server.ask("POST /v1/jobs", r#"{"kind":"keeper","description":"keep"}"#).json();
            made["job"].as_str().unwrap().to_owned()
        })
        .collect();
    let of = |status: &str| {
        paged(&server, &format!("/v1/jobs?limit=5&status={status}"), ("jobs", "job"), "after").0
    };
    until("all of them wait", || of("waiting").len() == 3);
    let asked = server.ask(&format!("GET /v1/sessions/{}/asked", jobs[1]), "").json();
    let answer = json!({"call": asked[0]["call"], "answer": "once"}).to_string();
    assert_eq!(server.ask(&format!("POST /v1/sessions/{}/answer", jobs[1]), &answer).status, 202);
    until("one of them ends", || of("waiting").len() == 2 && of("running").is_empty());
    assert_eq!(place.read("log.txt").as_deref(), Some("kept\n"));
}

#[test]
fn jobs_of_a_fleet_are_listed_in_pages_and_by_how_they_stand() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    fleet.run(&["fleet", "owner", "ann"]);
    // Many of them at the same moment.
    fleet.server.sql(
        "INSERT INTO jobs (id, owner, kind, title, status, worker, leased_until, is_asking, made) \
         SELECT 'job-' || lpad(n::text, 4, '0'), CASE WHEN n % 10 = 0 THEN 'ann' ELSE 'admin' END, 'builder', 'x', \
           CASE n % 7 WHEN 0 THEN 'running' WHEN 1 THEN 'running' WHEN 2 THEN 'dead' WHEN 3 THEN 'failed' \
             WHEN 4 THEN 'completed' WHEN 5 THEN 'cancelled' ELSE 'pending' END, \
           'w', now() + interval '1 hour', n % 7 = 1, now() - (n / 100) * interval '1 second' \
         FROM generate_series(1, 1400) n",
    );
    let of = |query: &str| paged(&server, &format!("/v1/jobs?{query}"), ("jobs", "job"), "after");
    let (mut all, pages) = of("limit=500");
    assert_eq!((all.len(), pages), (1400, 3));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 1400);
    assert_eq!(server.ask("GET /v1/jobs", "").json()["jobs"].as_array().unwrap().len(), 50);
    let table = [("running", 200), ("waiting", 200), ("failed", 400), ("completed", 200), ("pending", 200)];
    for (status, count) in table {
        assert_eq!(of(&format!("limit=70&status={status}")).0.len(), count, "{status}");
    }
    for path in ["/v1/jobs?status=dead", "/v1/jobs?limit=-1"] {
        assert_eq!(server.ask(&format!("GET {path}"), "").status, 400, "{path}");
    }
    assert_eq!(server.ask("GET /v1/jobs?after=missing", "").status, 404);
}
