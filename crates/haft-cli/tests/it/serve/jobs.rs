//! Jobs and schedules that `haft serve` works on.
use crate::kit::{
    Place, call,
    project::{Project, git},
    serving::Serving,
    terminal::poll,
};
use serde_json::{Value, json};
use std::{thread::sleep, time::Duration};

// H-141: what waits here for a worker may be canceled by another process.
#[test]
fn a_job_that_was_canceled_while_it_waited_is_not_worked_on() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "It is a question.", "delay_ms": 10_000})]);
    place.configure(&format!("model = \"{model}\"\n"));
    let server = Serving::start(&place, &["--model", &model, "--workers", "1"]);
    let add = || {
        let added = place.run(&["jobs", "add", "--kind", "triager", "--description", "one"]);
        added.out.trim().to_owned()
    };
    let shows = |id: &str, field: &str| server.ask(&format!("GET /v1/jobs/{id}"), "").json()[field].clone();
    let first = add();
    poll(|| shows(&first, "status") == "running", || "the first job".into());
    let second = add();
    // The server takes it up within this time, and the first one still has the worker.
    sleep(Duration::from_secs(6));

    assert_eq!(place.run(&["jobs", "cancel", &second]).code, 0);

    poll(|| !shows(&first, "output").is_null(), || "the end of the first job".into());
    sleep(Duration::from_secs(1));
    assert_eq!((shows(&second, "status"), shows(&second, "rounds")), (json!("cancelled"), json!(0)));
}

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

// H-141
#[test]
fn of_two_servers_of_one_data_directory_one_works_on_a_job() {
    let place = Place::new();
    // Worked on twice, a job would have no more replies.
    let replies = [json!({"say": "It is a question.", "delay_ms": 500}), json!({"say": "It is a question."})];
    let model = place.script("model", &replies);
    place.configure(&format!("model = \"{model}\"\n"));
    let servers =
        [Serving::start(&place, &["--model", &model]), Serving::start(&place, &["--model", &model])];
    for task in ["one", "two", "three"] {
        let added = place.run(&["jobs", "add", "--kind", "triager", "--description", task]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let jobs = |server: &Serving| server.ask("GET /v1/jobs", "").json()["jobs"].as_array().unwrap().clone();
    let is_over = |job: &Value| !job["output"].is_null();
    for server in &servers {
        let shows = || jobs(server).iter().filter(|job| is_over(job)).count();
        poll(|| shows() == 3, || format!("{:?}", jobs(server)));
        for job in jobs(server) {
            let reason = job["output"]["reason"].as_str().unwrap();
            assert!(job["rounds"] == 2 && reason.ends_with("it was never called"), "{job}");
        }
    }
}

/// A job that has completed, with its branch, and the server that has worked on it. The branch was checked out elsewhere then,
/// so that the commits stay in the work tree: as if the process had been killed behind the end of the job.
fn completed_and_left(project: &Project) -> (Serving, Value) {
    let write = call("write", json!({"path": "new.txt", "content": "x\n"}));
    let script = project.place.script("job", &[write, json!({"say": "Done."})]);
    let added = project.run(&["jobs", "add", "--description", "Write new.txt"]);
    assert_eq!(added.code, 0, "{added:?}");
    let branch = git(&project.place.work(), &["branch", "--list", "haft/*", "--format=%(refname:short)"]);
    let elsewhere = project.place.path().join("elsewhere");
    let elsewhere = elsewhere.to_str().unwrap();
    git(&project.place.work(), &["worktree", "add", "--quiet", elsewhere, &branch]);
    let words = ["serve", "--listen", "127.0.0.1:0", "--permission", "full", "--model", script.as_str()];
    let server = Serving::begin(&project.place, project.haft(&words));
    let job = || server.ask("GET /v1/jobs", "").json()["jobs"][0].clone();
    poll(|| !job()["output"].is_null(), || format!("the job: {}", job()));
    let completed = job();
    assert_eq!(completed["status"], "completed", "{completed}");
    (server, completed)
}

// H-141
#[test]
fn the_commits_of_a_job_that_was_killed_behind_its_end_come_to_its_branch_with_the_next_server() {
    let project = Project::new();
    let (mut server, job) = completed_and_left(&project);
    assert_eq!(server.stop(), 0);
    let work = project.place.work();
    let branch = job["branch"].as_str().unwrap();
    let commits = || git(&work, &["rev-list", "--count", &format!("main..{branch}")]);
    let trees = || std::fs::read_dir(project.place.path().join("home/worktrees")).unwrap().count();
    assert_eq!((commits().as_str(), trees()), ("0", 1));
    let script = project.place.script("none", &[json!({"say": "Done."})]);
    git(&work, &["worktree", "remove", project.place.path().join("elsewhere").to_str().unwrap()]);
    let _next = Serving::begin(
        &project.place,
        project.haft(&["serve", "--listen", "127.0.0.1:0", "--model", &script]),
    );
    poll(|| trees() == 0, || format!("{} commits on {branch}", commits()));
    assert_eq!(git(&work, &["show", &format!("{branch}:new.txt")]), "x");
}

// H-141
#[test]
fn requests_to_the_session_of_a_completed_job_say_that_its_work_tree_is_gone() {
    let project = Project::new();
    let (mut server, job) = completed_and_left(&project);
    let (id, branch) = (job["job"].as_str().unwrap(), job["branch"].as_str().unwrap());
    let sessions = || std::fs::read_dir(project.place.path().join("home/sessions")).unwrap().count();
    let before = sessions();
    let fork = server.ask(&format!("POST /v1/sessions/{id}/fork"), "{}");
    assert!(fork.status == 409 && fork.body.contains("its work tree is not served"), "{fork:?}");
    assert_eq!(server.stop(), 0);
    std::fs::remove_dir_all(project.place.path().join("home/worktrees")).unwrap();
    let script = project.place.script("none", &[json!({"say": "Done."})]);
    let server = Serving::begin(
        &project.place,
        project.haft(&["serve", "--listen", "127.0.0.1:0", "--model", &script]),
    );
    for (line, body) in [
        ("GET changes", ""),
        ("GET calls", ""),
        ("POST undo", "{}"),
        ("POST typed", r#"{"text":"/undo"}"#),
        ("POST prompt", r#"{"text":"go on"}"#),
        ("POST commit", r#"{"message":"x"}"#),
        ("POST completions", r#"{"typed":"@a"}"#),
        ("POST fork", "{}"),
    ] {
        let (method, what) = line.split_once(' ').unwrap();
        let refused = server.ask(&format!("{method} /v1/sessions/{id}/{what}"), body);
        assert_eq!((refused.status, refused.error().as_str()), (409, "conflict"), "{line}: {refused:?}");
        assert!(refused.body.contains("is gone") && refused.body.contains(branch), "{line}: {refused:?}");
    }
    assert_eq!(sessions(), before);
}
