//! [`AppHost`]: the application behind a front-end that opens sessions for its clients.
use crate::{
    App, Assembled, Existing, Exit, Failure, OpenedSession, Places, SessionPlan, SessionSpec,
    agents::AGENT,
    config::{Config, edit},
    export, mcp_servers,
    model::{self, AllowedModels, SharedModels},
    pdf,
    session::NO_MODEL,
    workspace_files::workspace_files,
};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{Entry, Mode, Part, Rule, Ruling};
use haft_engine::{Engine, Setup};
use haft_mcp::client::{McpServer, Transport};
use haft_present::host::{
    Conversation, EngineRequest, ExpandedPrompt, Host, OpenRequest, Problem, RequestedServer, SavedPrompt,
    ServerTransport, TriedServer,
};
use haft_providers::Effort;
use std::{path::Path, sync::Arc};

/// Opens sessions with the options that the front-end was started with, except for what a request sets. The sessions
/// share their models.
pub struct AppHost {
    app: App,
    spec: SessionSpec,
    ceiling: Ceiling,
    is_quiet: bool,
    models: SharedModels,
    /// The configuration of the directory to work in, once it is known.
    config: Config,
    /// The model and the profile that sessions have by default, once they are known.
    usual: Option<(String, String)>,
}

/// The most permissive mode that clients of a front-end may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ceiling {
    /// The mode in which sessions begin.
    #[default]
    Beginning,
    /// This mode, as far as the project allows it.
    Mode(Mode),
    /// Any mode that the project allows: the user is at the terminal.
    Project,
}

impl AppHost {
    /// A front-end that opens sessions like `spec`.
    #[must_use]
    pub fn new(app: &App, spec: SessionSpec, ceiling: Ceiling) -> Self {
        let (models, config) = Default::default();
        Self { app: app.clone(), spec, ceiling, is_quiet: false, models, config, usual: None }
    }

    /// If `is_quiet`, conversations report only the notices that the user has to know.
    #[must_use]
    pub fn quiet(self, is_quiet: bool) -> Self {
        Self { is_quiet, ..self }
    }

    /// Opens the first session of a front-end. Later ones are opened in the same directory.
    ///
    /// # Errors
    ///
    /// Fails as [`App::open`] does.
    pub async fn first_conversation(&mut self, plan: SessionPlan) -> Result<Conversation, Failure> {
        self.config = plan.config.clone();
        self.spec.workspace = Some(plan.workspace().to_owned());
        let opened = self.conversation(plan).await?;
        let setup = opened.engine.setup();
        self.usual = Some((setup.model.spec.clone(), setup.profile.name.clone()));
        Ok(opened)
    }

    async fn conversation(&self, plan: SessionPlan) -> Result<Conversation, Failure> {
        let most = plan.config.most();
        let opened = plan.open_with(|setup| setup.ceiling = self.ceiling.mode(most, setup.policy.mode));
        let OpenedSession { engine, session, notices, warnings } = opened.await?;
        let effort = engine.setup().model.effort.clone();
        let notices = notices.into_iter().filter(|_| !self.is_quiet).chain(warnings).collect();
        Ok(Conversation { engine, session, notices, effort })
    }

    /// Completes a request. An old session continues with its own model and profile, unless the request sets others.
    fn requested(&self, request: OpenRequest) -> Result<SessionSpec, Failure> {
        let effort = request.effort.as_deref().map(effort_of);
        let own = self.spec.clone();
        let mut spec = SessionSpec { agent: request.agent.or(own.agent), session: None, ..own };
        spec.settings.effort = effort.transpose()?.or(spec.settings.effort);
        if let Some(model) = &request.model {
            spec.base_url = self.base_url_for(model);
        }
        let Some(id) = request.session else {
            spec.settings.model = request.model.or(spec.settings.model);
            return Ok(spec);
        };
        spec.settings.model = request.model;
        Ok(SessionSpec { session: Some(Existing::Named(id)), ..spec })
    }

    /// The base URL for `model`, if its provider is that of the model that the front-end was started with.
    fn base_url_for(&self, model: &str) -> Option<String> {
        let usual = self.usual.as_ref().map(|(model, _)| model.clone());
        let usual = usual.or_else(|| self.spec.settings.model.clone());
        let usual = usual.or_else(|| self.config_now().effective().model);
        self.spec.base_url_for(model, usual.as_deref())
    }

    async fn open_requested(&self, request: OpenRequest) -> Result<Conversation, Failure> {
        let is_kept = request.is_kept;
        let mut opened = self.conversation(self.app.plan(&self.requested(request)?)?).await?;
        if is_kept {
            opened.notices.push(self.keep(&opened));
        }
        Ok(opened)
    }

