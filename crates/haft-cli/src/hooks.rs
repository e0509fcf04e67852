//! Hooks as the person sets them up, `[[hooks]]`.
use crate::{
    config::{Config, ConfigError},
    mcp::notes,
};
use haft::{
    core::{Hooks, NoHooks},
    tools::OwnHooks,
};
use std::{path::Path, sync::Arc};

/// The person's hooks. Only the person's own file names them: they are programs that are started.
pub(crate) fn of(
    config: &Config,
    workspace: &Path,
    environment: Arc<[(String, String)]>,
    quiet: bool,
) -> Result<Arc<dyn Hooks>, ConfigError> {
    if config.user.hooks.is_empty() {
        return Ok(Arc::new(NoHooks));
    }
    let hooks = OwnHooks::new(&config.user.hooks, workspace.to_owned(), environment, notes(quiet));
    let hooks =
        hooks.map_err(|bad| ConfigError::Value { what: "[[hooks]]".into(), message: bad.to_string() })?;
    Ok(Arc::new(hooks))
}
