//! Replays: the same again, and the first difference.
use crate::Person;
use haft_app::replay::{Differs, ReplayOptions, ReplayReport};
use haft_core::Mode;
use serde_json::json;
use std::fs;

async fn replayed(person: &Person, id: &str) -> ReplayReport {
    let mut replay = person.app().replay(id, &ReplayOptions::default()).await.unwrap();
    let report = replay.run(&mut |_| Ok(())).await.unwrap();
    replay.close().await;
    report
}

#[tokio::test]
async fn a_replay_makes_the_calls_again_and_finds_the_first_difference() {
    let read = json!({"calls": [{"name": "read", "arguments": {"path": "a.txt"}}]});
    let write = json!({"calls": [{"name": "write", "arguments": {"path": "b.txt", "content": "made\n"}}]});
    let person = Person::new(&[read, write, json!({"say": "Done."})]);
    person.write("work/a.txt", "one\n");
    let opened = person.app().open(&person.spec(Some(Mode::AcceptEdits))).await.unwrap();
    opened.session.prompt("Copy it").await.unwrap();
    let id = opened.session.id().0.clone();
    opened.engine.shut_down().await;
    assert_eq!(person.read("b.txt").as_deref(), Some("made\n"));

    let same = replayed(&person, &id).await;
    assert!(same.difference.is_none() && same.refused.is_none(), "{same:?}");
    assert_eq!((same.rounds, same.calls), (3, 2));

    person.write("work/a.txt", "two\n");
    let other = replayed(&person, &id).await;
    let difference = other.difference.unwrap();
    assert_eq!((difference.what, &*difference.name), (Differs::Result, "read"));
    assert!(difference.to_string().contains("+ "), "{difference}");
    assert_eq!(fs::read_to_string(person.work().join("a.txt")).unwrap(), "two\n");
}
