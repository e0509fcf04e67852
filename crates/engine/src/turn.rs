//! The heart: ask the model, run its tools, until the transcript says stop.
use crate::{
    JournalError,
    compact::compact,
    context::{self, Wire},
    engine::Shared,
    jobs::Board,
    recover,
    repeats::Repeats,
    seen::Seen,
    session::{Desk, Log},
    tool_runner::run_tools,
};
use futures::StreamExt;
use haft_core::{
    Change, Delta, Fact, OnCap, Outcome, Part, ProviderError, Registry, Reply, SessionId, Stage, Step,
    StopReason, Update, Usage, Window,
    window::{self, Room},
};
use std::{io, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

/// What a session works with; never changes while it runs.
pub(crate) struct Means {
    pub(crate) id: SessionId,
    /// The agent's name.
    pub(crate) agent: String,
    /// Whether another session delegated to this one.
    pub(crate) is_below: bool,
    pub(crate) tools: Registry,
    pub(crate) stage: Arc<dyn Stage>,
    pub(crate) desk: Desk,
    pub(crate) jobs: Arc<Board>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) seen: Seen,
    pub(crate) repeats: Repeats,
    /// See [`haft_core::ToolContext::artifacts`].
    pub(crate) artifacts: PathBuf,
    /// What every request begins with, made once, so that it is the same byte for byte.
    pub(crate) wire: Wire,
}

impl Means {
    /// [`Stage::settle`] in the real workspace, off the event loop.
    pub(crate) async fn settle(&self, changes: Vec<Change>) -> io::Result<Vec<PathBuf>> {
        let (stage, workspace) = (self.stage.clone(), self.shared.setup.workspace.clone());
        let settled = tokio::task::spawn_blocking(move || stage.settle(&workspace, &changes));
        settled.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

pub(crate) async fn run_turn(
    log: &mut Log,
    means: &Means,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    loop {
        match log.transcript.next_step(&means.shared.setup.profile.limits) {
            Step::AskModel => ask_model(log, means, cancel).await?,
            Step::RunTools(calls) => run_tools(log, means, calls, cancel).await?,
            Step::Stop(outcome) => return end_turn(log, means, outcome),
        }
        if cancel.is_cancelled() {
            log.record(Fact::Interrupted)?;
        } else {
            take_in(log, means)?;
        }
    }
}

/// Summarises because a person wants it. Ends like a turn, so that whoever waits for an end sees one.
pub(crate) async fn compact_now(
    log: &mut Log,
    means: &Means,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    recover::end_open_calls(log, means, "not run: the conversation was summarised first")?;
    let window = context::window(means);
    if let Some(Room::Compact { kept }) = window::compact(&log.transcript, 0) {
        compact(log, means, &window, kept, cancel).await?;
    }
    end_turn(log, means, if cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::Finished })
}

/// What people said, and what jobs came to, since the last round.
fn take_in(log: &mut Log, means: &Means) -> Result<(), JournalError> {
    while let Some(fact) = means.desk.next_queued() {
        recover::end_open_calls(log, means, "not run: somebody spoke first")?;
        log.record(fact)?;
    }
    Ok(())
}

fn end_turn(log: &mut Log, means: &Means, outcome: Outcome) -> Result<(), JournalError> {
    recover::end_open_calls(log, means, not_run(outcome))?;
    let limits = &means.shared.setup.profile.limits;
    if outcome == Outcome::RoundLimit {
        tracing::warn!("Max iterations ({}) reached", limits.max_rounds.unwrap_or_default());
        if let OnCap::Apologize(apology) = &limits.on_cap {
            let parts = vec![Part::text(apology)];
            log.record(Fact::Replied { parts, usage: Usage::default(), stop: StopReason::EndTurn })?;
        }
    }
    let (rounds, usage) = (log.transcript.rounds(), log.transcript.usage());
    log.record(Fact::TurnEnded { outcome, rounds, usage, cost_usd: None })?;
    log.journal.sync()
}

fn not_run(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Repeating => "not run: the same calls were made again and again",
        Outcome::Interrupted => "not run: interrupted by the user",
        Outcome::Finished
        | Outcome::Failed
        | Outcome::RoundLimit
        | Outcome::Budget
        | Outcome::Refused
        | Outcome::Unproven => "not run: the turn ended first",
    }
}

