//! The heart: ask the model, run its tools, until the transcript says stop.
use crate::{
    JournalError, Model, context,
    engine::Shared,
    hooking,
    jobs::Board,
    recover,
    repeats::Repeats,
    seen::Seen,
    session::{Desk, Log},
    tool_runner::run_tools,
    toolbox::Toolbox,
    tree::Tree,
};
use futures::StreamExt;
use haft_core::{
    Change, Delta, Fact, Limits, OnCap, Outcome, Part, Policy, ProviderError, Reply, SessionId, Stage, Step,
    StopReason, Update, Usage,
};
use std::{io, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

/// What a session works with; never changes while it runs.
pub(crate) struct Means {
    pub(crate) id: SessionId,
    /// The agent's name.
    pub(crate) agent: String,
    /// When a turn of this agent ends that does not end by itself.
    pub(crate) limits: Limits,
    /// Who may do what in this session.
    pub(crate) policy: Policy,
    /// Whom this agent asks.
    pub(crate) model: Model,
    /// The sessions above and below.
    pub(crate) tree: Tree,
    pub(crate) toolbox: Toolbox,
    pub(crate) stage: Arc<dyn Stage>,
    pub(crate) desk: Desk,
    pub(crate) jobs: Arc<Board>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) seen: Seen,
    pub(crate) repeats: Repeats,
    /// See [`haft_core::ToolContext::artifacts`].
    pub(crate) artifacts: PathBuf,
}

impl Means {
    /// [`Stage::settle`] in the real workspace, off the event loop.
    pub(crate) async fn settle(&self, changes: Vec<Change>) -> io::Result<Vec<PathBuf>> {
        let (stage, workspace) = (self.stage.clone(), self.shared.setup.workspace.clone());
        let settled = tokio::task::spawn_blocking(move || stage.settle(&workspace, &changes));
        settled.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

/// A turn from the fact that opens it. A prompt that hooks deny ends it before anybody reads it.
pub(crate) async fn open_turn(
    log: &mut Log,
    means: &Means,
    opening: Fact,
    cancel: &CancellationToken,
) -> Result<(), JournalError> {
    let opening = hooking::checked(means, opening, cancel).await;
    let is_denied = matches!(opening, Fact::PromptDenied { .. });
    log.record(opening)?;
    match (is_denied, cancel.is_cancelled()) {
        (false, _) => run_turn(log, means, cancel).await,
        (true, false) => end_turn(log, means, Outcome::Refused).await,
        (true, true) => end_turn(log, means, Outcome::Interrupted).await,
    }
}

async fn run_turn(log: &mut Log, means: &Means, cancel: &CancellationToken) -> Result<(), JournalError> {
    loop {
        look_for_tools(means, cancel).await;
        match log.transcript.next_step(&means.limits) {
            Step::AskModel => ask_model(log, means, cancel).await?,
            Step::RunTools(calls) => run_tools(log, means, calls, cancel).await?,
            Step::Stop(outcome) => return end_turn(log, means, outcome).await,
        }
        if cancel.is_cancelled() {
            log.record(Fact::Interrupted)?;
        } else {
            take_in(log, means, cancel).await?;
        }
    }
}

/// What sources have to say may take a while: some of them start programs first.
async fn look_for_tools(means: &Means, cancel: &CancellationToken) {
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = means.toolbox.refresh(&means.shared.setup, &means.id) => {}
    }
}

/// What people said, and what jobs came to, since the last round.
async fn take_in(log: &mut Log, means: &Means, cancel: &CancellationToken) -> Result<(), JournalError> {
    while let Some(fact) = means.desk.next_queued() {
        let fact = hooking::checked(means, fact, cancel).await;
        // What adds nothing to the conversation leaves its open calls alone.
        if matches!(fact, Fact::Prompted { .. } | Fact::JobEnded { .. }) {
            recover::end_open_calls(log, means, "not run: somebody spoke first")?;
        }
        log.record(fact)?;
    }
    Ok(())
}

async fn end_turn(log: &mut Log, means: &Means, outcome: Outcome) -> Result<(), JournalError> {
    recover::end_open_calls(log, means, not_run(outcome))?;
    let limits = &means.limits;
    if outcome == Outcome::RoundLimit {
        tracing::warn!("Max iterations ({}) reached", limits.max_rounds.unwrap_or_default());
        if let OnCap::Apologize(apology) = &limits.on_cap {
            let parts = vec![Part::text(apology)];
            log.record(Fact::Replied { parts, usage: Usage::default(), stop: StopReason::EndTurn })?;
        }
    }
    hooking::turn_ends(means, outcome).await;
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
    // What the model is told has happened must not be forgotten in a power cut.
    log.journal.sync()?;
    tracing::debug!("Agent iteration {}", log.transcript.rounds() + 1);
    let mut reply = Reply::default();
    let heard = hear(log, means, cancel, &mut reply).await;
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
    let kit = means.toolbox.kit();
    let request = context::request(&means.shared.setup, &means.model.name, &kit.wire, &log.transcript);
    let mut deltas = means.model.provider.stream(request);
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
            None => return Heard::Failed(cut_off(&means.model.spec)),
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