    /// Saves the model and the effort for later sessions; returns where, or why not.
    fn keep(&self, Conversation { engine, effort, .. }: &Conversation) -> String {
        let (file, model) = (&self.app.places.user_file, &engine.setup().model.spec);
        let kept = edit::set(file, "model", model)
            .and_then(|()| effort.as_ref().map_or(Ok(()), |effort| edit::set(file, "effort", effort)));
        match kept {
            Ok(()) => format!("saved for new sessions in `{}`", file.display()),
            Err(error) => format!("not saved for new sessions: {error}"),
        }
    }

    /// The current configuration, which may have changed, e.g., by a key that was saved; the configuration of the start
    /// if it cannot be read.
    fn config_now(&self) -> Config {
        let workspace = self.spec.workspace.as_ref();
        let read = workspace.and_then(|workspace| self.app.config(workspace, &self.spec.settings).ok());
        read.unwrap_or_else(|| self.config.clone())
    }

    /// The default model of sessions; empty before the first engine was made.
    #[must_use]
    pub fn usual_model(&self) -> &str {
        self.usual.as_ref().map_or("", |(model, _)| model)
    }

    /// The default profile of sessions; empty before the first engine was made.
    #[must_use]
    pub fn usual_profile(&self) -> &str {
        self.usual.as_ref().map_or("", |(_, profile)| profile)
    }

    /// The engine that sessions use by default. Errors in the model, the configuration or the options appear here,
    /// before a client connects.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid, or no model can be chosen.
    pub async fn first_engine(&mut self) -> Result<Engine, Failure> {
        let assembled = self.app.plan(&self.spec)?.engine_with(|setup| self.models.share(setup));
        let Assembled { engine, notices } = assembled.await?;
        notices.into_iter().for_each(|notice| self.app.warn(notice));
        self.usual = Some((engine.setup().model.spec.clone(), engine.setup().profile.name.clone()));
        Ok(engine)
    }

    async fn make(&self, request: EngineRequest) -> Result<Engine, Failure> {
        let narrow = narrowing(&self.app, &request)?;
        let EngineRequest { workspace, model, profile, effort, servers, stages, .. } = request;
        let (usual_model, usual_profile) =
            self.usual.as_ref().map(|(model, profile)| (model, profile)).unzip();
        let allowed = AllowedModels(request.models);
        if let Some(model) = model.as_ref().or(usual_model).filter(|model| *model != NO_MODEL) {
            allowed.check(model).map_err(Failure::usage)?;
        }
        let model = model.filter(|model| Some(model) != usual_model && model != NO_MODEL);
        let profile = profile.filter(|profile| Some(profile) != usual_profile);
        let mut spec = self.spec.clone();
        if let Some(model) = &model {
            spec.base_url = self.base_url_for(model);
        }
        spec.workspace = workspace.or(spec.workspace);
        spec.settings.model = model.or(spec.settings.model);
        spec.settings.profile = profile.clone().or(spec.settings.profile);
        spec.settings.effort = effort.as_deref().map(effort_of).transpose()?.or(spec.settings.effort);
        spec.servers.extend(servers.into_iter().map(server));
        let plan = self.app.plan(&spec)?;
        let most = plan.config.most();
        let assembled = plan.engine_with(|setup| {
            setup.ceiling = self.ceiling.mode(most, setup.policy.mode);
            if let Some(stages) = stages {
                setup.stages = stages(setup.stages.clone());
            }
            // The journal must name the profile's file, not the name inside that file, so that the session can be
            // opened again.
            if let Some(file) = profile.filter(|profile| profile.ends_with(".toml")) {
                setup.profile.name = file;
            }
            self.models.share(setup);
            narrow(setup);
        });
        let Assembled { engine, notices } = assembled.await?;
        notices.into_iter().for_each(|notice| self.app.warn(notice));
        Ok(engine)
    }
}

/// Limits an engine to what `request` allows: its modes, costs and models, and nothing of other sessions.
pub(crate) fn narrowing(
    app: &App,
    request: &EngineRequest,
) -> Result<impl FnOnce(&mut Setup) + use<>, Failure> {
    let EngineRequest { up_to, max_cost, .. } = *request;
    let guards = if request.is_guarded { guards(app)? } else { Vec::new() };
    let allowed = AllowedModels(request.models.clone());
    Ok(move |setup: &mut Setup| {
        setup.policy.rules.splice(0..0, guards);
        if let Some(up_to) = up_to {
            setup.policy.mode = setup.policy.mode.min(up_to);
            setup.ceiling = setup.ceiling.map(|ceiling| ceiling.min(up_to));
        }
        if let Some(max_cost) = max_cost {
            let usd = &mut setup.profile.limits.budget.usd;
            *usd = Some(usd.map_or(max_cost, |usd| usd.min(max_cost)));
        }
        allowed.hold(setup);
    })
}

/// Folders of Haft's home that belong to the sessions of all users, or to the operator of the server.
const GUARDED_FOLDERS: [&str; 9] =
    ["attached", "checks", "evals", "fleet", "hooks", "lsp", "schedule", "sessions", "telegram"];

