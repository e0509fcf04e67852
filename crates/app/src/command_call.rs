//! [`call`] and [`isolate`]: make one call in a session of its own that affects only its folder, and describe how the
//! call ended.
use crate::jobs::unattended_turn;
use haft_core::{Command, NoHooks, Ruling};
use haft_engine::{CallReport, Session, Setup};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// Time for a command that was stopped to report that.
const GRACE: Duration = Duration::from_secs(30);

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// The call succeeded.
    Succeeded,
    /// The call failed; the text continues a sentence that begins with the call.
    Failed(String),
    /// The call could not be made, for this reason.
    NotMade(String),
}

/// Makes the call, with a timeout of `seconds`. Approvals are denied.
pub(crate) async fn call(session: &Session, name: &str, mut arguments: Value, seconds: u64) -> CallEnd {
    if let ("bash", Some(fields)) = (name, arguments.as_object_mut()) {
        fields.insert("timeout".into(), json!(seconds));
        fields.remove("background");
    }
    let turn = session.start(Command::Call { name: name.to_owned(), arguments });
    let ended = timeout(Duration::from_secs(seconds) + GRACE, unattended_turn(turn)).await;
    let Ok(report) = ended else { return CallEnd::Failed(too_long(seconds)) };
    match report.calls.first() {
        Some(call) => judged(call, seconds),
        None => CallEnd::NotMade(report.error.unwrap_or_else(|| "no call was made".to_owned())),
    }
}

fn judged(call: &CallReport, seconds: u64) -> CallEnd {
    let result = call.result();
    if result.details["timed_out"] == Value::Bool(true) || result.job.is_some() {
        return CallEnd::Failed(too_long(seconds));
    }
    if result.went_well() {
        return CallEnd::Succeeded;
    }
    if !call.has_started() {
        let why = result.error.as_ref().map_or(result.content.clone(), |error| error.message.clone());
        return CallEnd::NotMade(why);
    }
    let mut said = result.content.lines().rev().map(str::trim);
    let said = said.find(|line| !line.is_empty() && !line.starts_with('['));
    let code = result.details["exit_code"].as_i64().map(|code| format!(" with exit code {code}"));
    let said = said.filter(|said| *said != "(no output)").map(|said| format!(": {said}"));
    CallEnd::Failed(format!("ended{}{}", code.unwrap_or_default(), said.unwrap_or_default()))
}

fn too_long(seconds: u64) -> String {
    format!("did not end within {seconds} s")
}

/// Limits a setup to its folder and its model: removes rules that allow something, hooks, servers and fallbacks, since
/// these may affect more.
pub(crate) fn isolate(setup: &mut Setup) {
    setup.policy.rules.retain(|rule| rule.ruling() != Ruling::Allow);
    setup.sources.clear();
    setup.hooks = Arc::new(NoHooks);
    setup.model.fallbacks.clear();
    setup.models = None;
}
