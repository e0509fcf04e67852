//! [`SessionOpened`]: the first fact of a session, with its agent, workspace and task. [`SessionSetup`]: the part that
//! may change later.
use crate::{Forked, JobSpec, SessionId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A session began. The first entry of each journal holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// Version of the journal's format.
    pub version: u32,
    /// The session's name.
    pub session: SessionId,
    /// The agent that works.
    pub agent: String,
    /// The model that it began with, as `PROVIDER/MODEL`.
    pub model: String,
    /// Reasoning effort, as the option writes it; `None` for the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The folder that it works in.
    pub workspace: PathBuf,
    /// The profile that it began with.
    pub profile: String,
    /// The session that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated_by: Option<SessionId>,
    /// The task, if the session is a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<JobSpec>,
    /// The session whose entries it begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Forked>,
    /// The user of a server who began it; `None` if the front-end knows no users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The commit that the workspace was at, in hexadecimal; `None` outside of Git repositories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl SessionOpened {
    /// Returns the setup that the session began with.
    pub fn setup(&self) -> SessionSetup {
        SessionSetup { agent: self.agent.clone(), model: self.model.clone(), effort: self.effort.clone() }
    }

    /// Returns whether the session is a job.
    pub fn is_job(&self) -> bool {
        self.order.is_some()
    }

    /// Returns whether the session is one that another session delegated to.
    pub fn is_subagent(&self) -> bool {
        self.delegated_by.is_some()
    }

    /// Returns the folder in which the user requested the work: a job works in a copy of it.
    pub fn asked_in(&self) -> &PathBuf {
        self.order.as_ref().map_or(&self.workspace, |order| &order.origin)
    }
}

/// The agent, the model and its effort that a session works with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSetup {
    /// The agent's name.
    pub agent: String,
    /// The model, as `PROVIDER/MODEL`.
    pub model: String,
    /// Reasoning effort, as the option writes it; `None` for the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}
