//! `haft usage`: tokens and money by day, model and project, over all sessions.
use crate::kit::{Place, Ran};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, SystemTime},
};

const DAY: u64 = 86_400_000;

fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64
}

/// A session of so many days ago, in which the model read and wrote so many tokens in each reply.
fn session(place: &Place, id: &str, days: u64, model: &str, project: &str, replies: &[(u64, u64, u64)]) {
    let at = now() - days * DAY;
    let opened = json!({"seq": 0, "at": at, "type": "session_opened", "version": 1, "session": id, "agent": "haft",
        "model": model, "workspace": project, "profile": "default"});
    let prompted = json!({"seq": 1, "at": at, "type": "prompted", "parts": [{"type": "text", "text": "go"}]});
    let replied = replies.iter().enumerate().map(|(number, (input, cached, output))| {
        json!({"seq": number + 2, "at": at, "type": "replied", "parts": [{"type": "text", "text": "\"type\":\"replied\""}],
            "usage": {"input": input, "output": output, "cache_read": cached, "cache_write": 0}, "stop": "end_turn"})
    });
    let ended = json!({"seq": 99, "at": at, "type": "turn_ended", "outcome": "finished", "rounds": 1,
        "usage": {"input": 7, "output": 7, "cache_read": 7, "cache_write": 7}, "cost_usd": 7.0});
    // The place stands in the first bytes of a line, as Haft writes it.
    let line = |entry: Value| {
        let Value::Object(mut fields) = entry else { unreachable!() };
        let mut take = |name: &str| fields.remove(name).unwrap();
        let (seq, at, kind) = (take("seq"), take("at"), take("type"));
        let rest = Value::Object(fields).to_string();
        format!("{{\"seq\":{seq},\"at\":{at},\"type\":{kind},{}\n", &rest[1..])
    };
    let folder = place.path().join("home/sessions").join(id);
    fs::create_dir_all(&folder).unwrap();
    let lines: String = [opened, prompted].into_iter().chain(replied).chain([ended]).map(line).collect();
    let file = folder.join("journal.jsonl");
    fs::write(&file, lines).unwrap();
    let changed = SystemTime::now() - Duration::from_millis(days * DAY);
    fs::File::options().write(true).open(&file).unwrap().set_modified(changed).unwrap();
}

fn usage(place: &Place, arguments: &[&str]) -> Ran {
    let arguments = [&["usage"], arguments].concat();
    let mut command = place.haft(&arguments);
    Ran::from(command.env("TZ", "UTC").output().unwrap())
}

fn sessions(place: &Place) {
    place.configure(
        "[models.\"script/dear\"]\nprice = { input = 10.0, output = 100.0, cache_read = 1.0 }\n\
         [models.\"script/cheap\"]\nprice = { input = 1.0, output = 1.0 }\n",
    );
    session(
        place,
        "20261101-000000-a",
        0,
        "script/dear",
        "/projects/one",
        &[(1_000, 0, 100), (500, 1_000, 50)],
    );
    session(place, "20261101-000000-b", 1, "script/cheap", "/projects/two", &[(20_000, 0, 1_000)]);
    session(place, "20261101-000000-c", 1, "script/cheap", "/projects/one", &[(2_000, 0, 0)]);
    session(place, "20261101-000000-d", 40, "script/unknown", "/projects/old", &[(9_000, 0, 0)]);
}

