//! What survives a death, and what an undo puts back.
use crate::kit::{Place, calls, content, next, prompt, says, tell, wait_until_free};
use futures::{StreamExt, stream::BoxStream};
use haft_core::{
    Change, Command, Delta, Direction, Entry, Event, Fact, Message, Provider, ProviderError, Request, Seq,
    Stage, Tracking, Transcript, text_of,
};
use haft_engine::{EngineError, Home, JournalError};
use haft_stage::LocalStage;
use serde_json::json;
use std::{io::Write, sync::Arc};

/// Appends a line: done twice, it shows.
fn append() -> String {
    calls(&[
        ("edit", json!({"path": "log", "old_text": "end", "new_text": "one\nend"})),
        ("write", json!({"path": "made", "content": "made"})),
    ])
}

/// The journal as it is after `alive` entries, with its blobs.
fn journal_of(place: &Place, id: &str, whole: &[Arc<Entry>], alive: usize) {
    let lines: String =
        whole[..alive].iter().map(|entry| serde_json::to_string(entry.as_ref()).unwrap() + "\n").collect();
    let folder = Home(place.home()).folder(&haft_core::SessionId(id.into()));
    std::fs::write(folder.join("journal.jsonl"), lines).unwrap();
}

/// Which of the staged changes stand on disk after `alive` entries: those of calls before the last entry surely;
/// those of a `staged` that is the last entry perhaps.
fn settled_by(entries: &[Arc<Entry>], last_one_too: bool) -> Vec<Change> {
    let staged = entries.iter().enumerate().filter_map(|(place, entry)| match &entry.fact {
        Fact::Staged { changes, .. } if place + 1 < entries.len() || last_one_too => Some(changes.clone()),
        _ => None,
    });
    staged.flatten().collect()
}

// C03, C04, E-1, traps 10 and 11: dies after every single entry of a turn, before and after settling
#[tokio::test]
async fn a_turn_that_died_anywhere_is_taken_up_and_each_file_effect_happens_once() {
    let place = Place::new();
    place.write("log", "end\n");
    let script = append() + &says("done");
    let session = place.session(&script);
    let id = session.id().0.clone();
    tell(&session, prompt("go"), 1, None).await;
    let whole = session.entries();
    drop(session);
    assert_eq!(whole.iter().filter(|entry| matches!(entry.fact, Fact::Staged { .. })).count(), 2);
    let stage = LocalStage::new(Home(place.home()).folder(&haft_core::SessionId(id.clone())).join("blobs"));
    for alive in 2..whole.len() {
        for settled in [false, true] {
            place.write("log", "end\n");
            let _not_there = std::fs::remove_file(place.work().join("made"));
            wait_until_free(&place, &id).await;
            journal_of(&place, &id, &whole, alive);
            stage.settle(&place.work(), &settled_by(&whole[..alive], settled)).unwrap();
            let engine = place.engine(&script);
            let session = engine.resume(&id, "haft").unwrap();
            let told = tell(&session, Command::Continue, 1, None).await;
            assert!(told.ends_with("turn_ended=finished"), "died after {alive} entries: {told}");
            assert_eq!(
                place.read("log").as_deref(),
                Some("one\nend\n"),
                "died after {alive} entries, settled: {settled}"
            );
            assert_eq!(place.read("made").as_deref(), Some("made"), "died after {alive} entries");
            well_formed(&session.entries());
            drop(session);
            engine.shut_down().await;
        }
    }
}

/// Each call has exactly one result (faults, invariant 2).
fn well_formed(entries: &[Arc<Entry>]) {
    let transcript = Transcript::replay(entries);
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for message in transcript.messages() {
        match message.as_ref() {
            haft_core::Message::Assistant { parts } => {
                calls.extend(parts.iter().filter_map(|part| part.as_call().map(|call| call.id.clone())))
            }
            haft_core::Message::Tool { call, .. } => results.push(call.clone()),
            haft_core::Message::User { .. } => {}
        }
    }
    assert_eq!(calls, results);
}

