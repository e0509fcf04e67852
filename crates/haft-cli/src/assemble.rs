//! [`Assembled`]: picks the parts of an engine.
use crate::{
    CliContext,
    agents::{self, AGENT, FoundAgent},
    args::TurnArgs,
    config::{Config, ConfigError, Environment, Places},
    failure::Failure,
    hooks, mcp,
    model::{self, ToolCallFormat},
    notes, skills,
};
use haft_core::{BaseCommit, Registry, Sandbox, SessionOpened, Skill};
use haft_engine::{Agent, Engine, Home, Knowledge, Model, Models, Profile, Setup, Stages};
use haft_evidence::ClaimChecker;
use haft_providers::Scripted;
use haft_stage::{CommandAccess, CommandViews, LocalStage};
use haft_tools::SKILL;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// An engine, and what to tell about how it was made.
pub(crate) struct Assembled {
    /// Ready to open sessions.
    pub(crate) engine: Engine,
    /// For standard error.
    pub(crate) notices: Vec<String>,
}

/// What a session is to be, as options, variables and files decide it. Nothing is opened yet.
pub(crate) struct SessionSpec<'a> {
    context: &'a CliContext,
    turn: &'a TurnArgs,
    /// Every layer of the configuration.
    pub(crate) config: Config,
    /// The profile, with the person's settings in it.
    profile: Profile,
    workspace: PathBuf,
}

impl<'a> SessionSpec<'a> {
    /// Decides everything for the folder that `turn` names.
    pub(crate) fn of(context: &'a CliContext, turn: &'a TurnArgs) -> Result<Self, Failure> {
        Self::within(context, turn, workspace_for(context, turn)?)
    }

    /// The same for the folder `workspace`.
    pub(crate) fn within(
        context: &'a CliContext,
        turn: &'a TurnArgs,
        workspace: PathBuf,
    ) -> Result<Self, Failure> {
        let config = context.config(&workspace, &turn.settings)?;
        let profile = config.profile()?;
        Ok(Self { context, turn, config, profile, workspace })
    }

    /// Connects to the model and builds the engine.
    pub(crate) async fn engine(self) -> Result<Assembled, Failure> {
        self.engine_with(|_| {}).await
    }

    /// The same with a last word on its parts.
    pub(crate) async fn engine_with(self, adjust: impl FnOnce(&mut Setup)) -> Result<Assembled, Failure> {
        let typed = self
            .turn
            .dialect
            .as_deref()
            .map(|typed| ToolCallFormat { dialect: Some(typed), ..ToolCallFormat::default() });
        let speech = typed.unwrap_or_else(|| ToolCallFormat::of(&self.profile));
        let chosen = model::choose(self.context, &self.config, self.turn.base_url.as_deref(), speech).await?;
        priced(&chosen.model, &self.profile)?;
        let notices = chosen.notices.into_iter().chain(stripped(self.context, &self.config)).collect();
        let mut setup = self.setup(chosen.model)?;
        adjust(&mut setup);
        Ok(Assembled { engine: Engine::new(setup), notices })
    }

    /// The parts of the engine, with `model` in it.
    pub(crate) fn setup(self, model: Model) -> Result<Setup, Failure> {
        let Self { context, turn, config, profile, workspace } = self;
        let policy = config.policy(&context.places)?;
        let knowledge = knowledge(&context.places, &workspace, turn.quiet);
        let tools = tools(&context.environment, &profile, &knowledge.skills, turn.start.as_deref())?;
        let named = named_tools(turn.tools.as_deref());
        named.iter().flat_map(|names| names.iter()).try_for_each(|name| is_known(&tools, name, &config))?;
        let tools = named.map_or(tools.clone(), |named| tools.only(named));
        let agents = agents(context, &workspace, &profile, !knowledge.skills.is_empty())?;
        let agents = agents.into_iter().map(|agent| with_tools(agent, named)).collect();
        let home = Home(context.places.home.clone());
        let stages =
            stages(&home, config.sandbox(&profile), config.command_access(&context.places), &workspace)?;
        let access = context.environment.access(&config);
        let environment = access.environment.clone();
        let sources = mcp::source(context, &config, &workspace, environment.clone(), (model.window, turn))?;
        let sources = sources.into_iter().collect();
        let hooks = hooks::of(&config, &workspace, &context.environment, environment, turn.quiet)?;
        let models = Some(models(context, &config, &profile));
        Ok(Setup {
            model,
            tools,
            sources,
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
            evidence: Arc::new(ClaimChecker),
            models,
            replicas: None,
        })
    }
}

