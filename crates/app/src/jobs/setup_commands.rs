//! [`Jobs::run_setup`]: commands that prepare a work tree before a job begins.
use super::Jobs;
use crate::{
    Failure, SessionSpec,
    command_call::{CallEnd, call, isolate},
    config::Settings,
};
use haft_core::{Access, Mode, Network, Sandbox};
use haft_engine::{Engine, Model};
use haft_providers::Scripted;
use serde_json::json;
use std::{path::Path, sync::Arc};

/// Timeout of all setup commands together, in seconds.
const MAX_SECONDS: u64 = 30 * 60;

impl Jobs {
    /// Runs the shell commands `commands` in `tree`, with network access and with `secrets` as variables. They must be
    /// confined, unless `spec` has the mode [`Mode::Full`]: then its setting for the sandbox applies.
    ///
    /// # Errors
    ///
    /// If the commands fail, take longer than half an hour, or cannot be confined.
    pub async fn run_setup(
        &self,
        spec: &SessionSpec,
        tree: &Path,
        commands: &str,
        secrets: Vec<(String, String)>,
    ) -> Result<(), Failure> {
        let is_full = spec.settings.permission == Some(Mode::Full);
        let settings = Settings {
            permission: Some(Mode::Full),
            network: Some(Network::On),
            sandbox: if is_full { spec.settings.sandbox } else { Some(Sandbox::Require) },
            ..Settings::default()
        };
        let spec = SessionSpec { settings, ..SessionSpec::default() };
        let model = Model::plain("script/nothing", Arc::new(Scripted::new([])));
        let mut setup = self.app.plan_in(spec, tree.to_owned())?.setup(model)?;
        isolate(&mut setup);
        setup.access = with_secrets(setup.access, secrets);
        let engine = Engine::new(setup);
        let session = engine.create(crate::agents::AGENT)?;
        let ended = call(&session, "bash", json!({"command": commands}), MAX_SECONDS).await;
        engine.shut_down().await;
        match ended {
            CallEnd::Succeeded => Ok(()),
            CallEnd::Failed(why) => Err(Failure::failed(format!("they {why}"))),
            CallEnd::NotMade(why) => Err(Failure::failed(format!("they cannot be run: {why}"))),
        }
    }
}

/// Adds secrets as variables, and hides their values in all output.
fn with_secrets(access: Access, secrets: Vec<(String, String)>) -> Access {
    let is_replaced = |name: &String| secrets.iter().any(|(other, _)| other == name);
    let rest = access.environment.iter().filter(|(name, _)| !is_replaced(name)).cloned();
    let environment = rest.chain(secrets.iter().cloned()).collect();
    Access { environment, ..access }.hiding(secrets.into_iter().map(|(_, value)| value))
}
