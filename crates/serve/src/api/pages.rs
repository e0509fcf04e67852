//! [`page`]: cuts lists into pages.
use super::closed_sets::JobState;
use crate::error::{Answer, ApiError};
use haft_core::JobStatus;
use serde::Deserialize;
use utoipa::IntoParams;

/// Rows of one answer, where the client names no number.
const DEFAULT_ROWS: usize = 50;
const MAX_ROWS: usize = 500;

/// How many rows one answer has, of what a client asked for.
pub(crate) fn limit(wanted: Option<usize>) -> usize {
    wanted.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS)
}

/// The first `limit` items, and where the next page begins.
pub(crate) fn page<T>(
    mut found: Vec<T>,
    limit: usize,
    id: impl Fn(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let is_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| is_more).map(id);
    (found, next)
}

/// Which jobs a list shows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobsWanted {
    /// Maximum number of jobs, up to 500 [default: 50]
    pub(crate) limit: Option<usize>,
    /// Only jobs after this one: `next` of the previous page
    #[serde(alias = "cursor")]
    pub(crate) after: Option<String>,
    /// Only jobs in this state
    #[param(inline, value_type = Option<JobState>)]
    status: Option<String>,
}

impl JobsWanted {
    /// How the jobs stand.
    ///
    /// # Errors
    /// Fails where no job stands so.
    pub(crate) fn status(&self) -> Answer<Option<JobStatus>> {
        let named = |name: &String| one_of(name, &JobStatus::ALL);
        self.status.as_ref().map(named).transpose()
    }
}

/// The one of this name.
///
/// # Errors
/// Fails if there is none.
pub(crate) fn one_of<T: Copy + ToString>(name: &str, all: &[T]) -> Answer<T> {
    let found = all.iter().find(|one| one.to_string() == name);
    found.copied().ok_or_else(|| {
        let all: Vec<String> = all.iter().map(|one| format!("`{}`", one.to_string())).collect();
        ApiError::wrong(format!("`{}` is not a status", name.escape_debug()))
            .suggest(format!("`status` is one of {}", all.join(", ")))
    })
}
