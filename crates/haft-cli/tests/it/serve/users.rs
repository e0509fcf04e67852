//! Users of `haft serve`: what their roles allow, whose sessions they see, and the log of what they did.
use crate::kit::{
    Place,
    project::{begin_repository, git},
    serving::{Answered, Serving},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
    thread::sleep,
    time::Duration,
};

/// A server with the roles that Haft has, and some of its own.
pub(super) fn serving(place: &Place, more: &[&str]) -> Serving {
    place.configure(
        "[serve.roles.writer]\nmay = [\"view\", \"prompt\"]\n\
         [serve.roles.careful]\nmay = [\"view\", \"prompt\", \"approve\"]\nup_to = \"ask\"\nmodels = [\"script/*/model\"]\n\
         [serve.roles.looker]\nmay = [\"view\", \"prompt\"]\nsessions = \"all\"\nup_to = \"read-only\"\n",
    );
    let write = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}});
    let lines = [json!({"calls": [write]}), json!({"say": "Done."}), json!({"say": "Again."})];
    let model = place.script("model", &lines);
    place.script("other", &[json!({"say": "Another."})]);
    let mut words = vec!["--model", &model];
    words.extend(more);
    Serving::start(place, &words)
}

/// A client with the token of a user who is added now.
pub(super) struct Client<'a> {
    pub(super) server: &'a Serving,
    pub(super) token: String,
}

pub(super) fn add<'a>(place: &Place, server: &'a Serving, name: &str, role: &str) -> Client<'a> {
    let added = place.run(&["serve", "add-user", name, "--role", role]);
    assert_eq!(added.code, 0, "{added:?}");
    Client { server, token: added.out.trim().to_owned() }
}

impl Client<'_> {
    pub(super) fn ask(&self, line: &str, body: &Value) -> Answered {
        let token = format!("Bearer {}", self.token);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = [
            ("host", self.server.host.as_str()),
            ("authorization", &token),
            ("content-type", "application/json"),
        ];
        let head = if body.is_empty() { &head[..2] } else { &head[..] };
        self.server.with(line, head, &body)
    }

    pub(super) fn get(&self, path: &str) -> Answered {
        self.ask(&format!("GET {path}"), &Value::Null)
    }

    pub(super) fn session(&self) -> String {
        let made = self.ask("POST /v1/sessions", &json!({}));
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt, and waits until the call asks.
    pub(super) fn prompt(&self, id: &str) -> String {
        let taken = self.ask(&format!("POST /v1/sessions/{id}/prompt"), &json!({"text": "write it"}));
        assert_eq!(taken.status, 202, "{taken:?}");
        self.asked(id)
    }

    /// Waits until a call asks, and returns its ID.
    pub(super) fn asked(&self, id: &str) -> String {
        loop {
            if let Some(asked) = self.get(&format!("/v1/sessions/{id}/asked")).json().get(0) {
                return asked["call"].as_str().unwrap().to_owned();
            }
            sleep(Duration::from_millis(20));
        }
    }
}

