//! `haft serve`: who is let in, and what no request can make it do. The real binary, raw HTTP.
use crate::kit::{Place, serving::Serving};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

fn serving(place: &Place, more: &[&str]) -> Serving {
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let words: Vec<&str> = ["--model", &model].iter().chain(more).copied().collect();
    Serving::start(place, &words)
}

/// Every route of the description, with a name where one is wanted.
fn routes(server: &Serving) -> Vec<String> {
    let described = server.ask("GET /openapi.json", "").json();
    let paths = described["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, methods)| {
        let path = path.replace("{id}", "20260101-000000-0000000000000000");
        methods.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

// D46, D47, D48
#[test]
fn no_route_does_anything_for_those_who_are_not_let_in() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let (address, token) = (server.address.clone(), format!("Bearer {}", server.token));
    let port = address.rsplit(':').next().unwrap();
    let (rebound, foreign) = (format!("127.0.0.1.evil.example:{port}"), format!("http://127.0.0.1:1{port}"));
    let (own, both) = (format!("http://{address}"), format!("{address}, evil.example"));
    let (host, ours) = (("host", address.as_str()), ("origin", own.as_str()));
    let known = ("authorization", token.as_str());
    let wrong = format!("Bearer {}", "0".repeat(64));
    let table = [
        ("no token", 401, vec![host]),
        ("a wrong token", 401, vec![host, ("authorization", &wrong)]),
        ("another scheme", 401, vec![host, ("authorization", &server.token)]),
        ("a foreign host", 421, vec![("host", "evil.example"), known]),
        ("a host that begins like ours", 421, vec![("host", &rebound), known]),
        ("no host", 421, vec![known]),
        ("a foreign origin", 403, vec![host, known, ("origin", "http://evil.example")]),
        ("no origin at all", 403, vec![host, known, ("origin", "null")]),
        ("another port of this machine", 403, vec![host, known, ("origin", &foreign)]),
        ("a page of another site", 403, vec![host, known, ("sec-fetch-site", "cross-site")]),
        ("a page of a neighbor", 403, vec![host, known, ("sec-fetch-site", "same-site")]),
        ("a foreign host behind ours", 421, vec![host, ("host", "evil.example"), known]),
        ("a foreign host before ours", 421, vec![("Host", "evil.example"), host, known]),
        ("our host twice", 421, vec![host, host, known]),
        ("two hosts in one", 421, vec![("host", &both), known]),
        ("a foreign origin behind ours", 403, vec![host, known, ours, ("origin", "http://evil.example")]),
        ("a foreign origin before ours", 403, vec![host, known, ("origin", "http://evil.example"), ours]),
        ("two sites", 403, vec![host, known, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")]),
        ("a second token", 401, vec![host, known, ("authorization", &wrong)]),
    ];
    let all = routes(&server);
    assert!(all.len() > 30, "{all:?}");
    let is_public = |route: &&String| route.ends_with("/healthz") || route.ends_with("/readyz");
    for route in all.iter().filter(|route| !is_public(route)) {
        for (what, status, head) in &table {
            // Wrong tokens are answered only so often.
            if *what == "a wrong token" && route != &all[1] {
                continue;
            }
            let answered = server.with(route, head, "");
            assert_eq!(answered.status, *status, "{route}, {what}: {answered:?}");
            assert!(!answered.head.contains("access-control-"), "{route}, {what}: {answered:?}");
            let error = &answered.json()["error"];
            assert!(error["message"].is_string() && error["suggestion"].is_string(), "{answered:?}");
        }
    }
    for route in all.iter().filter(|route| route.starts_with("POST") || route.starts_with("PATCH")) {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            let answered = server.with(route, &[host, known, ("content-type", kind)], "{}");
            assert_eq!(answered.status, 415, "{route}, {kind}: {answered:?}");
        }
    }
    assert!(!place.path().join("home/sessions").exists(), "something was made");
}

// D46, D48
#[test]
fn whoever_is_not_let_in_learns_no_route() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let host = ("host", server.address.as_str());
    let known = server.with("GET /v1/sessions", &[host], "");
    for line in [
        "GET /v1/nothing",
        "DELETE /",
        "POST /healthz",
        "OPTIONS /v1/sessions",
        "GET /../v1",
        "PUT /v1/sessions",
    ] {
        let unknown = server.with(line, &[host], "");
        assert_eq!((unknown.status, &unknown.body), (known.status, &known.body), "{line}");
        assert!(!unknown.head.contains("\nallow:"), "{line}: {unknown:?}");
    }
    assert_eq!(server.ask("GET /v1/nothing", "").status, 404);
    assert_eq!(server.ask("PUT /v1/sessions", "").status, 405);
    let health = server.with("GET /healthz", &[host], "");
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#));
    // A link to the page may be followed from anywhere; a script may not load it.
    let linked = [host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
    let loaded = [host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
    assert_eq!(server.with("GET /", &linked, "").status, 200);
    assert_eq!(server.with("GET /", &loaded, "").status, 403);
}

// D49, D68
#[test]
fn no_name_is_a_path() {
    let place = Place::new();
    let server = serving(&place, &[]);
    std::fs::write(place.path().join("secret.jsonl"), "secret").unwrap();
    let id = server.session("{}");
    let long = "x".repeat(20_000);
    let names = [
        "..",
        "%2e%2e",
        "..%2f..%2fsecret",
        "%2e%2e%2f%2e%2e%2fsecret",
        "..%5c..",
        "%2fetc%2fpasswd",
        "%00",
        &long,
        "..%2fsessions",
        "%ff%fe",
        "*",
        &id[..10],
        "..;/x",
    ];
    let journal = |id: &str| place.path().join("home/sessions").join(id).join("journal.jsonl");
    for route in routes(&server).iter().filter(|route| route.contains("20260101")) {
        for name in names {
            let line = route.replace("20260101-000000-0000000000000000", name);
            let answered = server.ask(&line, "");
            assert!((400..500).contains(&answered.status), "{line}: {answered:?}");
            assert!(!answered.body.contains("secret\""), "{line}: {answered:?}");
        }
    }
    for line in
        ["GET //etc/passwd", "GET /../../etc/passwd", "GET /v1/../../etc/passwd", "GET /style.css/../../x"]
    {
        let answered = server.ask(line, "");
        assert!(
            (400..500).contains(&answered.status) && !answered.body.contains("root:"),
            "{line}: {answered:?}"
        );
    }
    assert!(journal(&id).exists());
    let elsewhere = place.path().display().to_string();
    for workspace in ["/", "/etc", "../..", elsewhere.as_str(), "/no/such/folder"] {
        let body = json!({"workspace": workspace}).to_string();
        assert_eq!(server.ask("POST /v1/sessions", &body).status, 400, "{workspace}");
    }
    std::os::unix::fs::symlink("/etc", place.work().join("out")).unwrap();
    let body = json!({"workspace": place.work().join("out")}).to_string();
    assert_eq!(server.ask("POST /v1/sessions", &body).status, 400);
}

// D68
#[test]
fn a_profile_and_a_model_are_names_or_files_of_a_folder_that_is_served() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let (outside, script) = (place.path().join("outside.toml"), place.path().join("outside.jsonl"));
    std::fs::write(&outside, "secret = \"of another folder\"\n").unwrap();
    std::fs::write(&script, "{\"say\": \"secret\"}\n").unwrap();
    std::fs::create_dir(place.work().join("below")).unwrap();
    std::os::unix::fs::symlink(&outside, place.work().join("link.toml")).unwrap();
    std::os::unix::fs::symlink(&script, place.work().join("link.jsonl")).unwrap();
    std::os::unix::fs::symlink(place.path(), place.work().join("up")).unwrap();
    let whole = |path: &std::path::Path| path.display().to_string();
    let profiles = [
        &whole(&outside),
        "/no/such/profile.toml",
        "../outside.toml",
        "below/../../outside.toml",
        "link.toml",
        "up/outside.toml",
        "/dev/null/x.toml",
        "/etc/passwd",
        "below",
    ];
    let scripts = [whole(&script), "/no/such".into(), "../outside.jsonl".into(), "link.jsonl".into()];
    let models = scripts.iter().map(|file| format!("script/{file}"));
    let models: Vec<String> = models
        .chain(["script/up/outside.jsonl", "script//dev/zero", "script/."].map(str::to_owned))
        .chain(["local//no/such.gguf", "local/../x.gguf", "local/local//no/such.gguf"].map(str::to_owned))
        .collect();
    let profiles = profiles.map(|profile| ("POST /v1/sessions", json!({"profile": profile})));
    let made = models.iter().map(|model| ("POST /v1/sessions", json!({"model": model})));
    let said = models.iter().flat_map(|model| {
        let messages = json!([{"role": "user", "content": "x"}]);
        [
            ("POST /v1/chat/completions", json!({"model": model, "messages": messages})),
            ("POST /v1/responses", json!({"model": model, "input": "x"})),
        ]
    });
    let what = |error: &Value| {
        let message = error["error"]["message"].as_str().unwrap().to_owned();
        message.split('`').step_by(2).collect::<String>()
    };
    for (line, body) in profiles.into_iter().chain(made).chain(said) {
        let refused = server.ask(line, &body.to_string());
        // Whether there is such a file elsewhere is not said.
        let is_same = if body["profile"] == "below" { refused.status >= 400 } else { refused.status == 400 };
        assert!(is_same && !refused.body.contains("secret"), "{line} {body}: {refused:?}");
        if body["profile"] != "below" {
            let ending = what(&refused.json());
            assert!(ending.ends_with("is not a file in a folder that is served"), "{body}: {ending}");
        }
    }
    assert_eq!(server.ask("GET /v1/sessions?all=true", "").json()["sessions"], json!([]));
}

#[test]
fn a_profile_of_the_workspace_holds_when_the_session_is_opened_again() {
    let place = Place::new();
    let standard = place.run(&["profiles", "show", "default"]).out;
    let file =
        place.write("profiles/mill.toml", standard.replacen("\"default\"", "\"/no/such/place.toml\"", 1));
    place.write("mill.jsonl", "{\"say\": \"Hello.\"}\n{\"say\": \"Again.\"}\n");
    for profile in ["profiles/mill.toml", file.to_str().unwrap()] {
        let mut server = serving(&place, &[]);
        let id = server.session(&json!({"profile": profile, "model": "script/mill.jsonl"}).to_string());
        let shown = server.ask(&format!("GET /v1/sessions/{id}"), "").json();
        assert_eq!(shown["profile"], json!(file), "{profile}");
        let prompt = format!("POST /v1/sessions/{id}/prompt");
        let mut events = server.follow(&id, "");
        assert_eq!(server.ask(&prompt, r#"{"text":"hi"}"#).status, 202);
        assert_eq!(events.until("turn_ended").last().unwrap()["outcome"], "finished", "{profile}");
        server.stop();
        let server = serving(&place, &[]);
        let mut events = server.follow(&id, "");
        events.until("turn_ended");
        assert_eq!(server.ask(&prompt, r#"{"text":"again"}"#).status, 202);
        assert_eq!(events.until("turn_ended").last().unwrap()["outcome"], "finished", "{profile}");
    }
}

#[test]
fn a_session_of_another_folder_is_not_there() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let other = place.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut ran = place.haft(&["run", "--model", &model, "hi"]);
    assert!(ran.current_dir(&other).output().unwrap().status.success());
    let id = place.journal().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let show = format!("GET /v1/sessions/{id}");
    {
        let server = serving(&place, &[]);
        assert_eq!(server.ask(&show, "").status, 404);
        assert_eq!(server.ask("GET /v1/sessions?all=true", "").json()["sessions"], json!([]));
        assert_eq!(server.ask(&format!("DELETE /v1/sessions/{id}"), "").status, 404);
    }
    let server = serving(&place, &["--folder", other.to_str().unwrap()]);
    let shown = server.ask(&show, "").json();
    assert_eq!((&shown["id"], &shown["title"]), (&json!(id), &json!("hi")));
}

// D16
#[test]
fn the_token_is_told_once_and_kept() {
    let place = Place::new();
    let mut first = serving(&place, &[]);
    let (page, programs) = (first.line(), first.line());
    assert!(page.contains(&format!("open http://{}/#token={}", first.address, first.token)), "{page}");
    assert!(programs.contains(&format!("Authorization: Bearer {}", first.token)), "{programs}");
    let file = place.path().join("home/serve-token");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    first.kill();
    let mut second = serving(&place, &[]);
    assert_eq!(second.token, first.token);
    let line = second.line();
    assert!(line.contains("--show-token") && !line.contains(&second.token), "{line}");
    second.kill();
    let mut third = serving(&place, &["--show-token"]);
    assert!(third.line().contains(&first.token));
}

// D52
#[test]
fn others_are_served_while_somebody_guesses_tokens() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let mut statuses = Vec::new();
    let mut stream = server.connect();
    let read = |stream: &mut std::net::TcpStream| {
        let mut some = [0; 4096];
        let length = stream.read(&mut some).unwrap();
        String::from_utf8_lossy(&some[..length]).split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    for count in 0..300 {
        let request = format!(
            "GET /v1/sessions HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {count:064}\r\n\r\n",
            server.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        statuses.push(read(&mut stream));
    }
    assert!(statuses[..10].iter().all(|status| *status == 401), "{statuses:?}");
    let limited = statuses.iter().filter(|status| **status == 429).count();
    assert!(limited > 200, "{statuses:?}");
    assert_eq!(server.ask("GET /v1/sessions", "").status, 200);
}

// D50
#[test]
fn what_is_too_large_or_too_slow_is_refused_and_others_are_served() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let head = format!("host: {}\r\nauthorization: Bearer {}\r\n", server.address, server.token);
    let json = "content-type: application/json\r\n";
    let huge = format!("POST /v1/sessions HTTP/1.1\r\n{head}{json}content-length: 1073741824\r\n\r\n{{");
    assert_eq!(server.say(huge.as_bytes()).status, 413);
    let mut chunked =
        format!("POST /v1/sessions HTTP/1.1\r\n{head}{json}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..30 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.extend(std::iter::repeat_n(b' ', 1 << 20));
        chunked.extend_from_slice(b"\r\n");
    }
    assert!(matches!(server.say(&chunked).status, 413 | 0));
    let headers: String = (0..100_000).map(|count| format!("x-{count}: y\r\n")).collect();
    assert!(matches!(
        server.say(format!("GET /healthz HTTP/1.1\r\n{head}{headers}\r\n").as_bytes()).status,
        431 | 0
    ));
    let url = "x".repeat(1 << 20);
    assert!(matches!(
        server.say(format!("GET /{url} HTTP/1.1\r\n{head}\r\n").as_bytes()).status,
        414 | 431 | 0
    ));

    // Strangers who say nothing, or half a request, take no place from others.
    allow_many_files();
    let mut idle = Vec::new();
    for count in 0..10_000 {
        let mut stream = server.connect();
        if count % 2 == 0 {
            let _it_may_be_closed = stream.write_all(b"GET /v1/sess");
        }
        idle.push(stream);
        if count % 2_500 == 2_499 {
            let begun = Instant::now();
            assert_eq!(server.ask("GET /v1/sessions", "").status, 200);
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        }
    }
    let figures = server.ask("GET /metrics", "").body;
    let open = figures.lines().find_map(|line| line.strip_prefix("haft_http_connections "));
    assert!(open.unwrap().parse::<usize>().unwrap() < 1_100, "{open:?}");
}

/// Each connection is a file here, too.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

// D51
#[test]
fn it_listens_on_this_machine_alone() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let port = server.address.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    // proc(5): the local address of each socket, in hexadecimal.
    let listening = |file: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let own = format!(":{port:04X}");
        text.lines()
            .filter_map(|line| {
                line.split_whitespace().nth(1).filter(|address| address.ends_with(&own)).map(str::to_owned)
            })
            .filter(|address| !address.is_empty())
            .collect::<Vec<_>>()
    };
    let found = listening(&format!("/proc/{}/net/tcp", server.id()));
    assert!(!found.is_empty() && found.iter().all(|address| address.starts_with("0100007F:")), "{found:?}");
    assert!(listening(&format!("/proc/{}/net/tcp6", server.id())).is_empty());
}

#[test]
fn what_cannot_be_read_is_said_in_plain_words() {
    let place = Place::new();
    let server = serving(&place, &[]);
    let id = server.session("{}");
    let prompt = format!("POST /v1/sessions/{id}/prompt");
    let table = [
        ("POST /v1/sessions", "{", 400, "invalid_request", "cannot read the body"),
        ("POST /v1/sessions", r#"{"modle":"x"}"#, 400, "invalid_request", "modle"),
        (
            "POST /v1/sessions",
            r#"{"agent":"missing"}"#,
            400,
            "invalid_request",
            "there is no agent `missing`",
        ),
        ("POST /v1/sessions", r#"{"permission":"all"}"#, 400, "invalid_request", "`all` is not a mode"),
        (&prompt, "{}", 400, "invalid_request", "the prompt is empty"),
        (&prompt, r#"{"parts":[{"type":"upload","id":"x"}]}"#, 400, "invalid_request", "there is no upload"),
        (
            &prompt,
            r#"{"parts":[{"type":"image","mime":"image/png","data":"AAAA"}]}"#,
            400,
            "invalid_request",
            "is not a picture",
        ),
        (
            &prompt,
            r#"{"parts":[{"type":"image","mime":"image/gif","data":"iVBORw0KGgo="}]}"#,
            400,
            "invalid_request",
            "is `image/png`, not `image/gif`",
        ),
        (&format!("POST /v1/sessions/{id}/interrupt"), "", 202, "", ""),
        (&format!("POST /v1/sessions/{id}/undo"), "", 409, "conflict", "nothing to undo"),
        (&format!("POST /v1/sessions/{id}/redo"), "", 409, "conflict", "nothing to redo"),
        (
            &format!("POST /v1/sessions/{id}/approvals/x"),
            r#"{"answer":"once"}"#,
            409,
            "conflict",
            "waits for an approval",
        ),
        (
            &format!("POST /v1/sessions/{id}/questions/x"),
            r#"{"answer":"a"}"#,
            409,
            "conflict",
            "waits for an answer",
        ),
        (
            &format!("POST /v1/sessions/{id}/answer"),
            r#"{"call":"x","answer":"once"}"#,
            409,
            "conflict",
            "waits for an approval",
        ),
        (
            &format!("GET /v1/sessions/{id}/export?format=pdf"),
            "",
            400,
            "invalid_request",
            "`pdf` is not a format",
        ),
        (&format!("GET /v1/sessions/{id}/diff?seq=99"), "", 404, "not_found", "there is no entry 99"),
        (&format!("GET /v1/jobs/{id}"), "", 404, "not_found", "is not a job"),
        ("POST /v1/jobs", r#"{"description":" "}"#, 400, "invalid_request", "description"),
        (
            "POST /v1/chat/completions",
            r#"{"model":"gpt-9","messages":[{"role":"user","content":"x"}]}"#,
            404,
            "model_not_found",
            "`gpt-9`",
        ),
        ("POST /v1/responses", r#"{"model":"haft","input":7}"#, 400, "invalid_request", "`input`"),
    ];
    for (line, body, status, kind, words) in table {
        let answered = server.ask(line, body);
        assert_eq!(answered.status, status, "{line} {body}: {answered:?}");
        if status >= 400 {
            assert_eq!(answered.error(), kind, "{line} {body}");
            let message = answered.json()["error"]["message"].clone();
            assert!(
                matches!(&message, Value::String(text) if text.contains(words)),
                "{line} {body}: {message}"
            );
        }
    }
}

#[test]
fn a_client_is_told_when_a_refusal_ends_its_connection() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Done."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let head = |line: &str, body: &str| {
        let mut stream = server.connect();
        let (host, token, length) = (&server.host, &server.token, body.len());
        let text = format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = [0; 2_000];
        let read = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..read]).into_owned()
    };
    let refused = head("POST /v1/nowhere", "{}");
    assert!(refused.starts_with("HTTP/1.1 404") && refused.contains("connection: close\r\n"), "{refused}");
    let missing = head("GET /v1/nowhere", "");
    assert!(missing.starts_with("HTTP/1.1 404") && !missing.contains("connection: close"), "{missing}");
}
