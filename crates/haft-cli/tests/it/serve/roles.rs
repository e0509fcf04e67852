//! Roles of users: what their sessions and jobs may do, while they run, too.
use super::users::{Client, add, journal, serving};
use crate::kit::{Place, UNTIL_GO, bash, project::begin_repository, serving::Serving, terminal::poll};
use serde_json::{Value, json};
use std::{fs, io::Write, path::Path};

// H-90
#[test]
fn a_role_says_what_its_users_may_do() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "ask"]);
    let writer = add(&place, &server, "wim", "writer");
    let (viewer, approver) =
        (add(&place, &server, "vera", "viewer"), add(&place, &server, "anton", "approver"));
    let id = writer.session();
    let call = writer.prompt(&id);
    let answer = |client: &Client<'_>| {
        client.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), &json!({"answer": "once"}))
    };
    let refused = answer(&writer);
    assert_eq!((refused.status, refused.error()), (403, "forbidden".into()), "{refused:?}");
    assert!(refused.body.contains("`wim` has the role `writer`, which may not approve"), "{refused:?}");
    assert_eq!((viewer.get("/v1/sessions").status, answer(&viewer).status), (200, 403));
    // A session with an outbox does not ask about files.
    let refused = writer.ask("POST /v1/sessions", &json!({"outbox": true}));
    assert_eq!((refused.status, refused.error()), (403, "forbidden".into()), "{refused:?}");
    for (method, path) in [
        ("POST", "/v1/sessions"),
        ("POST", "/v1/jobs"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/responses"),
        ("GET", "/metrics"),
        ("DELETE", &format!("/v1/sessions/{id}")),
        ("GET", &format!("/v1/sessions/{id}/socket")),
        ("POST", &format!("/v1/sessions/{id}/prompt")),
    ] {
        let asked = viewer.ask(
            &format!("{method} {path}"),
            &if method == "POST" { json!({"text": "x"}) } else { json!(null) },
        );
        assert_eq!(asked.status, 403, "{method} {path}: {asked:?}");
    }
    let me = approver.get("/v1/me").json();
    assert_eq!(me, json!({"user": "anton", "role": "approver", "may": ["view", "approve"]}));
    assert_eq!(server.ask("GET /v1/me", "").json()["user"], Value::Null);
    // Who answered and who asked stand in the journal.
    assert_eq!(answer(&approver).status, 202);
    let mut events = server.follow(&id, "");
    let answered = events.until("approval_answered").pop().unwrap();
    assert_eq!((&answered["answer"], &answered["by"]), (&json!("once"), &json!("anton")));
    let entries = journal(&place, &id);
    assert_eq!(entries[0]["user"], "wim");
    let prompted = entries.iter().find(|entry| entry["type"] == "prompted").unwrap();
    assert_eq!((&prompted["channel"]["kind"], &prompted["channel"]["chat"]), (&json!("http"), &json!("wim")));
    let timeline = viewer.get(&format!("/v1/sessions/{id}/timeline")).body;
    for shown in
        [r#""type":"prompt","text":"write it","images":[],"by":"wim""#, r#""answer":"once","by":"anton""#]
    {
        assert!(timeline.contains(shown), "{timeline}");
    }
    // A goal has a command that runs without a question.
    events.until("turn_ended");
    let goal =
        writer.ask(&format!("POST /v1/sessions/{id}/typed"), &json!({"text": "/goal done --proof 'true'"}));
    assert_eq!(goal.status, 403, "{goal:?}");
    // A role that is taken away is gone with the next request, and so is a user.
    assert_eq!(place.run(&["serve", "remove-user", "anton"]).code, 0);
    assert_eq!(approver.get("/v1/me").status, 401);
    let known = place.run(&["serve", "users"]);
    assert!(known.out.contains("vera") && !known.out.contains("anton"), "{known:?}");
    let files = fs::read_to_string(place.path().join("home/serve-users.json")).unwrap();
    assert!(!files.contains(&writer.token), "{files}");
}

// H-90
#[test]
fn sessions_of_a_role_have_its_mode_and_models() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "accept-edits", "--up-to", "full"]);
    let careful = add(&place, &server, "carl", "careful");
    let id = careful.session();
    let detail = careful.get(&format!("/v1/sessions/{id}")).json();
    assert_eq!((&detail["permission"], &detail["up_to"]), (&json!("ask"), &json!("ask")), "{detail}");
    let wider = careful.ask(&format!("PATCH /v1/sessions/{id}"), &json!({"permission": "full"}));
    assert_eq!((wider.status, wider.error()), (403, "forbidden".into()), "{wider:?}");
    let wider = careful.ask("POST /v1/sessions", &json!({"permission": "full"}));
    assert_eq!((wider.status, wider.error()), (403, "forbidden".into()), "{wider:?}");
    careful.prompt(&id);
    assert!(place.read("a.txt").is_none(), "it is asked for");
    let choices = careful.get("/v1/choices").json();
    assert_eq!(choices["permissions"], json!(["read-only", "plan", "ask"]));
    let other = careful.ask("POST /v1/sessions", &json!({"model": "script/other"}));
    assert_eq!((other.status, other.error()), (403, "forbidden".into()), "{other:?}");
    let member = add(&place, &server, "mia", "member");
    let detail = member.get(&format!("/v1/sessions/{}", member.session())).json();
    assert_eq!(detail["up_to"], "full", "{detail}");
}

