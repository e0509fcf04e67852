//! A job from its first prompt to its conclusion.
//!
//! Whoever runs it says how a turn is shown; what counts as done is said here. A job has come to a good end when its
//! agent's last turn ended by itself *and* the journal holds the call that the agent must have made.
use crate::{Agent, Session};
use futures::StreamExt;
use haft_core::{
    Command, Conclusion, Entry, Event, Fact, JobStatus, Order, Outcome, Part, Seq, ToolResult, text_of,
    transcript::active_path,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Who carries out the turns of a job, and shows them.
pub trait Turns {
    /// A turn that cannot be carried out at all.
    type Error;
    /// Carries out a command and gives the outcome of the turn that it opens.
    fn turn(&mut self, command: Command) -> impl Future<Output = Result<Outcome, Self::Error>> + Send;
}

/// Works on the job of `session` until it is over, and records what it came to. A job that was left half-done is taken
/// up where it stopped.
pub async fn carry_out<T: Turns>(
    session: &Session,
    agent: &Agent,
    order: &Order,
    turns: &mut T,
) -> Result<Conclusion, T::Error> {
    let mut outcome = turns.turn(opening(&session.entries(), agent, order)).await?;
    let mut is_reminded = false;
    while outcome == Outcome::Finished {
        let Some(lack) = lack(&session.entries(), agent) else { break };
        let finishing = finishing(agent, order).filter(|_| lack.can_be_finished);
        let command = match finishing {
            Some(call) => call,
            None if !std::mem::replace(&mut is_reminded, true) => reminder(&lack.why),
            None => break,
        };
        outcome = turns.turn(command).await?;
    }
    let conclusion = conclude(&session.entries(), agent, outcome);
    record(session, conclusion.clone()).await;
    Ok(conclusion)
}

/// Returns when it stands in the journal, or can no longer get there.
pub async fn record(session: &Session, conclusion: Conclusion) {
    let next = session.entries().last().map_or(Seq(0), |entry| Seq(entry.seq.0 + 1));
    let mut events = Box::pin(session.events(next));
    if session.send(Command::Conclude(conclusion)).is_err() {
        return;
    }
    let is_it =
        |event: &Event| matches!(event, Event::Recorded(entry) if matches!(entry.fact, Fact::Concluded(_)));
    while let Some(event) = events.next().await {
        if is_it(&event) {
            return;
        }
    }
}

/// A first prompt, or what takes up what is there.
fn opening(entries: &[Arc<Entry>], agent: &Agent, order: &Order) -> Command {
    let path = active_path(entries);
    let has_begun = path.iter().any(|entry| matches!(entry.fact, Fact::Prompted { .. }));
    let last = path.iter().rev().map(|entry| &entry.fact).find(|fact| !matches!(fact, Fact::Concluded(_)));
    match (has_begun, last) {
        (false, _) => Command::Prompt { parts: agent.opening(order), channel: None },
        (true, Some(Fact::TurnEnded { outcome, .. })) if *outcome != Outcome::Failed => prompt(
            "Try again: the job is not done. Look at what is there first, then do what is missing.".into(),
        ),
        (true, _) => Command::Continue,
    }
}

/// The call that ends a job, made in place of the model.
fn finishing(agent: &Agent, order: &Order) -> Option<Command> {
    let name = agent.done.clone().filter(|_| agent.finish)?;
    let title = order.description.lines().next().unwrap_or_default();
    Some(Command::Call { name, arguments: json!({"title": title}) })
}

fn reminder(why: &str) -> Command {
    prompt(format!("The job is not done: {why}. Do what is missing, or say why it cannot be done."))
}

fn prompt(text: String) -> Command {
    Command::Prompt { parts: vec![Part::text(text)], channel: None }
}

fn conclude(entries: &[Arc<Entry>], agent: &Agent, outcome: Outcome) -> Conclusion {
    let (status, reason) = match (outcome, lack(entries, agent)) {
        (Outcome::Finished, None) => (JobStatus::Completed, last_words(entries)),
        (Outcome::Finished, Some(lack)) => (JobStatus::Failed, lack.why),
        (Outcome::Interrupted, _) => (JobStatus::Cancelled, "stopped by a person".to_owned()),
        (outcome, _) => (JobStatus::Failed, why(entries, outcome)),
    };
    Conclusion { status, reason, evidence: evidence(entries, agent) }
}

fn why(entries: &[Arc<Entry>], outcome: Outcome) -> String {
    let failure = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::ModelFailed { message, .. } => Some(message.clone()),
        Fact::PromptDenied { reason, .. } => Some(format!("a hook denied the prompt: {reason}")),
        _ => None,
    });
    match outcome {
        Outcome::Failed => failure.unwrap_or_else(|| "the model could not be asked".into()),
        Outcome::RoundLimit => "too many rounds without an end".into(),
        Outcome::Budget => "the budget is spent".into(),
        Outcome::Repeating => "the same calls again and again".into(),
        Outcome::Refused => {
            failure.unwrap_or_else(|| "an effect needed an approval that nobody could give".into())
        }
        Outcome::Unproven => "the reply claims what the journal does not show".into(),
        Outcome::Finished | Outcome::Interrupted => String::new(),
    }
}