// C03: a command may have done anything, so it is not run again
#[tokio::test]
async fn a_command_that_had_started_is_not_run_again() {
    let place = Place::new();
    let script = calls(&[("bash", json!({"command": "echo tick >> ticks"}))]) + &says("done");
    let session = place.session(&script);
    let id = session.id().0.clone();
    tell(&session, prompt("go"), 1, None).await;
    let whole = session.entries();
    drop(session);
    let started = whole
        .iter()
        .position(|entry| matches!(entry.fact, Fact::ToolStarted { how: Tracking::Untracked, .. }))
        .unwrap();
    wait_until_free(&place, &id).await;
    journal_of(&place, &id, &whole, started + 1);
    let session = place.engine(&script).resume(&id, "haft").unwrap();
    let told = tell(&session, Command::Continue, 1, None).await;
    assert!(told.ends_with("replied\nturn_ended=finished"), "{told}");
    assert_eq!(place.read("ticks").as_deref(), Some("tick\n"));
    assert!(content(&session, "bash-0").contains("what it did is unknown"));
}

// Trap 10: the order on disk is intent, then record, then effect
#[tokio::test]
async fn nothing_is_settled_before_it_is_recorded() {
    let place = Place::new();
    place.write("log", "end\n");
    let session = place.session(&(append() + &says("done")));
    let mut events = Box::pin(session.events(Seq(0)));
    session.send(prompt("go")).unwrap();
    let mut order = Vec::new();
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        match &entry.fact {
            Fact::ToolStarted { .. } => order.push("started"),
            Fact::Staged { how, .. } => {
                assert_eq!(*how, Tracking::Declared);
                order.push("staged");
            }
            Fact::ToolEnded { .. } => order.push("ended"),
            Fact::TurnEnded { .. } => break,
            _ => {}
        }
    }
    assert_eq!(order, ["started", "staged", "ended", "started", "staged", "ended"]);
}

// C-73, E-2
#[tokio::test]
async fn undo_puts_messages_and_files_back_and_redo_brings_them_again() {
    let place = Place::new();
    place.write("log", "end\n");
    let session = place.session(&(append() + &says("done") + &says("other answer")));
    tell(&session, prompt("go"), 1, None).await;
    assert_eq!(place.read("log").as_deref(), Some("one\nend\n"));
    let undone = rewound(&session, Command::Rewind { to: Seq(0) }).await;
    assert!(
        matches!(&undone, Fact::Rewound { way: Direction::Undo, changes, conflicts, .. } if changes.len() == 2 && conflicts.is_empty()),
        "{undone:?}"
    );
    assert_eq!((place.read("log").as_deref(), place.read("made")), (Some("end\n"), None));
    assert!(Transcript::replay(&session.entries()).messages().is_empty());
    let redone = rewound(&session, Command::Redo).await;
    assert!(matches!(redone, Fact::Rewound { way: Direction::Redo, .. }));
    assert_eq!(
        (place.read("log").as_deref(), place.read("made").as_deref()),
        (Some("one\nend\n"), Some("made"))
    );
    assert_eq!(Transcript::replay(&session.entries()).messages().len(), 5);
}

#[tokio::test]
async fn undo_leaves_alone_what_somebody_changed_since() {
    let place = Place::new();
    place.write("log", "end\n");
    let session = place.session(&(append() + &says("done")));
    tell(&session, prompt("go"), 1, None).await;
    place.write("made", "mine now");
    let undone = rewound(&session, Command::Rewind { to: Seq(0) }).await;
    let Fact::Rewound { conflicts, .. } = undone else { panic!("not rewound") };
    assert_eq!(conflicts, [std::path::Path::new("made")]);
    assert_eq!(
        (place.read("log").as_deref(), place.read("made").as_deref()),
        (Some("end\n"), Some("mine now"))
    );
}

