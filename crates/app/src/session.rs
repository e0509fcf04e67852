//! [`SessionSpec`]: a request for a session, and [`SessionPlan`]: the request completed by variables and files.
mod tool_set;

use crate::{
    App, Failure,
    agents::{AGENT, FoundAgent},
    config::{Config, Places, Settings, claude::ClaudeRules},
    hooks, lsp, mcp_servers,
    model::{self, ToolCallFormat},
    notes::{self, FolderNotes},
    skills,
};
use haft_core::{BaseCommit, Command, Entry, Mode, Sandbox, SessionOpened, SessionSetup};
use haft_engine::{
    Agent, Engine, Home, Knowledge, Model, Models, Profile, Session, Setup, Stages, checked_root,
};
use haft_evidence::ClaimChecker;
use haft_mcp::client::McpServer;
use haft_providers::{Effort, Scripted, direct};
use haft_stage::{CommandAccess, CommandViews, LocalStage};
use haft_tools::SKILL;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
pub use tool_set::tools;
use tool_set::{offered_tools, warn_of_unknown_tools, with_tools};

/// A request for a session. The `HAFT_*` variables, the user's file and the profile decide, in this order, what it
/// leaves out; the project's file can narrow that.
#[derive(Clone, Debug, Default)]
pub struct SessionSpec {
    /// Settings that override those of the configuration.
    pub settings: Settings,
    /// Base URL of the provider's server.
    pub base_url: Option<String>,
    /// Format in which the model writes calls as text; `auto` detects it.
    pub dialect: Option<String>,
    /// Agent to use.
    pub agent: Option<String>,
    /// Tools to offer, by name, in place of the agent's; `none` alone stands for no tool.
    pub tools: Option<Vec<String>>,
    /// Directory to work in. Default: that of the session, or else the current directory.
    pub workspace: Option<PathBuf>,
    /// For a job: the directory that `workspace` is a copy of. Its account, its project settings and the permissions in
    /// its `.claude` apply.
    pub origin: Option<PathBuf>,
    /// Session to continue; a new one if left out.
    pub session: Option<Existing>,
    /// For a job: the commit at which its branch began.
    pub start: Option<Box<BaseCommit>>,
    /// MCP servers in addition to the user's own.
    pub servers: Vec<McpServer>,
    /// Folders to add to the workspace.
    pub roots: Vec<PathBuf>,
    /// Whether to queue calls whose effects cannot be taken back, instead of asking the user. A session that has an
    /// outbox keeps it.
    pub outbox: bool,
}

/// Names an existing session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The session with this ID, unique prefix of an ID, or name.
    Named(String),
    /// The newest session of the directory to work in.
    Newest,
}

/// An engine, and the notices about how it was made.
pub struct Assembled {
    /// Ready to open sessions.
    pub engine: Engine,
    /// Notices on how the model was chosen, and on settings that have no effect.
    pub notices: Vec<String>,
}

/// A session that is ready for commands.
pub struct OpenedSession {
    /// The engine that has the session open. Shut it down before another process opens the session.
    pub engine: Engine,
    /// The session that was opened.
    pub session: Session,
    /// Notices on how the session was opened.
    pub notices: Vec<String>,
    /// Warnings for the user: a permission that does not apply, a damaged journal.
    pub warnings: Vec<String>,
}

impl App {
    /// Opens the session that `spec` asks for.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid, no model can be chosen, or the session cannot be opened.
    pub async fn open(&self, spec: &SessionSpec) -> Result<OpenedSession, Failure> {
        self.plan(spec)?.open().await
    }

    /// Decides everything that `spec` leaves open. Starts nothing.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid, or the session to continue works in another directory.
    pub fn plan(&self, spec: &SessionSpec) -> Result<SessionPlan, Failure> {
        let spec = self.continued(spec)?;
        let workspace = self.workspace_of(&spec)?;
        self.plan_in(spec, workspace)
    }

    /// Like [`Self::plan`], for the directory `workspace`, which is absolute.
    pub(crate) fn plan_in(&self, spec: SessionSpec, workspace: PathBuf) -> Result<SessionPlan, Failure> {
        let configured = spec.origin.as_deref().filter(|origin| origin.is_dir()).unwrap_or(&workspace);
        let config = self.config(configured, &spec.settings)?;
        let profile = config.profile()?;
        Ok(SessionPlan { app: self.clone(), spec, config, profile, workspace })
    }

