//! `haft attach`: a session of a server in other terminals, whatever happens to the connection.
use crate::kit::{
    Place, bash, call,
    serving::Serving,
    terminal::{Terminal, poll},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// A terminal at another machine: it shares nothing with the server's place but the address and the token.
fn attached(other: &Place, server: &Serving, more: &str) -> Option<Terminal> {
    let terminal = Terminal::open(other, (70, 24))?;
    attach(&terminal, other, &server.address, server, more);
    let screen = terminal.see("what to do?");
    assert!(screen.contains(&format!(" on http://{}\n", server.address)), "{screen}");
    Some(terminal)
}

fn attach(terminal: &Terminal, other: &Place, address: &str, server: &Serving, more: &str) {
    let token = &server.token;
    terminal.haft(other, &format!("attach 'http://{address}/' --token {token} {more}"));
}

fn edit() -> Value {
    call("edit", json!({"path": "a.txt", "old": "world", "new": "Welt"}))
}

/// The types of what stands in the journal of a session.
fn recorded(server: &Serving, id: &str) -> Vec<String> {
    let journal = server.ask(&format!("GET /v1/sessions/{id}/export?format=json"), "").body;
    let kind = |line: &str| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
    journal.lines().map(kind).collect()
}

fn count(kinds: &[String], kind: &str) -> usize {
    kinds.iter().filter(|known| *known == kind).count()
}

fn prompt(server: &Serving, id: &str, text: &str) {
    let body = json!({"text": text}).to_string();
    assert_eq!(server.ask(&format!("POST /v1/sessions/{id}/prompt"), &body).status, 202);
}

// H-54
#[test]
fn a_session_is_prompted_asked_undone_and_left_from_another_machine() {
    let (place, other) = (Place::new(), Place::new());
    place.write("a.txt", "hello\nworld\n");
    let script = [
        edit(),
        json!({"say": "Translated."}),
        bash("touch made"),
        json!({"say": "Then not.", "expect": "not now"}),
    ];
    let model = place.script("model", &script);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let Some(terminal) = attached(&other, &server, "") else { return };
    terminal.say("translate it");
    let question = terminal.see("1. Yes");
    assert!(question.contains("world") && question.contains("Welt"), "the diff is there: {question}");
    terminal.keys(&["1"]);
    terminal.see("Translated.");
    assert_eq!(place.read("a.txt").unwrap(), "hello\nWelt\n");
    assert_eq!(other.read("a.txt"), None);
    terminal.say("!touch made");
    terminal.see("commands run only on the machine");
    terminal.say("/rename letters");
    terminal.see("renamed this session to `letters`");
    terminal.say("/detach");
    let left = terminal.see("left 0").replace('\n', "");
    let again = format!("To attach again: haft attach 'http://{}/#s/{id}'", server.address);
    assert!(left.contains(&again), "{left}");
    // The session goes on, and is found again by its name.
    prompt(&server, &id, "go on");
    attach(&terminal, &other, &server.address, &server, "--session LETTERS");
    terminal.see("1. Yes");
    terminal.keys(&["3"]);
    terminal.say("not now");
    terminal.see("Then not.");
    terminal.say("/undo 1");
    poll(|| place.read("a.txt").unwrap() == "hello\nworld\n", || "the undo".to_owned());
    assert!(!place.has_made("made") && !other.has_made("made"));
}

// H-55
#[test]
fn two_terminals_and_a_client_of_the_api_see_one_session() {
    let (place, one, two) = (Place::new(), Place::new(), Place::new());
    place.write("a.txt", "hello\nworld\n");
    let model = place.script("model", &[edit(), json!({"say": "Translated."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    let (Some(first), Some(second)) = (attached(&one, &server, ""), attached(&two, &server, "")) else {
        return;
    };
    first.say("translate it");
    for terminal in [&first, &second] {
        terminal.see("1. Yes");
    }
    events.until("approval_asked");
    second.keys(&["1"]);
    for terminal in [&first, &second] {
        let screen = terminal.see("Translated.");
        assert!(!screen.contains("1. Yes"), "{screen}");
        assert_eq!(screen.matches("Translated.").count(), 1, "{screen}");
    }
    events.until("turn_ended");
    assert_eq!(count(&recorded(&server, &id), "approval_answered"), 1);
}

// H-56
#[test]
fn a_server_that_was_killed_is_found_again() {
    let (place, other) = (Place::new(), Place::new());
    let model = place.script("model", &[json!({"say": "It hangs", "hang": true})]);
    let mut server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let Some(terminal) = attached(&other, &server, "") else { return };
    terminal.say("begin");
    terminal.see("It hangs");
    let address = server.address.clone();
    server.kill();
    terminal.see("connecting again");
    place.script("model", &[json!({"say": "Here again."})]);
    let server = Serving::start_at(&place, &address, &["--model", &model]);
    let screen = terminal.see("the last turn was interrupted");
    assert!(!screen.contains("connecting again"), "{screen}");
    terminal.say("and now?");
    let screen = terminal.see("Here again.");
    assert_eq!(screen.matches("> begin").count(), 1, "{screen}");
    assert_eq!(count(&recorded(&server, &id), "prompted"), 2);
}

/// Connections to a server that can be cut.
struct Cable {
    address: String,
    open: Arc<Mutex<Vec<TcpStream>>>,
    is_cut: Arc<AtomicBool>,
}

impl Cable {
    fn to(server: &Serving) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (open, is_cut): (Arc<Mutex<Vec<TcpStream>>>, _) =
            (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (far, known, cut) = (server.address.clone(), open.clone(), is_cut.clone());
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&far) else { return };
                known.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    thread::spawn(move || {
                        let _it_was_cut = std::io::copy(&mut from, &mut to);
                        let _it_was_cut = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { address, open, is_cut }
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _it_has_ended = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

// H-56
#[test]
fn what_is_typed_while_the_connection_is_lost_arrives_once_and_nothing_is_shown_twice() {
    let (place, other) = (Place::unconfined(), Place::new());
    place.write("a.txt", "hello\nworld\n");
    let wait = "until test -e go; do sleep 0.05; done";
    let script = [
        json!({"think": "hm", "say": "First paragraph.\n\nSecond one.", "calls": [bash(wait)["calls"][0]]}),
        json!({"expect": "hurry", "calls": edit()["calls"]}),
        json!({"say": "It waits for", "hang": true}),
    ];
    let model = place.script("model", &script);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let cable = Cable::to(&server);
    let Some(terminal) = Terminal::open(&other, (70, 30)) else { return };
    attach(&terminal, &other, &cable.address, &server, "");
    terminal.see("what to do?");
    terminal.say("begin");
    terminal.see("1. Yes");
    cable.cut();
    // The answer waits for the connection.
    terminal.keys(&["1"]);
    terminal.see("connecting again");
    terminal.say("hurry");
    assert_eq!(count(&recorded(&server, &id), "approval_answered"), 0);
    cable.mend();
    terminal.see("next: hurry");
    place.write("go", "");
    terminal.see("1. Yes");
    // What happens meanwhile comes afterwards.
    cable.cut();
    terminal.see("connecting again");
    let asked = server.ask(&format!("GET /v1/sessions/{id}/asked"), "").json();
    let call = asked[0]["call"].as_str().unwrap_or_default().to_owned();
    let answered = server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#);
    assert_eq!(answered.status, 202, "{asked} {answered:?}");
    poll(|| count(&recorded(&server, &id), "tool_ended") == 2, || "the edit".to_owned());
    // Too late: another answer came first.
    terminal.keys(&["1"]);
    cable.mend();
    terminal.see("It waits for");
    cable.cut();
    terminal.see("connecting again");
    cable.mend();
    terminal.no_longer_see("connecting again");
    terminal.keys(&["Escape"]);
    terminal.see("interrupted");
    let all = terminal.all();
    for shown in ["> begin", "> hurry", "First paragraph.", "Second one.", "It waits for"] {
        assert_eq!(all.matches(shown).count(), 1, "{shown}: {all}");
    }
    let kinds = recorded(&server, &id);
    assert_eq!((count(&kinds, "prompted"), count(&kinds, "approval_answered")), (2, 2), "{kinds:?}");
}

// H-54
#[test]
fn without_a_terminal_it_goes_line_by_line() {
    let (place, other) = (Place::new(), Place::new());
    let model = place.script("model", &[json!({"say": "Hello."}), json!({"say": "Again."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let url = format!("http://{}", server.address);
    let none = other.haft(&["attach", &url]).env("HAFT_SERVE_TOKEN", &server.token).output().unwrap();
    assert!(String::from_utf8_lossy(&none.stderr).contains("there is no session at"), "{none:?}");
    let ran = other
        .run_with_input(&["attach", &url, "--token", &server.token, "--new"], b"hi\nonce more\n/detach\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("Hello.") && ran.out.contains("Again."), "{}", ran.out);
    let listed = server.ask("GET /v1/sessions", "").json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn a_program_that_ends_in_the_middle_of_a_turn_leaves_it_to_others() {
    let (place, other) = (Place::new(), Place::new());
    place.write("a.txt", "hello\nworld\n");
    let model = place.script("model", &[edit(), json!({"say": "Translated."})]);
    let server = Serving::start(&place, &["--model", &model, "--permission", "ask"]);
    let id = server.session("{}");
    let mut events = server.follow(&id, "");
    let (url, notes) = (format!("http://{}", server.address), other.path().join("notes"));
    let mut command = other.haft(&["attach", &url, "--token", &server.token, "--session", &id]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(std::fs::File::create(&notes).unwrap());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(b"translate it\n").unwrap();
    let call = events.until("approval_asked").pop().unwrap()["call"].as_str().unwrap().to_owned();
    let said = || std::fs::read_to_string(&notes).unwrap();
    poll(|| said().contains("note: a call waits for an answer"), said);
    assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    child.wait().unwrap();
    server.ask(&format!("POST /v1/sessions/{id}/approvals/{call}"), r#"{"answer":"once"}"#);
    assert_eq!(events.until("turn_ended").pop().unwrap()["outcome"], "finished", "{}", said());
    assert_eq!(place.read("a.txt").unwrap(), "hello\nWelt\n");
}

/// A server on loopback that gives the same answer to each request.
fn answering(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut some = [0; 1024];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut some) {
                    Ok(length) if length > 0 => head.extend_from_slice(&some[..length]),
                    _ => break,
                }
            }
            let length = body.len();
            let _it_has_left = write!(
                stream,
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        }
    });
    format!("http://{address}")
}

// H-57
#[test]
fn who_may_not_attach_and_what_is_no_server_is_told_why() {
    let (place, other) = (Place::new(), Place::new());
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let (url, wrong) = (format!("http://{}", server.address), "0".repeat(64));
    let another = answering("200 OK", "<html>Welcome</html>");
    let old =
        answering("404 Not Found", r#"{"error":{"type":"not_found","message":"there is nothing here"}}"#);
    let (link, open) =
        (format!("{url}/#token={}", server.token), format!("http://192.0.2.1/#token={}", server.token));
    server.session("{}");
    let nothing = format!("{url}/#s/20260101-000000-0000000000000000");
    let table = [
        (vec![&*url, "--token", &wrong], 1, "refuses the token"),
        (vec![&*url], 2, "cannot attach without the token of the server"),
        (
            vec![&*nothing, "--token", &server.token],
            1,
            "there is no session `20260101-000000-0000000000000000`",
        ),
        (vec![&*another, "--token", "x"], 1, "does not answer as `haft serve` does (HTTP 200 OK)"),
        (vec![&*old, "--token", "x"], 1, "there is nothing here"),
        (vec![&*link], 2, "there are 2 sessions at `http://127.0.0.1:"),
        (vec![&*open], 2, "cannot attach to `http://192.0.2.1/`: it is not encrypted"),
        (vec!["http://127.0.0.1:1", "--token", "x"], 1, "does not answer: "),
        (vec!["http://192.0.2.1:8171", "--token", "x"], 2, "it is not encrypted"),
        (vec!["haft.example.com", "--token", "x"], 2, "cannot attach to `haft.example.com`"),
    ];
    for (words, code, expected) in table {
        let ran = other.run(&[&["attach"], &words[..]].concat());
        assert_eq!(ran.code, code, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("hint: ") || expected == "there is nothing here", "{words:?}: {}", ran.err);
        assert!(!ran.err.contains(&server.token), "{}", ran.err);
    }
    assert_eq!(recorded(&server, &id), ["session_opened"]);
}

// H-57
#[test]
fn a_client_of_another_version_is_refused_before_anything_is_sent() {
    let place = Place::new();
    let model = place.script("model", &[json!({"say": "Hello."})]);
    let server = Serving::start(&place, &["--model", &model]);
    let id = server.session("{}");
    let (line, token) = (format!("GET /v1/sessions/{id}/socket"), format!("Bearer {}", server.token));
    let ask = |protocol: &str, token: &str| {
        let head = [
            ("host", &*server.address),
            ("authorization", token),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
            ("sec-websocket-protocol", protocol),
        ];
        server.with(&line, &head, "")
    };
    let other = ask("haft-session.9", &token);
    assert_eq!((other.status, other.error().as_str()), (400, "invalid_request"), "{other:?}");
    assert!(other.body.contains("speaks the protocol `haft-session.1`"), "{other:?}");
    assert!(other.body.contains("the same version of haft on both machines"), "{other:?}");
    // Without `Connection: Upgrade` it is no WebSocket.
    assert_eq!(ask("haft-session.1", &token).status, 400);
    assert_eq!(ask("haft-session.1", "Bearer 0").status, 401);
}