#[tokio::test]
async fn undo_says_which_commands_it_cannot_cover() {
    let place = Place::new();
    let session = place.session(&(calls(&[("bash", json!({"command": "touch x"}))]) + &says("done")));
    tell(&session, prompt("go"), 1, None).await;
    let Fact::Rewound { untracked, .. } = rewound(&session, Command::Rewind { to: Seq(0) }).await else {
        panic!()
    };
    assert_eq!(untracked.len(), 1);
}

async fn rewound(session: &haft_engine::Session, command: Command) -> Fact {
    let mut events = Box::pin(session.events(next(session)));
    session.send(command).unwrap();
    loop {
        match events.next().await {
            Some(Event::Recorded(entry)) if matches!(entry.fact, Fact::Rewound { .. }) => {
                return entry.fact.clone();
            }
            Some(_) => {}
            None => panic!("closed"),
        }
    }
}

// C05 to C10, traps 12 and 13
#[tokio::test]
async fn a_damaged_journal_gives_back_what_is_whole_and_says_what_is_not() {
    let place = Place::new();
    let session = place.session(&says("hi"));
    tell(&session, prompt("go"), 1, None).await;
    let (id, path) = (session.id().0.clone(), session.journal().path().to_owned());
    drop(session);
    let whole = std::fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 4);
    let mut flipped = whole.clone();
    flipped[lines[0].len() + 1] ^= 0x80;
    let table: Vec<(&str, Vec<u8>, usize, &str)> = vec![
        ("whole", whole.clone(), 4, ""),
        ("torn", whole[..whole.len() - 7].to_vec(), 3, "half an entry"),
        ("zeros", [whole.as_slice(), &[0; 4096]].concat(), 4, "the last 4096 bytes are half an entry"),
        (
            "half a record",
            [whole.as_slice(), &lines[1][..9]].concat(),
            4,
            "the last 9 bytes are half an entry",
        ),
        ("a flipped byte", flipped, 3, "line 2 cannot be read"),
        ("twice", [whole.as_slice(), lines[3]].concat(), 4, "line 5 stands there twice"),
    ];
    for (what, bytes, entries, told) in table {
        wait_until_free(&place, &id).await;
        std::fs::write(&path, &bytes).unwrap();
        let session = place.engine(&(says("hi") + &says("again"))).resume(&id, "haft").unwrap();
        assert_eq!(session.entries().len(), entries, "{what}");
        assert!(
            session.journal().damage().join("\n").contains(told),
            "{what}: {:?}",
            session.journal().damage()
        );
        let went_on = tell(&session, prompt("more"), 1, None).await;
        assert!(went_on.ends_with("turn_ended=finished"), "{what}: {went_on}");
        let reread = Home(place.home()).peek(&id).unwrap();
        assert_eq!(reread.len(), entries + 3, "{what}: the next line is not glued to the damage");
    }
}

// C22, C23, D16, D68
#[tokio::test]
async fn a_journal_is_held_by_one_process_private_and_of_our_version() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let engine = place.engine(&says("hi"));
    let session = engine.create("haft").unwrap();
    let held = engine.resume(&session.id().0, "haft");
    assert!(matches!(held, Err(EngineError::Journal(JournalError::Locked(_)))));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = session.journal().path().to_owned();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    for id in ["../../etc", "", "a/b", "nope"] {
        assert!(
            matches!(engine.resume(id, "haft"), Err(EngineError::Journal(JournalError::Missing(_)))),
            "{id}"
        );
    }
    let id = session.id().0.clone();
    drop(session);
    engine.shut_down().await;
    let version = format!("\"version\":{}", haft_core::event::JOURNAL_VERSION);
    let newer = std::fs::read_to_string(&path).unwrap().replace(&version, "\"version\":99");
    std::fs::write(&path, &newer).unwrap();
    assert!(matches!(
        place.engine("").resume(&id, "haft"),
        Err(EngineError::Journal(JournalError::Newer { found: 99, .. }))
    ));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "not a journal").unwrap();
    assert!(matches!(
        place.engine("").resume(&id, "haft"),
        Err(EngineError::Journal(JournalError::Unreadable { .. }))
    ));
}

