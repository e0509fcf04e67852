//! Picks the parts of an engine.
use crate::{
    Surroundings,
    args::TurnArgs,
    config::{Config, ConfigError},
    failure::Failure,
    model::{self, Chosen},
};
use haft::{
    core::{Access, Budget, Fact, Provider, Registry, Stage},
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
    let setup = setup(surroundings, turn, &config, workspace, model)?;
    priced(&setup.model, &setup.profile)?;
    Ok(Assembled { engine: Engine::new(setup), notice })
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
    profile.limits.budget = config.budget(budget(turn), profile.limits.budget);
    profile.limits.evidence |= turn.evidence || config.user.evidence == Some(true);
    let policy = config.policy(&surroundings.places, turn.permission.map(Into::into))?;
    let model = Model { provider: spoken(model.provider, &profile)?, ..model };
    let tools = only(tools(&profile)?, turn.tools.as_deref())?;
    let agents = vec![Agent { name: AGENT.into(), system: profile.system.clone(), tools: None }];
    let stages = Arc::new(|blobs: &Path| Arc::new(Declared::new(blobs.to_owned())) as Arc<dyn Stage>);
    let home = Home(surroundings.places.home.clone());
    let secrets: Vec<&str> = vendors().iter().filter_map(|vendor| vendor.key_variable.as_deref()).collect();
    let environment = surroundings.environment.without_keys(&secrets).into();
    let access = Access { environment };
    Ok(Setup { model, tools, agents, policy, stages, workspace, home, profile, access })
}

fn budget(turn: &TurnArgs) -> Budget {
    Budget { requests: None, tokens: turn.max_tokens, usd: turn.max_cost, seconds: turn.max_time }
}

/// A limit on money that nobody can hold is none.
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

fn only(tools: Registry, names: Option<&[String]>) -> Result<Registry, Failure> {
    let Some(names) = names else { return Ok(tools) };
    for name in names {
        if tools.get(name).is_none() {
            let known = tools.names().collect::<Vec<_>>().join(", ");
            return Err(
                Failure::usage(format!("there is no tool `{name}`")).hint(format!("there are {known}"))
            );
        }
    }
    Ok(tools.only(names))
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
