//! `haft serve --fleet`: what it says of itself, as every `haft serve` does. The real binary, a real PostgreSQL.
mod kit;
use kit::{fleet::Fleet, serving::Serving};

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
    assert_eq!(routes.len(), 12, "{routes:?}");
    for route in routes.iter().filter(|route| !route.ends_with("/events") && !route.ends_with("/healthz")) {
        let answered = server.ask(route, "");
        assert!(!answered.body.contains("there is no such route"), "{route}: {answered:?}");
        assert!(![405, 500].contains(&answered.status), "{route}: {answered:?}");
        let unknown = server.with(route, &[("host", &server.address)], "");
        assert_eq!(unknown.status, 401, "{route}: {unknown:?}");
    }
    let missing = server.ask("GET /v1/models", "");
    assert!(missing.status == 404 && missing.error() == "not_found", "{missing:?}");
    // The page holds nothing of anybody.
    for file in ["/", "/main.js", "/job.js"] {
        let page = server.with(&format!("GET {file}"), &[("host", &server.address)], "");
        assert!(page.status == 200 && page.head.contains("content-security-policy"), "{file}: {page:?}");
    }
}

#[test]
fn a_server_of_a_fleet_tells_figures_of_all_jobs_to_nobody_but_its_admin() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    fleet.add();
    let told = server.ask("GET /metrics", "");
    assert!(told.head.contains("content-type: application/openmetrics-text"), "{told:?}");
    for line in [
        "haft_fleet_jobs{status=\"waiting\"} 1\n",
        "haft_fleet_jobs{status=\"running\"} 0\n",
        "haft_fleet_workers 0\n",
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
    assert_eq!(server.ask("GET /metrics", "").status, 404);
    server.token = admin;
    fleet.server.stop();
    let away = server.ask("GET /metrics", "");
    assert!(away.status == 200 && away.body.contains("haft_fleet_database_up 0\n"), "{away:?}");
    assert!(!away.body.contains("haft_fleet_jobs{"), "{away:?}");
}