    /// An engine that asks no model, for adding entries to a job's journal. The journal names `model` as the job's
    /// model.
    pub(crate) fn bare_engine(&self, workspace: &Path, model: &str) -> Result<Engine, Failure> {
        let model = Model::plain(model, Arc::new(Scripted::new([])));
        let silent = self.clone().on_warning(Arc::new(|_| {}));
        let plan = silent.plan_in(SessionSpec::default(), workspace.to_owned())?;
        Ok(Engine::new(plan.setup(model)?))
    }

    /// An engine that asks no model and runs nothing, for sessions of another machine. `change` sets what is known of
    /// them.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid.
    pub fn attached_engine(&self, change: impl FnOnce(&mut Setup)) -> Result<Engine, Failure> {
        let model = Model::plain(NO_MODEL, Arc::new(Scripted::new([])));
        let silent = self.clone().on_warning(Arc::new(|_| {}));
        let mut setup = silent.plan_in(SessionSpec::default(), workspace(None)?)?.setup(model)?;
        change(&mut setup);
        Ok(Engine::new(setup))
    }

    /// `spec` with the session that it names, or the newest one of the directory.
    fn continued(&self, spec: &SessionSpec) -> Result<SessionSpec, Failure> {
        let id = match &spec.session {
            Some(Existing::Named(id)) => id.clone(),
            Some(Existing::Newest) => self.newest(&workspace(spec.workspace.as_deref())?)?,
            None => return Ok(spec.clone()),
        };
        // If the user named another directory, `workspace_of` reports that.
        let entries = self.home().peek(&id)?;
        let continued = spec.clone().continuing(&id, &entries);
        let is_known = |name: &String, folder| {
            name == AGENT
                || self.agents(folder).is_ok_and(|all| all.iter().any(|known| known.agent.name == *name))
        };
        match (&spec.agent, &continued.agent, &continued.workspace) {
            (None, Some(gone), Some(folder)) if !is_known(gone, folder) => {
                let name = haft_present::safe::name(gone).into_owned();
                self.warn(format!(
                    "the agent `{name}` of this session no longer exists; it goes on with `{AGENT}`"
                ));
                Ok(SessionSpec { agent: None, ..continued })
            }
            _ => Ok(continued),
        }
    }

    /// The newest session of the directory `workspace` that asked a model.
    ///
    /// # Errors
    ///
    /// If the directory has no session.
    pub fn newest(&self, workspace: &Path) -> Result<String, Failure> {
        let newest = self.home().newest(workspace, |session| session.model != direct::MODEL).map(|id| id.0);
        newest.ok_or_else(|| Failure::usage(format!("there is no session in `{}` yet", workspace.display())))
    }

    /// The directory to work in. A session keeps the directory in which it began: in another one, undo would not find
    /// its files.
    ///
    /// # Errors
    ///
    /// If it does not exist, or is not the directory of the session.
    pub fn workspace_of(&self, spec: &SessionSpec) -> Result<PathBuf, Failure> {
        let Some(Existing::Named(id)) = &spec.session else { return workspace(spec.workspace.as_deref()) };
        let entries = self.home().peek(id)?;
        let Some(SessionOpened { workspace: own, .. }) = SessionOpened::of(&entries) else {
            return workspace(spec.workspace.as_deref());
        };
        let asked = spec.workspace.as_deref().map(|folder| workspace(Some(folder))).transpose()?;
        match asked.filter(|asked| asked != own) {
            Some(asked) => {
                let (own, asked) = (own.display(), asked.display());
                Err(Failure::usage(format!("the session `{id}` works in `{own}`, not in `{asked}`"))
                    .hint("omit `--cwd`, or start a new session there"))
            }
            None => workspace(Some(own)),
        }
    }

    /// The agent of this name.
    ///
    /// # Errors
    ///
    /// If it does not exist, or the file of an agent cannot be read.
    pub fn agent(&self, workspace: &Path, name: &str) -> Result<Agent, Failure> {
        let known = self.agents(workspace)?;
        let found = known.into_iter().find(|known| known.agent.name == name).map(|known| known.agent);
        found.ok_or_else(|| {
            Failure::usage(format!("there is no agent `{name}`")).hint("`haft agents list` lists them")
        })
    }

    /// The instruction files that the user and the project have for agents.
    #[must_use]
    pub fn knowledge(&self, workspace: &Path) -> Knowledge {
        let notes = notes::read(&self.places, workspace, &*self.warn);
        let (skills, readable) = skills::read(&self.places, workspace, &*self.warn);
        Knowledge { notes, skills, skill_tool: SKILL.into(), readable }
    }
}