/// What the journal lacks for the job to be done.
struct Lack {
    why: String,
    /// Nothing is missing but the call that ends it, and nobody has tried that yet.
    can_be_finished: bool,
}

fn lack(entries: &[Arc<Entry>], agent: &Agent) -> Option<Lack> {
    let path = active_path(entries);
    if let Some(why) = agent.proof.as_deref().and_then(|proof| unproven(&path, proof)) {
        return Some(Lack { why, can_be_finished: false });
    }
    let done = agent.done.as_deref()?;
    let calls = || path.iter().filter_map(|entry| ended(&entry.fact, done));
    if calls().any(ToolResult::is_ok) {
        return None;
    }
    let refusal = calls().next_back();
    let message = refusal.and_then(|result| result.error.as_ref()).map(|error| error.message.as_str());
    let why = format!("there is no `{done}` that succeeded: {}", message.unwrap_or("it was never called"));
    Some(Lack { why, can_be_finished: refusal.is_none() })
}

/// A fault must have been seen before the first change, and not be there after the last one.
fn unproven(path: &[&Arc<Entry>], proof: &str) -> Option<String> {
    let place = |fits: &dyn Fn(&Fact) -> bool| path.iter().position(|entry| fits(&entry.fact));
    let changed = |fact: &Fact| matches!(fact, Fact::Staged { changes, .. } if !changes.is_empty());
    let failing = place(&|fact| ended(fact, proof).is_some_and(|result| !shows_success(result)));
    let passing = path.iter().rposition(|entry| ended(&entry.fact, proof).is_some_and(shows_success));
    let last_change = path.iter().rposition(|entry| changed(&entry.fact));
    match (failing, passing) {
        (None, _) => Some(format!("no `{proof}` ever showed the fault")),
        (Some(failing), Some(passing))
            if failing < passing && last_change.is_none_or(|last| last < passing) =>
        {
            None
        }
        (Some(_), _) => Some(format!("no `{proof}` after the last change shows that the fault is gone")),
    }
}

/// A run that reports failures is a call that worked: its details say `ok`.
fn shows_success(result: &ToolResult) -> bool {
    result.is_ok() && result.details.get("ok").and_then(Value::as_bool).unwrap_or(true)
}

fn evidence(entries: &[Arc<Entry>], agent: &Agent) -> Vec<Value> {
    let Some(done) = &agent.done else { return Vec::new() };
    let path = active_path(entries);
    let results = path.iter().filter_map(|entry| ended(&entry.fact, done));
    results.filter(|result| result.is_ok()).map(|result| result.details.clone()).collect()
}

fn ended<'a>(fact: &'a Fact, tool: &str) -> Option<&'a ToolResult> {
    match fact {
        Fact::ToolEnded { name, result, .. } if name == tool => Some(result),
        _ => None,
    }
}

/// The first paragraph of the last thing that the model said.
fn last_words(entries: &[Arc<Entry>]) -> String {
    let said = entries.iter().rev().find_map(|entry| match &entry.fact {
        Fact::Replied { parts, .. } => Some(text_of(parts)).filter(|text| !text.trim().is_empty()),
        _ => None,
    });
    said.unwrap_or_default().trim().split("\n\n").next().unwrap_or_default().to_owned()
}
