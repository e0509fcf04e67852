//! A copy that was made while a server or a fleet runs is restored elsewhere, and all sessions go on there.
use super::file;
use crate::kit::{
    Place, UNTIL_GO, bash, call,
    fleet::{Fleet, count, end, publish_slowly, say},
    serving::Serving,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

fn post(server: &Serving, path: &str, body: &Value) -> Value {
    let answered = server.ask(&format!("POST /v1/{path}"), &body.to_string());
    assert!(answered.status < 300, "{path}: {answered:?}");
    answered.json()
}

fn prompt(server: &Serving, id: &str, wait: bool) -> Value {
    post(server, &format!("sessions/{id}/prompt"), &json!({"text": "go", "wait": wait}))
}

fn go_on(server: &Serving, id: &str, wait: bool) -> Value {
    post(server, &format!("sessions/{id}/continue"), &json!({"wait": wait}))
}

fn assert_finished(report: &Value, text: &str) {
    assert_eq!((&report["outcome"], &report["text"]), (&json!("finished"), &json!(text)), "{report}");
}

/// The call of a session that asks, once there is one.
fn asked(server: &Serving, id: &str) -> String {
    let begun = Instant::now();
    loop {
        let asked = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").json();
        if let Some(first) = asked.as_array().and_then(|all| all.first()) {
            return first["call"].as_str().unwrap().to_owned();
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no person is asked");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// As `docs/deploy.md` says.
fn back_up(from: &Path, to: &Path) {
    let ran = Command::new(file("backup.sh")).arg(from).arg(to).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
}

fn writes(name: &str) -> Value {
    call("write", json!({"path": name, "content": "one\n"}))
}

// H-65
#[test]
fn sessions_go_on_from_a_copy_that_was_made_while_the_server_ran() {
    if Command::new("rsync").arg("--version").stdout(Stdio::null()).status().is_err() {
        return haft_testing::left_out("backups: there is no `rsync`; `scripts/setup.sh test`");
    }
    let (place, elsewhere) = (Place::new(), Place::new());
    place.hold();
    let waits = format!("echo begun; {UNTIL_GO}");
    let done =
        place.script("done", &[writes("done.txt"), json!({"say": "Written."}), json!({"say": "Again."})]);
    let midway = place.script("midway", &[bash(&waits), json!({"say": "Went on."})]);
    let asks = place.script("asks", &[writes("asked.txt"), json!({"say": "You said yes."})]);
    let start = |home: &Place, model: &str| {
        let (work, folder) = (place.work().display().to_string(), place.path().display().to_string());
        let words = ["--model", model, "--cwd", &work, "--folder", &folder, "--permission", "ask"];
        Serving::start(home, &[&words[..], &["--up-to", "full"]].concat())
    };
    let mut server = start(&place, &done);
    let begin =
        |model: &str, mode: &str| server.session(&json!({"model": model, "permission": mode}).to_string());
    let ids = [begin(&done, "full"), begin(&midway, "full"), begin(&asks, "ask")];
    let [done_id, midway_id, asks_id] = ids.each_ref().map(String::as_str);
    prompt(&server, done_id, true);
    let mut events = server.follow(midway_id, "");
    prompt(&server, midway_id, false);
    events.until("tool_output");
    prompt(&server, asks_id, false);
    asked(&server, asks_id);

    let backup = place.path().join("backup");
    fs::create_dir(&backup).unwrap();
    // The second one is as any later one: it brings what is new.
    back_up(&place.path().join("home"), &backup);
    back_up(&place.path().join("home"), &backup);
    server.kill();
    fs::rename(&backup, elsewhere.path().join("home")).unwrap();
    fs::remove_dir_all(place.path().join("home")).unwrap();
    place.let_go();

    let server = start(&elsewhere, &done);
    let listed = server.ask("GET /v1/sessions", "").json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(3), "{listed}");
    // What the first turn changed can still be undone: the copy has the content.
    assert_finished(&prompt(&server, done_id, true), "Again.");
    assert_eq!(place.read("done.txt").as_deref(), Some("one\n"));
    post(&server, &format!("sessions/{done_id}/undo"), &json!({"call": 1}));
    assert_eq!(place.read("done.txt"), None);
    assert_finished(&go_on(&server, midway_id, true), "Went on.");
    // It had asked before the copy, and asks again.
    let mut events = server.follow(asks_id, "");
    events.until("approval_asked");
    go_on(&server, asks_id, false);
    events.until("approval_asked");
    let call = asked(&server, asks_id);
    post(&server, &format!("sessions/{asks_id}/approvals/{call}"), &json!({"answer": "once"}));
    assert_eq!(events.until("turn_ended").last().unwrap()["outcome"], "finished");
    assert_eq!(place.read("asked.txt").as_deref(), Some("one\n"));
}

// H-65
#[test]
fn jobs_go_on_from_a_dump_that_was_made_while_the_fleet_worked() {
    let (Some(fleet), Some(elsewhere)) = (Fleet::new(), Fleet::without_tables()) else { return };
    let script = fleet.place.script("steps.jsonl", &[count(), publish_slowly(), say()]);
    let work = |fleet: &Fleet, lease: &str| {
        let words = ["worker", "--model", &script, "--permission", "accept-edits", "--lease", lease];
        fleet.haft(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let is_waiting = |fleet: &Fleet, id: &str| {
        fleet.server.sql(&format!("SELECT stands FROM standing WHERE id = '{id}'")) == "waiting"
    };
    let mut worker = work(&fleet, "3");
    let waiting = fleet.add();
    fleet.wait_for("it waits", || is_waiting(&fleet, &waiting).then_some(()));
    let midway = fleet.add();
    let counted = format!(
        "SELECT count(*) FROM entries WHERE job = '{midway}' AND line LIKE '%\"type\":\"tool_ended\"%'"
    );
    fleet.wait_for("it has counted", || (fleet.number(&counted) == 1).then_some(()));
    let dump = fleet.server.dump();
    worker.kill().unwrap();
    worker.wait().unwrap();
    fleet.server.stop();

    elsewhere.server.restore(&dump);
    let server = Serving::start(&elsewhere.place, &["--fleet", &elsewhere.server.address()]);
    let mut worker = work(&elsewhere, "30");
    for id in [&waiting, &midway] {
        elsewhere.wait_for("it is taken over, and asks anew", || {
            (elsewhere.job(id, "attempts") != "1" && is_waiting(&elsewhere, id)).then_some(())
        });
        let call = asked(&server, id);
        post(&server, &format!("sessions/{id}/approvals/{call}"), &json!({"answer": "once"}));
        elsewhere.wait_until_completed(id);
        elsewhere
            .wait_for("its branch stands", || (elsewhere.job(id, "published = head") == "t").then_some(()));
        // The repository is where it was.
        assert!(fleet.counted(id).starts_with("+end"), "{}", fleet.counted(id));
    }
    end(&mut worker);
}
