//! [`ServeFile`]: the roles of the users of `haft serve`, in the user's file.
use super::setting::Dollars;
use haft_core::Mode;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf};

/// What a person sets for `haft serve`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ServeFile {
    /// Roles of users, by name, in addition to `viewer`, `member`, `approver` and `admin`, or in place of one of the same name.
    pub roles: BTreeMap<String, RoleFile>,
    /// Log-in at an OpenID provider.
    pub oidc: Option<OidcFile>,
    /// Notifications of people's devices, by Web Push.
    pub push: PushFile,
}

/// An OpenID provider, at which users log in. The server is registered there as a client, with the redirect address `…/login/callback`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OidcFile {
    /// Address of the provider, as it calls itself; `…/.well-known/openid-configuration` describes it.
    pub issuer: String,
    /// The client that was registered for this server.
    pub client_id: String,
    /// Environment variable that holds the secret of the client (default: the client has none).
    pub client_secret_env: Option<String>,
    /// Address at which browsers reach this server, without a path (default: the host that the browser names).
    pub url: Option<String>,
    /// Claim that holds the name of the user, in the ID token (default: `email`, which the provider must have verified).
    pub claim: Option<String>,
    /// Claim that holds groups of the user, one or a list.
    pub group_claim: Option<String>,
    /// Roles by group; the first group of this table that the user has counts, by the alphabet.
    #[serde(default)]
    pub groups: BTreeMap<String, String>,
    /// Role of users in none of these groups (default: they are refused).
    pub role: Option<String>,
    /// Scopes to ask for in addition to `openid` (default: `email`, `profile`).
    pub scopes: Option<Vec<String>>,
    /// Hours after which users log in again (default: 12).
    pub hours: Option<NonZeroU32>,
}

/// Notifications of people's devices, by Web Push.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PushFile {
    /// No device is notified.
    pub off: bool,
    /// Whom push services can ask about this server: `mailto:NAME@HOST` or an HTTPS address. Apple's takes nothing from a server without one.
    pub contact: Option<String>,
    /// Seconds that a question or an end waits before devices are told (default: 10).
    pub after: Option<u64>,
    /// Allow push services on this machine and in private networks.
    pub allow_private: bool,
}

/// What users of a role may do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RoleFile {
    /// What the users may do.
    pub may: Vec<Permission>,
    /// Which sessions they see (default: their own).
    #[serde(default)]
    pub sessions: VisibleSessions,
    /// Folders that their sessions may work in, of those that are served (default: all).
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// Models that they may choose; `*` matches any characters (default: all).
    #[serde(default)]
    pub models: Vec<String>,
    /// Most permissive mode of their sessions, as far as the server allows it: `read-only`, `plan`, `ask`, `accept-edits`, `full`.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub up_to: Option<Mode>,
    /// Maximum cost of a turn of their sessions in US dollars, including subagents.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub max_cost: Option<Dollars>,
}

/// An action that a user may be allowed. No permission includes another, except that `administer` includes all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Read sessions.
    View,
    /// Begin sessions, send prompts, interrupt and undo.
    Prompt,
    /// Answer approvals and questions, commit, and send from the outbox.
    Approve,
    /// Everything, in the sessions of all users.
    Administer,
}

/// The sessions that a user sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VisibleSessions {
    /// Sessions that the user began.
    #[default]
    Own,
    /// Sessions of all users.
    All,
}

impl Permission {
    /// Its name, as the configuration writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::Administer => "administer",
        }
    }
}
