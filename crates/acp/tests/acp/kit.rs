//! An editor made of the client side of the official library, over streams in memory: a person who answers, files with
//! buffers, and an ear for everything that is said.
use agent_client_protocol::{
    Agent, Channel, Client, Error, TransportFrame, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo, Responder,
        schema::{
            CancelNotification, ClientCapabilities, ContentBlock, FileSystemCapabilities, InitializeRequest,
            NewSessionRequest, PromptRequest, ReadTextFileRequest, ReadTextFileResponse,
            RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
            SelectedPermissionOutcome, SessionNotification, StopReason, TextContent, WriteTextFileRequest,
            WriteTextFileResponse,
        },
    },
};
use futures::StreamExt;
use futures::future::BoxFuture;
use haft_acp::{Settings, over_streams};
use haft_core::{Access, Mode, NoHooks, Policy, Provider, Stage};
use haft_engine::{Agent as Who, Engine, Home, Model, Profile, Setup};
use haft_present::host::{EngineRequest, ExpandedPrompt, Host, Problem, SavedPrompt};
use haft_providers::{Scripted, Step};
use haft_stage::LocalStage;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// A folder with a workspace, a home, and what the binary would choose.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) mode: Mode,
    pub(crate) begin: Mode,
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    pub(crate) engines: Arc<Mutex<Vec<Engine>>>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        let (notes, engines) = (Arc::default(), Arc::default());
        Self { folder, mode: Mode::Ask, begin: Mode::Ask, notes, engines }
    }

    pub(crate) fn with(mode: Mode) -> Self {
        Self { mode, begin: mode, ..Self::new() }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("w")
    }

    pub(crate) fn home(&self) -> Home {
        Home(self.folder.path().join("home"))
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.work().join(name), text).unwrap();
        self.work().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.work().join(name)).ok()
    }

    pub(crate) fn settings(&self, provider: Arc<dyn Provider>) -> Settings {
        let host = TestHost {
            provider,
            mode: self.mode,
            begin: self.begin,
            home: self.home(),
            engines: self.engines.clone(),
            notes: self.notes.clone(),
        };
        Settings { home: self.home(), host: Arc::new(host) }
    }
}

/// What a person does with a question.
#[derive(Clone, Copy)]
pub(crate) enum Person {
    /// Picks the option of this id.
    Picks(&'static str),
    /// Says nothing until the turn is stopped.
    Waits,
    /// Closes the question.
    Closes,
    /// Types something into `a.txt`, then allows the call.
    TypesFirst,
}

/// What the editor does with a text it is given.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Saves {
    Exactly,
    /// Formats it: each line ends with a full stop.
    Formatted,
    /// Shows it, and leaves the disk alone.
    InBufferOnly,
    Fails,
    /// Has no files for agents.
    Nothing,
    /// Shows none, with an error of this code.
    Blind(i32),
}

/// An editor and its person.
#[derive(Clone)]
pub(crate) struct Ide {
    pub(crate) agent: Option<ConnectionTo<Agent>>,
    pub(crate) person: Person,
    pub(crate) saves: Saves,
    /// Texts that are not saved.
    pub(crate) buffers: Arc<Mutex<HashMap<PathBuf, String>>>,
    /// Updates, in order.
    pub(crate) updates: Arc<Mutex<Vec<Value>>>,
    /// Questions.
    pub(crate) asked: Arc<Mutex<Vec<Value>>>,
    /// Files that were read and written through it.
    pub(crate) files: Arc<Mutex<Vec<String>>>,
    /// Everything both sides say: a line each.
    pub(crate) lines: Arc<Mutex<Vec<(Side, Value)>>>,
    pub(crate) work: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Side {
    Agent,
    Editor,
}

impl Ide {
    pub(crate) fn new(place: &Place, person: Person, saves: Saves) -> Self {
        let (buffers, updates, asked, files, lines) = Default::default();
        Self { agent: None, person, saves, buffers, updates, asked, files, lines, work: place.work() }
    }

