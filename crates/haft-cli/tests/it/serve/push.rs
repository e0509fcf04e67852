//! Devices that `haft serve` notifies: who is told of what, and for how long. `scripts/serve_push.mjs` reads what they are told.
use crate::kit::{Place, serving::Serving};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

/// The public key of RFC 8291, appendix A.
const PUBLIC: &str =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";

/// A push service. At `/gone` it knows no subscription.
struct Service {
    address: String,
    messages: Receiver<Message>,
}

/// A message that came.
#[derive(Debug)]
struct Message {
    path: String,
    head: String,
    bytes: usize,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let sender = sender.clone();
                thread::spawn(move || take(stream.unwrap(), &sender));
            }
        });
        Self { address, messages }
    }

    /// The paths of the next messages, in alphabetical order.
    fn next(&self, count: usize) -> Vec<String> {
        let one = |_| self.messages.recv_timeout(Duration::from_secs(30)).unwrap().path;
        let mut paths: Vec<_> = (0..count).map(one).collect();
        paths.sort();
        paths
    }

    fn device(&self, path: &str, wishes: &Value) -> Value {
        let keys = json!({"p256dh": PUBLIC, "auth": "BTBZMqHH6r4Tts7J_aSIgg"});
        json!({"subscription": {"endpoint": format!("{}{path}", self.address), "keys": keys}, "wishes": wishes})
    }
}

/// Answers the requests of a connection.
fn take(stream: TcpStream, sender: &Sender<Message>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let head = head.to_ascii_lowercase();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let status = if path == "/gone" { "410 Gone" } else { "201 Created" };
        write!(&stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").unwrap();
        let _the_test_is_over = sender.send(Message { path, head, bytes: body.len() });
    }
}

fn serving(place: &Place, more: &str) -> Serving {
    place.configure(&format!("[serve.push]\nafter = 0\nallow_private = true\n{more}"));
    let write = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}});
    let model = place.script("model", &[json!({"calls": [write]}), json!({"say": "Done."})]);
    Serving::start(place, &["--model", &model, "--permission", "ask"])
}

fn with(server: &Serving, token: &str, line: &str, body: &Value) -> Value {
    let token = format!("Bearer {token}");
    let head =
        [("host", server.host.as_str()), ("authorization", &token), ("content-type", "application/json")];
    let answered = server.with(line, &head, &body.to_string());
    assert!((200..300).contains(&answered.status), "{line}: {answered:?}");
    answered.json()
}

/// A session of a client in which a call waits.
fn asks(server: &Serving, token: &str) -> String {
    let id = with(server, token, "POST /v1/sessions", &json!({}))["id"].as_str().unwrap().to_owned();
    with(server, token, &format!("POST /v1/sessions/{id}/prompt"), &json!({"text": "write it"}));
    id
}

fn add(place: &Place, name: &str, role: &str) -> String {
    let added = place.run(&["serve", "add-user", name, "--role", role]);
    assert_eq!(added.code, 0, "{added:?}");
    added.out.trim().to_owned()
}

// H-97
#[test]
fn a_device_is_told_what_its_person_may_see_and_as_long_as_the_login_holds() {
    let (place, service) = (Place::new(), Service::start());
    let server = serving(&place, "");
    let (ann, ben) = (add(&place, "ann", "member"), add(&place, "ben", "member"));
    let put = |token: &str, path: &str| {
        with(&server, token, "PUT /v1/push", &service.device(path, &json!({})));
    };
    for (token, path) in [(&server.token, "/own"), (&server.token, "/gone"), (&ann, "/ann"), (&ben, "/ben")] {
        put(token, path);
    }
    asks(&server, &ann);
    assert_eq!(service.next(3), ["/ann", "/gone", "/own"]);
    let list = place.path().join("home/serve-push.json");
    while fs::read_to_string(&list).unwrap().contains("/gone") {
        thread::sleep(Duration::from_millis(20));
    }
    asks(&server, &ben);
    assert_eq!(service.next(2), ["/ben", "/own"]);
    // The server tells no removed user, and no user with another token.
    add(&place, "ann", "admin");
    place.run(&["serve", "remove-user", "ben"]);
    asks(&server, &server.token);
    assert_eq!(service.next(1), ["/own"]);
    put(&server.token, "/other");
    let devices = fs::read_to_string(&list).unwrap();
    let left: Vec<Value> = serde_json::from_str(&devices).unwrap();
    assert_eq!(left.len(), 2, "{devices}");
}

