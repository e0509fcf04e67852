//! [`offered_tools`]: the tools of a session, from the profile, the workspace and the request.
use super::SessionSpec;
use crate::{
    App, Failure,
    config::{Config, ConfigError, Environment},
    lsp,
};
use haft_core::{BaseCommit, Registry, Skill};
use haft_engine::{Agent, Profile};
use haft_lsp::LanguageServers;
use haft_tools::{LANGUAGE_TOOLS, SKILL, WEB_SEARCH};
use std::sync::Arc;

/// The offered tools, and the names that the spec limits them to.
pub(super) fn offered_tools<'a>(
    app: &App,
    spec: &'a SessionSpec,
    profile: &Profile,
    config: &Config,
    (skills, servers): (&[Skill], Option<&Arc<LanguageServers>>),
) -> Result<(Registry, Option<&'a [String]>), Failure> {
    let tools = tools(&app.environment, profile, skills, spec.start.as_deref())?;
    let tools = lsp::with_tools(tools, servers, profile, &settings_of(profile)?);
    let Some(names) = named_tools(spec.tools.as_deref()) else { return Ok((tools, None)) };
    names.iter().try_for_each(|name| is_known(&tools, name, config))?;
    // An agent may have a tool that the profile gives to no other agent.
    let withheld = names.iter().find(|name| spec.agent.is_none() && is_withheld(&tools, name));
    if let Some(name) = withheld {
        let offered = tools.specs().iter().map(|tool| tool.name.clone()).collect::<Vec<_>>().join(", ");
        let why = format!("the profile `{}` does not let the tool `{name}` be used", profile.name);
        return Err(Failure::usage(why).hint(format!("it has {offered}")));
    }
    Ok((tools.only(names), Some(names)))
}

/// The names after `--tools`; `none` alone stands for no tool.
fn named_tools(given: Option<&[String]>) -> Option<&[String]> {
    given.map(|names| if names == ["none"] { &[] } else { names })
}

/// Limits an agent to the tools of Haft or of an MCP server that the user names.
pub(super) fn with_tools(agent: Agent, named: Option<&[String]>) -> Agent {
    let Some(named) = named else { return agent };
    let own = agent.tools.unwrap_or_else(|| named.to_vec());
    Agent { tools: Some(own.into_iter().filter(|name| named.contains(name)).collect()), ..agent }
}

/// The built-in tools with the profile's settings, and the tool for `skills`.
pub fn tools(
    environment: &Environment,
    profile: &Profile,
    skills: &[Skill],
    start: Option<&BaseCommit>,
) -> Result<Registry, Failure> {
    let mut settings = settings_of(profile)?;
    settings.skills = skills.to_vec();
    settings.publish.start = start.cloned();
    settings.publish.token =
        ["GITHUB_TOKEN", "GH_TOKEN"].into_iter().find_map(|name| environment.get(name)).map(str::to_owned);
    if let Some(api) = environment.get("GITHUB_API_URL") {
        settings.publish.api_url.get_or_insert_with(|| api.to_owned());
    }
    let keys = haft_tools::search_engines().filter_map(|(engine, variable)| {
        environment.get(variable?).map(|key| (engine.to_owned(), key.to_owned()))
    });
    settings.web_search.keys = keys.collect();
    // Set by GitHub in a workflow.
    if let Some(repository) = environment.get("GITHUB_REPOSITORY") {
        settings.publish.repository.get_or_insert_with(|| repository.to_owned());
    }
    let tools = haft_tools::builtin(&settings);
    let mut named = settings.offer.iter().chain(settings.present.keys());
    match named.find(|name| !has(&tools, name)) {
        Some(unknown) => Err(invalid(profile, format!("there is no built-in tool `{unknown}`")).into()),
        None => Ok(tools),
    }
}

/// The profile's settings of tools.
fn settings_of(profile: &Profile) -> Result<haft_tools::Settings, ConfigError> {
    let settings = profile.tools.clone().try_into();
    settings.map_err(|error: toml::de::Error| invalid(profile, error.message().to_owned()))
}

fn invalid(profile: &Profile, message: String) -> ConfigError {
    ConfigError::Value { what: format!("profile `{}`, [tools]", profile.name), message }
}

/// Warns of each tool that `agent` lists but that does not exist. Tools of MCP servers are not checked: they are known
/// only when the servers run.
pub(super) fn warn_of_unknown_tools(app: &App, agent: &Agent, tools: &Registry) {
    let listed = agent.tools.iter().flatten();
    for name in listed.filter(|name| !has(tools, name) && !name.starts_with("mcp__")) {
        app.warn(format!("the agent `{}`: there is no tool `{name}`", agent.name));
    }
}

/// Whether the tool `name` exists, or may exist: without skills, a search engine or a language server, some are
/// missing.
fn has(tools: &Registry, name: &str) -> bool {
    [SKILL, WEB_SEARCH].contains(&name) || LANGUAGE_TOOLS.contains(&name) || tools.contains(name)
}

/// Whether the tool `name` exists but the profile does not offer it.
fn is_withheld(tools: &Registry, name: &str) -> bool {
    tools.get(name).is_none() && tools.contains(name)
}

/// Fails if there is no tool `name`. Tools of MCP servers are accepted: they are known only when the servers run.
fn is_known(tools: &Registry, name: &str, config: &Config) -> Result<(), Failure> {
    if tools.contains(name) || (name.starts_with("mcp__") && !config.user.mcp.is_empty()) {
        return Ok(());
    }
    let known = tools.names().collect::<Vec<_>>().join(", ");
    Err(Failure::usage(format!("there is no tool `{name}`")).hint(format!("there are {known}")))
}
