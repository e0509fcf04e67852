//! [`object`]: the JSON object about a turn, for scripts.
use haft_core::Change;
use haft_engine::{CallReport, Session, TurnReport};
use haft_present::timeline::rounded_usd;
use serde_json::{Value, json};

/// The object that `--output json` prints.
pub fn object(session: &Session, report: &TurnReport) -> Value {
    let kind_of = |change: &Change| json!({"path": change.path, "kind": change.kind()});
    let changes: Vec<Value> = report.changes.iter().map(kind_of).collect();
    let mut object = json!({
        "session": session.id(), "outcome": report.outcome, "text": report.text, "rounds": report.rounds,
        "usage": report.usage, "cost_usd": report.cost_usd.map(rounded_usd), "changes": changes, "error": report.error,
    });
    if let Some(answer) = &report.answer {
        object["answer"] = answer.clone();
    }
    let stopped: Vec<Value> = report.calls.iter().filter_map(stopped).collect();
    if !stopped.is_empty() {
        object["stopped"] = json!(stopped);
    }
    object
}

/// A call that was interrupted or timed out, with its output so far.
fn stopped(call: &CallReport) -> Option<Value> {
    let result = call.result();
    let is_stopped = result.command().is_some_and(|run| run.is_stopped());
    let error = result.error.as_ref().filter(|_| is_stopped)?;
    Some(json!({"tool": call.tool(), "arguments": call.arguments(), "error": error.message}))
}