pub(super) fn journal(place: &Place, id: &str) -> Vec<Value> {
    let text = fs::read_to_string(place.path().join("home/sessions").join(id).join("journal.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// H-91
#[test]
fn a_user_sees_no_session_of_another() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "ask"]);
    let (ann, ben) =
        (add(&place, &server, "ann@example.org", "member"), add(&place, &server, "ben", "member"));
    let id = ann.session();
    let call = ann.prompt(&id);
    let list = |client: &Client<'_>| client.get("/v1/sessions").json()["sessions"].as_array().unwrap().len();
    assert_eq!((list(&ann), list(&ben)), (1, 0));
    let shown = ann.get(&format!("/v1/sessions/{id}"));
    assert_eq!(shown.json()["user"], "ann@example.org");
    assert_eq!(shown.body.matches("\"user\"").count(), 1, "{shown:?}");
    // What is another's is told as what is not there, whatever is asked of it.
    for (method, path, body) in [
        ("GET", "", json!(null)),
        ("GET", "/timeline", json!(null)),
        ("GET", "/events", json!(null)),
        ("GET", "/asked", json!(null)),
        ("GET", "/export?format=json", json!(null)),
        ("GET", "/calls", json!(null)),
        ("GET", "/changes", json!(null)),
        ("GET", "/diff?seq=1", json!(null)),
        ("POST", "/prompt", json!({"text": "x"})),
        ("POST", "/typed", json!({"text": "/undo 1"})),
        ("POST", "/completions", json!({"typed": "@"})),
        ("POST", &format!("/approvals/{call}"), json!({"answer": "once"})),
        ("POST", "/interrupt", json!({})),
        ("POST", "/undo", json!({})),
        ("POST", "/fork", json!({})),
        ("PATCH", "", json!({"name": "mine"})),
    ] {
        let asked = ben.ask(&format!("{method} /v1/sessions/{id}{path}"), &body);
        let unknown =
            ben.ask(&format!("{method} /v1/sessions/20260101-000000-aaaaaaaaaaaaaaaa{path}"), &body);
        assert_eq!((asked.status, asked.error()), (404, "not_found".into()), "{method} {path}: {asked:?}");
        assert_eq!(asked.status, unknown.status, "{method} {path}");
    }
    let admin = add(&place, &server, "root", "admin");
    assert_eq!(list(&admin), 1);
    assert_eq!(server.ask("GET /v1/sessions", "").json()["sessions"].as_array().unwrap().len(), 1);
}

// H-91
#[test]
fn a_stream_of_all_sessions_tells_a_user_of_their_own_alone() {
    let place = Place::new();
    let mut server = serving(&place, &["--permission", "ask"]);
    let token = add(&place, &server, "ben", "member").token;
    let ann = add(&place, &server, "ann", "member");
    let others = ann.session();
    let own = std::mem::replace(&mut server.token, token);
    let mut stream = server.stream(&format!("/v1/events?follow={others}:0"), "");
    let refused = stream.next().unwrap();
    assert_eq!(refused["error"]["type"], "not_found", "{refused}");
    let theirs = std::mem::replace(&mut server.token, own);
    let ann = Client { token: add(&place, &server, "ann", "member").token, server: &server };
    ann.prompt(&others);
    let ben = Client { server: &server, token: theirs };
    let mine = ben.session();
    // The first one that the user hears of is their own.
    assert_eq!(stream.next().unwrap()["session"], json!(mine));
}

