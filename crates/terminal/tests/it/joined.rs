//! A turn in a session that another process has open.
use crate::kit::engine;
use futures::StreamExt;
use haft_core::{Answer, Command, Event, Fact, Mode, Part, Seq};
use haft_engine::Session;
use haft_terminal::{
    Exit,
    print::{self, Options},
    signals::Interrupts,
};
use serde_json::json;

/// The person at the session itself says yes, once it is asked.
async fn say_yes(session: &Session) {
    let mut events = Box::pin(session.events(Seq(0)));
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        if let Fact::ApprovalAsked { call, .. } = &entry.fact {
            session.send(Command::answer(call.clone(), Answer::Once)).unwrap();
        }
    }
}

#[tokio::test]
async fn who_joined_and_can_ask_nobody_leaves_the_question_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::create_dir(folder.join("w")).unwrap();
    let call = json!({"calls": [{"name": "bash", "arguments": {"command": "echo one > made"}}]});
    let owner = engine(&folder, &format!("{call}\n{}\n", json!({"say": "done"})), Mode::Ask);
    let session = owner.create("haft").unwrap();
    let joined = engine(&folder, "", Mode::Ask).join(&session.id().0).await.unwrap();
    let prompt = Command::Prompt { parts: vec![Part::text("go")], channel: None };
    let (options, mut interrupts) = (Options::default(), Interrupts::listen().unwrap());
    let turn = print::turn(&joined, prompt, Seq(1), &options, &mut interrupts);
    let exit = tokio::select! {
        exit = turn => exit.unwrap(),
        () = say_yes(&session) => panic!("the session closed"),
    };
    assert_eq!(exit, Exit::Success);
    assert_eq!(std::fs::read_to_string(folder.join("w/made")).unwrap(), "one\n");
}