// H-97
#[test]
fn a_message_is_encrypted_and_names_its_session_by_a_hash() {
    let (place, service) = (Place::new(), Service::start());
    let mut server = serving(&place, "contact = \"mailto:me@example.org\"\n");
    let wishes = json!({"turns": true});
    with(&server, &server.token, "PUT /v1/push", &service.device("/own", &wishes));
    let key = server.ask("GET /v1/push", "").json()["key"].as_str().unwrap().to_ascii_lowercase();
    server.stop();
    // Keys and devices stay.
    let server = serving(&place, "contact = \"mailto:me@example.org\"\n");
    let id = asks(&server, &server.token);
    let asked = service.messages.recv_timeout(Duration::from_secs(30)).unwrap();
    for part in ["content-encoding: aes128gcm", "urgency: high", "ttl: 86400", &format!(", k={key}")] {
        assert!(asked.head.contains(part), "{part}: {asked:?}");
    }
    assert!(!asked.head.contains(&id) && (86..=4096).contains(&asked.bytes), "{asked:?}");
    let call = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").json()[0]["call"].clone();
    let call = call.as_str().unwrap();
    server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#);
    let ended = service.messages.recv_timeout(Duration::from_secs(30)).unwrap();
    let topic =
        |message: &Message| message.head.split("topic: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(topic(&ended), topic(&asked));
    assert!(ended.head.contains("urgency: normal"), "{ended:?}");
}

// H-97
#[test]
fn no_tool_reads_the_keys_of_devices() {
    let (place, service) = (Place::new(), Service::start());
    let server = serving(&place, "");
    with(&server, &server.token, "PUT /v1/push", &service.device("/own", &json!({})));
    for file in ["serve-push-key", "serve-push.json"] {
        let read = json!({"name": "read", "arguments": {"path": place.path().join("home").join(file)}});
        let model = place.script("reads", &[json!({"calls": [read]}), json!({"say": "Done."})]);
        let ran =
            place.run(&["run", "--model", &model, "--permission", "full", "--output", "stream-json", "go"]);
        let denied =
            ran.out.lines().any(|line| line.contains("\"tool_ended\"") && line.contains("\"ok\":false"));
        assert!(denied && ran.out.contains("is denied by the rule"), "{ran:?}");
    }
}

// H-97
#[test]
fn a_server_whose_notifications_are_off_or_without_a_valid_contact_says_so() {
    let place = Place::new();
    let server = serving(&place, "off = true\n");
    let answered = server.ask("GET /v1/push", "");
    assert_eq!((answered.status, answered.error()), (404, "not_found".into()), "{answered:?}");
    assert!(!place.path().join("home/serve-push-key").exists());
    drop(server);
    place.configure("[serve.push]\ncontact = \"me\"\n");
    let model = place.script("model", &[json!({"say": "Done."})]);
    let ran = place.run(&["serve", "--listen", "127.0.0.1:0", "--model", &model]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("the contact in `[serve.push]` is invalid: `me`"), "{ran:?}");
}

/// Jobs of this agent need nothing of a repository.
const KEEPER: &str = "---\nname: keeper\ndescription: Keeps a log\ntools: [write]\n---\nYou keep a log.\n";

// H-97
#[test]
fn the_end_of_a_job_is_told_once_and_not_to_those_who_stopped_it() {
    let (place, service) = (Place::new(), Service::start());
    let agents = place.path().join("person/.config/haft/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("keeper.md"), KEEPER).unwrap();
    let server = serving(&place, "");
    with(&server, &server.token, "PUT /v1/push", &service.device("/own", &json!({})));
    let urgency = || {
        let message = service.messages.recv_timeout(Duration::from_secs(30)).unwrap();
        message.head.split("urgency: ").nth(1).unwrap().lines().next().unwrap().to_owned()
    };
    let job = || {
        let order = json!({"kind": "keeper", "description": "keep"});
        with(&server, &server.token, "POST /v1/jobs", &order)["job"].as_str().unwrap().to_owned()
    };
    let answer = |id: &str| {
        let call = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").json()[0]["call"].clone();
        let call = call.as_str().unwrap();
        server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#);
    };
    let done = job();
    assert_eq!(urgency(), "high", "it asks");
    answer(&done);
    assert_eq!(urgency(), "normal", "it has ended");
    fs::remove_file(place.work().join("a.txt")).unwrap();
    let stopped = job();
    assert_eq!(urgency(), "high", "it asks");
    with(&server, &server.token, &format!("POST /v1/jobs/{stopped}/cancel"), &json!({}));
    // A turn that has ended is not told unless that is wanted.
    let session = asks(&server, &server.token);
    assert_eq!(urgency(), "high", "the session asks, and nothing was told before");
    answer(&session);
    while server.ask(&format!("GET /v1/sessions/{session}"), "").json()["state"] != "idle" {
        thread::sleep(Duration::from_millis(20));
    }
    fs::remove_file(place.work().join("a.txt")).unwrap();
    asks(&server, &server.token);
    assert_eq!(urgency(), "high", "another one asks, and nothing was told before");
}
