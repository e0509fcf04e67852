//! A bot on a thread of its own, which can be ended in good order or killed, and started again.
use crate::fake::{Fake, TOKEN};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Access, Entry, Fact, Mode, Policy, Provider, Secrets, SessionId, Stage, text_of};
use haft_engine::{Agent, Engine, Home, Model, Profile, Session, Setup};
use haft_present::host::{EngineRequest, ExpandedPrompt, Host, Problem, SavedPrompt};
use haft_providers::{Scripted, Step};
use haft_stage::LocalStage;
use haft_telegram::{Options, Token, Trouble};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::JoinHandle,
};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// The owner.
pub(crate) const OWNER: i64 = 7;
/// A secret that Haft knows.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A workspace, a home, and how bots are made there.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) allowed: Vec<i64>,
    pub(crate) pair: bool,
    pub(crate) mode: Mode,
    pub(crate) profile: &'static str,
    /// What they tell the person who runs them.
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    /// The models that they opened an engine for.
    pub(crate) opened: Arc<Mutex<Vec<String>>>,
}

/// One that runs.
pub(crate) struct Bot {
    pub(crate) engine: Engine,
    stop: oneshot::Sender<()>,
    kill: oneshot::Sender<()>,
    thread: JoinHandle<Option<Result<(), Trouble>>>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        fs::write(folder.path().join("w/a.txt"), "hello").unwrap();
        let (allowed, pair, mode, profile) = (vec![OWNER], false, Mode::Full, "default");
        Self { folder, allowed, pair, mode, profile, notes: Arc::default(), opened: Arc::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("w").canonicalize().unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path("w").join(name)).ok()
    }

    pub(crate) fn home(&self) -> Home {
        Home(self.path("home"))
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    /// The only session there is, oldest entry first.
    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        let sessions = self.home().list();
        sessions.first().map(|first| self.home().peek(&first.id.0).unwrap()).unwrap_or_default()
    }

    /// The texts of all prompts.
    pub(crate) fn prompted(&self) -> Vec<String> {
        let entries = self.entries();
        let texts = entries.iter().filter_map(|entry| match &entry.fact {
            Fact::Prompted { parts, .. } => Some(text_of(parts)),
            _ => None,
        });
        texts.collect()
    }

    pub(crate) fn prompts(&self) -> usize {
        self.prompted().len()
    }

    fn state_file(&self) -> PathBuf {
        self.path("home/telegram/4711.json")
    }

    /// What the bot keeps.
    pub(crate) fn state(&self) -> Value {
        serde_json::from_slice(&fs::read(self.state_file()).unwrap()).unwrap()
    }

    /// Changes what a bot that does not run has kept.
    pub(crate) fn change_state(&self, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        change(&mut state);
        fs::write(self.state_file(), state.to_string()).unwrap();
    }

    fn engine(&self, model: &str, provider: Arc<dyn Provider>) -> Engine {
        Engine::new(Setup {
            model: Model::plain(model, provider),
            tools: haft_tools::builtin(&haft_tools::Settings::default()),
            sources: Vec::new(),
            agents: vec![Agent { name: "haft".into(), system: String::new(), ..Agent::default() }],
            policy: Policy { rules: vec![], mode: self.mode },
            ceiling: None,
            stages: Arc::new(|blobs: &Path| Arc::new(LocalStage::new(blobs.to_owned())) as Arc<dyn Stage>),
            workspace: self.work(),
            home: self.home(),
            profile: Profile::named(self.profile).unwrap(),
            knowledge: Default::default(),
            hooks: Arc::new(haft_core::NoHooks),
            diagnostics: None,
            evidence: Arc::new(haft_core::NoEvidence),
            models: None,
            sampler: None,
            replicas: None,
            observer: None,
            access: Access {
                environment: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
                secrets: Secrets::new([KEY.to_owned()], []),
                ..Access::default()
            },
        })
    }

    /// One whose model says what the script does.
    pub(crate) fn engine_of(&self, script: &[Value]) -> Engine {
        let lines: String = script.iter().map(|line| format!("{line}\n")).collect();
        self.engine("script/test", Arc::new(Scripted::new(Step::parse_all(&lines).unwrap())))
    }

    fn options(&self, fake: &Fake, others: impl Fn(&str) -> Engine + Send + Sync + 'static) -> Options {
        let notes = self.notes.clone();
        Options {
            api_url: fake.url.clone(),
            token: Token::new(TOKEN).unwrap(),
            allowed: self.allowed.clone(),
            pair: self.pair,
            folder: self.path("home/telegram"),
            host: Arc::new(TestHost { others: Box::new(others), opened: self.opened.clone() }),
            notes: Arc::new(move |note| notes.lock().unwrap().push(note)),
        }
    }

    /// A bot whose model says what the script does.
    pub(crate) fn start(&self, fake: &Fake, script: &[Value]) -> Bot {
        let engine = self.engine_of(script);
        let other = self.engine("test/other", Arc::new(Scripted::new([]).says("I am the other one.")));
        let options = self.options(fake, move |_| other.clone());
        let (stop, stopped) = oneshot::channel();
        let (kill, killed) = oneshot::channel();
        let runs = engine.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            // Dropping the runtime is what a death looks like from outside: no task says anything more.
            runtime.block_on(async {
                tokio::select! {
                    ended = haft_telegram::run(runs, options, async { drop(stopped.await) }) => Some(ended),
                    Ok(()) = killed => None,
                }
            })
        });
        Bot { engine, stop, kill, thread }
    }
}

impl Bot {
    /// In good order.
    pub(crate) async fn stop(self) -> Result<(), Trouble> {
        let _it_may_have_ended = self.stop.send(());
        joined(self.thread).await.unwrap()
    }

    /// At once.
    pub(crate) async fn kill(self) {
        self.kill.send(()).unwrap();
        assert!(joined(self.thread).await.is_none());
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(self) -> Result<(), Trouble> {
        joined(self.thread).await.unwrap()
    }

    pub(crate) fn session(&self, id: &SessionId) -> Session {
        self.engine.sessions().into_iter().find(|session| session.id() == id).unwrap()
    }
}

/// The Bot API answers meanwhile.
async fn joined<T: Send + 'static>(thread: JoinHandle<T>) -> T {
    tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap()
}

/// Opens other models, and has one saved prompt.
struct TestHost {
    others: Box<dyn Fn(&str) -> Engine + Send + Sync>,
    opened: Arc<Mutex<Vec<String>>>,
}

impl Host for TestHost {
    fn engine(&self, request: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>> {
        let spec = request.model.unwrap();
        self.opened.lock().unwrap().push(spec.clone());
        async move {
            match spec.as_str() {
                spec if spec.starts_with("test/other") => Ok((self.others)(spec)),
                "test/slow" => std::future::pending().await,
                other => Err(Problem::usage(format!("there is no model `{other}`"))),
            }
        }
        .boxed()
    }

    fn prompts(&self, _workspace: &Path) -> Vec<SavedPrompt> {
        vec![SavedPrompt { name: "fix".into(), description: "mends".into(), file: "fix.md".into() }]
    }

    fn expand(&self, _workspace: &Path, prompt: &str, _listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        match prompt.strip_prefix("/fix") {
            Some(rest) => Ok(ExpandedPrompt { prompt: format!("Fix{rest}."), ..ExpandedPrompt::default() }),
            None => Err(Problem::usage(format!("there is no command `{prompt}`"))),
        }
    }
}