// H-92
#[test]
fn what_users_change_is_in_a_log_that_shows_what_was_changed_in_it() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "ask"]);
    let log = place.path().join("home/serve-audit.jsonl");
    server.session("{}");
    assert!(!log.exists(), "without users there is nothing to tell apart");
    let ann = add(&place, &server, "ann", "member");
    let id = ann.session();
    ann.get("/v1/sessions");
    let call = ann.prompt(&id);
    ann.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), &json!({"answer": "no"}));
    let viewer = add(&place, &server, "vera", "viewer");
    viewer.ask("POST /v1/sessions", &json!({}));
    // This changes nothing, and viewers may do it.
    let code = json!({"language": "python", "code": "assert True"});
    assert_eq!(viewer.ask("POST /v1/highlight", &code).status, 200);
    server.ask("POST /v1/sessions", "{}");
    let shown = place.run(&["serve", "audit", "--json"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let lines: Vec<Value> = shown.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let path = line["path"].as_str().unwrap().replace(&id, "ID").replace(&call, "CALL");
            (line["user"].as_str().unwrap_or("-").to_owned(), path, line["status"].as_u64())
        })
        .collect();
    let (own, all) = ("/v1/sessions/ID", "/v1/sessions");
    let expected = [
        ("ann", all.to_owned(), 201),
        ("ann", format!("{own}/prompt"), 202),
        ("ann", format!("{own}/approvals/CALL"), 202),
        ("vera", all.to_owned(), 403),
        ("-", all.to_owned(), 201),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .flat_map(|(user, path, status)| {
            [(user.to_owned(), path.clone(), None), (user.to_owned(), path, Some(status))]
        })
        .collect();
    assert_eq!(told, expected);
    let table = place.run(&["serve", "audit", "--user", "vera"]);
    assert!(table.out.contains("POST /v1/sessions") && !table.out.contains("ann"), "{table:?}");
    assert_eq!(place.run(&["serve", "audit", "--user", "bob"]).out, "`bob` has changed nothing.\n");
    // A last line that a crash left incomplete is cut off by the next one.
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{whole}{{\"at\":1,\"us")).unwrap();
    ann.session();
    let repaired = fs::read_to_string(&log).unwrap();
    assert!(repaired.starts_with(&whole) && place.run(&["serve", "audit"]).code == 0, "{repaired}");
    fs::write(&log, whole).unwrap();
    // A line that is changed, taken away or moved is seen.
    let whole = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let without = |place: usize| {
        let left =
            lines.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, line)| format!("{line}\n"));
        left.collect::<String>()
    };
    for forged in [whole.replacen("\"ann\"", "\"ben\"", 1), without(1), without(0)] {
        fs::write(&log, forged).unwrap();
        let checked = place.run(&["serve", "audit"]);
        assert_eq!(checked.code, 5, "{checked:?}");
        assert!(checked.err.contains("is not as it was written"), "{checked:?}");
    }
    // Where it cannot be written, nothing is done.
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    let refused = ann.ask("POST /v1/sessions", &json!({}));
    assert_eq!(refused.status, 500, "{refused:?}");
    assert!(refused.body.contains("the audit log cannot be written"), "{refused:?}");
}

// H-90
#[test]
fn a_name_or_role_that_is_none_is_refused() {
    let place = Place::new();
    for (words, said) in [
        (&["add-user", "a b"][..], "`a b` is not a name of a user"),
        (&["add-user", "ann", "--role", "king"], "there is no role `king`"),
        (&["remove-user", "ann"], "there is no user `ann`"),
    ] {
        let refused = place.run(&[&["serve"], words].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(said) && refused.err.contains("hint:"), "{refused:?}");
    }
    assert!(place.run(&["serve", "users"]).out.contains("There are no users"));
}

// H-90
#[test]
fn a_token_that_lets_in_no_user_is_refused_with_the_way_to_another() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let alone = server.with("GET /v1/me", &[("host", server.host.as_str())], "");
    assert!(alone.status == 401 && alone.body.contains("that `haft serve` prints"), "{alone:?}");
    let ann = add(&place, &server, "ann", "member");
    add(&place, &server, "ann", "member");
    let replaced = ann.get("/v1/me");
    assert_eq!((replaced.status, replaced.error()), (401, "unauthorized".into()), "{replaced:?}");
    assert!(replaced.body.contains("nor that of one of its users"), "{replaced:?}");
    assert!(replaced.body.contains("`haft serve add-user NAME`"), "{replaced:?}");
    // The configuration has lost the role since.
    let ben = add(&place, &server, "ben", "writer");
    let file = place.path().join("home/serve-users.json");
    let text = fs::read_to_string(&file).unwrap().replace("writer", "ghost");
    fs::write(&file, text).unwrap();
    let refused = ben.get("/v1/me");
    assert_eq!((refused.status, refused.error()), (403, "forbidden".into()), "{refused:?}");
    assert!(refused.body.contains("your role `ghost` is not configured"), "{refused:?}");
    assert!(!ann.get("/v1/me").body.contains("ghost"));
    let listed = place.run(&["serve", "users"]);
    assert!(listed.err.contains("`ben` is not let in: role `ghost` is not configured"), "{listed:?}");
    assert!(!listed.err.contains("`ann`"), "{listed:?}");
}

