//! [`Person`]: types into a conversation and reads its screen.
pub(crate) mod screen;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Access, Mode, Policy, Stage};
use haft_engine::{Agent, Engine, Home, Model, Profile, Setup};
use haft_present::host::{
    Conversation, EngineRequest, ExpandedPrompt, Host, OpenRequest, Problem, SavedPrompt, ServerOffer,
    TriedServer,
};
use haft_providers::{Scripted, Step};
use haft_stage::LocalStage;
use haft_terminal::{
    Editor, Links, Pictures, StatusLine,
    host::Surroundings,
    tui::{Depth, Keys, Look, Notifications, Request, Theme, Themes, Tui},
};
use screen::Screen;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Long enough for a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An engine on a written model. A lock belongs to an open file, so each engine stands for a process.
pub(crate) fn engine(folder: &Path, script: &str, mode: Mode) -> Engine {
    engine_with(folder, "script/test", script, mode)
}

fn engine_with(folder: &Path, spec: &str, script: &str, mode: Mode) -> Engine {
    let model = Model::plain(spec, Arc::new(Scripted::new(Step::parse_all(script).unwrap())));
    let agent = |name: &str, description: &str| Agent {
        name: name.into(),
        description: description.into(),
        system: String::new(),
        ..Agent::default()
    };
    Engine::new(Setup {
        model: Model { window: Some(100_000), ..model },
        tools: haft_tools::builtin(&haft_tools::Settings::default()),
        sources: Vec::new(),
        agents: vec![agent("haft", ""), agent("helper", "helps")],
        policy: Policy { rules: vec![], mode },
        ceiling: Some(Mode::Full),
        stages: Arc::new(|blobs: &Path| Arc::new(LocalStage::new(blobs.to_owned())) as Arc<dyn Stage>),
        workspace: folder.join("w"),
        home: Home(folder.join("home")),
        profile: Profile::standard(),
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
            ..Access::default()
        },
    })
}

/// Opens sessions on written models.
struct Written {
    folder: PathBuf,
    script: String,
    mode: Mode,
}

const MODELS: [(&str, &str); 3] =
    [("openai/gpt-5", "272k window"), ("openai/gpt-4.1", "1M window"), ("ollama/qwen", "on this machine")];

impl Written {
    async fn conversation(&self, request: OpenRequest) -> Result<Conversation, Problem> {
        let spec = request.model.unwrap_or_else(|| "script/test".into());
        if spec == "no/such" {
            return Err(Problem::usage("there is no model `no/such`"));
        }
        let engine = engine_with(&self.folder, &spec, &self.script, self.mode);
        let agent = request.agent.as_deref().unwrap_or("haft");
        let session = match &request.session {
            Some(id) => engine.open(id, agent).await.unwrap(),
            None => engine.create(agent).unwrap(),
        };
        Ok(Conversation { engine, session, effort: request.effort, notices: Vec::new() })
    }
}

impl Host for Written {
    fn engine(&self, _: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>> {
        async { Err(Problem::usage("no engine is made here")) }.boxed()
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Conversation, Problem>> {
        self.conversation(request).boxed()
    }

    fn files(&self, workspace: &Path) -> Vec<String> {
        let (mut names, mut folders) = (Vec::new(), vec![workspace.to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let name = entry.path().strip_prefix(workspace).unwrap().to_string_lossy().into_owned();
                match entry.path().is_dir() {
                    _ if name.starts_with('.') => {}
                    true => folders.push(entry.path()),
                    false => names.push(name),
                }
            }
        }
        names.sort();
        names
    }

    fn expand(&self, _: &Path, prompt: &str, listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        match prompt {
            "/greet" => Ok(ExpandedPrompt { prompt: "Say hello.".into(), ..ExpandedPrompt::default() }),
            name => Err(Problem::usage(format!("there is no command `{name}`"))
                .hint(format!("`{listed_by}` lists them"))),
        }
    }

    fn models(&self) -> Vec<(String, String)> {
        MODELS.map(|(spec, what)| (spec.to_owned(), what.to_owned())).into()
    }

    fn efforts(&self, model: &str) -> Vec<&'static str> {
        if model == "openai/gpt-5" { vec!["low", "medium", "high"] } else { Vec::new() }
    }

    fn servers<'a>(&'a self, _: &Path) -> BoxFuture<'a, Vec<TriedServer>> {
        let files =
            ServerOffer { tools: vec!["read".to_owned(), "write".to_owned()], ..ServerOffer::default() };
        let servers = vec![
            ("files".to_owned(), Ok(files)),
            ("gone".to_owned(), Err("cannot start `no-such-program`".to_owned())),
        ];
        async { servers }.boxed()
    }
}

