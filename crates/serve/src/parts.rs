//! [`Settings`] and [`Place`]: what a server and its sessions are made of.
use haft_app::{
    App, AppHost, SessionSpec,
    config::serve::{OidcFile, Permission, PushFile},
    users::Role,
};
use haft_core::Mode;
use haft_engine::Home;
use haft_present::host::{EngineRequest, Host};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

/// The parameters of a server.
pub struct Settings {
    /// Holds the sessions and the jobs.
    pub app: App,
    /// Specification of jobs, except for the directory.
    pub spec: SessionSpec,
    /// Creates the engines of sessions; the first engine exists already.
    pub host: AppHost,
    /// The directories that are served, as canonical paths; sessions begin in the first one unless the client names
    /// another. A session in any other directory is neither shown nor opened.
    pub folders: Vec<PathBuf>,
    /// Maximum jobs that run at the same time.
    pub workers: usize,
    /// The token that clients send as `Authorization: Bearer`.
    pub token: String,
    /// The OpenID provider for logins, if there is one.
    pub login: Option<LoginSettings>,
    /// The roles of users who have tokens of their own, by name.
    pub roles: BTreeMap<String, Role>,
    /// How devices are notified.
    pub push: PushFile,
    /// Names under which clients reach the server, in addition to those of this machine.
    pub hosts: Vec<String>,
    /// Whether each request is logged, as a line of JSON on standard output.
    pub access_log: bool,
    /// How long a session may be idle before it is closed; the next command opens it again.
    pub idle: Duration,
}

/// The OpenID provider at which users log in.
#[derive(Clone)]
pub struct LoginSettings {
    /// Its configuration.
    pub provider: OidcFile,
    /// The client secret of this server at the provider.
    pub secret: Option<String>,
}

impl Settings {
    /// The folder of the sessions.
    pub(crate) fn home(&self) -> Home {
        self.app.home()
    }

    /// The agent to use if a client names none.
    pub(crate) fn agent(&self) -> String {
        self.host.agent()
    }

    /// The model to use if a client names none.
    pub(crate) fn model(&self) -> &str {
        self.host.usual_model()
    }

    /// The profile to use if a client names none.
    pub(crate) fn profile(&self) -> &str {
        self.host.usual_profile()
    }
}

/// What all sessions of one engine have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The folder that sessions work in.
    pub(crate) workspace: PathBuf,
    /// `PROVIDER/MODEL`.
    pub(crate) model: String,
    /// Name of the profile.
    pub(crate) profile: String,
    /// Reasoning effort; the server's default if `None`.
    pub(crate) effort: Option<String>,
    /// What the role of the sessions' user allows.
    pub(crate) bounds: Bounds,
}

/// The limits that a user's role adds to those of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) up_to: Option<Mode>,
    /// Maximum cost of a turn: the bits of a float, in US dollars.
    max_cost: Option<u64>,
    /// Allowed models as `PROVIDER/MODEL`, in which `*` stands for any characters; if empty, all.
    pub(crate) models: Arc<[String]>,
    /// Whether tools are kept from the records of other sessions and the server's configuration.
    pub(crate) is_guarded: bool,
}

impl Place {
    /// The request for the engine of such sessions.
    pub(crate) fn request(&self) -> EngineRequest {
        let Self { workspace, model, profile, effort, bounds } = self.clone();
        EngineRequest {
            workspace: Some(workspace),
            model: Some(model),
            profile: Some(profile),
            effort,
            up_to: bounds.up_to,
            max_cost: bounds.max_cost(),
            models: bounds.models,
            is_guarded: bounds.is_guarded,
            ..EngineRequest::default()
        }
    }
}

impl Bounds {
    pub(crate) fn of(role: &Role) -> Self {
        let file = role.file();
        // A wider mode would approve calls in place of the user.
        let without_approval = (!role.may(Permission::Approve)).then_some(Mode::Ask);
        let up_to = file.up_to.into_iter().chain(without_approval).min();
        let is_guarded = !role.may(Permission::Administer);
        let (max_cost, models) = (file.max_cost.map(|usd| usd.0.to_bits()), file.models.clone().into());
        Self { up_to, max_cost, models, is_guarded }
    }

    /// Limits for sessions of a user who was removed, or whose role is not configured.
    pub(crate) fn of_unknown() -> Self {
        Self { up_to: Some(Mode::Ask), is_guarded: true, ..Self::default() }
    }

    /// Maximum cost of a turn, in US dollars.
    pub(crate) fn max_cost(&self) -> Option<f64> {
        self.max_cost.map(f64::from_bits)
    }
}
