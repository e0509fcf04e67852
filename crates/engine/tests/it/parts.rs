//! A person accepts a part of a proposal: only that is written, the model reads what was not, and undo and redo move it.
use crate::kit::{Place, calls, in_a_word, prompt, says, scripted};
use futures::StreamExt;
use haft_core::{Accepted, AcceptedFile, Command, Event, Fact, Mode, Seq, ToolResult};
use haft_engine::{Engine, Session};
use serde_json::json;
use std::time::Duration;

/// How long a test waits for what does not come.
const LONG: Duration = Duration::from_secs(60);

fn lines(first: &str, last: &str) -> String {
    let middle: String = (2..20).map(|number| format!("line {number}\n")).collect();
    format!("{first}\n{middle}{last}\n")
}

/// One turn whose first call changes both ends of a file, and of whose change these hunks are accepted.
async fn accepted(place: &Place, hunks: Option<Vec<usize>>) -> (Engine, Session, ToolResult) {
    place.write("a.txt", &lines("a", "b"));
    let call = json!({"path": "a.txt", "content": lines("A", "B")});
    let mut setup = place
        .setup(scripted(&(calls(&[("read", json!({"path": "a.txt"})), ("write", call)]) + &says("done"))));
    setup.policy.mode = Mode::Ask;
    let engine = Engine::new(setup);
    let session = engine.create("haft").unwrap();
    let mut turn = session.start(prompt("go"));
    let followed = async {
        while let Some(event) = turn.next().await {
            if let Event::Recorded(entry) = event
                && let Fact::ApprovalAsked { call, .. } = &entry.fact
            {
                let files = vec![AcceptedFile { path: "a.txt".into(), hunks: hunks.clone(), text: None }];
                let accepted = Accepted { files };
                turn.send(Command::accept(call.clone(), accepted)).unwrap();
            }
        }
    };
    tokio::time::timeout(LONG, followed).await.unwrap();
    let report = turn.report().await;
    let result = report.calls[1].result().clone();
    (engine, session, result)
}

#[tokio::test]
async fn only_the_accepted_hunk_is_written_undone_and_redone() {
    let place = Place::new();
    let (_engine, session, result) = accepted(&place, Some(vec![1])).await;
    assert_eq!(place.read("a.txt").unwrap(), lines("a", "B"));
    assert!(result.is_ok(), "{result:?}");
    assert!(result.content.contains("[The person accepted only a part"), "{}", result.content);
    assert!(result.content.contains("-a\n+A\n") && !result.content.contains("+B"), "{}", result.content);
    let facts: Vec<String> = session.entries().iter().map(|entry| in_a_word(entry)).collect();
    let facts = facts.join(" ");
    assert!(facts.contains("accepted_part"), "{facts}");
    session.start(Command::Rewind { to: Seq(0) }).await.unwrap();
    assert_eq!(place.read("a.txt").unwrap(), lines("a", "b"));
    session.start(Command::Redo).await.unwrap();
    assert_eq!(place.read("a.txt").unwrap(), lines("a", "B"));
}

#[tokio::test]
async fn a_part_that_is_not_there_changes_nothing() {
    let place = Place::new();
    let (_engine, _session, result) = accepted(&place, Some(vec![7])).await;
    assert!(result.error.as_ref().unwrap().message.contains("there is no hunk 7"), "{result:?}");
    assert_eq!(place.read("a.txt").unwrap(), lines("a", "b"));
}
