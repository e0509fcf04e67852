//! `/undo`, `/undo CALL` and `/redo`, typed in an editor.
use crate::kit::{Ide, Person, Place, Saves, call, edit, scripted};
use agent_client_protocol::v1::schema::StopReason;
use haft_core::Mode;
use serde_json::{Value, json};
use std::time::Duration;

fn write(path: &str) -> Value {
    call("write", json!({"path": path, "content": "new\n"}))
}

// H-25
#[tokio::test]
async fn calls_are_listed_undone_by_their_numbers_and_made_again() {
    let place = Place::with(Mode::AcceptEdits);
    let change = call("edit", json!({"path": "a.txt", "old_text": "new", "new_text": "newer"}));
    let script = [write("a.txt"), change, write("b.txt"), json!({"say": "Done."})];
    let ide = Ide::new(&place, Person::Waits, Saves::Nothing);
    edit(&place, scripted(&script), ide, async |ide| {
        let session = ide.session().await;
        ide.prompt(&session, "Write").await.unwrap();
        let newer = || (Some("newer\n".to_owned()), Some("new\n".to_owned()));
        let table = [
            (
                "/undo list",
                "1  write a.txt  + a.txt\n2  edit a.txt  ~ a.txt\n3  write b.txt  + b.txt",
                newer(),
            ),
            ("/undo 1", "call 2 (`edit a.txt`) depends on it", newer()),
            ("/undo 9", "there is no call 9 in this session", newer()),
            (
                "/undo 3",
                "- b.txt\ncall 3 is undone; the conversation stays as it is",
                (Some("newer\n".into()), None),
            ),
            ("/undo 1 with-dependents", "- a.txt\ncalls 1, 2 are undone", (None, None)),
            ("/redo", "+ a.txt", (Some("newer\n".into()), None)),
            ("/redo", "+ b.txt", newer()),
            ("/undo", "- a.txt", (None, None)),
        ];
        for (typed, expected, files) in table {
            let before = ide.text("agent_message_chunk").len();
            assert_eq!(ide.prompt(&session, typed).await.unwrap(), StopReason::EndTurn, "{typed}");
            // Updates need not be seen before the answer.
            while !ide.text("agent_message_chunk")[before..].contains(expected) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_eq!((place.read("a.txt"), place.read("b.txt")), files, "{typed}");
        }
        for (typed, expected) in [("/undo", "there is nothing to undo"), ("/undo it", "`it` is no call")] {
            let refused = ide.prompt(&session, typed).await.unwrap_err();
            assert!(refused.to_string().contains(expected), "{typed}: {refused:?}");
        }
    })
    .await;
}