/// Commands that fail behind such a proxy would be a riddle else.
fn stripped(context: &CliContext, config: &Config) -> Option<String> {
    let names = context.environment.stripped(config);
    let (first, file) = (names.first()?, context.places.user_file.display());
    Some(format!(
        "commands get {} without the user name and password; `[environment] pass = [\"{first}\"]` in `{file}` hands it on \
         as it is",
        names.join(", ")
    ))
}

/// All sessions of a person wait for each other where they write the same files.
fn stages(home: &Home, sandbox: Sandbox, access: CommandAccess, workspace: &Path) -> Result<Stages, Failure> {
    let locks = home.0.join("locks");
    let stage = move |blobs: &Path| {
        let plain = LocalStage::new(blobs.to_owned()).with_locks(locks.clone());
        if sandbox == Sandbox::Off { plain } else { plain.with_command_views(access.clone()) }
    };
    if sandbox == Sandbox::Require {
        stage(&home.0.join(TRIED)).command_views(workspace).map_err(|why| {
            Failure::usage(format!("cannot confine commands, which `sandbox = \"require\"` asks for: {why}"))
                .hint("`haft doctor` says what this system offers; `--sandbox auto` goes on without")
        })?;
    }
    Ok(Arc::new(move |blobs: &Path| Arc::new(stage(blobs)) as _))
}

/// What the views of commands are made of in `workspace`, or why they have none. It is tried.
pub(crate) fn command_views(
    places: &Places,
    config: &Config,
    workspace: &Path,
) -> Result<CommandViews, String> {
    let stage = LocalStage::new(places.home.join(TRIED)).with_command_views(config.command_access(places));
    stage.command_views(workspace)
}

/// Where views lie that are only tried.
const TRIED: &str = "views";

/// What the person and the project wrote down for agents.
pub(crate) fn knowledge(places: &Places, workspace: &Path, quiet: bool) -> Knowledge {
    let warn = mcp::notes(quiet);
    let notes = notes::read(places, workspace, &*warn);
    let (skills, readable) = skills::read(places, workspace, &*warn);
    Knowledge { notes, skills, skill_tool: SKILL.into(), readable }
}

/// Refuses a limit on money if the price of the model is unknown.
fn priced(model: &Model, profile: &Profile) -> Result<(), Failure> {
    match (profile.limits.budget.usd, model.price) {
        (Some(_), None) => Err(Failure::usage(format!("cannot limit the cost: the price of `{}` is not known", model.spec))
            .hint(format!(
                "limit the tokens with `--max-tokens`, or set `[models.\"{}\"] price = {{ input = …, output = … }}`",
                model.spec
            ))),
        _ => Ok(()),
    }
}

/// The one that people get who ask for none, and all others.
fn agents(
    context: &CliContext,
    workspace: &Path,
    profile: &Profile,
    has_skills: bool,
) -> Result<Vec<Agent>, Failure> {
    let own = Agent { name: AGENT.into(), system: profile.system.clone(), ..Agent::default() };
    let others = agents::known(&context.places, workspace)?.into_iter();
    let others = others.map(|known| {
        let is_built_in = known.file.is_none();
        let agent = if has_skills { with_skills(known) } else { known.agent };
        if is_built_in { profile.agent(agent) } else { agent }
    });
    Ok(std::iter::once(own).chain(others).collect())
}

/// A built-in agent cannot know whether there are skills; the author of another one said what it has.
fn with_skills(FoundAgent { mut agent, file }: FoundAgent) -> Agent {
    if let (None, Some(tools)) = (file, &mut agent.tools) {
        tools.push(SKILL.to_owned());
    }
    agent
}

/// The names behind `--tools`; `none` alone stands for no tool.
fn named_tools(given: Option<&[String]>) -> Option<&[String]> {
    given.map(|names| if names == ["none"] { &[] } else { names })
}

/// Of an agent's tools those that the person names, be they ours or a server's.
fn with_tools(agent: Agent, named: Option<&[String]>) -> Agent {
    let Some(named) = named else { return agent };
    let own = agent.tools.unwrap_or_else(|| named.to_vec());
    Agent { tools: Some(own.into_iter().filter(|name| named.contains(name)).collect()), ..agent }
}