impl SessionSpec {
    /// The base URL, if it applies to `model`: it was given for the provider of `usual`, the model of this spec.
    pub(crate) fn base_url_for(&self, model: &str, usual: Option<&str>) -> Option<String> {
        let is_same = usual.is_some_and(|usual| model::provider_of(usual) == model::provider_of(model));
        self.base_url.clone().filter(|_| is_same)
    }

    /// Continues the session `id`: takes its agent, model, effort, profile and directory wherever this spec sets none.
    #[must_use]
    pub fn continuing(self, id: &str, entries: &[Arc<Entry>]) -> Self {
        let session = Some(Existing::Named(id.to_owned()));
        let opened = SessionOpened::of(entries).zip(SessionSetup::of(entries));
        let Some((opened, SessionSetup { agent, model, effort })) = opened else {
            return Self { session, ..self };
        };
        let SessionOpened { workspace, profile, order, .. } = opened;
        // The recorded effort was chosen for the recorded model; with another model it does not apply.
        let effort = effort.filter(|_| self.settings.model.is_none());
        let is_asked = ![NO_MODEL, direct::MODEL].contains(&model.as_str());
        Self {
            agent: self.agent.or(Some(agent)),
            settings: Settings {
                model: self.settings.model.or_else(|| is_asked.then_some(model)),
                profile: self.settings.profile.or_else(|| Some(profile.clone())),
                effort: self.settings.effort.or_else(|| Effort::named(&effort?)),
                ..self.settings
            },
            workspace: self.workspace.or_else(|| Some(workspace.clone())),
            origin: self.origin.or_else(|| Some(order.as_ref()?.origin.clone())),
            session,
            ..self
        }
    }
}

/// A session that is planned from its spec, the variables and the configuration, but not yet started.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    app: App,
    spec: SessionSpec,
    /// Every layer of the configuration.
    pub config: Config,
    /// The profile, with the user's settings in it.
    profile: Profile,
    workspace: PathBuf,
}

impl SessionPlan {
    /// The directory to work in: absolute, links followed.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Opens the session, with an engine of its own.
    ///
    /// # Errors
    ///
    /// Fails as [`App::open`] does.
    pub async fn open(self) -> Result<OpenedSession, Failure> {
        self.open_with(|_| {}).await
    }

    /// Like [`Self::open`]; `adjust` may change the engine's setup before it starts.
    ///
    /// # Errors
    ///
    /// Fails as [`App::open`] does.
    pub async fn open_with(self, adjust: impl FnOnce(&mut Setup)) -> Result<OpenedSession, Failure> {
        let (app, spec) = (self.app.clone(), self.spec.clone());
        let Assembled { engine, mut notices } = self.engine_with(adjust).await?;
        let agent = spec.agent.as_deref().unwrap_or(AGENT);
        let roots = roots(&engine, &spec.roots)?;
        let session = match &spec.session {
            Some(Existing::Named(id)) => engine.open(id, agent).await?,
            Some(Existing::Newest) | None => engine.create(agent)?,
        };
        app.finished_rewind(&session).await;
        let mut warnings: Vec<String> =
            set_permission(&session, spec.settings.permission)?.into_iter().collect();
        roots.into_iter().try_for_each(|root| session.send(Command::AddRoot { root }))?;
        if spec.outbox {
            session.send(Command::OpenOutbox)?;
        }
        let (path, damage) = (session.journal().path().display().to_string(), session.journal().damage());
        warnings.extend(damage.iter().map(|line| format!("{path}: {line}")));
        // The process that has the session open decides how approvals are asked for.
        if session.is_joined() {
            notices = vec![JOINED.to_owned()];
        }
        if let Some(name) = engine.setup().home.name(session.id()) {
            notices.insert(0, format!("going on with `{}`", haft_present::safe::name(&name)));
        }
        Ok(OpenedSession { engine, session, notices, warnings })
    }

    /// Connects to the model and builds the engine.
    ///
    /// # Errors
    ///
    /// If no model can be chosen, or a part of the configuration is invalid.
    pub async fn engine(self) -> Result<Assembled, Failure> {
        self.engine_with(|_| {}).await
    }

