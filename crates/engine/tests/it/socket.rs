//! Sessions that more than one process has open. A lock belongs to an open file, so two engines stand for two processes.
use crate::kit::{Place, bash, calls, prompt, says, scripted, tell};
use futures::StreamExt;
use haft_core::{Answer, Change, Command, Direction, Event, Fact, Mode, Policy, Seq, Update};
use haft_engine::{Engine, EngineError, JournalError, Session};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::PathBuf,
    time::Duration,
};

const LONG: Duration = Duration::from_secs(60);

/// An engine whose person is asked about commands.
fn asking(place: &Place, script: &str) -> Engine {
    let mut setup = place.setup(scripted(script));
    setup.policy = Policy { rules: vec![], mode: Mode::Ask };
    Engine::new(setup)
}

/// Waits for the first fact from `from` on that `wanted` takes.
async fn until<T>(session: &Session, from: Seq, wanted: impl Fn(&Fact) -> Option<T>) -> T {
    let mut events = Box::pin(session.events(from));
    let found = async {
        while let Some(event) = events.next().await {
            if let Event::Recorded(entry) = event
                && let Some(found) = wanted(&entry.fact)
            {
                return found;
            }
        }
        panic!("the session closed: {:?}", session.journal().failure());
    };
    tokio::time::timeout(LONG, found).await.unwrap()
}

/// Waits until nothing more comes.
async fn closed(session: &Session) -> String {
    let all = session.events(Seq(0)).collect::<Vec<_>>();
    tokio::time::timeout(LONG, all).await.unwrap();
    session.journal().failure().unwrap_or_default().to_owned()
}

fn socket(session: &Session) -> PathBuf {
    session.journal().path().with_file_name("socket")
}