    pub(crate) fn agent(&self) -> &ConnectionTo<Agent> {
        self.agent.as_ref().unwrap()
    }

    pub(crate) async fn session(&self) -> String {
        let made = self.agent().send_request(NewSessionRequest::new(&self.work)).block_task().await.unwrap();
        made.session_id.to_string()
    }

    pub(crate) async fn prompt(&self, session: &str, text: &str) -> Result<StopReason, Error> {
        self.say(session, vec![ContentBlock::Text(TextContent::new(text))]).await
    }

    pub(crate) async fn say(&self, session: &str, blocks: Vec<ContentBlock>) -> Result<StopReason, Error> {
        let prompt = PromptRequest::new(session.to_owned(), blocks);
        self.agent().send_request(prompt).block_task().await.map(|answer| answer.stop_reason)
    }

    pub(crate) fn cancel(&self, session: &str) {
        self.agent().send_notification(CancelNotification::new(session.to_owned())).unwrap();
    }

    /// Waits until an update or a question holds this text.
    pub(crate) async fn hears(&self, text: &str) {
        let has = |heard: &Mutex<Vec<Value>>| {
            heard.lock().unwrap().iter().any(|one| one.to_string().contains(text))
        };
        while !has(&self.updates) && !has(&self.asked) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// The updates of a kind.
    pub(crate) fn told(&self, kind: &str) -> Vec<Value> {
        let updates = self.updates.lock().unwrap();
        updates.iter().filter(|update| update["sessionUpdate"] == kind).cloned().collect()
    }

    /// The text of chunks of a kind.
    pub(crate) fn text(&self, kind: &str) -> String {
        self.told(kind)
            .iter()
            .map(|chunk| chunk["content"]["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The last that was told of a call, field by field.
    pub(crate) fn call(&self, tool: &str) -> Value {
        let mut call = json!({});
        for update in self.updates.lock().unwrap().iter() {
            let kind = update["sessionUpdate"].as_str().unwrap();
            let is_it = call["toolCallId"].is_string() && update["toolCallId"] == call["toolCallId"];
            if (kind == "tool_call" && update["name"] == tool) || (kind == "tool_call_update" && is_it) {
                let fields = update.as_object().unwrap().clone();
                call.as_object_mut().unwrap().extend(fields);
            }
        }
        call
    }

    fn answer(
        &self,
        asked: &RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse>,
    ) -> Result<(), Error> {
        self.asked.lock().unwrap().push(serde_json::to_value(asked).unwrap());
        let outcome = match self.person {
            Person::Picks(id) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id)),
            Person::Closes => RequestPermissionOutcome::Cancelled,
            Person::TypesFirst => {
                self.buffers.lock().unwrap().insert(self.work.join("a.txt"), "typed meanwhile\n".into());
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new("once"))
            }
            Person::Waits => {
                let cancelled = responder.cancellation();
                return self.agent().spawn(async move {
                    cancelled.cancelled().await;
                    responder.respond(RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled))
                });
            }
        };
        responder.respond(RequestPermissionResponse::new(outcome))
    }

    fn shows(&self, file: &Path) -> Result<ReadTextFileResponse, Error> {
        self.files
            .lock()
            .unwrap()
            .push(format!("read {}", file.strip_prefix(&self.work).unwrap_or(file).display()));
        if let Saves::Blind(code) = self.saves {
            return Err(Error::new(code, "busy"));
        }
        let buffer = self.buffers.lock().unwrap().get(file).cloned();
        let text = buffer.map_or_else(|| fs::read_to_string(file), Ok);
        text.map(ReadTextFileResponse::new).map_err(|_| Error::new(-32002, "not found"))
    }

