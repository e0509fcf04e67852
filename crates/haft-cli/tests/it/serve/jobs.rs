//! Jobs and schedules that `haft serve` works on.
use crate::kit::{Place, serving::Serving, terminal::poll};
use serde_json::{Value, json};

// H-141
#[test]
fn a_server_works_on_jobs_and_schedules_that_were_added_while_it_runs() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "It is a question."})]);
    place.configure(&format!("model = \"{model}\"\n"));
    let server = Serving::start(&place, &["--model", &model]);
    let over = || {
        let jobs = server.ask("GET /v1/jobs", "").json()["jobs"].as_array().unwrap().clone();
        jobs.iter().filter(|job| !job["output"].is_null()).count()
    };
    assert_eq!(over(), 0);

    let added = place.run(&["jobs", "add", "--kind", "triager", "--description", "one"]);
    assert_eq!(added.code, 0, "{added:?}");
    poll(|| over() == 1, || format!("the job: {}", server.ask("GET /v1/jobs", "").body));

    let words = ["jobs", "add", "--kind", "triager", "--description", "two", "--every", "1m"];
    let added = place.run(&words);
    assert_eq!(added.code, 0, "{added:?}");
    let file = std::fs::read_dir(place.path().join("home/schedule")).unwrap().next().unwrap().unwrap().path();
    let mut schedule: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    schedule["next"] = json!("2026-01-01T00:00:00Z");
    std::fs::write(&file, schedule.to_string()).unwrap();
    poll(|| over() == 2, || format!("the schedule: {}", server.ask("GET /v1/jobs", "").body));
    let next = server.ask("GET /v1/schedules", "").json()["schedules"][0]["next"].as_i64().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(next > now.as_millis() as i64, "{next}");
}