    /// Like [`Self::engine`]; `adjust` may change the setup first.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::engine`] does.
    pub async fn engine_with(self, adjust: impl FnOnce(&mut Setup)) -> Result<Assembled, Failure> {
        let typed = self
            .spec
            .dialect
            .as_deref()
            .map(|typed| ToolCallFormat { dialect: Some(typed), ..ToolCallFormat::default() });
        let format = typed.unwrap_or_else(|| ToolCallFormat::of(&self.profile));
        let chosen = model::choose(&self.app, &self.config, self.spec.base_url.as_deref(), format).await?;
        // A format that the user typed applies to the model that the user typed, not to other models.
        let format = ToolCallFormat::of(&self.profile);
        let model = model::with_fallbacks(&self.app, &self.config, chosen.model, format).await?;
        let notices = chosen.notices.into_iter().chain(stripped(&self.app, &self.config)).collect();
        let observer = self.app.observer();
        let mut setup = Setup { observer, ..self.setup(model)? };
        adjust(&mut setup);
        let models = [&setup.model].into_iter().chain(&setup.model.fallbacks);
        models.into_iter().try_for_each(|model| check_price(model, &setup.profile))?;
        Ok(Assembled { engine: Engine::new(setup), notices })
    }

    /// The parts of the engine, with `model` in it.
    ///
    /// # Errors
    ///
    /// If a part of the configuration is invalid.
    pub fn setup(self, model: Model) -> Result<Setup, Failure> {
        let Self { app, spec, config, profile, workspace } = self;
        config.claude.iter().flat_map(ClaudeRules::warnings).for_each(|warning| app.warn(warning));
        let policy = config.policy(&app.places)?;
        let knowledge = app.knowledge(&workspace);
        let home = app.home();
        let stages = stages(&home, config.sandbox(&profile), config.command_access(&app.places), &workspace)?;
        let access = app.environment.access(&config);
        let languages = lsp::of(&app, &config, &workspace, access.environment.clone(), &stages)?;
        let offered = offered_tools(&app, &spec, &profile, &config, (&knowledge.skills, languages.as_ref()));
        let (tools, named) = offered?;
        let has_skills = !knowledge.skills.is_empty();
        let agents = agents(&app, &workspace, &profile, has_skills, spec.agent.as_deref())?;
        if named.is_none() {
            let chosen = agents.iter().find(|agent| Some(&agent.name) == spec.agent.as_ref());
            chosen.into_iter().for_each(|agent| warn_of_unknown_tools(&app, agent, &tools));
        }
        let agents = agents.into_iter().map(|agent| with_tools(agent, named)).collect();
        let servers = mcp_servers::of(&app, &config, &spec.servers)?;
        let sources =
            mcp_servers::source(&app, servers, &workspace, access.environment.clone(), model.window);
        let mut hooks = hooks::of(&app, &config, &workspace, access.environment.clone(), &stages)?;
        // Results of calls without a model are for programs.
        if profile.notes && model.spec != direct::MODEL {
            hooks = Arc::new(FolderNotes::new(hooks, app.clone(), workspace.clone()));
        }
        let models = Some(models(&app, &config, &profile));
        Ok(Setup {
            model,
            tools,
            sources: sources.into_iter().collect(),
            agents,
            policy,
            ceiling: None,
            stages,
            workspace,
            home,
            profile,
            access,
            knowledge,
            hooks,
            diagnostics: languages.map(|servers| servers as _),
            evidence: Arc::new(ClaimChecker),
            models,
            sampler: None,
            replicas: None,
            observer: None,
        })
    }
}

/// The notice if another process has the session open.
pub const JOINED: &str = "joined the session, which another process has open";

/// The real paths of folders that are added to the workspace. Paths of options are relative to the current directory.
fn roots(engine: &Engine, folders: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let checked = folders.iter().map(|folder| {
        let given = std::path::absolute(folder)?;
        let given = if folder.starts_with("~") { folder } else { &given };
        checked_root(engine.setup(), given)
            .map_err(|why| Failure::usage(format!("cannot add `{}`: {why}", folder.display())))
    });
    checked.collect()
}

/// Sets the mode that the user asks for in a session that is continued; returns a notice if that is not possible.
fn set_permission(session: &Session, wanted: Option<Mode>) -> Result<Option<String>, Failure> {
    let (now, Some(wanted)) = (session.mode(), wanted.map(|wanted| wanted.min(session.ceiling()))) else {
        return Ok(None);
    };
    if session.is_joined() && wanted > now {
        return Ok(Some(format!(
            "`--permission {}` is ignored: the process that has the session open uses `{}`",
            wanted.name(),
            now.name()
        )));
    }
    if wanted != now {
        session.send(Command::SetMode { mode: wanted })?;
    }
    Ok(None)
}

/// The notice on proxy variables that commands get without user name and password. Without it, commands that fail
/// behind such a proxy would be hard to explain.
fn stripped(app: &App, config: &Config) -> Option<String> {
    let names = app.environment.stripped(config);
    let (first, file) = (names.first()?, app.places.user_file.display());
    Some(format!(
        "commands get {} without the user name and password; `[environment] pass = [\"{first}\"]` in `{file}` passes it on \
         as it is",
        names.join(", ")
    ))
}

