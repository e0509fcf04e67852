//! A session with an outbox asks nothing and sends nothing; what a person ticks arrives once. Servers and repositories are
//! real and of this machine: pushes go to a bare one beside the workspace, requests to loopback.
use crate::kit::{Place, Ran, Server, bash, call, mcp_server::mcp_server, openai_text};
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// The path of a request, and its idempotency key.
type Arrived = (String, Option<String>);

/// A server that counts what arrives, by path, and keeps the idempotency key that came with it.
struct Counting {
    address: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Counting {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let arrived: Arc<Mutex<Vec<_>>> = Arc::default();
        let kept = arrived.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                thread::spawn(move || {
                    if let Some(request) = answered(stream) {
                        kept.lock().unwrap().push(request);
                    }
                });
            }
        });
        Self { address, arrived }
    }

    fn count(&self, path: &str) -> usize {
        self.arrived.lock().unwrap().iter().filter(|(known, _)| known == path).count()
    }

    fn all(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }
}

/// The path of a request, once it is whole, and its key. `None` for a connection that says nothing.
fn answered(mut stream: TcpStream) -> Option<Arrived> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut key) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "idempotency-key" => key = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let answer = r#"{"html_url": "http://localhost/1"}"#;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
    stream.write_all(format!("{head}{answer}").as_bytes()).ok()?;
    Some((path, key))
}

/// An MCP server with one tool, which notes each call in a file beside itself.
const SERVER: &str = r#"
def tools():
    return [{"name": "post", "inputSchema": {"type": "object"}}]
def called(id):
    with open(__file__ + ".calls", "a") as calls:
        print("call", message["params"].get("_meta", {}).get("idempotencyKey"), file=calls)
    answer(id, "posted")
"#;

