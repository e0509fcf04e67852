//! [`of`]: the hooks that the user sets up, `[[hooks]]`.
use crate::{
    App,
    config::{Config, ConfigError, Environment},
    mcp_servers::fill_in,
};
use haft_core::{Hooks, NoHooks};
use haft_tools::{HookSettings, OwnHooks};
use std::{path::Path, sync::Arc};

/// The person's hooks. Only the person's own file names them: they are programs that are started, and addresses that
/// hear what is done. In `headers` `${NAME}` stands for a variable of the person's environment, `own`; commands are
/// given `environment`.
pub(crate) fn of(
    app: &App,
    config: &Config,
    workspace: &Path,
    environment: Arc<[(String, String)]>,
) -> Result<Arc<dyn Hooks>, ConfigError> {
    if config.user.hooks.is_empty() {
        return Ok(Arc::new(NoHooks));
    }
    let settings = config
        .user
        .hooks
        .iter()
        .map(|hook| with_keys(hook, &app.environment))
        .collect::<Result<Vec<_>, _>>()?;
    let hooks = OwnHooks::new(&settings, workspace.to_owned(), environment, app.warnings());
    let hooks =
        hooks.map_err(|bad| ConfigError::Value { what: "[[hooks]]".into(), message: bad.to_string() })?;
    Ok(Arc::new(hooks))
}

fn with_keys(hook: &HookSettings, own: &Environment) -> Result<HookSettings, ConfigError> {
    let mut hook = hook.clone();
    for (name, value) in &mut hook.headers {
        *value = fill_in(value, own).map_err(|variable| {
            let message =
                format!("the header `{name}` needs the environment variable {variable}, which is not set");
            ConfigError::Value { what: "[[hooks]]".into(), message }
        })?;
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