/// All sessions of a user share the folder of locks, so that they wait for each other when they write the same files.
fn stages(home: &Home, sandbox: Sandbox, access: CommandAccess, workspace: &Path) -> Result<Stages, Failure> {
    let locks = home.0.join("locks");
    let stage = move |blobs: &Path| {
        let plain = LocalStage::new(blobs.to_owned()).with_locks(locks.clone());
        if sandbox == Sandbox::Off { plain } else { plain.with_command_views(access.clone()) }
    };
    if sandbox == Sandbox::Require {
        stage(&home.0.join(TRIED)).command_views(workspace).map_err(|why| {
            Failure::usage(format!("cannot confine commands, which `sandbox = \"require\"` requires: {why}"))
                .hint("`haft doctor` shows what this system supports; `--sandbox auto` continues without confinement")
        })?;
    }
    Ok(Arc::new(move |blobs: &Path| Arc::new(stage(blobs)) as _))
}

/// How views for commands are made in `workspace`, or why they cannot be made. This makes a view to find out.
pub fn command_views(places: &Places, config: &Config, workspace: &Path) -> Result<CommandViews, String> {
    let stage = LocalStage::new(places.home.join(TRIED)).with_command_views(config.command_access(places));
    stage.command_views(workspace)
}

/// The folder for views that are made only as a test.
const TRIED: &str = "views";

/// Refuses a cost limit if the price of the model is unknown.
fn check_price(model: &Model, profile: &Profile) -> Result<(), Failure> {
    match (profile.limits.budget.usd, model.price) {
        (Some(_), None) => Err(Failure::usage(format!("cannot limit the cost: the price of `{}` is not known", model.spec))
            .hint(format!(
                "set `[models.\"{}\"] price = {{ input = …, output = … }}`; `haft run` can limit tokens with `--max-tokens` instead",
                model.spec
            ))),
        _ => Ok(()),
    }
}

/// The default agent, and all others. Warns of settings in the file of the `chosen` agent that Haft does not support.
fn agents(
    app: &App,
    workspace: &Path,
    profile: &Profile,
    has_skills: bool,
    chosen: Option<&str>,
) -> Result<Vec<Agent>, Failure> {
    let own = Agent { name: AGENT.into(), system: profile.system.clone(), ..Agent::default() };
    let others = app.agents(workspace)?;
    let used = others.iter().filter(|known| chosen == Some(&known.agent.name));
    let notes = used.flat_map(|known| known.notes.iter().map(|note| (&known.agent.name, note)));
    notes.for_each(|(name, note)| app.warn(format!("the agent `{name}`: {note}")));
    let others = others.into_iter().map(|known| {
        let is_built_in = known.file.is_none();
        let agent = if has_skills { with_skills(known) } else { known.agent };
        if is_built_in { profile.agent(agent) } else { agent }
    });
    Ok(std::iter::once(own).chain(others).collect())
}

/// Adds the skills tool to a built-in agent, which cannot know whether there are skills. For any other agent, its
/// author decided on its tools.
fn with_skills(FoundAgent { mut agent, file, .. }: FoundAgent) -> Agent {
    if let (None, Some(tools)) = (file, &mut agent.tools) {
        tools.push(SKILL.to_owned());
    }
    agent
}

/// The model in the journal of a job for which no model was chosen yet.
pub const NO_MODEL: &str = "script/nobody";

/// Opens the models that agents name.
fn models(app: &App, config: &Config, profile: &Profile) -> Models {
    let (app, config, profile) = (app.clone(), config.clone(), profile.clone());
    Arc::new(move |spec| {
        let format = ToolCallFormat::of(&profile);
        let opened = model::open(&app, &config, spec, None, format);
        let opened = opened.and_then(|model| model::with_own_fallbacks(&app, &config, model, format));
        opened.map_err(|failure| failure.message)
    })
}

/// The directory to work in: absolute, links followed.
pub fn workspace(cwd: Option<&Path>) -> Result<PathBuf, Failure> {
    let given = cwd.unwrap_or(Path::new("."));
    let failed =
        |error: std::io::Error| Failure::usage(format!("cannot work in `{}`: {error}", given.display()));
    let found = given.canonicalize().map_err(failed)?;
    match found.is_dir() {
        true => Ok(found),
        false => Err(Failure::usage(format!("cannot work in `{}`: it is not a directory", given.display()))),
    }
}