// Trap 12
#[tokio::test]
async fn sessions_do_not_lie_in_the_workspace() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(place.work(), &link).unwrap();
    for home in [place.work().join("home"), link.clone(), link.join("not/there/yet")] {
        let mut setup = place.setup(crate::kit::scripted(&says("hi")));
        setup.home = Home(home);
        assert!(matches!(
            haft_engine::Engine::new(setup).create("haft"),
            Err(EngineError::HomeInWorkspace { .. })
        ));
    }
}

// A newer Haft may have written facts that this one does not know: their places are taken.
#[tokio::test]
async fn what_cannot_be_read_keeps_its_place() {
    let known = |seq: u64| format!("{{\"seq\":{seq},\"at\":1,\"type\":\"interrupted\"}}\n");
    let unknown = |seq: u64| format!("{{\"seq\":{seq},\"at\":1,\"type\":\"dreamt\",\"of\":\"sheep\"}}\n");
    let table = [
        ("at the end", unknown(1) + &unknown(2), 3),
        ("in between", unknown(1) + &known(2), 3),
        ("with a place that is not its own", unknown(1) + &known(1), 2),
        ("no line at all", "junk\n".to_owned(), 1),
    ];
    for (what, lines, expected) in table {
        let place = Place::new();
        let engine = place.engine(&says("hi"));
        let session = engine.create("haft").unwrap();
        let (id, path) = (session.id().0.clone(), session.journal().path().to_owned());
        drop(session);
        engine.shut_down().await;
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        let engine = place.engine(&says("hi"));
        let session = engine.open(&id, "haft").await.unwrap();
        tell(&session, prompt("go"), 1, None).await;
        let prompted =
            session.entries().iter().find(|entry| matches!(entry.fact, Fact::Prompted { .. })).cloned();
        assert_eq!(prompted.unwrap().seq, Seq(expected), "{what}");
        assert!(std::fs::read_to_string(&path).unwrap().contains(lines.as_str()), "{what}: nothing is lost");
    }
}

// A job that ended with its process is told, and nothing goes on unasked
#[tokio::test]
async fn a_session_whose_job_is_lost_is_at_rest_when_it_is_opened() {
    let place = Place::new();
    let script = calls(&[("bash", json!({"command": "sleep 1000", "background": true}))]) + &says("begun");
    let engine = place.engine(&script);
    let session = engine.create("haft").unwrap();
    let id = session.id().0.clone();
    tell(&session, prompt("go"), 1, None).await;
    let whole = session.entries();
    assert!(matches!(whole.last().unwrap().fact, Fact::TurnEnded { .. }), "{whole:#?}");
    drop(session);
    engine.shut_down().await;
    wait_until_free(&place, &id).await;
    journal_of(&place, &id, &whole, whole.len());
    let session = place.engine(&says("I see.")).resume(&id, "haft").unwrap();
    let mut events = Box::pin(session.events(next(&session)));
    let mut seen = Vec::new();
    while seen.len() < 2 {
        if let Event::Recorded(entry) = events.next().await.unwrap() {
            seen.push(crate::kit::in_a_word(&entry));
        }
    }
    assert_eq!(seen, ["job_ended 1=system_error", "turn_ended=interrupted"]);
    assert!(Transcript::replay(&session.entries()).is_idle());
}

/// Delegates once; the subagent makes these calls.
struct Handing(String);