// H-93
#[test]
fn a_provider_that_is_not_set_up_is_told_at_the_start() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Done."})]);
    for (more, said) in [
        ("role = \"king\"", "`[serve.oidc]` names the role `king`, which does not exist"),
        ("client_secret_env = \"NO_SUCH\"", "NO_SUCH is not set"),
        (
            "groups = { developers = \"member\" }",
            "`[serve.oidc]` gives roles to groups, but has no `group_claim`",
        ),
        ("url = \"https://haft.example/agent\"", "an invalid `url`: `https://haft.example/agent`"),
        ("url = \"haft.example\"", "an invalid `url`: `haft.example`"),
        ("issuer = \"login.example\"", "an invalid `issuer`: `login.example`"),
    ] {
        let issuer = if more.starts_with("issuer") { "" } else { "issuer = \"https://login.example\"\n" };
        place.configure(&format!("[serve.oidc]\n{issuer}client_id = \"haft\"\n{more}\n"));
        let refused = place.run(&["serve", "--listen", "127.0.0.1:0", "--model", &model]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains(said) && refused.err.contains("hint:"), "{refused:?}");
    }
}

// H-91, H-142
#[test]
fn a_user_reads_nothing_of_the_server_or_of_others_through_tools() {
    let place = Place::new();
    // A name that means something in a pattern, behind a link.
    let real = place.path().join("real[1]");
    fs::create_dir_all(place.path().join("home")).unwrap();
    fs::rename(place.path().join("home"), &real).unwrap();
    symlink(&real, place.path().join("home")).unwrap();
    let server = serving(&place, &["--permission", "full"]);
    let (ann, ben) = (add(&place, &server, "ann", "member"), add(&place, &server, "ben", "member"));
    let hers = ann.session();
    let home = place.path().join("home");
    let of_hers = home.join("sessions").join(&hers);
    fs::create_dir_all(of_hers.join("outputs")).unwrap();
    fs::write(of_hers.join("outputs/output-1.txt"), "session_opened").unwrap();
    let config = place.path().join("person/.config/haft/config.toml");
    let write =
        |path: &Path| json!({"name": "write", "arguments": {"path": path, "content": "session_opened"}});
    let read = |path: &Path| json!({"name": "read", "arguments": {"path": path}});
    for call in [
        read(&home.join("serve-token")),
        read(&of_hers.join("journal.jsonl")),
        read(&of_hers.join("outputs/output-1.txt")),
        read(&real.join("sessions").join(&hers).join("outputs/output-1.txt")),
        json!({"name": "grep", "arguments": {"pattern": "opened", "path": real.join("sessions")}}),
        write(&of_hers.join("owner")),
        write(&real.join("sessions").join(&hers).join("owner")),
        write(&home.join("schedule/mine.json")),
        read(&config),
        write(&config),
        write(&config.with_file_name("agents").join("mine.md")),
    ] {
        fs::write(
            place.work().join("reads"),
            format!("{}\n{}\n", json!({"calls": [call]}), json!({"say": "Done."})),
        )
        .unwrap();
        let made = ben.ask("POST /v1/sessions", &json!({"model": "script/reads"}));
        let id = made.json()["id"].as_str().unwrap().to_owned();
        ben.ask(&format!("POST /v1/sessions/{id}/prompt"), &json!({"text": "go", "wait": true}));
        let ended = journal(&place, &id).into_iter().find(|entry| entry["type"] == "tool_ended").unwrap();
        assert_eq!(ended["ok"], false, "{ended}");
        assert!(
            !ended.to_string().contains(&server.token)
                && !ended.to_string().contains("session_opened")
                && ended.to_string().contains("is denied"),
            "{ended}"
        );
    }
    let profile = ben.ask("POST /v1/sessions", &json!({"profile": "p.toml"}));
    assert_eq!((profile.status, profile.error()), (403, "forbidden".into()), "{profile:?}");
    let memory = ben.ask(&format!("POST /v1/sessions/{}/typed", ben.session()), &json!({"text": "/memory"}));
    assert_eq!(memory.status, 403, "{memory:?}");
}

