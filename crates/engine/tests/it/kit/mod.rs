//! A real engine with real tools, a scripted model and a workspace of its own.
use futures::StreamExt;
use haft_core::{
    Access, Answer, Command, Entry, Event, Evidence, Fact, Mode, Part, Policy, Provider, Registry, Seq,
    SessionId, Stage,
};
use haft_engine::{Agent, Engine, Home, Journal, Model, Profile, Session, Setup};
use haft_providers::{Scripted, Step};
use haft_stage::LocalStage;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// How long a test waits for what does not come.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A folder with a workspace and a home in it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.work().join(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.work().join(name)).ok()
    }

    /// A setup with mode `full`; change it as a test needs it.
    pub(crate) fn setup(&self, provider: Arc<dyn Provider>) -> Setup {
        Setup {
            model: Model::plain("script/test", provider),
            tools: tools(),
            sources: Vec::new(),
            agents: vec![Agent { name: "haft".into(), system: "Be brief.".into(), ..Agent::default() }],
            policy: Policy { rules: vec![], mode: Mode::Full },
            ceiling: None,
            stages: Arc::new(|blobs: &Path| Arc::new(LocalStage::new(blobs.to_owned())) as Arc<dyn Stage>),
            workspace: self.work(),
            home: Home(self.home()),
            profile: Profile::standard(),
            knowledge: Default::default(),
            hooks: Arc::new(haft_core::NoHooks),
            diagnostics: None,
            evidence: Arc::new(haft_evidence::ClaimChecker),
            models: None,
            sampler: None,
            replicas: None,
            observer: None,
            access: Access {
                environment: Arc::new([("PATH".into(), std::env::var("PATH").unwrap())]),
                ..Access::default()
            },
        }
    }

    pub(crate) fn engine(&self, script: &str) -> Engine {
        Engine::new(self.setup(scripted(script)))
    }

    pub(crate) fn session(&self, script: &str) -> Session {
        self.engine(script).create("haft").unwrap()
    }
}

pub(crate) fn tools() -> Registry {
    haft_tools::builtin(&haft_tools::Settings::default())
}

/// A model that says what the lines tell it to.
pub(crate) fn scripted(script: &str) -> Arc<Scripted> {
    Arc::new(Scripted::new(Step::parse_all(script).unwrap()))
}

/// A line of a script: calls of tools with their arguments.
pub(crate) fn calls(calls: &[(&str, serde_json::Value)]) -> String {
    let calls: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(place, (name, arguments))| serde_json::json!({"id": format!("{name}-{place}"), "name": name, "arguments": arguments}))
        .collect();
    format!("{}\n", serde_json::json!({"calls": calls}))
}

/// A line of a script: text.
/// A fault in the program, once a turn is about to end with a reply.
pub(crate) struct Faulty;

impl Evidence for Faulty {
    fn unproven(&self, _: &[Arc<Entry>], _: Option<&str>) -> Vec<String> {
        panic!("as it was asked for")
    }

    fn failing_tests(&self, _: &[&Arc<Entry>]) -> Vec<String> {
        Vec::new()
    }
}

impl Faulty {
    pub(crate) fn setup(mut setup: Setup) -> Setup {
        setup.profile.limits.evidence = true;
        setup.evidence = Arc::new(Self);
        setup
    }
}

pub(crate) fn says(text: &str) -> String {
    format!("{}\n", serde_json::json!({"say": text}))
}

pub(crate) fn prompt(text: &str) -> Command {
    Command::Prompt { parts: vec![Part::text(text)], channel: None }
}

pub(crate) fn next(session: &Session) -> Seq {
    session.entries().last().map_or(Seq(0), |last| Seq(last.seq.0 + 1))
}

/// Sends `command` and tells what happens until `turns` turns have ended, a line for each fact.
/// A call that asks gets `answer`; without one the turn is interrupted.
pub(crate) async fn tell(
    session: &Session,
    command: Command,
    turns: usize,
    answer: Option<Answer>,
) -> String {
    let from = next(session);
    session.send(command).unwrap();
    let mut events = Box::pin(session.events(from));
    let (mut told, mut ended) = (Vec::new(), 0);
    while ended < turns {
        let event = tokio::time::timeout(PATIENCE, events.next()).await;
        let Some(event) = event.unwrap_or_else(|_| panic!("nothing happens behind {told:?}")) else { break };
        let Event::Recorded(entry) = event else { continue };
        told.push(in_a_word(&entry));
        match (&entry.fact, answer) {
            (Fact::ApprovalAsked { call, .. }, Some(answer)) => {
                session.send(Command::answer(call.clone(), answer)).unwrap();
            }
            (Fact::ApprovalAsked { .. }, None) => session.send(Command::Interrupt).unwrap(),
            (Fact::TurnEnded { .. }, _) => ended += 1,
            _ => {}
        }
    }
    told.join("\n")
}

/// `tool_ended bash-0=permission_error`
pub(crate) fn in_a_word(entry: &Entry) -> String {
    let value = serde_json::to_value(entry).unwrap();
    let text = |pointer: &str| value.pointer(pointer).and_then(|v| v.as_str()).map(str::to_owned);
    let call = text("/call").or(text("/job")).map(|call| format!(" {call}")).unwrap_or_default();
    let ok = value
        .pointer("/ok")
        .or(value.pointer("/result/ok"))
        .filter(|ok| **ok == true)
        .map(|_| "ok".to_owned());
    let ok = ok.filter(|_| value["type"] != "staged");
    let status =
        text("/error/type").or(text("/result/error/type")).or(ok).or(text("/outcome")).or(text("/answer"));
    format!(
        "{}{call}{}",
        text("/type").unwrap(),
        status.map(|status| format!("={status}")).unwrap_or_default()
    )
}

/// What the model was told of a call.
pub(crate) fn content(session: &Session, call: &str) -> String {
    let found = session.entries().iter().rev().find_map(|entry| match &entry.fact {
        Fact::ToolEnded { call: id, result, .. } if id.0 == call => Some(result.content.clone()),
        _ => None,
    });
    found.unwrap_or_default()
}

/// A line of a script: a reply that runs `command`.
pub(crate) fn bash(command: &str) -> String {
    calls(&[("bash", serde_json::json!({"command": command}))])
}

/// Waits until no process has the session `id` open.
pub(crate) async fn wait_until_free(place: &Place, id: &str) {
    let folder = Home(place.home()).folder(&SessionId(id.into()));
    for _ in 0..1000 {
        if Journal::open(&folder).is_ok() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("the journal is still locked");
}
