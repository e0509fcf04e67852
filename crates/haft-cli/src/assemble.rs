//! Picks the parts of an engine.
use crate::{
    Surroundings,
    args::TurnArgs,
    config::{Config, ConfigError},
    failure::Failure,
    mcp,
    model::{self, Chosen},
};
use haft::{
    core::{Access, Fact, Provider, Registry, Stage},
    engine::{Agent, Engine, Home, Model, Profile, Setup},
    providers::{Spoken, dialects::dialect, vendors},
    stage::Declared,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The agent that people get who ask for none.
pub(crate) const AGENT: &str = "haft";

/// An engine, and what to tell about how it was made.
pub(crate) struct Assembled {
    /// Ready to open sessions.
    pub(crate) engine: Engine,
    /// For standard error.
    pub(crate) notice: Option<String>,
}

/// The engine that `turn`'s options, the environment and the configuration ask for.
pub(crate) async fn engine(surroundings: &Surroundings, turn: &TurnArgs) -> Result<Assembled, Failure> {
    let workspace = workspace_for(surroundings, turn)?;
    let config = Config::load(&surroundings.places, &surroundings.environment, &workspace)?;
    let Chosen { model, notice } =
        model::choose(surroundings, &config, turn.model.as_deref(), turn.base_url.as_deref()).await?;
    let engine = Engine::new(setup(surroundings, turn, &config, workspace, model)?);
    Ok(Assembled { engine, notice })
}

/// Everything but the model, which is given.
pub(crate) fn setup(
    surroundings: &Surroundings,
    turn: &TurnArgs,
    config: &Config,
    workspace: PathBuf,
    model: Model,
) -> Result<Setup, Failure> {
    let mut profile = config.profile(turn.profile.as_deref())?;
    profile.limits.max_rounds = config.max_rounds(turn.max_rounds, profile.limits.max_rounds);
    let policy = config.policy(&surroundings.places, turn.permission.map(Into::into))?;
    let model = Model { provider: spoken(model.provider, &profile)?, ..model };
    let tools = tools(&profile)?;
    let named = turn.tools.clone();
    named.iter().flatten().try_for_each(|name| is_known(&tools, name, config))?;
    let agents = vec![Agent { name: AGENT.into(), system: profile.system.clone(), tools: named }];
    let stages = Arc::new(|blobs: &Path| Arc::new(Declared::new(blobs.to_owned())) as Arc<dyn Stage>);
    let home = Home(surroundings.places.home.clone());
    let secrets: Vec<&str> = vendors().iter().filter_map(|vendor| vendor.key_variable.as_deref()).collect();
    let environment: Arc<[_]> = surroundings.environment.without_keys(&secrets).into();
    let sources = mcp::source(surroundings, config, &workspace, environment.clone(), turn.quiet)?;
    let sources = sources.into_iter().collect();
    let access = Access { environment };
    Ok(Setup { model, tools, sources, agents, policy, stages, workspace, home, profile, access })
}

/// In the profile's dialect, if it has one.
fn spoken(provider: Arc<dyn Provider>, profile: &Profile) -> Result<Arc<dyn Provider>, Failure> {
    match profile.dialect.as_deref() {
        None => Ok(provider),
        Some("auto") => Ok(Arc::new(Spoken::auto(provider))),
        Some(name) => match dialect(name) {
            Some(dialect) => Ok(Arc::new(Spoken::new(provider, dialect))),
            None => Err(Failure::usage(format!("profile `{}`: there is no dialect `{name}`", profile.name))
                .hint("`haft parse --dialect ?` lists them")),
        },
    }
}

/// The built-in tools with the profile's settings.
pub(crate) fn tools(profile: &Profile) -> Result<Registry, Failure> {
    let settings: haft::tools::Settings =
        profile.tools.clone().try_into().map_err(|error: toml::de::Error| ConfigError::Value {
            what: format!("profile `{}`, [tools]", profile.name),
            message: error.message().into(),
        })?;
    Ok(haft::tools::builtin(&settings))
}

/// Whether there is a tool `name`; what MCP servers have is known when they run.
fn is_known(tools: &Registry, name: &str, config: &Config) -> Result<(), Failure> {
    if tools.get(name).is_some() || (name.starts_with("mcp__") && !config.user.mcp.is_empty()) {
        return Ok(());
    }
    let known = tools.names().collect::<Vec<_>>().join(", ");
    Err(Failure::usage(format!("there is no tool `{name}`")).hint(format!("there are {known}")))
}

/// A session goes on in the folder that it began in: its undo would not find its files in another one.
fn workspace_for(surroundings: &Surroundings, turn: &TurnArgs) -> Result<PathBuf, Failure> {
    let Some(id) = &turn.session else { return workspace(turn.cwd.as_deref()) };
    let entries = Home(surroundings.places.home.clone()).peek(id)?;
    let Some(Fact::SessionOpened { workspace: own, .. }) = entries.first().map(|entry| &entry.fact) else {
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
        false => Err(Failure::usage(format!("cannot work in `{}`: it is no folder", given.display()))),
    }
}