// H-90
#[test]
fn a_folder_that_a_role_does_not_have_is_refused_with_those_that_it_has() {
    let place = Place::new();
    let (web, docs) = (place.work().join("web"), place.work().join("docs"));
    [&web, &docs].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let (web, docs) = (web.canonicalize().unwrap(), docs.canonicalize().unwrap());
    let role = json!({"may": ["view", "prompt"], "folders": [&web]});
    let list = |name: &str| role[name].to_string();
    place.configure(&format!("[serve.roles.web]\nmay = {}\nfolders = {}\n", list("may"), list("folders")));
    let model = place.script("model", &[json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let wes = add(&place, &server, "wes", "web");
    let refused = wes.ask("POST /v1/sessions", &json!({"workspace": &docs}));
    assert_eq!((refused.status, refused.error()), (400, "invalid_request".into()), "{refused:?}");
    let said = format!("the role `web` does not have the folder `{}`", docs.display());
    assert!(refused.body.contains(&said), "{refused:?}");
    assert!(refused.body.contains(&format!("name one in `{}`, or ask", web.display())), "{refused:?}");
    assert!(!refused.body.contains("haft serve"), "{refused:?}");
    let token = wes.token;
    drop(server);
    let words = ["--model", &model, "--up-to", "read-only", "--permission", "full", "--folder"];
    let server = Serving::start(&place, &[&words[..], &[web.to_str().unwrap()]].concat());
    let wes = Client { server: &server, token };
    let choices = wes.get("/v1/choices").json();
    assert_eq!(choices["folders"], json!([&web]), "{choices}");
    assert_eq!(choices["permissions"], json!(["read-only"]), "{choices}");
    assert_eq!(choices["defaults"]["permission"], "read-only", "{choices}");
    let served = server.ask("POST /v1/sessions", r#"{"workspace":"/"}"#);
    assert!(served.status == 400 && served.body.contains("`/` is not a folder that is served"), "{served:?}");
}

// H-90
#[test]
fn a_turn_of_a_role_with_a_budget_ends_when_it_is_spent() {
    let place = Place::new();
    let read = json!({"name": "read", "arguments": {"path": "a.txt"}});
    // A million tokens are three dollars.
    let usage = json!({"input": 1_000_000, "output": 1});
    let lines = [json!({"calls": [read], "usage": usage}), json!({"say": "Done.", "usage": usage})];
    let model = place.script("model", &lines);
    place.write("a.txt", "one\n");
    let roles = "[serve.roles.poor]\nmay = [\"view\", \"prompt\"]\nmax_cost = 0.5\n";
    place.configure(&format!("{roles}[models.\"{model}\"]\nprice = {{ input = 3.0, output = 15.0 }}\n"));
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    for (role, outcome, cost) in [("poor", "budget", 3.000_015), ("member", "finished", 6.000_03)] {
        let client = add(&place, &server, role, role);
        let id = client.session();
        let ended =
            client.ask(&format!("POST /v1/sessions/{id}/prompt"), &json!({"text": "go", "wait": true}));
        let ended = ended.json();
        assert_eq!((&ended["outcome"], &ended["cost_usd"]), (&json!(outcome), &json!(cost)), "{ended}");
    }
}

// H-90
#[test]
fn a_role_that_is_changed_or_gone_holds_for_sessions_that_are_open() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "accept-edits", "--up-to", "full"]);
    let mia = add(&place, &server, "mia", "member");
    let id = mia.session();
    assert_eq!(mia.ask(&format!("PATCH /v1/sessions/{id}"), &json!({"permission": "full"})).status, 200);
    let mia = add(&place, &server, "mia", "careful");
    mia.prompt(&id);
    assert!(place.read("a.txt").is_none(), "it is asked for");
    // Without its user, a session is no wider.
    let ben = add(&place, &server, "ben", "writer");
    let other = ben.session();
    place.run(&["serve", "remove-user", "ben"]);
    server.ask(&format!("PATCH /v1/sessions/{other}"), r#"{"permission":"full"}"#);
    assert_eq!(server.ask(&format!("GET /v1/sessions/{other}"), "").json()["up_to"], "ask");
}

// H-142
#[test]
fn a_turn_that_runs_asks_once_its_user_is_removed_or_has_a_narrower_role() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "accept-edits"]);
    let write = json!({"name": "write", "arguments": {"path": "b.txt", "content": "one\n"}});
    let lines = [bash(UNTIL_GO), json!({"calls": [write]}), json!({"say": "Done."})];
    fs::write(place.work().join("waits"), lines.map(|line| line.to_string()).join("\n") + "\n").unwrap();
    for change in [&["serve", "remove-user", "mia"][..], &["serve", "add-user", "mia", "--role", "careful"]] {
        place.hold();
        let mia = add(&place, &server, "mia", "member");
        let made = mia.ask("POST /v1/sessions", &json!({"model": "script/waits"})).json();
        let path = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
        assert_eq!(mia.ask(&format!("POST {path}/prompt"), &json!({"text": "go"})).status, 202);
        let shows = |field: &str, value: &str| server.ask(&format!("GET {path}"), "").json()[field] == value;
        poll(|| shows("state", "working"), || "the turn".into());

        let changed = place.run(change);

        assert_eq!(changed.code, 0, "{changed:?}");
        poll(|| shows("permission", "ask"), || "the narrower mode".into());
        place.let_go();
        poll(|| shows("state", "asking"), || server.ask(&format!("GET {path}"), "").body);
        assert!(place.read("b.txt").is_none());
    }
}

