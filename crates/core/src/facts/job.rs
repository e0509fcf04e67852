//! [`JobSpec`] and [`Conclusion`]: a job that is a session of its own: its task, and its result.
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, path::PathBuf};

/// What a job is to do; is in the first entry of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Which agent does it: `builder`, `debugger`, …
    pub kind: String,
    /// What such a job is called: `build`, `debug`, …; empty if unknown.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub job_type: String,
    /// In a person's words.
    pub description: String,
    /// The folder that it was asked for in; the session may work in a copy of it.
    pub origin: PathBuf,
    /// The branch that it works on, in a work tree of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that the branch began at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<BaseCommit>,
    /// Keep temporary files after the job ends.
    #[serde(default)]
    pub debug: bool,
}

/// The state of a repository when a job began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaseCommit {
    /// The commit that was checked out.
    pub commit: String,
    /// The branch; `None` if none was checked out.
    pub branch: Option<String>,
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Not started.
    Pending,
    /// A session works on it.
    Running,
    /// A person must answer, or the process that worked on it is gone: it can be taken up.
    Waiting,
    /// Done, and there is evidence.
    Completed,
    /// The job failed, for the reason that is recorded.
    Failed,
    /// A person stopped it.
    Cancelled,
}

impl JobStatus {
    /// All there are.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether nothing more will happen by itself.
    pub fn is_over(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Pending | Self::Running | Self::Waiting => false,
        }
    }
}

impl fmt::Display for JobStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// What a job came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// A final status.
    pub status: JobStatus,
    /// Why, in a person's words.
    pub reason: String,
    /// The results of the calls that prove it; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Value>,
}