    fn saves(&self, asked: WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
        self.files
            .lock()
            .unwrap()
            .push(format!("write {}", asked.path.strip_prefix(&self.work).unwrap_or(&asked.path).display()));
        match self.saves {
            Saves::Fails | Saves::Nothing => return Err(Error::internal_error()),
            Saves::InBufferOnly => {
                self.buffers.lock().unwrap().insert(asked.path, asked.content);
                return Ok(WriteTextFileResponse::new());
            }
            Saves::Exactly | Saves::Blind(_) => fs::write(&asked.path, &asked.content).unwrap(),
            Saves::Formatted => fs::write(&asked.path, asked.content.replace('\n', ".\n")).unwrap(),
        }
        self.buffers.lock().unwrap().remove(&asked.path);
        Ok(WriteTextFileResponse::new())
    }
}

/// A model that says what the lines tell it to.
pub(crate) fn scripted(script: &[Value]) -> Arc<Scripted> {
    let lines: String = script.iter().map(|line| format!("{line}\n")).collect();
    Arc::new(Scripted::new(Step::parse_all(&lines).unwrap()))
}

pub(crate) fn call(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

/// Starts the agent and the editor, and lets `test` use it. On return both have ended, and every line of the agent is as
/// the protocol's schema wants it.
pub(crate) async fn edit(
    place: &Place,
    provider: Arc<dyn Provider>,
    ide: Ide,
    test: impl AsyncFnOnce(Ide),
) -> Ide {
    let (ours, theirs) = tokio::io::duplex(1 << 14);
    let ((input, output), (reads, writes)) = (tokio::io::split(theirs), tokio::io::split(ours));
    let serving = over_streams(input, output, || true, place.settings(provider), std::future::pending());
    let playing = play(reads, writes, ide.clone(), test);
    let (served, ()) = tokio::join!(serving, playing);
    served.unwrap();
    crate::schema::check(&ide.lines.lock().unwrap());
    ide
}

type Streams = DuplexStream;

async fn play(reads: ReadHalf<Streams>, writes: WriteHalf<Streams>, ide: Ide, test: impl AsyncFnOnce(Ide)) {
    let (ours, theirs) = Channel::duplex();
    let (said, heard) = theirs.into_parts();
    let mut streams = (reads, writes);
    let mut carrying = Box::pin(async {
        let (reading, writing) = (listen(&mut streams.0, heard, &ide), speak(&mut streams.1, said, &ide));
        tokio::join!(reading, writing);
    });
    let driving = drive(ours, ide.clone(), test);
    tokio::select! {
        () = driving => {}
        () = &mut carrying => panic!("the agent left"),
    }
    drop(carrying);
    let _the_rest = tokio::time::timeout(std::time::Duration::from_secs(5), streams.1.shutdown()).await;
}

async fn listen(
    reads: &mut ReadHalf<Streams>,
    heard: futures::channel::mpsc::UnboundedSender<TransportFrame>,
    ide: &Ide,
) {
    let mut lines = BufReader::new(reads).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        ide.lines.lock().unwrap().push((Side::Agent, serde_json::from_str(&line).unwrap()));
        let _it_has_ended = heard.unbounded_send(TransportFrame::parse_json(&line));
    }
}

async fn speak(
    writes: &mut WriteHalf<Streams>,
    mut said: futures::channel::mpsc::UnboundedReceiver<TransportFrame>,
    ide: &Ide,
) {
    while let Some(frame) = said.next().await {
        let line = frame.to_json().unwrap();
        ide.lines.lock().unwrap().push((Side::Editor, serde_json::from_str(&line).unwrap()));
        writes.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
}

async fn drive(channel: Channel, ide: Ide, test: impl AsyncFnOnce(Ide)) {
    let (hears, asks, shows, saves) = (ide.clone(), ide.clone(), ide.clone(), ide.clone());
    let editor = Client
        .v1()
        .on_receive_notification(
            async move |said: SessionNotification, _| {
                hears.updates.lock().unwrap().push(serde_json::to_value(said.update).unwrap());
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |asked: RequestPermissionRequest, responder, agent| {
                Ide { agent: Some(agent), ..asks.clone() }.answer(&asked, responder)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: ReadTextFileRequest, responder: Responder<_>, _| {
                responder.respond_with_result(shows.shows(&asked.path))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |asked: WriteTextFileRequest, responder: Responder<_>, _| {
                responder.respond_with_result(saves.saves(asked))
            },
            on_receive_request!(),
        );
    let files = ide.saves != Saves::Nothing;
    let playing = async move |agent: ConnectionTo<Agent>| {
        let files = FileSystemCapabilities::new().read_text_file(files).write_text_file(files);
        let can = ClientCapabilities::new().fs(files);
        let met = InitializeRequest::new(ProtocolVersion::V1).client_capabilities(can);
        agent.send_request(met).block_task().await?;
        test(Ide { agent: Some(agent), ..ide }).await;
        Ok(())
    };
    editor.connect_with(channel, playing).await.unwrap();
}

/// The usual model, and one that takes an effort.
const MODELS: [&str; 2] = ["script/test", "script/other"];

/// Engines with one provider, and one saved prompt.
struct TestHost {
    provider: Arc<dyn Provider>,
    mode: Mode,
    begin: Mode,
    home: Home,
    engines: Arc<Mutex<Vec<Engine>>>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Host for TestHost {
    fn engine(&self, request: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>> {
        let workspace = request.workspace.unwrap();
        let stages = request.stages.unwrap();
        let model = request.model.unwrap_or_else(|| MODELS[0].to_owned());
        if !MODELS.contains(&&*model) {
            let problem = Problem::usage(format!("there is no model `{model}`"));
            return Box::pin(async move { Err(problem) });
        }
        let effort = request.effort.filter(|_| !self.efforts(&model).is_empty());
        let setup = Setup {
            model: Model { effort, ..Model::plain(&model, self.provider.clone()) },
            tools: haft_tools::builtin(&haft_tools::Settings::default()),
            sources: Vec::new(),
            agents: vec![Who { name: "haft".into(), system: String::new(), ..Who::default() }],
            policy: Policy { rules: vec![], mode: self.begin },
            ceiling: Some(self.mode),
            stages: stages(Arc::new(|blobs: &Path| {
                Arc::new(LocalStage::new(blobs.to_owned())) as Arc<dyn Stage>
            })),
            workspace,
            home: self.home.clone(),
            profile: Profile::standard(),
            knowledge: Default::default(),
            hooks: Arc::new(NoHooks),
            diagnostics: None,
            evidence: Arc::new(haft_core::NoEvidence),
            models: None,
            sampler: None,
            replicas: None,
            observer: None,
            access: Access {
                environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
                ..Access::default()
            },
        };
        let engine = Engine::new(setup);
        self.engines.lock().unwrap().push(engine.clone());
        Box::pin(async move { Ok(engine) })
    }

    fn models(&self) -> Vec<(String, String)> {
        let about = |model: &str| (model.to_owned(), String::new());
        MODELS.into_iter().chain(["openai/…"]).map(about).collect()
    }

    fn efforts(&self, model: &str) -> Vec<&'static str> {
        if model == MODELS[1] { vec!["low", "high"] } else { Vec::new() }
    }

    fn prompts(&self, _workspace: &Path) -> Vec<SavedPrompt> {
        vec![SavedPrompt { name: "fix".into(), description: "Mends it".into(), file: "fix.md".into() }]
    }

    fn expand(&self, _workspace: &Path, prompt: &str, _listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        match prompt.strip_prefix("/fix ") {
            Some(what) => {
                Ok(ExpandedPrompt { prompt: format!("Please mend {what}."), ..ExpandedPrompt::default() })
            }
            None => Err(Problem::usage(format!("there is no command `{prompt}`"))),
        }
    }

    fn note(&self, note: String) {
        self.notes.lock().unwrap().push(note);
    }
}