// H-90
#[test]
fn a_stream_ends_when_its_token_no_longer_holds() {
    let place = Place::new();
    let mut server = serving(&place, &["--permission", "ask"]);
    let first = add(&place, &server, "ann", "member").token;
    let own = std::mem::replace(&mut server.token, first);
    let id = server.session("{}");
    let mut streams = [server.stream("/v1/events", ""), server.follow(&id, "")];
    streams[1].until("session_opened");
    server.token = own;
    // The same user in the same role, with another token.
    let again = add(&place, &server, "ann", "member");
    streams.iter_mut().for_each(|stream| while stream.next().is_some() {});
    assert_eq!(again.get("/v1/sessions").json()["sessions"][0]["id"], json!(id));
}

// H-91
#[test]
fn a_fork_is_of_the_user_who_made_it() {
    let place = Place::new();
    let server = serving(&place, &["--permission", "ask"]);
    let (ann, root) = (add(&place, &server, "ann", "member"), add(&place, &server, "root", "admin"));
    let id = ann.session();
    ann.prompt(&id);
    ann.ask(&format!("POST /v1/sessions/{id}/interrupt"), &json!({}));
    server.follow(&id, "").until("turn_ended");
    let fork = |client: &Client<'_>| client.ask(&format!("POST /v1/sessions/{id}/fork"), &json!({})).json();
    let (own, others) = (fork(&ann), fork(&root));
    assert_eq!((&own["user"], &others["user"]), (&json!("ann"), &json!("root")), "{others}");
    let status = |forked: &Value| ann.get(&format!("/v1/sessions/{}", forked["id"].as_str().unwrap())).status;
    assert_eq!((status(&own), status(&others)), (200, 404));
}