/// How a reply came to its end.
enum Heard {
    Whole,
    Endless,
    Interrupted,
    Failed(ProviderError),
}

async fn ask_model(log: &mut Log, means: &Means, cancel: &CancellationToken) -> Result<(), JournalError> {
    let window = context::window(means);
    context::make_room(log, means, &window, cancel).await?;
    // What the model is told has happened must not be forgotten in a power cut.
    log.journal.sync()?;
    tracing::debug!("Agent iteration {}", log.transcript.rounds() + 1);
    let mut reply = Reply::default();
    let mut heard = hear(log, means, cancel, &mut reply).await;
    if matches!(heard, Heard::Failed(ProviderError::ContextTooLong { .. })) {
        // The server knows better. Half of what it refused surely fits, unless nothing can give way.
        let half = Window::new(log.transcript.size(window.fixed) / 2, window.reply, window.fixed);
        if context::make_room(log, means, &half, cancel).await? {
            reply = Reply::default();
            heard = hear(log, means, cancel, &mut reply).await;
        }
    }
    let usage = reply.usage();
    let fact = match heard {
        Heard::Failed(error) => failed(&error),
        Heard::Interrupted if reply.is_empty() => return Ok(()),
        Heard::Interrupted => spoken(reply, usage, StopReason::Interrupted),
        Heard::Endless => spoken(reply, usage, StopReason::Length),
        Heard::Whole if reply.is_empty() => Fact::ModelFailed {
            message: "the model answered nothing".into(),
            hint: Some("ask again, or take another model".into()),
        },
        Heard::Whole => Fact::Replied { stop: reply.stop(), usage, parts: reply.into_parts() },
    };
    log.record(fact)
}

async fn hear(log: &Log, means: &Means, cancel: &CancellationToken, reply: &mut Reply) -> Heard {
    let request = context::request(means, &log.transcript);
    let mut deltas = means.shared.setup.model.provider.stream(request);
    loop {
        let delta = tokio::select! {
            biased;
            () = cancel.cancelled() => return Heard::Interrupted,
            delta = deltas.next() => delta,
        };
        match delta {
            Some(Ok(delta)) => {
                if let Some(update) = update_of(&delta) {
                    log.journal.live(update);
                }
                let stop = matches!(delta, Delta::Stop(_));
                reply.push(delta);
                if stop {
                    return Heard::Whole;
                }
                if reply.is_endless() {
                    return Heard::Endless;
                }
            }
            Some(Err(error)) => return Heard::Failed(error),
            None => return Heard::Failed(cut_off(&means.shared.setup.model.spec)),
        }
    }
}

fn spoken(reply: Reply, usage: Usage, stop: StopReason) -> Fact {
    Fact::Replied { parts: reply.into_spoken_parts(), usage, stop }
}

fn cut_off(model: &str) -> ProviderError {
    let message = "the reply ended before it was complete".to_owned();
    ProviderError::Connection { provider: model.to_owned(), message, source: None }
}

fn failed(error: &ProviderError) -> Fact {
    tracing::debug!(?error, "the model could not be asked");
    Fact::ModelFailed { message: error.to_string(), hint: error.hint().map(str::to_owned) }
}

/// What people see of a delta; an empty one is nothing to see, and a call without an id cannot be told from others.
fn update_of(delta: &Delta) -> Option<Update> {
    match delta {
        Delta::Text(text) => (!text.is_empty()).then(|| Update::Text { text: text.clone() }),
        Delta::Thinking(text) => (!text.is_empty()).then(|| Update::Thinking { text: text.clone() }),
        Delta::CallStart { id, name, .. } => {
            (!id.0.is_empty()).then(|| Update::ToolCall { call: id.clone(), name: name.clone() })
        }
        Delta::Retrying { reason, after } => {
            Some(Update::Retrying { reason: reason.clone(), after_ms: after.as_millis() as u64 })
        }
        Delta::Signature(_) | Delta::CallArguments { .. } | Delta::CallProblem { .. } => None,
        Delta::Usage(_) | Delta::Stop(_) => None,
    }
}
