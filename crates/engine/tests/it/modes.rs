//! A person changes in the middle of a session what runs unasked.
use crate::kit::{Place, calls, prompt, says, scripted, tell};
use haft_core::{Answer, Command, Fact, Mode, Policy};
use haft_engine::{Agent, Engine};
use serde_json::json;

fn writing() -> String {
    let write = calls(&[("write", json!({"path": "a.txt", "content": "x"}))]);
    [write.clone(), says("Done."), write, says("Done.")].concat()
}

fn engine(place: &Place, most: Mode, own: Option<Mode>) -> Engine {
    let mut setup = place.setup(scripted(&writing()));
    setup.policy = Policy { rules: vec![], mode: most };
    setup.agents = vec![Agent { name: "haft".into(), permission: own, ..Agent::default() }];
    Engine::new(setup)
}

fn ends(told: &str) -> Vec<&str> {
    told.lines().filter(|line| line.starts_with("tool_ended") || line.starts_with("approval_asked")).collect()
}

//
#[tokio::test]
async fn a_mode_holds_from_when_it_is_set_and_over_a_resume() {
    let place = Place::new();
    let first = engine(&place, Mode::Full, None);
    let session = first.create("haft").unwrap();
    session.send(Command::SetMode { mode: Mode::ReadOnly }).unwrap();
    let told = tell(&session, prompt("go"), 1, Some(Answer::No)).await;
    assert_eq!(ends(&told), ["tool_ended write-0=permission_error"]);
    let id = session.id().0.clone();
    first.shut_down().await;
    drop(session);
    let session = engine(&place, Mode::Full, None).resume(&id, "haft").unwrap();
    assert_eq!((session.mode(), session.ceiling()), (Mode::ReadOnly, Mode::Full));
    session.send(Command::SetMode { mode: Mode::AcceptEdits }).unwrap();
    let told = tell(&session, prompt("again"), 1, Some(Answer::No)).await;
    assert_eq!(ends(&told), ["tool_ended write-0=ok"]);
}

/// One that begins with `begin` and can be widened to `full`.
fn beginning(place: &Place, begin: Mode, script: &str) -> Engine {
    let mut setup = place.setup(scripted(script));
    (setup.policy, setup.ceiling) = (Policy { rules: vec![], mode: begin }, Some(Mode::Full));
    Engine::new(setup)
}

// X-23, D68
#[tokio::test]
async fn where_nobody_chose_a_mode_the_one_it_begins_with_holds() {
    let place = Place::new();
    let first = place.engine(&says("Hello."));
    let session = first.create("haft").unwrap();
    tell(&session, prompt("hi"), 1, None).await;
    let id = session.id().0.clone();
    first.shut_down().await;
    drop(session);
    let again = beginning(&place, Mode::Ask, &(says("Hello.") + &writing()));
    let new = beginning(&place, Mode::Ask, &writing());
    for session in [again.resume(&id, "haft").unwrap(), new.create("haft").unwrap()] {
        assert_eq!((session.mode(), session.ceiling()), (Mode::Ask, Mode::Full));
        let told = tell(&session, prompt("go"), 1, Some(Answer::No)).await;
        assert!(ends(&told)[0].starts_with("approval_asked"), "{told}");
    }
}

// O-11
#[tokio::test]
async fn a_mode_holds_in_a_session_below_that_is_at_work() {
    let place = Place::new();
    let sleep = calls(&[("bash", json!({"command": "while ! test -e go; do sleep 0.05; done"}))]);
    let delegate = calls(&[("delegate", json!({"task": "write it"}))]);
    let write = calls(&[("write", json!({"path": "a.txt", "content": "x"}))]);
    let engine = place.engine(&[delegate, sleep, write, says("Done."), says("Done.")].concat());
    let session = engine.create("haft").unwrap();
    let mut events = Box::pin(session.events(haft_core::Seq(0)));
    session.send(prompt("go")).unwrap();
    let (mut below, mut sent) = (None, false);
    while let Some(event) = futures::StreamExt::next(&mut events).await {
        if let haft_core::Event::Live(haft_core::Update::ToolOutput { chunk, .. }) = &event
            && chunk.starts_with("bash ")
            && !sent
        {
            session.send(Command::SetMode { mode: Mode::ReadOnly }).unwrap();
            below = engine.sessions().into_iter().find(|one| one.id() != session.id());
            sent = true;
        }
        let haft_core::Event::Recorded(entry) = event else { continue };
        match &entry.fact {
            Fact::ModeSet { .. } => place.write("go", ""),
            Fact::TurnEnded { .. } => break,
            _ => {}
        }
    }
    let below = below.unwrap();
    let told: Vec<String> = below.entries().iter().map(|entry| crate::kit::in_a_word(entry)).collect();
    assert_eq!((below.mode(), place.read("a.txt")), (Mode::ReadOnly, None), "{told:?}");
    assert!(told.contains(&"tool_ended write-0=permission_error".to_owned()), "{told:?}");
}

//
#[tokio::test]
async fn a_mode_is_never_wider_than_engine_and_agent_allow() {
    let table = [
        (Mode::Full, None, Mode::Full),
        (Mode::Ask, None, Mode::Ask),
        (Mode::Full, Some(Mode::AcceptEdits), Mode::AcceptEdits),
        (Mode::ReadOnly, Some(Mode::Full), Mode::ReadOnly),
    ];
    for (most, own, expected) in table {
        let place = Place::new();
        let session = engine(&place, most, own).create("haft").unwrap();
        let command = Command::SetMode { mode: Mode::Full };
        session.send(command).unwrap();
        tell(&session, prompt("go"), 1, Some(Answer::No)).await;
        assert_eq!(session.mode(), expected, "{most:?} {own:?}");
        let set = session.entries().into_iter().find(|entry| matches!(entry.fact, Fact::ModeSet { .. }));
        assert_eq!(set.unwrap().fact, Fact::ModeSet { mode: expected });
    }
}

// O-11
#[tokio::test]
async fn a_mode_is_set_in_the_middle_of_a_turn() {
    let place = Place::new();
    let session = engine(&place, Mode::Full, None).create("haft").unwrap();
    session.send(Command::SetMode { mode: Mode::Ask }).unwrap();
    let steer = session.clone();
    let mut events = Box::pin(session.events(haft_core::Seq(0)));
    let widen = async move {
        while let Some(event) = futures::StreamExt::next(&mut events).await {
            let haft_core::Event::Recorded(entry) = event else { continue };
            match &entry.fact {
                Fact::ApprovalAsked { call, .. } => {
                    steer.send(Command::SetMode { mode: Mode::AcceptEdits }).unwrap();
                    steer.send(Command::answer(call.clone(), Answer::Once)).unwrap();
                }
                Fact::TurnEnded { .. } => return,
                _ => {}
            }
        }
    };
    session.send(prompt("go")).unwrap();
    widen.await;
    assert_eq!((session.mode(), place.read("a.txt").as_deref()), (Mode::AcceptEdits, Some("x")));
    let told = tell(&session, prompt("again"), 1, None).await;
    assert_eq!(ends(&told), ["tool_ended write-0=ok"]);
}