/// How a conversation begins.
pub(crate) struct Begin {
    pub(crate) size: (u16, u16),
    pub(crate) mode: Mode,
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) prompts: Vec<SavedPrompt>,
    pub(crate) editor: Option<&'static str>,
    pub(crate) keys: Keys,
    pub(crate) is_vim: bool,
    pub(crate) notifications: Notifications,
}

impl Default for Begin {
    fn default() -> Self {
        Self {
            size: (60, 24),
            mode: Mode::Ask,
            files: Vec::new(),
            prompts: Vec::new(),
            editor: None,
            keys: Keys::default(),
            is_vim: false,
            notifications: Notifications::default(),
        }
    }
}

impl Begin {
    /// Opens it on a model that says `script`, one line for each reply.
    pub(crate) async fn with(self, script: &[Value]) -> Person {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap();
        std::fs::create_dir(folder.join("w")).unwrap();
        for (name, text) in &self.files {
            let file = folder.join("w").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let script: String = script.iter().map(|line| format!("{line}\n")).collect();
        let host = Written { folder: folder.clone(), script, mode: self.mode };
        let opened = host.conversation(OpenRequest::default()).await.unwrap();
        let surroundings = Surroundings {
            host: Arc::new(host),
            workspace: folder.join("w"),
            prompts: self.prompts,
            pictures: Pictures::None,
            links: Links::default(),
            environment: [].into(),
            themes: Themes::default(),
            status_line: StatusLine::default(),
            history: None,
            keys: self.keys,
            is_vim: self.is_vim,
            notifications: self.notifications,
            config_files: vec![folder.join("config.toml")],
            login: Some(Arc::new(|_| async { Ok(true) }.boxed_local())),
            editor: self.editor.map(|command| Editor { command: command.into(), scratch: folder.clone() }),
        };
        let look = Look::new(Theme::Terminal, Depth::Sixteen);
        let tui = Tui::new(surroundings, opened, look, None, self.size, Screen::new(self.size));
        let mut person = Person { tui, folder, _place: place };
        person.see("what to do?").await;
        person
    }
}

/// A person at a conversation.
pub(crate) struct Person {
    tui: Tui<Screen>,
    folder: PathBuf,
    _place: tempfile::TempDir,
}

impl Person {
    /// Waits until the screen shows `text`; gives the screen.
    pub(crate) async fn see(&mut self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text)).await
    }

    /// Waits until the screen no longer shows `text`; gives the screen.
    pub(crate) async fn no_longer_see(&mut self, text: &str) -> String {
        self.until(text, |screen| !screen.contains(text)).await
    }

    /// Waits for `what` until the screen is as `is_there` says.
    pub(crate) async fn until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        loop {
            // What is there already is taken in, so that the screen is at rest.
            while self.tui.next().now_or_never().is_some() {}
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            let next = tokio::time::timeout(TIMEOUT, self.tui.next()).await;
            assert!(next.is_ok(), "waited for {what:?}, but there is:\n{}", self.screen());
        }
    }

    /// What stands on the screen, without what differs from one time to the next.
    pub(crate) fn screen(&mut self) -> String {
        let size = self.tui.out().size();
        self.tui.draw(size).unwrap();
        let text = self.tui.out().text();
        self.steady(&text)
    }

    /// The same with what was scrolled away.
    pub(crate) fn all(&mut self) -> String {
        self.screen();
        let text = self.tui.out().all();
        self.steady(&text)
    }

    fn steady(&self, text: &str) -> String {
        let text = text.replace(&*self.folder.to_string_lossy(), "PLACE");
        let words = text.split_inclusive([' ', '\n']).map(|word| match word.trim_end() {
            time if time.contains('.') && !time.ends_with('.') && time.parse::<f64>().is_ok() => {
                word.replace(time, "N.N")
            }
            id if id.len() == 32 && id.matches('-').count() == 2 => word.replace(id, "SESSION"),
            _ => word.to_owned(),
        });
        words.collect()
    }

    /// Types `text`, without Enter.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.reads();
        for c in text.chars() {
            self.press(KeyCode::Char(c), KeyModifiers::NONE);
        }
    }

    /// A line, and Enter.
    pub(crate) fn say(&mut self, line: &str) {
        self.type_in(line);
        self.keys("Enter");
    }

    /// Keys by the names that the help has for them, apart by blanks. A person reads a question first.
    pub(crate) fn keys(&mut self, names: &str) {
        self.reads();
        self.keys_at_once(names);
    }

    fn reads(&mut self) {
        if self.screen().contains("waiting for you") {
            std::thread::sleep(Duration::from_millis(600));
        }
    }

    /// The same, whatever has just appeared.
    pub(crate) fn keys_at_once(&mut self, names: &str) {
        for name in names.split_whitespace() {
            let (modifiers, key) = match name.rsplit_once('+') {
                Some(("Ctrl", key)) => (KeyModifiers::CONTROL, key),
                Some(("Alt", key)) => (KeyModifiers::ALT, key),
                Some(("Shift", key)) => (KeyModifiers::SHIFT, key),
                _ => (KeyModifiers::NONE, name),
            };
            let code = match key {
                "Enter" => KeyCode::Enter,
                "Esc" => KeyCode::Esc,
                "Tab" if modifiers == KeyModifiers::SHIFT => KeyCode::BackTab,
                "Tab" => KeyCode::Tab,
                "Backspace" => KeyCode::Backspace,
                "↑" => KeyCode::Up,
                "↓" => KeyCode::Down,
                "←" => KeyCode::Left,
                "→" => KeyCode::Right,
                "PgUp" => KeyCode::PageUp,
                "PgDn" => KeyCode::PageDown,
                "Home" => KeyCode::Home,
                "End" => KeyCode::End,
                "F2" => KeyCode::F(2),
                "Space" => KeyCode::Char(' '),
                letter if modifiers.is_empty() => KeyCode::Char(letter.chars().next().unwrap()),
                letter => KeyCode::Char(letter.chars().next().unwrap().to_ascii_lowercase()),
            };
            self.press(code, modifiers);
        }
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.tui.take(Event::Key(KeyEvent::new(code, modifiers)));
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.tui.take(Event::Paste(text.to_owned()));
    }

    /// Whether the terminal has the focus from here on.
    pub(crate) fn focus(&mut self, has_focus: bool) {
        self.tui.take(if has_focus { Event::FocusGained } else { Event::FocusLost });
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.tui.out().resize((columns, rows));
    }

    /// The titles and notifications that were sent to the terminal.
    pub(crate) fn commands(&mut self) -> &[String] {
        &self.tui.out().commands
    }

    pub(crate) fn request(&mut self) -> Option<Request> {
        self.tui.request()
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join("w").join(name)).ok()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join("w").join(name).to_string_lossy().into_owned()
    }

    /// Row and column of the cursor.
    pub(crate) fn cursor(&mut self) -> (usize, usize) {
        self.screen();
        self.tui.out().cursor()
    }

    /// What was said to the model, as the journal has it.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let entries = self.journals();
        let entries = entries.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let prompts = entries.filter(|entry| entry["type"] == "prompted");
        prompts.map(|entry| entry["parts"][0]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The journals of all sessions.
    pub(crate) fn journals(&self) -> String {
        let sessions = std::fs::read_dir(self.folder.join("home/sessions")).unwrap();
        let files = sessions.map(|session| session.unwrap().path().join("journal.jsonl"));
        files.map(|file| std::fs::read_to_string(file).unwrap_or_default()).collect()
    }
}

/// A reply with one call of `edit`.
pub(crate) fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"calls": [{"name": "edit", "arguments": {"path": path, "old": old, "new": new}}]})
}

/// A reply with one question.
pub(crate) fn ask(question: &str, choices: &[&str]) -> Value {
    json!({"calls": [{"name": "ask", "arguments": {"question": question, "choices": choices}}]})
}

/// A reply.
pub(crate) fn say(text: &str) -> Value {
    json!({"say": text})
}