fn git(folder: &Path, words: &[&str]) -> String {
    let ran = Command::new("git").args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A repository with a commit, and a bare one beside it that has nothing yet.
fn repository(place: &Place) {
    let work = place.work();
    git(&work, &["init", "--quiet", "-b", "main"]);
    place.write("a.txt", "one\n");
    let person = ["-c", "user.name=p", "-c", "user.email=p@localhost"];
    git(&work, &["add", "a.txt"]);
    git(&work, &[&person[..], &["commit", "--quiet", "-m", "Begin"]].concat());
    git(&place.path(), &["init", "--quiet", "--bare", "-b", "main", "remote.git"]);
    git(&work, &["remote", "add", "origin", place.path().join("remote.git").to_str().unwrap()]);
}

fn branches(place: &Place) -> String {
    git(&place.path().join("remote.git"), &["for-each-ref", "--format=%(refname:short)"])
}

fn say(text: &str) -> Value {
    json!({"say": text})
}

fn expecting(mut line: Value, text: &str) -> Value {
    line["expect"] = json!(text);
    line
}

fn list(place: &Place) -> Vec<Value> {
    let ran = place.run(&["outbox", "list", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.events()
}

fn ids(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn state(place: &Place, id: &str) -> String {
    let found = list(place).into_iter().find(|item| item["id"] == id).unwrap();
    found["state"].as_str().unwrap().to_owned()
}

/// The calls of a night, each with the kind of its item and where it arrives.
fn night(place: &Place, server: &str) -> Vec<(Value, &'static str, &'static str)> {
    let run = |command: String, needs: &[&str]| match needs {
        [] => bash(&command),
        needs => call("bash", json!({"command": command, "needs": needs})),
    };
    let outside = place.path().join("outside");
    vec![
        (run(format!("curl -s -X POST -d a=1 {server}/1"), &["network"]), "request", "/1"),
        (run(format!("curl -s -d a=1 {server}/2"), &[]), "request", "/2"),
        (run(format!("curl -s {server}/3"), &["network"]), "request", "/3"),
        (run(format!("wget -q -O - --post-data=a=1 {server}/4"), &[]), "request", "/4"),
        (run(format!("curl -s -T a.txt {server}/5"), &["network"]), "request", "/5"),
        (
            run(
                format!("python3 -c 'import urllib.request as u; u.urlopen(\"{server}/6\")'"),
                &["live", "network"],
            ),
            "command",
            "/6",
        ),
        (run(format!("echo marked >>{}", outside.display()), &["live"]), "command", ""),
        (run("git push origin main:bash".into(), &[]), "push", ""),
        (call("git", json!({"action": "push", "remote": "origin", "ref": "main"})), "push", ""),
        (
            call(
                "review",
                json!({"pull_request": 7, "verdict": "approve", "summary": "Good.", "comments": []}),
            ),
            "request",
            "/repos/o/r/pulls/7/reviews",
        ),
        (call("fetch", json!({"url": format!("{server}/11")})), "request", "/11"),
        (call("mcp__x__post", json!({"text": "hello"})), "mcp", ""),
    ]
}

fn at_github(place: &Place, server: &str, words: &[&str]) -> Ran {
    let mut command = place.haft(words);
    command.env("GITHUB_TOKEN", "t0ken").env("GITHUB_API_URL", server).env("GITHUB_REPOSITORY", "o/r");
    Ran::from(command.output().unwrap())
}

// H-48, H-49
#[test]
fn twelve_effects_reach_nothing_until_a_person_sends_them_and_then_arrive_once() {
    let (place, server) = (Place::new(), Counting::start());
    repository(&place);
    let program = place.path().join("server.py");
    fs::write(&program, mcp_server(SERVER)).unwrap();
    place.configure(&format!(
        "[mcp.x]\ncommand = \"python3\"\nargs = [{program:?}]\n[tools.fetch]\nallow_private = true\n"
    ));
    let night = night(&place, &server.address);
    let mut lines: Vec<Value> = night.iter().map(|(line, ..)| line.clone()).collect();
    lines.iter_mut().skip(1).for_each(|line| *line = expecting(line.clone(), "Nothing was sent"));
    lines.push(expecting(say("Done."), "Queued as item "));
    let model = place.script("m", &lines);
    let ran = at_github(&place, &server.address, &["run", "--outbox", "--json", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = ["approval_asked", "question_asked"];
    assert!(!ran.recorded().iter().any(|fact| asked.contains(&fact.as_str())), "{ran:?}");
    let calls = program.with_extension("py.calls");
    let outside = place.path().join("outside");
    assert_eq!((server.all(), branches(&place)), (Vec::new(), String::new()));
    assert!(!outside.exists() && !calls.exists());

    let items = list(&place);
    let expected: Vec<(&Value, &str)> =
        night.iter().map(|(line, kind, _)| (&line["calls"][0]["arguments"], *kind)).collect();
    let found: Vec<(&Value, &str)> =
        items.iter().map(|item| (&item["arguments"], item["kind"].as_str().unwrap())).collect();
    assert_eq!(found, expected);
    assert!(items.iter().all(|item| item["state"] == "queued" && item["prompt"] == "go"), "{items:?}");

    // Each is ticked alone; the others stay where they are.
    for (place_in_list, id) in ids(&items).iter().enumerate() {
        let (_, _, path) = night[place_in_list];
        let ran = at_github(&place, &server.address, &["outbox", "send", id]);
        assert_eq!((ran.code, ran.out.trim()), (0, format!("{id} sent").as_str()), "{ran:?}");
        let again = at_github(&place, &server.address, &["outbox", "send", id]);
        assert_eq!(again.code, 1, "{again:?}");
        assert!(again.err.contains("it was sent before (at "), "{again:?}");
        if !path.is_empty() {
            assert_eq!(server.count(path), 1, "{path}: {:?}", server.all());
        }
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "marked\n");
    let last = &ids(&items)[11];
    assert_eq!(fs::read_to_string(&calls).unwrap(), format!("call haft-{last}\n"), "its key");
    assert_eq!(branches(&place), "bash\nmain\n");
    assert_eq!(server.all().len(), 8, "{:?}", server.all());
    let keys: Vec<String> = server.all().into_iter().filter_map(|(_, key)| key).collect();
    assert_eq!(keys, [format!("haft-{}", ids(&items)[9])], "the request that Haft itself makes");
    assert!(list(&place).iter().all(|item| item["state"] == "sent"));
}

// H-48
#[test]
fn what_is_asked_for_another_reason_is_denied_and_what_only_touches_the_workspace_runs() {
    let place = Place::new();
    repository(&place);
    place.configure("[rules]\nask = [\"write:secret.txt\"]\nallow = [\"execute:touch ../made\"]\n");
    let lines = [
        bash("echo two >>a.txt"),
        expecting(call("write", json!({"path": "b.txt", "content": "b\n"})), "(no output)"),
        expecting(call("write", json!({"path": "secret.txt", "content": "b\n"})), "b.txt"),
        expecting(
            call("write", json!({"path": ".git/hooks/pre-push", "content": "b\n"})),
            "and this session asks no person",
        ),
        expecting(call("write", json!({"path": "../c.txt", "content": "b\n"})), ".git/hooks/pre-push"),
        expecting(call("ask", json!({"question": "Really?"})), "this session asks no person"),
        // A rule of the user names the effect, and so allows it.
        expecting(
            call("bash", json!({"command": "touch ../made", "needs": ["live"]})),
            "the question was not answered",
        ),
        expecting(say("Done."), "(no output)"),
    ];
    let model = place.script("m", &lines);
    let ran = place.run(&["run", "--outbox", "--json", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = ["approval_asked", "question_asked", "queued"];
    assert!(!ran.recorded().iter().any(|fact| asked.contains(&fact.as_str())), "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(place.read("b.txt").as_deref(), Some("b\n"));
    assert_eq!((place.read("secret.txt"), place.read(".git/hooks/pre-push")), (None, None));
    assert!(place.path().join("made").exists() && !place.path().join("c.txt").exists());
    assert_eq!(list(&place), Vec::<Value>::new());
}

// H-48: also in the widest mode, and where nothing can be confined
#[test]
fn the_outbox_holds_in_every_mode_and_in_sessions_that_go_on() {
    for (place, permission) in
        [(Place::new(), "full"), (Place::unconfined(), "ask"), (Place::unconfined(), "full")]
    {
        let touch = call("bash", json!({"command": "touch ../made", "needs": ["live"]}));
        let lines = [touch.clone(), say("One."), touch, expecting(say("Two."), "Queued as item ")];
        let model = place.script("m", &lines);
        let options = ["--model", &model, "--permission", permission];
        let first = place.run(&[&["run", "--outbox", "go"], &options[..]].concat());
        // The option was given once, and holds for the session.
        let second = place.run(&[&["run", "--continue", "go on"], &options[..]].concat());
        assert_eq!((first.code, second.code), (0, 0), "{permission}: {first:?} {second:?}");
        assert!(!place.path().join("made").exists(), "{permission}");
        assert_eq!(list(&place).len(), 2, "{permission}");
    }
}

// H-49
#[test]
fn the_model_reads_what_became_of_its_items() {
    let place = Place::new();
    let echo =
        |word: &str| call("bash", json!({"command": format!("echo {word} >>../out"), "needs": ["live"]}));
    let lines = [
        json!({"calls": [echo("one")["calls"][0], echo("two")["calls"][0], echo("three")["calls"][0]]}),
        say("Done."),
    ];
    let model = place.script("m", &lines);
    let ran = place.run(&["run", "--outbox", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let known = ids(&list(&place));
    let [one, two, three] = known.as_slice() else { panic!("{known:?}") };
    let sent = place.run(&["outbox", "send", one, "--json"]);
    assert_eq!((sent.code, sent.events()[0]["state"].as_str()), (0, Some("sent")), "{sent:?}");
    let dropped = place.run(&["outbox", "drop", two]);
    assert_eq!((dropped.code, dropped.out.trim()), (0, format!("{two} dropped").as_str()), "{dropped:?}");
    let refused = place.run(&["outbox", "send", two, three]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("it was dropped"), "{refused:?}");
    assert_eq!(
        refused.out.trim(),
        format!("{three} sent"),
        "one that is refused keeps none of the others back"
    );
    assert_eq!(fs::read_to_string(place.path().join("out")).unwrap(), "one\nthree\n");
    let journal = fs::read_to_string(place.journal()).unwrap();
    assert_eq!(journal.matches("\"item_sending\"").count(), 2);
    let server = Server::start(vec![openai_text("I see.")]);
    let mut asked = place.haft(&["run", "--continue", "--model", "openai/m", "what became of them?"]);
    asked.env("OPENAI_API_KEY", "k3y").env("OPENAI_BASE_URL", format!("{}/v1", server.address));
    assert!(asked.output().unwrap().status.success());
    let read = server.asked()[0].to_string();
    for text in [
        "No person can be asked in this session.".to_owned(),
        format!("Queued as item {one} of the outbox."),
        format!("The user sends item {one} of the outbox"),
        format!("The user dropped item {two} of the outbox"),
        format!("The user sends item {three} of the outbox"),
    ] {
        assert!(read.contains(&text), "{text}: {read}");
    }
    let unknown = place.run(&["outbox", "send", "nonsense-1"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    let shown = place.run(&["outbox", "list"]);
    assert!(shown.out.contains("sent") && shown.out.contains("dropped"), "{shown:?}");
}

// H-49: a call that goes wrong may be sent once more
#[test]
fn a_call_that_fails_is_told_and_can_be_sent_again() {
    let place = Place::new();
    let command = "test -e ../ready && echo $HAFT_IDEMPOTENCY_KEY >>../out";
    let lines = [call("bash", json!({"command": command, "needs": ["live"]})), say("Done.")];
    let model = place.script("m", &lines);
    place.run(&["run", "--outbox", "--model", &model, "go"]);
    let known = ids(&list(&place));
    let failed = place.run(&["outbox", "send", &known[0]]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert_eq!(state(&place, &known[0]), "failed");
    fs::write(place.path().join("ready"), "").unwrap();
    let sent = place.run(&["outbox", "send", &known[0]]);
    assert_eq!((sent.code, state(&place, &known[0]).as_str()), (0, "sent"), "{sent:?}");
    assert_eq!(fs::read_to_string(place.path().join("out")).unwrap(), format!("haft-{}\n", known[0]));
}

// H-49
#[test]
fn a_conversation_lists_sends_and_drops() {
    let place = Place::new();
    let touch = |name: &str| {
        let command = format!("touch ../{name}");
        json!({"name": "bash", "arguments": {"command": command, "needs": ["live"]}})
    };
    let lines = [json!({"calls": [touch("one"), touch("two")]}), say("Done.")];
    let model = place.script("m", &lines);
    let input = b"go\n/outbox\n/outbox send 1\n/outbox send 1\n/outbox drop 2\n/outbox no\n/outbox\nexit\n";
    let ran = place.run_with_input(&["chat", "--outbox", "--model", &model], input);
    assert_eq!(ran.code, 0, "{ran:?}");
    for text in
        ["-1  queued  command touch", "it was sent before", "`/outbox no` means nothing", "-2  dropped"]
    {
        assert!(ran.err.contains(text), "{text}: {ran:?}");
    }
    assert!(place.path().join("one").exists() && !place.path().join("two").exists());
}

// H-49: also where a rule lets it run without a view
#[test]
fn an_agent_cannot_send_its_own_items() {
    let place = Place::new();
    place.configure("[rules]\nallow = [\"execute:sh send.sh\"]\n");
    let program = place.haft(&[]).get_program().to_string_lossy().into_owned();
    let (person, home) = (place.path().join("person"), place.path().join("home"));
    let (person, home) = (person.display(), home.display());
    place.write(
        "send.sh",
        format!(
            "export HOME={person} HAFT_HOME={home}\n\
             {program} outbox send $({program} outbox list | awk 'NR == 2 {{print $1}}') 2>&1\n"
        ),
    );
    let lines = [
        call("bash", json!({"command": "touch ../made", "needs": ["live"]})),
        call("bash", json!({"command": "sh send.sh", "needs": ["live"]})),
        expecting(say("Done."), "so it cannot join it as its person"),
    ];
    let model = place.script("m", &lines);
    let ran = place.run(&["run", "--outbox", "--model", &model, "go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!place.path().join("made").exists());
    assert_eq!(state(&place, &ids(&list(&place))[0]), "queued");
}

#[test]
fn a_session_is_not_deleted_while_items_wait_in_its_outbox() {
    let place = Place::new();
    let lines = [call("bash", json!({"command": "echo x >>../out", "needs": ["live"]})), say("Done.")];
    let model = place.script("m", &lines);
    place.run(&["run", "--outbox", "--model", &model, "go"]);
    let item = list(&place).remove(0);
    let (id, session) = (item["id"].as_str().unwrap(), item["session"].as_str().unwrap());
    let kept = place.run(&["sessions", "rm", session]);
    assert!(kept.code == 2 && kept.err.contains("items wait in its outbox"), "{kept:?}");
    assert_eq!(place.run(&["outbox", "drop", id]).code, 0);
    assert_eq!(place.run(&["sessions", "rm", session]).code, 0);
}

// H-49
#[test]
fn two_that_send_at_once_send_once() {
    let place = Place::new();
    let command = "echo one >>../out; sleep 0.3";
    let lines = [call("bash", json!({"command": command, "needs": ["live"]})), say("Done.")];
    let model = place.script("m", &lines);
    place.run(&["run", "--outbox", "--model", &model, "go"]);
    let known = ids(&list(&place));
    let send = || {
        let mut command = place.haft(&["outbox", "send", &known[0]]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let both: Vec<Child> = (0..2).map(|_| send()).collect();
    let mut codes: Vec<i32> =
        both.into_iter().map(|mut one| one.wait().unwrap().code().unwrap_or(-1)).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1]);
    assert_eq!(fs::read_to_string(place.path().join("out")).unwrap(), "one\n");
}

// H-49
#[test]
fn an_item_goes_back_with_the_turn_that_queued_it_and_a_fork_has_none() {
    let place = Place::new();
    let lines = [
        call("bash", json!({"command": "touch ../made", "needs": ["live"]})),
        call("write", json!({"path": "a", "content": "a"})),
        say("Done."),
    ];
    let model = place.script("m", &lines);
    place.run(&["run", "--outbox", "--model", &model, "go"]);
    let known = ids(&list(&place));
    let session = place.journal().parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let forked = place.run(&["sessions", "fork", &session]);
    assert_eq!((forked.code, list(&place).len()), (0, 1), "{forked:?}");
    let of_fork = place.run(&["outbox", "list", "--json", "--session", forked.out.trim()]);
    assert_eq!((of_fork.code, of_fork.out.as_str()), (0, ""), "{of_fork:?}");
    let verified = place.run(&["sessions", "replay", &session]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let undone = place.run(&["undo", &session]);
    assert_eq!((undone.code, state(&place, &known[0]).as_str()), (0, "dropped"), "{undone:?}");
    let redone = place.run(&["redo", &session]);
    assert_eq!((redone.code, state(&place, &known[0]).as_str()), (0, "queued"), "{redone:?}");
}

/// What rounds came to.
#[derive(Debug, Default)]
struct Figures {
    rounds: usize,
    killed: usize,
    sent: usize,
    unknown: usize,
}

/// Kills the process `micros` after the journal has `lines` lines.
fn kill_at(place: &Place, mut process: Child, lines: usize, micros: u64) -> bool {
    let recorded = || {
        let folders = fs::read_dir(place.path().join("home/sessions")).into_iter().flatten().flatten();
        let mut journals = folders.filter_map(|one| fs::read(one.path().join("journal.jsonl")).ok());
        journals.next().map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
    };
    while process.try_wait().unwrap().is_none() && recorded() < lines {
        thread::sleep(Duration::from_micros(300));
    }
    thread::sleep(Duration::from_micros(micros));
    process.kill().unwrap();
    !process.wait().unwrap().success()
}

/// A session with three requests, each to a path of its own.
struct Round<'a> {
    place: Place,
    server: &'a Counting,
    commands: Vec<String>,
    model: String,
}

impl<'a> Round<'a> {
    fn new(server: &'a Counting) -> Self {
        let place = Place::new();
        let path = |number| path_in(&place, number);
        let commands: Vec<String> =
            (0..3).map(|number| format!("curl -s -d a=1 {}{}", server.address, path(number))).collect();
        let request = |command: &String| call("bash", json!({"command": command, "needs": ["network"]}));
        let lines: Vec<Value> = commands.iter().map(request).chain([say("Done."), say("Done.")]).collect();
        let model = place.script("m", &lines);
        Self { place, server, commands, model }
    }

    fn started(&self, words: &[&str]) -> Child {
        let mut command = self.place.haft(words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn arrived(&self, number: usize) -> usize {
        self.server.count(&path_in(&self.place, number))
    }

    /// Runs the session to its end, and returns its items; none if it was killed before it began.
    fn queued(&self, kill: Option<&mut Rng>, figures: &mut Figures) -> Result<Vec<Value>, String> {
        let options = ["--outbox", "--model", &self.model];
        let mut run = self.started(&[&["run", "go"], &options[..]].concat());
        match kill {
            None => drop(run.wait().unwrap()),
            Some(random) => {
                let is_killed = kill_at(&self.place, run, random.usize(1..20), random.u64(..4_000));
                figures.killed += usize::from(is_killed);
                if !self.journal().contains("\"prompted\"") {
                    return Ok(Vec::new());
                }
                // What was cut off goes on; a turn that had ended has nothing to go on with.
                self.started(&[&["resume", "--last"], &options[..]].concat()).wait().unwrap();
            }
        }
        let items = list(&self.place);
        let queued: Vec<&str> =
            items.iter().filter_map(|item| item["arguments"]["command"].as_str()).collect();
        match queued == self.commands && (0..3).all(|number| self.arrived(number) == 0) {
            true => Ok(items),
            false => Err(self.wrong("not each call was queued once, and none sent")),
        }
    }

    fn journal(&self) -> String {
        let folders = fs::read_dir(self.place.path().join("home/sessions")).into_iter().flatten().flatten();
        folders.filter_map(|one| fs::read_to_string(one.path().join("journal.jsonl")).ok()).collect()
    }

    fn wrong(&self, what: &str) -> String {
        format!("{what}\n{:?}\n{}", self.server.all(), self.journal())
    }
}

fn path_in(place: &Place, number: usize) -> String {
    format!("/{}/{number}", place.path().file_name().unwrap().to_string_lossy())
}

/// Queues three requests and sends them twice; where there is a chance, run and sending are killed at a random instant.
fn round(server: &Counting, mut kill: Option<&mut Rng>, figures: &mut Figures) -> Result<(), String> {
    let round = Round::new(server);
    figures.rounds += 1;
    let known = ids(&round.queued(kill.as_deref_mut(), figures)?);
    if known.is_empty() {
        return Ok(());
    }
    let send: Vec<&str> = ["outbox", "send"].into_iter().chain(known.iter().map(String::as_str)).collect();
    let mut sending = round.started(&send);
    match kill {
        None => drop(sending.wait().unwrap()),
        Some(random) => {
            let until = round.journal().lines().count() + random.usize(0..15);
            figures.killed += usize::from(kill_at(&round.place, sending, until, random.u64(..6_000)));
        }
    }
    let stand = |number: usize| (state(&round.place, &known[number]), round.arrived(number));
    let before: Vec<(String, usize)> = (0..3).map(stand).collect();
    round.started(&send).wait().unwrap();
    for (number, (was, arrived)) in before.into_iter().enumerate() {
        let (now, count) = stand(number);
        let is_right = match was.as_str() {
            "queued" => arrived == 0 && now == "sent" && count == 1,
            "sent" => arrived == 1 && now == "sent" && count == 1,
            // Whether it arrived is unknown, and it was not tried again.
            "unknown" => arrived <= 1 && now == "unknown" && count <= 1,
            _ => false,
        };
        if !is_right {
            let what = format!("item {number} was {was} after {arrived} requests, then {now} after {count}");
            return Err(round.wrong(&what));
        }
        figures.sent += usize::from(now == "sent");
        figures.unknown += usize::from(now == "unknown");
    }
    Ok(())
}

// H-49: killed at whatever instant; `make soak` does 1,000 rounds, of which each 50th is killed
#[test]
#[expect(clippy::print_stderr, reason = "figures are for the person who runs the tests")]
fn killed_at_any_instant_nothing_is_sent_by_itself_or_twice() {
    let seed = fastrand::u64(..);
    let (server, mut random) = (Counting::start(), Rng::with_seed(seed));
    let rounds = haft_testing::tries(8);
    let each = if rounds >= 100 { 50 } else { 1 };
    let mut figures = Figures::default();
    for number in 1..=rounds {
        let done = round(&server, (number % each == 0).then_some(&mut random), &mut figures);
        assert!(done.is_ok(), "seed {seed}, round {number}: {}", done.unwrap_err());
    }
    let Figures { rounds, killed, sent, unknown } = figures;
    eprintln!(
        "{rounds} rounds, {killed} kills: {sent} items arrived once, {unknown} are unknown, 0 were sent twice or by themselves"
    );
}
