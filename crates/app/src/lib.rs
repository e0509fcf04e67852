//! [`App`]: Haft as the user has set it up. Opens sessions, runs jobs, replays and exports, for every front-end.
//!
//! A front-end describes what it wants in a [`SessionSpec`]; `App` reads variables and the files of the user and of the
//! project, chooses a model, and makes the engine.
pub mod agents;
pub mod attempts;
pub mod blame;
mod command_call;
mod committable;
pub mod config;
pub mod diagnosis;
pub mod eval;
pub mod evaluation;
pub mod export;
mod failure;
mod git;
mod header;
mod hooks;
mod host;
pub mod jobs;
mod lsp;
mod mcp_offers;
pub mod mcp_servers;
pub mod model;
mod notes;
mod other_settings;
pub mod outbox;
mod parse;
pub mod pdf;
mod plugin;
pub mod plugins;
mod policy;
pub mod proof;
pub mod replay;
pub mod session;
mod skills;
pub mod slash;
mod source_dir;
mod system;
mod telemetry;
pub mod token;
pub mod topics;
pub mod undo;
pub mod untrusted_file;
pub mod update;
pub mod usage;
pub mod users;
mod workspace_files;

pub use committable::{committable, untracked};
pub use failure::{Exit, Failure};
pub use host::{AppHost, Ceiling};
pub use mcp_offers::McpOffers;
pub use parse::ReplyParser;
pub use policy::PolicyCheck;
pub use session::{Assembled, Existing, OpenedSession, SessionPlan, SessionSpec};
pub use system::System;

use config::{Config, ConfigError, Environment, Places, Settings};
use haft_core::Secrets;
use haft_engine::Home;
use std::{fmt, path::Path, sync::Arc};
use telemetry::ProcessTelemetry;

/// Receives warnings for the user, such as one of a file that was skipped.
pub type Warn = Arc<dyn Fn(String) + Send + Sync>;

/// The variables and the folders of a user. Reads configurations and opens sessions; cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The variables of this process.
    pub environment: Arc<Environment>,
    /// The folders and files of the user.
    pub places: Arc<Places>,
    warn: Warn,
    telemetry: ProcessTelemetry,
    #[cfg_attr(not(feature = "local"), expect(dead_code, reason = "only the embedded model takes a moment"))]
    loading: Option<fn(f32)>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("places", &self.places).finish_non_exhaustive()
    }
}

impl App {
    /// Finds the user's folders by the XDG rules. Warnings go to the log until [`Self::on_warning`] sets a receiver.
    ///
    /// # Errors
    ///
    /// If neither `HOME` nor `HAFT_HOME` names a folder.
    pub fn new(environment: Environment) -> Result<Self, Failure> {
        let places = Arc::new(Places::of(&environment)?);
        let warn: Warn = Arc::new(|warning| tracing::warn!("{warning}"));
        let telemetry = ProcessTelemetry::default();
        Ok(Self { environment: Arc::new(environment), places, warn, telemetry, loading: None })
    }

    /// Like [`Self::new`], with the variables of this process.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::new`] does.
    pub fn from_env() -> Result<Self, Failure> {
        Self::new(Environment::of_process())
    }

    /// Passes warnings to `warn`.
    #[must_use]
    pub fn on_warning(self, warn: Warn) -> Self {
        Self { warn, ..self }
    }

    /// Calls `loading` with the loaded share of an embedded model, from 0 to 1.
    #[must_use]
    pub fn on_loading(self, loading: fn(f32)) -> Self {
        Self { loading: Some(loading), ..self }
    }

    /// Uses the sessions in `home`.
    #[must_use]
    pub fn with_home(self, home: &Home) -> Self {
        let places = Places { home: home.0.clone(), ..Places::clone(&self.places) };
        Self { places: Arc::new(places), ..self }
    }

    /// Warns the user.
    pub fn warn(&self, warning: impl Into<String>) {
        (self.warn)(warning.into());
    }

    /// The receiver of warnings.
    #[must_use]
    pub fn warnings(&self) -> Warn {
        self.warn.clone()
    }

    /// The folder of all sessions.
    #[must_use]
    pub fn home(&self) -> Home {
        Home(self.places.home.clone())
    }

    /// The configuration for the folder `workspace`, with `settings` as its options.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or a value is invalid.
    pub fn config(&self, workspace: &Path, settings: &Settings) -> Result<Config, ConfigError> {
        Config::load(&self.places, &self.environment, workspace, settings)
    }

    /// The secrets to hide in a session that works in `workspace`. If the configuration cannot be read, these are only
    /// the keys of the environment, without those that the configuration names.
    #[must_use]
    pub fn secrets(&self, workspace: &Path) -> Secrets {
        let config = self.config(workspace, &Settings::default()).unwrap_or_default();
        self.environment.access(&config).secrets
    }
}