impl Provider for Handing {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ProviderError>> {
        let first = request.messages.first().map(|message| message.as_ref().clone());
        let is_below = matches!(first, Some(Message::User { parts }) if text_of(&parts) == "append");
        let answered =
            request.messages.iter().any(|message| matches!(message.as_ref(), Message::Tool { .. }));
        let line = match (answered, is_below) {
            (true, _) => says("done"),
            (false, true) => self.0.clone(),
            (false, false) => calls(&[("delegate", json!({"task": "append"}))]),
        };
        crate::kit::scripted(&line).stream(Request { messages: Vec::new(), ..request })
    }
}

// C03, C-70: dies after every entry of a turn in which a subagent works; what that one had begun is ended, not repeated
#[tokio::test]
async fn what_a_subagent_had_begun_happens_once_wherever_the_turn_died() {
    let place = Place::new();
    place.write("log", "end\n");
    let engine = || haft_engine::Engine::new(place.setup(Arc::new(Handing(append()))));
    let session = engine().create("haft").unwrap();
    let id = session.id().0.clone();
    tell(&session, prompt("go"), 1, None).await;
    let whole = session.entries();
    drop(session);
    let staged = |entries: &[Arc<Entry>]| -> Vec<Change> {
        let changes = entries.iter().filter_map(|entry| match &entry.fact {
            Fact::SubagentChanged { changes, .. } => Some(changes.clone()),
            _ => None,
        });
        changes.flatten().collect()
    };
    assert_eq!(staged(&whole).len(), 2);
    let stage = LocalStage::new(Home(place.home()).folder(&haft_core::SessionId(id.clone())).join("blobs"));
    for alive in 2..whole.len() {
        for real in [false, true] {
            place.write("log", "end\n");
            let _not_there = std::fs::remove_file(place.work().join("made"));
            wait_until_free(&place, &id).await;
            journal_of(&place, &id, &whole, alive);
            let begun = staged(&whole[..alive]);
            let is_last = matches!(whole[alive - 1].fact, Fact::SubagentChanged { .. });
            let settled = if is_last && !real { begun.len() - 1 } else { begun.len() };
            stage.settle(&place.work(), &begun[..settled]).unwrap();
            let engine = engine();
            let session = engine.resume(&id, "haft").unwrap();
            let told = tell(&session, Command::Continue, 1, None).await;
            assert!(told.ends_with("turn_ended=finished"), "died after {alive} entries: {told}");
            let made = if begun.len() == 1 { None } else { Some("made") };
            assert_eq!(
                (place.read("log").as_deref(), place.read("made").as_deref()),
                (Some("one\nend\n"), made),
                "died after {alive} entries, settled: {real}"
            );
            well_formed(&session.entries());
            let to = haft_core::undo::before_last_turn(&session.entries()).unwrap();
            let Fact::Rewound { conflicts, .. } = rewound(&session, Command::Rewind { to }).await else {
                panic!()
            };
            assert_eq!(
                (conflicts, place.read("log").as_deref(), place.read("made")),
                (vec![], Some("end\n"), None)
            );
            drop(session);
            engine.shut_down().await;
        }
    }
}

// What a command below has done to a file since is not done over
#[tokio::test]
async fn a_crash_brings_nothing_back_that_a_subagent_removed() {
    let place = Place::new();
    let below = calls(&[
        ("write", json!({"path": "made", "content": "made"})),
        ("bash", json!({"command": "rm made"})),
    ]);
    let setup = || place.setup(Arc::new(Handing(below.clone())));
    let session = haft_engine::Engine::new(setup()).create("haft").unwrap();
    let id = session.id().0.clone();
    tell(&session, prompt("go"), 1, None).await;
    let whole = session.entries();
    drop(session);
    let ended = whole.iter().position(|entry| matches!(entry.fact, Fact::ToolEnded { .. })).unwrap();
    wait_until_free(&place, &id).await;
    journal_of(&place, &id, &whole, ended);
    let session = haft_engine::Engine::new(setup()).resume(&id, "haft").unwrap();
    tell(&session, Command::Continue, 1, None).await;
    assert_eq!(place.read("made"), None);
    assert!(content(&session, "delegate-0").contains("what it did stands"));
}
