//! A turn in a session that another process has open.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
use futures::StreamExt;
use haft_core::{Access, Answer, Command, Event, Fact, Mode, Part, Policy, Seq, Stage};
use haft_engine::{Agent, Engine, Home, Model, Profile, Session, Setup};
use haft_providers::{Scripted, Step};
use haft_stage::LocalStage;
use haft_terminal::{
    Exit,
    print::{self, Options},
    signals::Interrupts,
};
use serde_json::json;
use std::{path::Path, sync::Arc};

/// A lock belongs to an open file, so each engine stands for a process.
fn engine(folder: &Path, script: &str) -> Engine {
    Engine::new(Setup {
        model: Model::plain("script/test", Arc::new(Scripted::new(Step::parse_all(script).unwrap()))),
        tools: haft_tools::builtin(&haft_tools::Settings::default()),
        sources: Vec::new(),
        agents: vec![Agent { name: "haft".into(), system: String::new(), ..Agent::default() }],
        policy: Policy { rules: vec![], mode: Mode::Ask },
        ceiling: None,
        stages: Arc::new(|blobs: &Path| Arc::new(LocalStage::new(blobs.to_owned())) as Arc<dyn Stage>),
        workspace: folder.join("w"),
        home: Home(folder.join("home")),
        profile: Profile::standard(),
        knowledge: Default::default(),
        hooks: Arc::new(haft_core::NoHooks),
        evidence: Arc::new(haft_core::NoEvidence),
        models: None,
        replicas: None,
        access: Access {
            environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
            ..Access::default()
        },
    })
}

/// The person at the session itself says yes, once it is asked.
async fn say_yes(session: &Session) {
    let mut events = Box::pin(session.events(Seq(0)));
    while let Some(event) = events.next().await {
        let Event::Recorded(entry) = event else { continue };
        if let Fact::ApprovalAsked { call, .. } = &entry.fact {
            session.send(Command::Answer { call: call.clone(), answer: Answer::Once }).unwrap();
        }
    }
}

#[tokio::test]
async fn who_joined_and_can_ask_nobody_leaves_the_question_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    std::fs::create_dir(folder.join("w")).unwrap();
    let call = json!({"calls": [{"name": "bash", "arguments": {"command": "echo one > made"}}]});
    let owner = engine(&folder, &format!("{call}\n{}\n", json!({"say": "done"})));
    let session = owner.create("haft").unwrap();
    let joined = engine(&folder, "").join(&session.id().0).await.unwrap();
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
