//! `haft serve`: sessions and jobs over HTTP.
mod access;
mod access_log;
mod approvals;
mod attach;
mod highlight;
mod idempotency;
mod jobs;
mod lists;
mod openai;
mod outbox;
mod push;
mod readiness;
mod review;
mod sessions;
mod typed;
mod uploads;
mod users;