/// The agent of this name.
pub(crate) fn agent(context: &CliContext, workspace: &Path, name: &str) -> Result<Agent, Failure> {
    let known = agents::known(&context.places, workspace)?;
    let found = known.into_iter().find(|known| known.agent.name == name).map(|known| known.agent);
    found.ok_or_else(|| {
        Failure::usage(format!("there is no agent `{name}`")).hint("`haft agents list` names them")
    })
}

/// The model in the journal of a job for which no model was chosen yet.
pub(crate) const NO_MODEL: &str = "script/nobody";

/// An engine that asks no model, to put something into a job's journal; `model` is named there.
pub(crate) fn bare_engine(context: &CliContext, workspace: &Path, model: &str) -> Result<Engine, Failure> {
    let model = Model::plain(model, Arc::new(Scripted::new([])));
    let turn = TurnArgs { quiet: true, ..TurnArgs::default() };
    Ok(Engine::new(SessionSpec::within(context, &turn, workspace.to_owned())?.setup(model)?))
}

/// Opens the models that agents name.
fn models(context: &CliContext, config: &Config, profile: &Profile) -> Models {
    let (context, config, profile) = (context.clone(), config.clone(), profile.clone());
    Arc::new(move |spec| {
        model::open(&context, &config, spec, None, ToolCallFormat::of(&profile))
            .map_err(|failure| failure.message)
    })
}

/// The built-in tools with the profile's settings, and the one for `skills`.
pub(crate) fn tools(
    environment: &Environment,
    profile: &Profile,
    skills: &[Skill],
    start: Option<&BaseCommit>,
) -> Result<Registry, Failure> {
    let mut settings: haft_tools::Settings =
        profile.tools.clone().try_into().map_err(|error: toml::de::Error| ConfigError::Value {
            what: format!("profile `{}`, [tools]", profile.name),
            message: error.message().into(),
        })?;
    settings.skills = skills.to_vec();
    settings.publish.start = start.cloned();
    settings.publish.token =
        ["GITHUB_TOKEN", "GH_TOKEN"].into_iter().find_map(|name| environment.get(name)).map(str::to_owned);
    if let Some(api) = environment.get("GITHUB_API_URL") {
        settings.publish.api_url.get_or_insert_with(|| api.to_owned());
    }
    // Where a workflow of GitHub runs, it says so.
    if let Some(repository) = environment.get("GITHUB_REPOSITORY") {
        settings.publish.repository.get_or_insert_with(|| repository.to_owned());
    }
    Ok(haft_tools::builtin(&settings))
}

/// Whether there is a tool `name`; what MCP servers have is known when they run.
fn is_known(tools: &Registry, name: &str, config: &Config) -> Result<(), Failure> {
    if !tools.only(&[name.to_owned()]).is_empty()
        || (name.starts_with("mcp__") && !config.user.mcp.is_empty())
    {
        return Ok(());
    }
    let known = tools.names().collect::<Vec<_>>().join(", ");
    Err(Failure::usage(format!("there is no tool `{name}`")).hint(format!("there are {known}")))
}

/// A session goes on in the folder that it began in: its undo would not find its files in another one.
pub(crate) fn workspace_for(context: &CliContext, turn: &TurnArgs) -> Result<PathBuf, Failure> {
    let Some(id) = &turn.session else { return workspace(turn.cwd.as_deref()) };
    let entries = Home(context.places.home.clone()).peek(id)?;
    let Some(SessionOpened { workspace: own, .. }) = SessionOpened::of(&entries) else {
        return workspace(turn.cwd.as_deref());
    };
    let asked = turn.cwd.as_deref().map(|cwd| workspace(Some(cwd))).transpose()?;
    match asked.filter(|asked| asked != own) {
        Some(asked) => {
            let (own, asked) = (own.display(), asked.display());
            Err(Failure::usage(format!("the session `{id}` works in `{own}`, not in `{asked}`"))
                .hint("leave out `--cwd`, or start a new session there"))
        }
        None => workspace(Some(own)),
    }
}

/// The folder to work in: absolute, links followed.
pub(crate) fn workspace(cwd: Option<&Path>) -> Result<PathBuf, Failure> {
    let given = cwd.unwrap_or(Path::new("."));
    let failed =
        |error: std::io::Error| Failure::usage(format!("cannot work in `{}`: {error}", given.display()));
    let found = given.canonicalize().map_err(failed)?;
    match found.is_dir() {
        true => Ok(found),
        false => Err(Failure::usage(format!("cannot work in `{}`: it is not a folder", given.display()))),
    }
}
