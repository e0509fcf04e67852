//! `haft serve`: sessions and jobs over HTTP.
mod access;
mod access_log;
mod approvals;
mod idempotency;
mod lists;
mod readiness;
mod sessions;
mod typed;
