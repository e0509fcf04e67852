//! `haft serve --fleet`: what it says of itself, as every `haft serve` does. The real binary, a real PostgreSQL.
use crate::kit::{
    fleet::{Fleet, count, end, publish, say},
    serving::Serving,
};
use serde_json::json;

/// Every route of the description, with the name of a job where one is wanted.
fn routes(server: &Serving, job: &str) -> Vec<String> {
    let described = server.ask("GET /openapi.json", "").json();
    let paths = described["paths"].as_object().into_iter().flatten();
    let routes = paths.flat_map(|(path, methods)| {
        let (path, methods) = (path.replace("{id}", job), methods.as_object().into_iter().flatten());
        methods.map(move |(method, _)| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

#[test]
fn a_server_of_a_fleet_describes_each_of_its_routes() {
    let Some(fleet) = Fleet::new() else { return };
    let id = fleet.add();
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let routes = routes(&server, &id);
    assert_eq!(routes.len(), 32, "{routes:?}");
    let is_public = |route: &&String| route.ends_with("/healthz") || route.ends_with("/readyz");
    for route in routes.iter().filter(|route| !route.ends_with("/events") && !is_public(route)) {
        let answered = server.ask(route, "");
        assert!(!answered.body.contains("there is no such route"), "{route}: {answered:?}");
        assert!(![405, 500].contains(&answered.status), "{route}: {answered:?}");
        let unknown = server.with(route, &[("host", &server.address)], "");
        assert_eq!(unknown.status, 401, "{route}: {unknown:?}");
    }
    let missing = server.ask("GET /v1/models", "");
    assert!(missing.status == 404 && missing.error() == "not_found", "{missing:?}");
    // The page holds nothing of anybody.
    for file in ["/", "/main.js", "/job.js", "/overview.js", "/worker.js"] {
        let page = server.with(&format!("GET {file}"), &[("host", &server.address)], "");
        assert!(page.status == 200 && page.head.contains("content-security-policy"), "{file}: {page:?}");
    }
}

#[test]
fn a_server_finds_the_database_of_its_fleet_in_the_environment() {
    let Some(fleet) = Fleet::new() else { return };
    let words = ["serve", "--fleet", "--listen", "127.0.0.1:0"];
    let server = Serving::begin(&fleet.place, fleet.haft(&words));
    let id = fleet.add();
    let listed = server.ask("GET /v1/jobs", "").json();
    assert_eq!(listed["jobs"][0]["job"], id, "{listed}");
    let without = fleet.place.run(&words);
    assert!(without.code == 2 && without.err.contains("no fleet database given"), "{without:?}");
}

#[test]
fn a_server_of_a_fleet_tells_figures_of_all_jobs_to_nobody_but_its_admin() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    fleet.add();
    let told = server.ask("GET /metrics", "");
    assert!(told.head.contains("content-type: application/openmetrics-text"), "{told:?}");
    for line in [
        "haft_fleet_jobs{status=\"pending\"} 1\n",
        "haft_fleet_jobs{status=\"waiting\"} 0\n",
        "haft_fleet_queue_jobs{queue=\"default\",status=\"pending\"} 1\n",
        "haft_fleet_workers 0.0\n",
        "haft_fleet_database_up 1\n",
        "# UNIT haft_fleet_oldest_waits_seconds seconds\n",
        "haft_http_connections ",
        "haft_event_streams 0\n",
    ] {
        assert!(told.body.contains(line), "{line}: {told:?}");
    }
    assert!(told.body.ends_with("# EOF\n") && !told.body.contains("haft_sessions_open"), "{told:?}");
    let admin = server.token.clone();
    fleet.run(&["fleet", "owner", "ann"]).out.trim().clone_into(&mut server.token);
    assert_eq!(server.ask("GET /v1/jobs", "").status, 200);
    let refused = server.ask("GET /metrics", "");
    assert!(
        refused.status == 403 && refused.body.contains("`ann` may not administer the fleet"),
        "{refused:?}"
    );
    server.token = admin;
    fleet.server.stop();
    let away = server.ask("GET /metrics", "");
    assert!(away.status == 200 && away.body.contains("haft_fleet_database_up 0\n"), "{away:?}");
    assert!(!away.body.contains("haft_fleet_jobs{"), "{away:?}");
    for unknown in ["haft_fleet_workers NaN\n", "haft_fleet_oldest_waits_seconds NaN\n"] {
        assert!(away.body.contains(unknown), "{unknown}: {away:?}");
    }
}

// H-113
#[test]
fn a_server_of_a_fleet_shows_an_overview_to_administrators_only() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let ann = fleet.run(&["fleet", "owner", "ann"]).out.trim().to_owned();
    let dead = fleet.add();
    fleet.server.sql("UPDATE jobs SET status = 'dead', reason = 'git failed', attempts = 5, ended = now()");
    let mut first = count();
    first["usage"] = json!({"input": 100, "output": 20});
    let script = fleet.place.script("done.jsonl", &[first, publish(), say()]);
    let mut worker = fleet.worker(&script, &["--queue", "default"]);
    fleet.wait_until_completed(&fleet.add());
    for words in [
        &["fleet", "add", "--owner", "ann", "--queue", "web", "builder", "Wait"][..],
        &["fleet", "limit", "ann", "--pending", "5", "--budget", "50", "--per", "week"],
        &["fleet", "pause", "--queue", "web"],
    ] {
        let ran = fleet.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
    }
    let mut told = server.ask("GET /v1/fleet", "").json();
    let one = told["workers"][0].take();
    assert!(one["seen_seconds_ago"].as_f64().is_some_and(|seconds| seconds < 60.0), "{one}");
    let known = json!({"draining": false, "gone": false, "running": 0, "queues": ["default"]});
    for (field, value) in known.as_object().into_iter().flatten() {
        assert_eq!(one[field], *value, "{field}: {one}");
    }
    told["workers"].take();
    let job = |owner: &str, queue: &str, status: &str| json!({"owner": owner, "queue": queue, "status": status, "count": 1});
    let limit = json!({
        "owner": "ann", "queue": null, "max_running": null, "max_pending": 5, "budget_usd": 50.0, "period": "week",
        "running": 0, "pending": 1, "spent_usd": 0.0, "reached": null,
    });
    assert_eq!(
        told,
        json!({
            "workers": null,
            "jobs": [job("admin", "default", "completed"), job("admin", "default", "dead"), job("ann", "web", "pending")],
            "dead": [{"job": dead, "owner": "admin", "queue": "default", "title": "Count once", "attempts": 5, "reason": "git failed"}],
            "paused": {"fleet": false, "owners": [], "queues": ["web"]},
            "limits": [limit],
            "costs": [],
            "oldest_waits_seconds": null,
        })
    );
    let retried = server.ask(&format!("POST /v1/jobs/{dead}/retry"), "{}");
    assert_eq!(retried.status, 202, "{retried:?}");
    fleet.wait_until_completed(&dead);
    assert_eq!(server.ask("GET /v1/fleet", "").json()["dead"], json!([]));
    // H-115
    let metrics = server.ask("GET /metrics", "").body;
    for line in [
        "haft_fleet_turns_total{queue=\"default\",outcome=\"finished\"} 2\n",
        "haft_fleet_tokens_total{queue=\"default\",kind=\"input\"} 200\n",
        "haft_fleet_tokens_total{queue=\"default\",kind=\"output\"} 40\n",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    end(&mut worker);
    server.token = ann;
    let refused = server.ask("GET /v1/fleet", "");
    assert!(refused.status == 403 && refused.error() == "forbidden", "{refused:?}");
    assert!(refused.body.contains("`ann` may not administer the fleet"), "{refused:?}");
}

// H-116
#[test]
fn administrators_pause_and_resume_over_http() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let ann = fleet.run(&["fleet", "owner", "ann"]).out.trim().to_owned();
    let paused = |fleet: bool, owners: &[&str], queues: &[&str]| json!({"fleet": fleet, "owners": owners, "queues": queues});
    let ask = |server: &Serving, path: &str| server.ask(&format!("POST /v1/fleet{path}"), "");
    for (path, after) in [
        ("/queues/web/pause", paused(false, &[], &["web"])),
        ("/queues/web/pause", paused(false, &[], &["web"])),
        ("/owners/ann/pause", paused(false, &["ann"], &["web"])),
        ("/pause", paused(true, &["ann"], &["web"])),
        ("/owners/ann/resume", paused(true, &[], &["web"])),
        ("/resume", paused(false, &[], &["web"])),
    ] {
        let answer = ask(&server, path);
        assert_eq!((answer.status, answer.json()), (200, after), "{path}");
    }
    let status = fleet.run(&["fleet", "status", "--json"]);
    assert!(status.out.contains(r#""queues":["web"]"#), "{status:?}");
    for (path, code, kind, says) in [
        ("/resume", 409, "conflict", "the fleet is not paused"),
        ("/queues/web%20two/resume", 409, "conflict", "the queue `web two` is not paused"),
        ("/owners/bob/pause", 404, "not_found", "the owner `bob` does not exist"),
        ("/queues/a%20b/pause", 400, "invalid_request", "queue"),
        ("/workers/one/pause", 404, "not_found", "only `owners` and `queues`"),
    ] {
        let refused = ask(&server, path);
        assert_eq!((refused.status, refused.error().as_str()), (code, kind), "{path}: {refused:?}");
        assert!(refused.body.contains(says), "{path}: {refused:?}");
    }
    let log = fleet.run(&["fleet", "audit"]).out;
    assert!(log.contains("/v1/fleet/queues/web/pause"), "{log}");
    server.token = ann;
    let refused = ask(&server, "/queues/web/resume");
    assert!(refused.status == 403 && refused.error() == "forbidden", "{refused:?}");
}

#[test]
fn a_request_with_a_key_is_done_once_by_all_servers_of_a_fleet() {
    let Some(fleet) = Fleet::new() else { return };
    let start = || Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let (mut one, two) = (start(), start());
    let keyed = |server: &Serving, line: &str, body: &str| {
        let token = format!("Bearer {}", server.token);
        let head = [
            ("host", server.address.as_str()),
            ("authorization", token.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", "the key"),
        ];
        server.with(line, &head, body)
    };
    let path = {
        let made = one.ask("POST /v1/jobs", r#"{"description":"before"}"#).json();
        format!("POST /v1/sessions/{}", made["job"].as_str().unwrap())
    };
    let count = |table: &str| fleet.number(&format!("SELECT count(*) FROM {table}"));
    let table = [
        ("POST /v1/jobs".to_owned(), r#"{"description":"once"}"#, "jobs", 1),
        (format!("{path}/prompt"), r#"{"text":"go on"}"#, "commands", 1),
        (format!("{path}/answer"), r#"{"call":"a","answer":"no","because":"later"}"#, "commands", 1),
        (format!("{path}/interrupt"), "{}", "commands", 1),
    ];
    for (line, body, rows, more) in &table {
        fleet.server.sql("DELETE FROM requests");
        let before = count(rows);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let asks: Vec<_> =
                [&one, &two, &one, &two].map(|server| scope.spawn(|| keyed(server, line, body))).into();
            asks.into_iter().map(|ask| ask.join().unwrap()).collect()
        });
        for answer in &answers {
            assert!(answer.status == 201 || answer.status == 202, "{line}: {answer:?}");
            assert_eq!((answer.status, &answer.body), (answers[0].status, &answers[0].body), "{line}");
        }
        assert_eq!(count(rows) - before, *more, "{line}");
        assert_eq!(keyed(&one, line, r#"{"description":"other"}"#).status, 422, "{line}");
        // The answer was lost with the server that gave it.
        fleet.server.sql("UPDATE requests SET status = NULL");
        one.kill();
        one = start();
        let again = keyed(&one, line, body);
        assert_eq!((again.status, &again.body), (answers[0].status, &answers[0].body), "{line}");
        assert_eq!(count(rows) - before, *more, "{line}");
    }
    // Another client's key is another one, and an old one is forgotten.
    let jobs = count("jobs");
    let (line, body, ..) = &table[0];
    fleet.server.sql("UPDATE requests SET made = made - interval '25 hours'");
    assert_eq!(keyed(&one, line, body).status, 201);
    fleet.run(&["fleet", "owner", "ann"]).out.trim().clone_into(&mut one.token);
    assert_eq!(keyed(&one, line, body).status, 201);
    assert_eq!(count("jobs"), jobs + 2);
}

#[test]
fn jobs_are_listed_by_queue_and_owner() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let add = |server: &Serving, queue: &str| {
        let body = json!({"description": "Count", "queue": queue}).to_string();
        let made = server.ask("POST /v1/jobs", &body);
        assert_eq!(made.status, 201, "{made:?}");
    };
    add(&server, "gpu");
    add(&server, "default");
    let ann = fleet.run(&["fleet", "owner", "ann"]).out.trim().to_owned();
    let admin = std::mem::replace(&mut server.token, ann);
    add(&server, "gpu");
    let found = |server: &Serving, route: &str, query: &str| {
        let line = format!("GET /v1/{route}?{query}");
        server.ask(&line, "").json()[route].as_array().map(Vec::len)
    };
    for (query, expected) in [("queue=gpu", 1), ("owner=ann", 1), ("owner=admin", 0), ("queue=default", 0)] {
        for route in ["jobs", "sessions"] {
            assert_eq!(found(&server, route, query), Some(expected), "ann: {route} {query}");
        }
    }
    server.token = admin;
    let of_all =
        [("", 3), ("queue=gpu", 2), ("owner=ann", 1), ("owner=admin&queue=gpu", 1), ("owner=ben", 0)];
    for (query, expected) in of_all {
        for route in ["jobs", "sessions"] {
            assert_eq!(found(&server, route, query), Some(expected), "{route} {query}");
        }
    }
    let empty = server.ask("POST /v1/jobs", r#"{"description":"Count","base":""}"#);
    assert_eq!(empty.status, 400, "{empty:?}");
}

// H-102
#[test]
fn a_reply_is_seen_on_every_server_of_a_fleet_while_it_is_written() {
    let Some(fleet) = Fleet::new() else { return };
    let start = || Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let (one, two) = (start(), start());
    let reply =
        format!("I count to {}.", (0..400).map(|number| number.to_string()).collect::<Vec<_>>().join(", "));
    let slow = json!({"say": reply, "pieces": 40, "delay_ms": 50, "calls": count()["calls"]});
    let script = fleet.place.script("slow.jsonl", &[slow, publish(), say()]);
    let mut worker = fleet.worker(&script, &[]);
    let id = fleet.add();
    let seen = std::thread::scope(|scope| {
        let clients: Vec<_> = [&one, &two]
            .map(|server| {
                let id = &id;
                scope.spawn(move || {
                    let mut stream = server.follow(id, "");
                    let mut events = stream.until("text");
                    // A client that comes in the middle gets what was written before.
                    let late = server.follow(id, "").until("text");
                    events.extend(stream.until("replied"));
                    (events, late)
                })
            })
            .into_iter()
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    for (events, late) in seen {
        let text = |events: &[serde_json::Value]| -> String {
            let pieces = events.iter().filter(|event| event["type"] == "text");
            pieces.map(|event| event["text"].as_str().unwrap()).collect()
        };
        let (all, begun) = (text(&events), text(&late));
        assert!(events.iter().filter(|event| event["type"] == "text").count() > 2, "{events:?}");
        assert!(reply.starts_with(&all) && all.len() > reply.len() / 2, "{all}");
        assert!(reply.starts_with(&begun) && begun.len() < reply.len(), "{begun}");
    }
    fleet.wait_until_completed(&id);
    end(&mut worker);
}

// H-114
#[test]
fn a_server_without_the_key_of_its_fleet_says_that_it_notifies_no_device() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let refused = server.ask("GET /v1/push", "");
    assert!(refused.status == 404 && refused.body.contains("set HAFT_FLEET_KEY"), "{refused:?}");
    let with = |key: &str| {
        let mut command = fleet.haft(&["serve", "--fleet", "--listen", "127.0.0.1:0"]);
        command.env("HAFT_FLEET_KEY", key.repeat(32));
        Serving::begin(&fleet.place, command)
    };
    let (one, same, other) = (with("0a"), with("0a"), with("0b"));
    let key = |server: &Serving| server.ask("GET /v1/push", "").json()["key"].clone();
    assert!(key(&one).is_string() && key(&one) == key(&same), "{:?}", key(&one));
    let refused = other.ask("GET /v1/push", "");
    assert!(
        refused.status == 500 && refused.body.contains("encrypted with another HAFT_FLEET_KEY"),
        "{refused:?}"
    );
    assert_eq!(fleet.number("SELECT count(*) FROM settings WHERE name = 'push_key'"), 1);
}

/// A login says which role it has; what the role may do is in the configuration of the server.
#[test]
fn a_login_has_the_rights_that_its_role_has_now() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.run(&["fleet", "owner", "ann"]);
    for (token, role) in [("one", "helper"), ("two", "looker")] {
        fleet.server.sql(&format!(
            "INSERT INTO logins (token_hash, owner, is_admin, may_approve, role, until) \
             VALUES (encode(sha256('{token}'), 'hex'), 'ann', true, true, '{role}', now() + interval '1 day')"
        ));
    }
    fleet.place.configure(
        "[serve.roles.helper]\nmay = [\"view\", \"prompt\"]\n[serve.roles.looker]\nmay = [\"view\"]\n",
    );
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    for (token, expected) in [("one", 200), ("two", 401)] {
        token.clone_into(&mut server.token);
        let me = server.ask("GET /v1/me", "");
        assert_eq!(me.status, expected, "{token}: {me:?}");
        if expected == 200 {
            let may = me.json()["may"].to_string();
            assert!(!may.contains("approve") && !may.contains("administer"), "{me:?}");
        }
    }
}