// H-91
#[test]
fn an_answer_to_a_question_names_the_user_who_gave_it() {
    let place = Place::new();
    let ask = json!({"name": "ask_user", "arguments": {"question": "Which?", "options": ["red", "blue"]}});
    let model = place.script("model", &[json!({"calls": [ask]}), json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let (mia, anton) = (add(&place, &server, "mia", "member"), add(&place, &server, "anton", "approver"));
    let id = mia.session();
    let call = mia.prompt(&id);
    let path = format!("POST /v1/sessions/{id}/questions/{call}");
    assert_eq!(anton.ask(&path, &json!({"answer": "blue"})).status, 202);
    let answered = server.follow(&id, "").until("question_answered").pop().unwrap();
    assert_eq!((&answered["answer"], &answered["by"]), (&json!("blue"), &json!("anton")));
}

// H-93
#[test]
fn only_some_logins_begin_at_a_time() {
    let place = Place::new();
    place.configure(
        "[serve.oidc]\nissuer = \"http://127.0.0.1:9\"\nclient_id = \"haft\"\nrole = \"viewer\"\n",
    );
    let model = place.script("model", &[json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let host = [("host", server.host.as_str()), ("cookie", "haft-login=a.b.c")];
    // Also those that come back with a code, which the provider is asked about.
    for path in ["GET /login", "GET /login/callback?code=x&state=a"] {
        // Many at a time: one after the other, a busy machine may be too slow to reach the limit.
        let begin = || (0..50).map(|_| server.with(path, &host, "").status).collect::<Vec<u16>>();
        let begun: Vec<u16> = std::thread::scope(|scope| {
            let clients = [(); 8].map(|()| scope.spawn(begin));
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        let all: std::collections::BTreeSet<u16> = begun.iter().copied().collect();
        assert_eq!(Vec::from_iter(all), [429, 502], "{path}: {begun:?}");
    }
    assert_eq!(server.ask("GET /v1/me", "").status, 200, "others are served");
}

// H-101
#[test]
fn users_start_jobs_of_their_own_within_what_their_roles_allow() {
    let place = Place::new();
    place.write("b.txt", "b\n");
    begin_repository(&place.work());
    // Publishing asks, since it would push.
    git(&place.work(), &["remote", "add", "origin", "../remote.git"]);
    let write = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}});
    let lines = [json!({"calls": [write]}), json!({"say": "Done."}), json!({"say": "Done."})];
    let (usual, other) = (place.script("model", &lines), place.script("other", &lines));
    let role = |name: &str, more: &str| {
        format!("[serve.roles.{name}]\nmay = [\"view\", \"prompt\", \"approve\"]\n{more}\n")
    };
    place.configure(
        &[
            role("careful", "up_to = \"ask\""),
            role("frugal", &format!("models = [\"{other}\"]")),
            role("elsewhere", "folders = [\"/nowhere\"]"),
        ]
        .concat(),
    );
    let server = Serving::start(&place, &["--model", &usual, "--permission", "accept-edits"]);
    let [carl, mia, fred, elli, vera] = [
        ("carl", "careful"),
        ("mia", "member"),
        ("fred", "frugal"),
        ("elli", "elsewhere"),
        ("vera", "viewer"),
    ]
    .map(|(name, role)| add(&place, &server, name, role));
    let begin = |client: &Client<'_>| client.ask("POST /v1/jobs", &json!({"description": "Write it"}));
    let id = |made: Answered| {
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["job"].as_str().unwrap().to_owned()
    };
    let jobs = |client: &Client<'_>| {
        let listed = client.get("/v1/jobs").json();
        listed["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["job"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let until = |client: &Client<'_>, id: &str, status: &str| {
        for _ in 0..1_500 {
            if client.get(&format!("/v1/jobs/{id}")).json()["status"] == status {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        panic!("waited for {status}: {:?}", client.get(&format!("/v1/jobs/{id}")));
    };
    // The mode of the role holds: without it, the write needs no approval.
    let asks = id(begin(&carl));
    until(&carl, &asks, "waiting");
    assert_eq!((jobs(&carl), jobs(&mia), jobs(&vera)), (vec![asks.clone()], vec![], vec![asks.clone()]));
    for (client, status) in [(&mia, 404), (&vera, 403)] {
        assert_eq!(client.ask(&format!("POST /v1/jobs/{asks}/cancel"), &json!({})).status, status);
    }
    let entries = journal(&place, &asks);
    assert_eq!(entries[0]["user"], "carl");
    let has_written = |entries: &[Value]| {
        entries.iter().any(|entry| entry["type"] == "tool_ended" && entry["name"] == "write")
    };
    assert!(!has_written(&entries), "{entries:?}");
    assert_eq!(carl.ask(&format!("POST /v1/jobs/{asks}/cancel"), &json!({})).status, 202);
    until(&carl, &asks, "cancelled");
    // That of another one lets it write, and asks before what was written is pushed.
    let writes = id(begin(&mia));
    until(&mia, &writes, "waiting");
    assert!(has_written(&journal(&place, &writes)));
    for (act, status) in [("cancel", "cancelled"), ("retry", "failed")] {
        assert_eq!(mia.ask(&format!("POST /v1/jobs/{writes}/{act}"), &json!({})).status, 202, "{act}");
        until(&mia, &writes, status);
    }
    // The model is that of the role.
    assert_eq!(journal(&place, &id(begin(&fred)))[0]["model"], json!(other));
    let refused = begin(&elli);
    assert_eq!((refused.status, refused.error()), (403, "forbidden".into()), "{refused:?}");
    assert_eq!(begin(&vera).status, 403);
}

// H-91
#[test]
fn users_whom_root_adds_are_those_of_the_account_that_runs_the_server() {
    let place = Place::new();
    let home = place.path().join("home");
    fs::create_dir_all(&home).unwrap();
    // Only root can give the folder away; for others, all files are their own.
    let _own = std::os::unix::fs::chown(&home, Some(65_534), Some(65_534));
    for name in ["ann", "ben"] {
        let added = place.run(&["serve", "add-user", name, "--role", "member"]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let owner = fs::metadata(&home).unwrap().uid();
    for file in ["serve-users.json", "serve-users.lock"] {
        assert_eq!(fs::metadata(home.join(file)).unwrap().uid(), owner, "{file}");
    }
}