/// Rules that keep tools away from the records of other sessions, and from the files that decide on users and roles. A
/// session can still read the outputs that it saved itself.
fn guards(app: &App) -> Result<Vec<Rule>, Failure> {
    let Places { home, user_file, plugins, .. } = &*app.places;
    let kept = GUARDED_FOLDERS.iter().map(|folder| (home.join(folder), "/**"));
    let kept =
        kept.chain([(user_file.clone(), "")]).flat_map(|kept| [("read", kept.clone()), ("write", kept)]);
    // Skills, agents and plugins in these folders may be read.
    let beside = user_file.parent().map(Path::to_owned).into_iter().chain([plugins.clone()]);
    let mut rules = Vec::new();
    for (effect, (path, rest)) in kept.chain(beside.map(|folder| ("write", (folder, "/**")))) {
        // An effect names a path both as it is written and with links followed.
        let path = std::path::absolute(&path)?;
        let real = path.canonicalize().ok().filter(|real| *real != path);
        for path in real.into_iter().chain([path]) {
            let rule = format!("{effect}:{}{rest}", Rule::escape(&path));
            rules.push(Rule::parse(Ruling::Deny, &rule).map_err(|error| Failure::failed(error.to_string()))?);
        }
    }
    Ok(rules)
}

impl Ceiling {
    fn mode(self, project: Mode, beginning: Mode) -> Option<Mode> {
        match self {
            Self::Beginning => None,
            Self::Mode(mode) => Some(mode),
            Self::Project => Some(project.max(beginning)),
        }
    }
}

/// `None` stands for the mode in which sessions begin.
impl From<Option<Mode>> for Ceiling {
    fn from(mode: Option<Mode>) -> Self {
        mode.map_or(Self::Beginning, Self::Mode)
    }
}

impl Host for AppHost {
    fn engine(&self, request: EngineRequest) -> BoxFuture<'_, Result<Engine, Problem>> {
        async { self.make(request).await.map_err(Problem::from) }.boxed()
    }

    fn agent(&self) -> String {
        self.spec.agent.clone().unwrap_or_else(|| AGENT.to_owned())
    }

    fn prompts(&self, workspace: &Path) -> Vec<SavedPrompt> {
        let saved = self.app.prompts(workspace).into_iter();
        let saved = saved.map(|template| SavedPrompt {
            name: template.name,
            description: template.header.description.trim().to_owned(),
            file: template.file,
        });
        saved.collect()
    }

    fn files(&self, workspace: &Path) -> Vec<String> {
        workspace_files(workspace)
    }

    fn expand(&self, workspace: &Path, prompt: &str, listed_by: &str) -> Result<ExpandedPrompt, Problem> {
        Ok(self.app.expand(workspace, prompt, listed_by)?)
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Conversation, Problem>> {
        async { self.open_requested(request).await.map_err(Problem::from) }.boxed()
    }

    fn models(&self) -> Vec<(String, String)> {
        model::choices(&self.app, &self.config_now(), self.usual_model())
    }

    fn live_models(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        let config = self.config_now();
        async move { model::live_choices(&self.app, &config, self.usual_model()).await }.boxed()
    }

    fn efforts(&self, model: &str) -> Vec<&'static str> {
        model::efforts(model)
    }

    fn servers<'a>(&'a self, workspace: &Path) -> BoxFuture<'a, Vec<TriedServer>> {
        let workspace = workspace.to_owned();
        async move { mcp_servers::try_all(&self.app, &self.config, &workspace).await.unwrap_or_default() }
            .boxed()
    }

    fn document<'a>(&'a self, file: &Path) -> BoxFuture<'a, Result<Part, Problem>> {
        let file = file.to_owned();
        async move { pdf::part_of(&file).await.map_err(Problem::from) }.boxed()
    }

    fn markdown(&self, entries: &[Arc<Entry>]) -> String {
        export::markdown(entries)
    }

    fn note(&self, note: String) {
        self.app.warn(note);
    }
}

/// The error that a client of a front-end reads.
impl From<Failure> for Problem {
    fn from(Failure { message, hint, exit }: Failure) -> Self {
        Self { message, suggestion: hint, is_usage: exit == Exit::Usage }
    }
}

impl From<Problem> for Failure {
    fn from(Problem { message, suggestion, is_usage }: Problem) -> Self {
        Self { message, hint: suggestion, exit: if is_usage { Exit::Usage } else { Exit::Failed } }
    }
}

fn effort_of(name: &str) -> Result<Effort, Failure> {
    Effort::named(name).ok_or_else(|| {
        Failure::usage(format!("there is no effort `{name}`"))
            .hint(format!("there are {}", Effort::ALL.map(Effort::name).join(", ")))
    })
}

fn server(RequestedServer { name, transport }: RequestedServer) -> McpServer {
    let transport = match transport {
        ServerTransport::Program { program, arguments, environment } => {
            Transport::Program { program: program.to_string_lossy().into_owned(), arguments, environment }
        }
        ServerTransport::Url { url, headers } => Transport::Url { url, headers },
    };
    mcp_servers::unnamed(name, transport)
}
