//! `GET /readyz` says whether the server could take a prompt, and `GET /healthz` that it lives. The real binary, a real
//! PostgreSQL.
use crate::kit::{Place, bash, fleet::Fleet, serving::Serving};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::mpsc,
    time::{Duration, Instant},
};

/// Waits until `/readyz` says so, as a load balancer does: without the token. The server lives all the while.
fn wait_until(server: &Serving, status: u16, body: &Value) {
    let ask = |path: &str| server.with(&format!("GET {path}"), &[("host", &server.address)], "");
    let begun = Instant::now();
    loop {
        let (ready, live) = (ask("/readyz"), ask("/healthz"));
        assert_eq!((live.status, live.body.as_str()), (200, r#"{"status":"ok"}"#));
        if (ready.status, &ready.json()) == (status, body) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{ready:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn ready(server: &Serving) {
    wait_until(server, 200, &json!({"status": "ready"}));
}

fn unready(server: &Serving, reason: &str) {
    wait_until(server, 503, &json!({"status": "unready", "reason": reason}));
}

// H-64
#[test]
fn a_server_is_ready_while_its_data_folder_takes_files() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model]);
    ready(&server);
    let (home, away) = (place.path().join("home"), place.path().join("away"));
    fs::rename(&home, &away).unwrap();
    unready(&server, "storage");
    fs::rename(&away, &home).unwrap();
    ready(&server);
    let left = fs::read_dir(&home).unwrap().map(|file| file.unwrap().file_name()).collect::<Vec<_>>();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("ready")), "{left:?}");
}

// H-64
#[test]
fn a_server_of_a_fleet_is_ready_while_its_database_answers_with_tables_that_it_knows() {
    let Some(fleet) = Fleet::new() else { return };
    let server = Serving::start(&fleet.place, &["--fleet", &fleet.server.address()]);
    ready(&server);
    fleet.server.freeze();
    unready(&server, "database");
    fleet.server.stop();
    unready(&server, "database");
    fleet.server.begin();
    ready(&server);
    fleet.server.sql("INSERT INTO migrations (version, name) VALUES (99, 'of a later haft')");
    unready(&server, "schema");
    fleet.server.sql("DELETE FROM migrations WHERE version = 99");
    ready(&server);
}

// H-64
#[test]
fn a_server_that_stops_takes_no_prompt() {
    let place = Place::new();
    // It does not end when it is asked to, so that the server stops a second later.
    let model = place.script("model", &[bash("trap '' TERM; touch begun; while :; do sleep 0.1; done")]);
    let mut server = Serving::start(&place, &["--model", &model, "--permission", "full"]);
    let id = server.session("{}");
    let taken = server.ask(&format!("POST /v1/sessions/{id}/prompt"), r#"{"text":"go"}"#);
    assert!(taken.status < 300, "{taken:?}");
    let begun = Instant::now();
    while !place.has_made("begun") && !place.work().join("begun").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the command does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let (stream, host) = (server.connect(), server.address.clone());
    let (taken, first) = mpsc::channel();
    let asking = std::thread::spawn(move || last_answer(stream, &host, &taken));
    // The server takes no connection once it stops.
    first.recv().unwrap();
    assert_eq!(server.stop(), 0);
    assert_eq!(asking.join().unwrap(), json!({"status": "unready", "reason": "draining"}));
}

/// Asks on one connection until it is closed, and returns the last answer. `answered` hears of each.
fn last_answer(mut stream: TcpStream, host: &str, answered: &mpsc::Sender<()>) -> Value {
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let (mut last, request) = (Value::Null, format!("GET /readyz HTTP/1.1\r\nhost: {host}\r\n\r\n"));
    while stream.write_all(request.as_bytes()).is_ok() {
        let (mut line, mut length) = (String::new(), 0);
        while answers.read_line(&mut line).is_ok_and(|read| read > 0) && line != "\r\n" {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        if length == 0 || answers.read_exact(&mut body).is_err() {
            break;
        }
        last = serde_json::from_slice(&body).unwrap();
        let _ = answered.send(());
    }
    last
}
