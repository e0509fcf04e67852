//! [`JobSpec`] and [`Conclusion`]: the task and the result of a job, which is a session of its own.
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, path::PathBuf};

/// The task of a job, recorded in the first entry of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The agent of the job: `builder`, `debugger`, …
    pub kind: String,
    /// The type of the job: `build`, `debug`, …; empty if unknown.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub job_type: String,
    /// The task, as the user wrote it.
    pub description: String,
    /// The folder in which the job was requested; the session may work in a copy of it.
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

/// The status of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Not started.
    Pending,
    /// A session works on it.
    Running,
    /// The user must answer, or the process of the job has ended: the job can be resumed.
    Waiting,
    /// The job succeeded, with evidence.
    Completed,
    /// The job failed, for the reason that is recorded.
    Failed,
    /// The user stopped it.
    Cancelled,
}

impl JobStatus {
    /// All statuses.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether the status is final.
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

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// A final status.
    pub status: JobStatus,
    /// The reason, as a text for the user.
    pub reason: String,
    /// The results of the calls that prove it; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Value>,
}
