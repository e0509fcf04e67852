//! [`Settings`]: what a server is made of.
use haft_app::{
    App, AppHost, SessionSpec,
    config::serve::{OidcFile, Permission, PushFile},
    users::Role,
};
use haft_core::Mode;
use haft_engine::Home;
use haft_present::host::{EngineRequest, Host};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

/// What a server is made of.
pub struct Settings {
    /// Has the sessions and the jobs.
    pub app: App,
    /// What jobs are asked for, but for the directory.
    pub spec: SessionSpec,
    /// Makes the engines of sessions; the first one exists already.
    pub host: AppHost,
    /// The directories that are served, links followed; sessions begin in the first one. A session that works elsewhere is
    /// neither shown nor opened.
    pub folders: Vec<PathBuf>,
    /// Maximum jobs that run at the same time.
    pub workers: usize,
    /// What clients send as `Authorization: Bearer`.
    pub token: String,
    /// Where users log in, if they do.
    pub login: Option<LoginSettings>,
    /// The roles of users who have tokens of their own, by name.
    pub roles: BTreeMap<String, Role>,
    /// How devices are notified.
    pub push: PushFile,
    /// Names under which clients reach the server, in addition to those of this machine.
    pub hosts: Vec<String>,
    /// Whether each request is logged, as a line of JSON on standard output.
    pub access_log: bool,
    /// How long a session may be idle before it is closed; the next command opens it.
    pub idle: Duration,
}

/// The OpenID provider at which users log in.
#[derive(Clone)]
pub struct LoginSettings {
    /// What the configuration says of it.
    pub provider: OidcFile,
    /// The secret of the client that this server is there.
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

/// What sessions of one engine have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The folder that sessions work in.
    pub(crate) workspace: PathBuf,
    /// `PROVIDER/MODEL`.
    pub(crate) model: String,
    /// Name of the profile.
    pub(crate) profile: String,
    /// Reasoning effort; as the server was started if left out.
    pub(crate) effort: Option<String>,
    /// What the role of the user who began them allows.
    pub(crate) bounds: Bounds,
}

/// What the role of a user allows the user's sessions, beyond what the server does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub(crate) up_to: Option<Mode>,
    /// Maximum cost of a turn: the bits of a float, in US dollars.
    max_cost: Option<u64>,
    /// `PROVIDER/MODEL`, in which `*` stands for any characters; without any, all.
    pub(crate) models: Arc<[String]>,
    /// Tools leave alone what other sessions recorded, and the configuration of the server.
    pub(crate) is_guarded: bool,
}

impl Place {
    /// The engine of such sessions.
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
        // A wider mode would approve in place of the user.
        let without_approval = (!role.may(Permission::Approve)).then_some(Mode::Ask);
        let up_to = file.up_to.into_iter().chain(without_approval).min();
        let is_guarded = !role.may(Permission::Administer);
        let (max_cost, models) = (file.max_cost.map(|usd| usd.0.to_bits()), file.models.clone().into());
        Self { up_to, max_cost, models, is_guarded }
    }

    /// For sessions of a user who was removed, or whose role is not configured.
    pub(crate) fn of_unknown() -> Self {
        Self { up_to: Some(Mode::Ask), is_guarded: true, ..Self::default() }
    }

    /// In US dollars.
    pub(crate) fn max_cost(&self) -> Option<f64> {
        self.max_cost.map(f64::from_bits)
    }
}