// H-142
#[test]
fn a_user_commands_no_session_in_a_wider_mode_than_the_role_allows() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "accept-edits"]);
    let careful = add(&place, &server, "hal", "looker");
    let id = server.session("{}");
    for (line, body) in
        [("prompt", json!({"text": "write it"})), ("undo", json!({})), ("continue", json!({}))]
    {
        let refused = careful.ask(&format!("POST /v1/sessions/{id}/{line}"), &body);
        assert_eq!((refused.status, refused.error()), (403, "forbidden".into()), "{line}: {refused:?}");
        assert!(refused.body.contains("your role allows `read-only` at most"), "{refused:?}");
    }
    let changed = careful.ask(&format!("PATCH /v1/sessions/{id}"), &json!({"agent": "builder"}));
    assert_eq!(changed.status, 403, "{changed:?}");
    assert_eq!(careful.get(&format!("/v1/sessions/{id}")).status, 200);
    assert!(place.read("a.txt").is_none());
}

// H-142
#[test]
fn a_job_that_runs_asks_once_its_user_has_a_narrower_role() {
    let place = Place::new();
    place.hold();
    begin_repository(&place.work());
    place.configure(
        "[serve.roles.careful]\nmay = [\"view\", \"prompt\"]\nup_to = \"ask\"\n\
         [serve.roles.looker]\nmay = [\"view\", \"prompt\"]\nsessions = \"all\"\nup_to = \"read-only\"\n",
    );
    let write = json!({"name": "write", "arguments": {"path": "b.txt", "content": "one\n"}});
    let lines = [bash(UNTIL_GO), json!({"calls": [write]}), json!({"say": "Done."})];
    let model = place.script("model", &lines);
    let server = Serving::start(&place, &["--model", &model, "--permission", "accept-edits"]);
    let mia = add(&place, &server, "mia", "member");
    let made = mia.ask("POST /v1/jobs", &json!({"description": "Write it"})).json();
    let id = made["job"].as_str().unwrap();
    let path = format!("/v1/jobs/{id}");
    let status = || server.ask(&format!("GET {path}"), "").json()["status"].as_str().unwrap().to_owned();
    poll(|| journal(&place, id).iter().any(|entry| entry["type"] == "tool_started"), status);

    add(&place, &server, "mia", "careful");

    let asks = |entry: &Value| entry["type"] == "mode_set" && entry["mode"] == "ask";
    poll(|| journal(&place, id).iter().any(asks), status);
    let work_tree = journal(&place, id)[0]["workspace"].as_str().unwrap().to_owned();
    fs::OpenOptions::new()
        .append(true)
        .open(Path::new(&work_tree).join(".go"))
        .unwrap()
        .write_all(b"go\n")
        .unwrap();
    poll(|| status() == "waiting", status);
    let has_written =
        journal(&place, id).iter().any(|entry| entry["type"] == "tool_ended" && entry["name"] == "write");
    assert!(!has_written);
    // To begin it anew would be to work in the mode `ask`.
    assert_eq!(server.ask(&format!("POST {path}/cancel"), "{}").status, 202);
    poll(|| status() == "cancelled", status);
    let looker = add(&place, &server, "hal", "looker");
    let refused = looker.ask(&format!("POST {path}/retry"), &json!({}));
    assert_eq!((refused.status, refused.error()), (403, "forbidden".into()), "{refused:?}");
    assert!(refused.body.contains("a wider mode than your role allows, which is `read-only`"), "{refused:?}");
}