#[test]
fn what_jobs_and_their_subagents_use_counts_where_they_were_asked_for() {
    let place = Place::new();
    session(&place, "20261101-000000-a", 0, "script/m", "/projects/one", &[(10, 0, 1)]);
    session(&place, "20261101-000000-b", 0, "script/m", "/copies/b", &[(20, 0, 2)]);
    session(&place, "20261101-000000-c", 0, "script/m", "/copies/b", &[(30, 0, 3)]);
    let job = place.path().join("home/sessions/20261101-000000-b/journal.jsonl");
    let order = r#""order":{"kind":"builder","description":"x","origin":"/projects/one"},"workspace""#;
    let text = fs::read_to_string(&job).unwrap().replacen(r#""workspace""#, order, 1);
    fs::write(&job, text).unwrap();
    let told: Value = serde_json::from_str(&usage(&place, &["--json", "--by", "project"]).out).unwrap();
    let projects: Vec<_> =
        told["projects"].as_array().unwrap().iter().map(|row| (&row["project"], &row["tokens"])).collect();
    assert_eq!(projects, [(&json!("/projects/one"), &json!(66))], "{told}");
}

#[test]
fn usage_is_added_up_by_day_model_and_project() {
    let place = Place::new();
    sessions(&place);
    let object = &usage(&place, &["--json"]).events()[0];
    let of = |list: &str, row: usize, fields: [&str; 4]| fields.map(|field| object[list][row][field].clone());
    assert_eq!(object["total"]["tokens"], 25_650);
    assert_eq!((&object["total"]["sessions"], &object["total"]["requests"]), (&json!(3), &json!(4)));
    // 1,500 read and 150 written by the dear one are 0.015 and 0.015, 1,000 from its cache 0.001.
    let cost = |row: &Value| (row["cost_usd"].as_f64().unwrap() * 1e6).round();
    assert_eq!(cost(&object["total"]), 54_000.0);
    let models = [0, 1].map(|row| of("models", row, ["model", "tokens", "cache_read", "sessions"]));
    assert_eq!(models[0], [json!("script/dear"), json!(2_650), json!(1_000), json!(1)]);
    assert_eq!(models[1], [json!("script/cheap"), json!(23_000), json!(0), json!(2)]);
    let projects = [0, 1].map(|row| of("projects", row, ["project", "tokens", "input", "output"]));
    assert_eq!(projects[0], [json!("/projects/one"), json!(4_650), json!(3_500), json!(150)]);
    assert_eq!(projects[1], [json!("/projects/two"), json!(21_000), json!(20_000), json!(1_000)]);
    let days = object["days"].as_array().unwrap();
    assert_eq!(
        days.iter().map(|day| day["tokens"].clone()).collect::<Vec<_>>(),
        [json!(23_000), json!(2_650)]
    );
    // One list alone, and further back; what has no price is counted as such.
    let all = &usage(&place, &["--json", "--days", "60", "--by", "model"]).events()[0];
    assert!(all["days"].is_null() && all["projects"].is_null(), "{all}");
    let unknown = &all["models"][2];
    assert_eq!((&unknown["cost_usd"], &unknown["unpriced_tokens"]), (&Value::Null, &json!(9_000)));
    assert_eq!(usage(&place, &["--json", "--days", "1"]).events()[0]["total"]["tokens"], 2_650);
}

#[test]
fn bars_are_as_wide_as_the_terminal_lets_them_be() {
    let place = Place::new();
    sessions(&place);
    for columns in ["40", "80", "200"] {
        let mut command = place.haft(&["usage", "--days", "60"]);
        let ran = Ran::from(command.env("TZ", "UTC").env("COLUMNS", columns).output().unwrap());
        let width = |line: &str| line.chars().count();
        let lists = ran.out.lines().take_while(|line| !line.contains("tokens ("));
        assert!(lists.clone().all(|line| width(line) <= columns.parse().unwrap()), "{columns}: {}", ran.out);
        let has = |wanted: &str| ran.out.contains(wanted);
        assert!(has("By day") && has("By model") && has("By project") && has("$?"), "{}", ran.out);
        assert!(!ran.out.contains('\u{1b}'), "colors are for terminals");
        // The longest bar is the largest sum; a day on which nothing was used has none.
        let bar = |line: &str| line.chars().filter(|sign| ('█'..='▏').contains(sign)).count();
        let row = |name: &str| lists.clone().find(|line| line.starts_with(name)).map(bar).unwrap();
        assert!(row("script/cheap") > row("script/dear") && row("script/dear") > 0, "{}", ran.out);
    }
}

#[test]
fn what_a_fork_took_over_counts_once() {
    let place = Place::new();
    let used = json!({"input": 100, "output": 10, "cache_read": 0, "cache_write": 0});
    let model = place.script("m", &[json!({"say": "a", "usage": used}), json!({"say": "b", "usage": used})]);
    place.run(&["run", "--model", &model, "one"]);
    let listed = place.run(&["sessions", "list", "--json"]).events();
    let id = listed[0]["session"].as_str().unwrap();
    let forked = place.run(&["sessions", "fork", id]).out;
    let total = || usage(&place, &["--json"]).events()[0]["total"]["tokens"].clone();
    assert_eq!(total(), 110);
    place.run(&["run", "--session", forked.trim(), "--model", &model, "two"]);
    assert_eq!(total(), 220);
}

#[test]
fn nothing_used_and_wrong_options_are_said() {
    let place = Place::new();
    assert!(usage(&place, &[]).out.starts_with("No model requests since "));
    assert_eq!(usage(&place, &["--json"]).events()[0]["total"]["tokens"], 0);
    for arguments in [["--days", "0"], ["--days", "-3"], ["--days", "99999999"], ["--by", "week"]] {
        assert_eq!(usage(&place, &arguments).code, 2, "{arguments:?}");
    }
}
