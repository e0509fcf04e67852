//! [`of`]: the hooks that the user sets up in `[[hooks]]` and `[[claude_hooks]]`, and those of plugins.
use crate::{
    App,
    config::{Config, ConfigError, Environment},
    mcp_servers::{fill_in, register_secret},
    plugin::installed,
    system::System,
};
use haft_core::{Hooks, NoHooks};
use haft_engine::Stages;
use haft_tools::{HookSettings, OwnHooks, PluginHooks, SKILL, WEB_SEARCH, can_confine};
use std::{path::Path, sync::Arc};

/// The hooks of a session. Only the user's own file can define hooks, because they start programs and send events to
/// addresses. In `headers`, `${NAME}` stands for a variable of the user's environment; commands get `environment`.
/// Hooks of plugins run in a view that one of `stages` opens, or not at all.
pub(crate) fn of(
    app: &App,
    config: &Config,
    workspace: &Path,
    environment: Arc<[(String, String)]>,
    stages: &Stages,
) -> Result<Arc<dyn Hooks>, ConfigError> {
    let mut of_plugins = of_plugins(app);
    let hooks = &config.user.claude_hooks;
    if !hooks.is_empty() {
        let files = app.places.folder_of(System::Claude).unwrap_or_default();
        of_plugins.push(PluginHooks { plugin: "`[[claude_hooks]]`".into(), files, hooks: hooks.clone() });
    }
    if config.user.hooks.is_empty() && of_plugins.is_empty() {
        return Ok(Arc::new(NoHooks));
    }
    let settings = config
        .user
        .hooks
        .iter()
        .map(|hook| with_keys(hook, &app.environment))
        .collect::<Result<Vec<_>, _>>()?;
    let hooks = OwnHooks::new(&settings, workspace.to_owned(), environment, app.warnings());
    let hooks = hooks.map_err(|bad| ConfigError::Value {
        what: format!("`{}`, [[hooks]]", app.places.user_file.display()),
        message: bad.to_string(),
    })?;
    config.user.hooks.iter().for_each(|hook| warn_of_no_tool(app, hook));
    if of_plugins.is_empty() {
        return Ok(Arc::new(hooks));
    }
    let stage = stages(&app.places.home.join("hooks/blobs"));
    if !can_confine(&*stage, workspace) {
        let names: Vec<&str> = of_plugins.iter().map(|hooks| hooks.plugin.as_str()).collect();
        let names = names.join(", ");
        app.warn(format!("hooks of {names} do not run, because commands are not confined here"));
        return Ok(Arc::new(hooks));
    }
    Ok(Arc::new(hooks.with_plugins(of_plugins, stage, app.places.home.join("sessions"))))
}

/// Warns of a hook that no call can trigger, because no tool matches the name that it gives.
fn warn_of_no_tool(app: &App, hook: &HookSettings) {
    let Some(pattern) = &hook.tool else { return };
    // It may match tools of MCP servers, which are known only when the servers run.
    if pattern.contains('*') || pattern.contains("mcp__") {
        return;
    }
    let tools = haft_tools::builtin(&haft_tools::Settings::default());
    let language_tools = haft_tools::LANGUAGE_TOOLS;
    let mut names = tools.names().chain(language_tools).chain([SKILL, WEB_SEARCH]);
    if !names.any(|name| hook.fits(name)) {
        app.warn(format!("a hook is never told of a call: no tool of Haft has a name such as `{pattern}`"));
    }
}

/// The hooks of the plugins.
fn of_plugins(app: &App) -> Vec<PluginHooks> {
    let plugins = installed(&app.places).into_iter().filter(|plugin| !plugin.hooks.is_empty());
    let hooks = plugins.map(|plugin| {
        let files = plugin.files();
        PluginHooks { plugin: format!("the plugin `{}`", plugin.name), files, hooks: plugin.hooks }
    });
    hooks.collect()
}

fn with_keys(hook: &HookSettings, own: &Environment) -> Result<HookSettings, ConfigError> {
    let mut hook = hook.clone();
    for (name, value) in &mut hook.headers {
        *value = fill_in(value, own).map_err(|variable| {
            let message =
                format!("the header `{name}` needs the environment variable {variable}, which is not set");
            ConfigError::Value { what: "[[hooks]]".into(), message }
        })?;
        register_secret(name, value);
    }
    Ok(hook)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_take_variables_of_the_person() {
        let own = Environment { variables: [("TOKEN".to_owned(), "s3cret".to_owned())].into() };
        let table = [
            ("Bearer ${TOKEN}", Ok("Bearer s3cret")),
            ("plain", Ok("plain")),
            ("${GONE}", Err("the header `key` needs the environment variable GONE, which is not set")),
        ];
        for (value, expected) in table {
            let text = format!("event = \"turn_end\"\nurl = \"http://x\"\nheaders = {{ key = \"{value}\" }}");
            let hook: HookSettings = toml::from_str(&text).unwrap();
            match (with_keys(&hook, &own), expected) {
                (Ok(hook), Ok(expected)) => assert_eq!(hook.headers["key"], expected),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (filled, _) => panic!("{value}: {filled:?}"),
            }
            assert!(!toml::to_string(&hook).unwrap().contains("headers"), "`haft config show` tells no keys");
        }
    }
}