fn asked(fact: &Fact) -> Option<haft_core::CallId> {
    match fact {
        Fact::ApprovalAsked { call, .. } => Some(call.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn what_is_asked_in_one_process_is_answered_from_another() {
    let place = Place::new();
    let owner = asking(&place, &(bash("echo one > made") + &says("done")));
    let session = owner.create("haft").unwrap();
    session.send(prompt("go")).unwrap();
    let call = until(&session, Seq(0), asked).await;
    let elsewhere = place.engine("");
    let joined = elsewhere.open(&session.id().0, "haft").await.unwrap();
    assert!(joined.is_joined() && !session.is_joined());
    assert_eq!(joined.entries(), session.entries(), "all that was recorded is there at once");
    joined.send(Command::answer(call.clone(), Answer::Once)).unwrap();
    // Too late: the first answer wins.
    session.send(Command::answer(call, Answer::No)).unwrap();
    for seen in [&session, &joined] {
        let answer = until(seen, Seq(0), |fact| match fact {
            Fact::ApprovalAnswered { answer, .. } => Some(*answer),
            _ => None,
        });
        assert!(matches!(answer.await, Answer::Once | Answer::No));
        until(seen, Seq(0), |fact| matches!(fact, Fact::TurnEnded { .. }).then_some(())).await;
    }
    assert_eq!(joined.entries(), session.entries());
    let answers =
        session.entries().iter().filter(|e| matches!(e.fact, Fact::ApprovalAnswered { .. })).count();
    assert_eq!(answers, 1);
}

#[tokio::test]
async fn a_joined_session_is_prompted_seen_live_and_undone() {
    let place = Place::new();
    place.write("log", "end\n");
    let edit = calls(&[("edit", json!({"path": "log", "old_text": "end", "new_text": "one\nend"}))]);
    let owner = place.engine(&(edit + &says("done")));
    let session = owner.create("haft").unwrap();
    let elsewhere = place.engine("");
    let joined = elsewhere.join(&session.id().0).await.unwrap();
    let live = joined.events(Seq(0));
    assert!(tell(&joined, prompt("go"), 1, None).await.ends_with("replied\nturn_ended=finished"));
    assert_eq!(place.read("log").as_deref(), Some("one\nend\n"));
    let changes: Vec<Change> = joined
        .entries()
        .iter()
        .flat_map(|entry| match &entry.fact {
            Fact::Staged { changes, .. } => changes.clone(),
            _ => vec![],
        })
        .collect();
    let after = changes[0].after.as_ref().unwrap();
    assert_eq!(joined.content(&after.hash).unwrap(), b"one\nend\n", "contents lie in the session's folder");
    joined.send(Command::Rewind { to: Seq(0) }).unwrap();
    until(&joined, Seq(0), |fact| matches!(fact, Fact::Rewound { way: Direction::Undo, .. }).then_some(()))
        .await;
    assert_eq!(place.read("log").as_deref(), Some("end\n"));
    assert_eq!(joined.entries(), session.entries());
    owner.shut_down().await;
    let seen: Vec<Event> = live.collect().await;
    let text = |event: &Event| matches!(event, Event::Live(Update::Text { text }) if text == "done");
    assert!(seen.iter().any(text), "{seen:?}");
}

#[tokio::test]
async fn a_session_is_joined_only_where_another_has_it() {
    let place = Place::new();
    let owner = place.engine(&says("hi"));
    let session = owner.create("haft").unwrap();
    let (id, socket) = (session.id().0.clone(), socket(&session));
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!owner.open(&id, "haft").await.unwrap().is_joined(), "here it is the same session");
    let elsewhere = place.engine(&says("hi"));
    let joined = elsewhere.open(&id, "haft").await.unwrap();
    drop(session);
    owner.shut_down().await;
    assert_eq!(closed(&joined).await, "the process that had the session open has closed it");
    assert!(joined.send(Command::Interrupt).is_err() && !socket.exists());
    drop(joined);
    assert!(matches!(elsewhere.join(&id).await, Err(EngineError::NotOpen(_))));
    let own = elsewhere.open(&id, "haft").await.unwrap();
    assert!(!own.is_joined() && socket.exists());
    assert!(tell(&own, prompt("go"), 1, None).await.ends_with("turn_ended=finished"));
    assert!(matches!(
        elsewhere.open("nope", "haft").await,
        Err(EngineError::Journal(JournalError::Missing(_)))
    ));
}

// A client keeps no session open that its owner has put down.
#[tokio::test]
async fn a_session_ends_with_the_handles_of_its_owner() {
    let place = Place::new();
    let owner = place.engine(&says("hi"));
    let session = owner.create("haft").unwrap();
    let elsewhere = place.engine("");
    let joined = elsewhere.join(&session.id().0).await.unwrap();
    drop(session);
    assert_eq!(closed(&joined).await, "the process that had the session open has closed it");
}

#[tokio::test]
async fn a_door_of_the_dead_is_replaced_and_a_long_path_has_one() {
    let outer = Place::new();
    let deep = outer.folder.path().join("x".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let place = Place { folder: tempfile::tempdir_in(deep).unwrap() };
    std::fs::create_dir(place.folder.path().join("work")).unwrap();
    let owner = place.engine(&says("hi"));
    let session = owner.create("haft").unwrap();
    let (id, socket) = (session.id().0.clone(), socket(&session));
    assert!(socket.exists() && socket.as_os_str().len() > 107);
    drop(session);
    owner.shut_down().await;
    std::fs::write(&socket, "left").unwrap();
    let owner = place.engine(&says("hi"));
    let _session = owner.open(&id, "haft").await.unwrap();
    let joined = place.engine("").open(&id, "haft").await.unwrap();
    assert!(joined.is_joined());
    assert!(tell(&joined, prompt("go"), 1, None).await.ends_with("turn_ended=finished"));
}

/// What a client hears who says these lines, until `enough`.
async fn visit(session: &Session, said: &'static [u8], enough: fn(&Value) -> bool) -> Vec<Value> {
    let socket = socket(session);
    let visiting = tokio::task::spawn_blocking(move || {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(said).unwrap();
        let mut heard = Vec::new();
        for line in BufReader::new(stream).lines() {
            heard.push(serde_json::from_str::<Value>(&line.unwrap()).unwrap());
            if heard.last().is_some_and(enough) {
                break;
            }
        }
        heard
    });
    visiting.await.unwrap()
}

#[tokio::test]
async fn lines_that_cannot_be_read_are_told_and_nothing_else_happens() {
    let place = Place::new();
    let owner = place.engine(&says("hi"));
    let session = owner.create("haft").unwrap();
    let is_error = |line: &Value| line["type"] == "error";
    let heard = visit(&session, b"hello\n", is_error).await;
    assert!(
        heard[0]["message"].as_str().unwrap().starts_with("the first line must be {\"from\":SEQ}"),
        "{heard:?}"
    );
    let heard = visit(&session, b"{\"from\":0}\n{\"type\":\"explode\"}\n", is_error).await;
    assert_eq!(heard[0], json!({"type": "joined", "next": 1, "mode": "full", "may_allow": true}));
    let told = heard.last().unwrap()["message"].as_str().unwrap();
    assert!(told.starts_with("the command cannot be read: unknown variant `explode`"), "{told}");
    assert_eq!(session.entries().len(), 1);
    let said = b"{\"from\":1}\n{\"type\":\"prompt\",\"parts\":[{\"type\":\"text\",\"text\":\"go\"}]}\n";
    let heard = visit(&session, said, |line| line["type"] == "turn_ended").await;
    let types: Vec<&str> = heard.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["joined", "prompted", "text", "replied", "turn_ended"]);
}

// A slow reader loses live updates, never facts.
#[tokio::test]
async fn who_reads_nothing_holds_nobody_up_and_misses_no_fact() {
    let place = Place::new();
    let chatter = bash("yes 0123456789012345678901234567890123456789 | head -c 3000000");
    let owner = place.engine(&(chatter.repeat(3) + &says("done")));
    let session = owner.create("haft").unwrap();
    let mut stream = UnixStream::connect(socket(&session)).unwrap();
    stream.write_all(b"{\"from\":0}\n").unwrap();
    let told = tokio::time::timeout(LONG, tell(&session, prompt("go"), 1, None)).await.unwrap();
    assert!(told.ends_with("turn_ended=finished"), "{told}");
    let reading = tokio::task::spawn_blocking(move || {
        stream.set_read_timeout(Some(LONG)).unwrap();
        let lines =
            BufReader::new(stream).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let recorded =
            lines.filter_map(|line| line["seq"].as_u64().map(|seq| (seq, line["type"] == "turn_ended")));
        let mut seqs = Vec::new();
        for (seq, is_end) in recorded {
            seqs.push(seq);
            if is_end {
                break;
            }
        }
        seqs
    });
    let seqs = reading.await.unwrap();
    assert_eq!(seqs, (0..session.entries().len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_command_that_is_too_long_is_told_and_one_who_says_nothing_holds_nobody_up() {
    let place = Place::new();
    let owner = place.engine(&says("hi"));
    let session = owner.create("haft").unwrap();
    let _silent = UnixStream::connect(socket(&session)).unwrap();
    let joined = place.engine("").join(&session.id().0).await.unwrap();
    let report = joined.start(prompt(&"x".repeat(17 << 20))).report().await;
    assert_eq!(report.error.as_deref(), Some("a command takes more than 16 MB"));
    joined.send(Command::Call { name: "ls".into(), arguments: json!({}) }).unwrap();
    let mut events = Box::pin(joined.events(Seq(0)));
    let is_refused = |event: &Event| matches!(event, Event::Live(Update::Refused { why }) if why.contains("a call can be made only"));
    while !events.next().await.is_some_and(|event| is_refused(&event)) {}
    assert!(
        tell(&session, prompt("go"), 1, None).await.ends_with("turn_ended=finished"),
        "it goes on itself"
    );
    owner.shut_down().await;
}

// Those below another session have no socket: their person sits at the one above.
#[tokio::test]
async fn a_session_below_another_has_no_socket() {
    let place = Place::new();
    let engine = place.engine(&(calls(&[("delegate", json!({"task": "x"}))]) + &says("well")));
    let session = engine.create("haft").unwrap();
    let told = tell(&session, prompt("go"), 1, None).await;
    assert!(told.ends_with("turn_ended=finished"), "{told}");
    let folders = std::fs::read_dir(place.home().join("sessions")).unwrap();
    let doors: Vec<PathBuf> = folders
        .map(|folder| folder.unwrap().path().join("socket"))
        .filter(|socket| socket.exists())
        .collect();
    assert_eq!(doors, [socket(&session)]);
}

/// Says hello at the socket, then `command`; what is told until something is wrong or `until` is heard.
fn said_at(socket: &std::path::Path, command: &Value, until: &str) -> Vec<String> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let _sent_away = writeln!(stream, "{}\n{command}", json!({"from": 0}));
    let mut told = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        let is_last = line.contains(until) || line.contains(r#""type":"error""#);
        told.push(line);
        if is_last {
            break;
        }
    }
    told
}

// D68
#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_widens_nothing_makes_no_call_and_concludes_nothing() {
    let place = Place::new();
    let mut setup = place.setup(scripted(""));
    (setup.policy.mode, setup.ceiling) = (Mode::Ask, Some(Mode::Full));
    let session = Engine::new(setup).create("haft").unwrap();
    let table = [
        (json!({"type": "set_mode", "mode": "full"}), r#""mode_set","mode":"ask""#),
        (json!({"type": "set_mode", "mode": "read-only"}), r#""mode_set","mode":"read-only""#),
        (
            json!({"type": "set_goal", "goal": {"text": "all", "check": "ls", "tool": "ls", "arguments": {}, "is_typed": true}}),
            r#""goal_set","goal":{"text":"all","check":"ls","tool":"ls","arguments":{}},"chain":"#,
        ),
        (json!({"type": "call", "name": "ls", "arguments": {}}), "a call can be made only by"),
        (
            json!({"type": "conclude", "status": "completed", "reason": "", "evidence": []}),
            "a job can be concluded only by",
        ),
    ];
    for (command, expected) in table {
        let told = said_at(&socket(&session), &command, expected);
        assert!(told.last().is_some_and(|last| last.contains(expected)), "{command}: {told:?}");
    }
    let joined = place.engine("").open(&session.id().0, "haft").await.unwrap();
    assert_eq!((joined.mode(), session.mode()), (Mode::ReadOnly, Mode::ReadOnly));
}

/// Where the socket is that a process below this one connects to.
const KNOCK_AT: &str = "HAFT_TEST_KNOCK_AT";

/// Does something only in a process that the next test starts.
#[test]
fn somebody_below_knocks() {
    if let Some(socket) = std::env::var_os(KNOCK_AT) {
        let told =
            said_at(&PathBuf::from(socket), &json!({"type": "set_mode", "mode": "read-only"}), "mode_set");
        writeln!(std::io::stderr(), "{}", told.concat()).unwrap();
    }
}

// D68
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_the_session_runs_does_not_come_in_as_its_person() {
    let place = Place::new();
    let session = place.session("");
    // In a shell, as the agent's commands are.
    let knocking = std::process::Command::new("sh")
        .args(["-c", "\"$0\" --exact socket::somebody_below_knocks --nocapture; true"])
        .arg(std::env::current_exe().unwrap())
        .env(KNOCK_AT, socket(&session))
        .output();
    let told = String::from_utf8(knocking.unwrap().stderr).unwrap();
    assert!(told.contains("cannot join it as its person"), "{told}");
    assert_eq!((session.mode(), session.entries().len()), (Mode::Full, 1));
}

/// Where a process finds what to say that has left its parents and its environment behind.
const ORDERS: &str = "stranger.orders";
/// It is there when the parent of that process has ended.
const ALONE: &str = "stranger.alone";

/// Does something only in a process that the next test leaves behind.
#[test]
fn a_stranger_answers() {
    let Ok(orders) = std::fs::read_to_string(ORDERS) else { return };
    let (socket, command) = orders.split_once('\n').unwrap();
    while std::fs::remove_file(ALONE).is_err() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let told =
        said_at(std::path::Path::new(socket), &serde_json::from_str(command).unwrap(), "approval_answered");
    std::fs::write("stranger.new", told.join("\n")).unwrap();
    std::fs::rename("stranger.new", "stranger.told").unwrap();
}

// D60: in a program that does not adopt orphans it is impossible to tell a person's process from one that a command left behind.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_allows_that_left_its_parents_does_not_count() {
    let place = Place::new();
    let owner = asking(&place, &(bash("echo one > made") + &says("done")));
    let session = owner.create("haft").unwrap();
    session.send(prompt("go")).unwrap();
    let call = until(&session, Seq(0), asked).await;
    let answer = |answer: Answer| json!({"type": "answer", "call": call, "answer": answer});
    for (command, expected) in [
        (answer(Answer::Always), "is not taken for a person's"),
        (answer(Answer::Once), "is not taken for a person's"),
        (json!({"type": "reply", "call": call, "answer": "yes"}), "is not taken for a person's"),
        (answer(Answer::No), r#""approval_answered","call":"bash-0","answer":"no""#),
    ] {
        place.write(ORDERS, &format!("{}\n{command}", socket(&session).display()));
        let leave = "env -i setsid \"$0\" --exact socket::a_stranger_answers --nocapture </dev/null >/dev/null 2>&1 &";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", leave]).arg(std::env::current_exe().unwrap()).current_dir(place.work());
        assert!(shell.status().unwrap().success());
        place.write(ALONE, "");
        let telling = async {
            while place.read("stranger.told").is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, telling).await.unwrap();
        let told = place.read("stranger.told").unwrap();
        std::fs::remove_file(place.work().join("stranger.told")).unwrap();
        assert!(told.contains(expected) && told.contains(r#""may_allow":false"#), "{command}: {told}");
    }
    until(&session, Seq(0), |fact| matches!(fact, Fact::TurnEnded { .. }).then_some(())).await;
    assert_eq!(place.read("made"), None);
}

/// Connects, and leaves the connection to a child.
#[test]
#[expect(clippy::zombie_processes, reason = "it outlives this process")]
fn somebody_leaves_a_connection_behind() {
    let Ok(orders) = std::fs::read_to_string("left.orders") else { return };
    let stream = UnixStream::connect(orders.trim()).unwrap();
    let given = std::os::fd::OwnedFd::from(stream);
    let waits = "until test -e left.alone; do sleep 0.01; done; (printf '{\"from\":0}\\n' >&0); head -n 1 >left.new; mv left.new left.told";
    std::process::Command::new("sh").args(["-c", waits]).stdin(given).spawn().unwrap();
}

// D60
#[tokio::test(flavor = "multi_thread")]
async fn who_is_gone_when_the_door_opens_is_not_let_in() {
    let place = Place::new();
    let session = place.session("");
    place.write("left.orders", &socket(&session).display().to_string());
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "socket::somebody_leaves_a_connection_behind", "--nocapture"])
        .current_dir(place.work());
    assert!(command.stdout(std::process::Stdio::null()).status().unwrap().success());
    place.write("left.alone", "");
    let telling = async {
        while place.read("left.told").is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, telling).await.unwrap();
    let told = place.read("left.told").unwrap();
    assert!(!told.contains("joined"), "{told}");
}
