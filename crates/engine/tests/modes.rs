//! A person changes in the middle of a session what runs unasked.
mod kit;

use haft_core::{Answer, Command, Fact, Mode, Policy};
use haft_engine::{Agent, Engine};
use kit::{Place, calls, prompt, says, scripted, tell};
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
                    steer.send(Command::Answer { call: call.clone(), answer: Answer::Once }).unwrap();
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