// H-142
#[test]
fn an_answer_to_a_session_in_a_wider_mode_than_the_role_allows_is_refused() {
    let place = Place::new();
    place.configure(
        "[serve.roles.clerk]\nmay = [\"view\", \"approve\"]\nsessions = \"all\"\nup_to = \"read-only\"\n",
    );
    let write = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}});
    let ask = json!({"name": "ask_user", "arguments": {"question": "Which?", "options": ["red", "blue"]}});
    let model =
        place.script("model", &[json!({"calls": [write]}), json!({"calls": [ask]}), json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let (mia, clerk) = (add(&place, &server, "mia", "member"), add(&place, &server, "carl", "clerk"));
    let id = mia.session();
    for (place_of_answer, body) in
        [("approvals", json!({"answer": "once"})), ("questions", json!({"answer": "blue"}))]
    {
        let call = match place_of_answer {
            "approvals" => mia.prompt(&id),
            _ => mia.asked(&id),
        };
        let line = format!("POST /v1/sessions/{id}/{place_of_answer}/{call}");
        let refused = clerk.ask(&line, &body);
        assert_eq!((refused.status, refused.error()), (403, "forbidden".into()), "{refused:?}");
        assert_eq!(mia.ask(&line, &body).status, 202);
    }
}

// H-90
#[test]
fn the_models_of_a_role_hold_for_subagents_and_for_what_others_choose() {
    let place = Place::new();
    let roles = "[serve.roles.careful]\nmay = [\"view\", \"prompt\"]\nmodels = [\"script/*/model\"]\n";
    place.configure(roles);
    place.write("other", "{\"say\": \"Another.\"}\n");
    let agents = place.path().join("person/.config/haft/agents");
    fs::create_dir(&agents).unwrap();
    let other = format!("script/{}", place.work().join("other").display());
    let scout = format!("---\nname: scout\ndescription: Looks around\nmodel: {other}\n---\nLook around.\n");
    fs::write(agents.join("scout.md"), scout).unwrap();
    let delegate = json!({"name": "delegate", "arguments": {"agent": "scout", "task": "look around"}});
    let model = place.script("model", &[json!({"calls": [delegate]}), json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "accept-edits"]);
    let carl = add(&place, &server, "carl", "careful");
    let id = carl.session();
    carl.ask(&format!("POST /v1/sessions/{id}/prompt"), &json!({"text": "go", "wait": true}));
    let ended = journal(&place, &id).into_iter().find(|entry| entry["type"] == "tool_ended").unwrap();
    let said = format!("does not allow the model `{other}`");
    assert!(ended["ok"] == false && ended.to_string().contains(&said), "{ended}");
    let chosen = server.ask(&format!("PATCH /v1/sessions/{id}"), r#"{"model":"script/other"}"#);
    assert!(chosen.status == 400 && chosen.body.contains(&said), "{chosen:?}");
    assert_eq!(carl.get(&format!("/v1/sessions/{id}")).status, 200);
}
