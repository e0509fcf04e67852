//! `haft attach` to a job of a fleet: the worker is one process, the server another, and the terminal a third.
use crate::kit::{
    Place,
    fleet::{Fleet, count, end, publish, publish_slowly, say},
    serving::Serving,
    terminal::Terminal,
};
use serde_json::json;
use std::process::Stdio;

// H-107
#[test]
fn a_job_is_watched_steered_and_asked_about_from_any_terminal() {
    let Some(fleet) = Fleet::new() else { return };
    let other = Place::new();
    let Some(terminal) = Terminal::open(&other, (80, 24)) else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    fleet.run(&["fleet", "owner", "ann"]).out.trim().clone_into(&mut server.token);
    let made = server.ask(
        "POST /v1/jobs",
        &json!({"description": "Count once", "repository": fleet.remote().display().to_string()}).to_string(),
    );
    let id = made.json()["job"].as_str().unwrap().to_owned();
    let told = json!({"say": "Soon.", "expect": "say it in a word"});
    let script = fleet.place.script("steps.jsonl", &[count(), publish_slowly(), told, publish(), say()]);
    let words = ["worker", "--model", &script, "--permission", "ask", "--workers", "1"];
    let mut worker = fleet.haft(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();

    terminal.haft(&other, &format!("attach 'http://{}/' --token {}", server.address, server.token));
    let question = terminal.see("1. Yes");
    // The lines of the file come from the database.
    assert!(question.contains("counter.txt") && question.contains("+end"), "{question}");
    assert!(question.contains("the worker's model · builder · ask"), "{question}");
    terminal.keys(&["1"]);
    // Text is shown while the model writes it, and what is typed meanwhile reaches the worker.
    terminal.see("I have");
    terminal.say("say it in a word");
    // The worker's own mode is the widest.
    terminal.say("/mode full");
    terminal.see("git push origin");
    terminal.keys(&["1"]);
    fleet.wait_until_completed(&id);
    terminal.see("Counted.");
    // What was allowed says by whom, and the job takes no more.
    let answers = fleet.server.sql(&format!(
        "SELECT count(*) FROM entries WHERE job = '{id}' AND line LIKE '%approval_answered%' AND line LIKE '%\"ann\"%'"
    ));
    assert_eq!(answers, "2");
    let widened =
        format!("SELECT count(*) FROM entries WHERE job = '{id}' AND line LIKE '%\"mode\":\"full\"%'");
    assert_eq!(fleet.server.sql(&widened), "0");
    terminal.say("and now?");
    terminal.see("the job is completed already");
    terminal.say("/detach");
    terminal.see("left 0");
    end(&mut worker);
}

// H-107
#[test]
fn jobs_of_others_and_of_who_was_logged_out_are_not_attached_to() {
    let Some(fleet) = Fleet::new() else { return };
    let other = Place::new();
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    let url = format!("http://{}", server.address);
    let attach = |token: &str, more: &[&str]| {
        other.run_with_input(&[&["attach", &url, "--token", token, "--plain"], more].concat(), b"/detach\n")
    };
    let id = fleet.add();
    let whole = attach(&server.token, &[]);
    assert!(whole.code == 0 && !whole.err.contains("error"), "{whole:?}");
    fleet.run(&["fleet", "owner", "bob"]).out.trim().clone_into(&mut server.token);
    let none = attach(&server.token, &[]);
    assert!(none.code == 2 && none.err.contains("there is no session at"), "{none:?}");
    let foreign = attach(&server.token, &["--session", &id]);
    assert!(foreign.code == 1 && foreign.err.contains(&format!("there is no job `{id}`")), "{foreign:?}");
    let new = attach(&server.token, &["--new"]);
    assert!(new.code == 1 && new.err.contains("`haft fleet add`"), "{new:?}");
}

// H-108
#[test]
fn the_logins_of_an_owner_are_ended_and_with_them_what_they_follow() {
    let Some(fleet) = Fleet::new() else { return };
    let mut server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    // SHA-256 of `eve`, as if eve had logged in.
    fleet.server.sql(
        "INSERT INTO owners (name) VALUES ('eve'); \
         INSERT INTO logins (token_hash, owner, is_admin, until) \
         VALUES ('85262adf74518bbb70c7cb94cd6159d91669e5a81edf1efebd543eadbda9fa2b', 'eve', true, now() + interval '1 h')",
    );
    let id = fleet.add();
    server.token = "eve".to_owned();
    let mut events = server.stream(&format!("/v1/sessions/{id}/events"), "");
    assert_eq!(events.next().unwrap()["type"], "session_opened");
    let ended = fleet.run(&["fleet", "owner", "eve", "--log-out"]);
    assert_eq!((ended.code, ended.out.as_str()), (0, "ended 1 login of `eve`\n"), "{ended:?}");
    assert!(events.next().is_none());
    fleet.wait_for("the token is refused", || (server.ask("GET /v1/jobs", "").status == 401).then_some(()));
    let again = fleet.run(&["fleet", "owner", "eve", "--log-out"]);
    assert_eq!(again.out, "ended 0 logins of `eve`\n");
    let unknown = fleet.run(&["fleet", "owner", "mallory", "--log-out"]);
    assert!(unknown.code == 2 && unknown.err.contains("there is no owner `mallory`"), "{unknown:?}");
}
