//! [`Attended`]: runs the turn of a request in its session.
use super::messages::Said;
use crate::{
    api::{
        Context,
        body::blocking,
        commands::said_before,
        lists::no_model,
        sessions::{agent_of, made_as, opened},
    },
    conversations::Claim,
    error::{Answer, ApiError},
    hub::SessionState,
    requests::Keyed,
};
use axum::http::StatusCode;
use haft_core::{
    Channel, Command, Entry, Event, Fact, ModelFault, Outcome, Part, Seq, SessionId, active_path, text_of,
};
use haft_engine::{CallReport, Session, Turn, TurnReport};
use haft_present::unattended;
use std::sync::Arc;

/// A session for a request, and its prompt.
pub(super) struct Prepared {
    session: Session,
    parts: Vec<Part>,
    /// Held while the turn runs, if the session existed before.
    claim: Option<Claim>,
}

/// Interrupts the turn if the client disconnects before its end.
pub(super) struct Attended {
    pub(super) session: Session,
    turn: Option<Turn>,
    claim: Option<Claim>,
    waits: bool,
}

impl Attended {
    /// `channel`: the client that prompts, and the key of its request.
    pub(super) fn begin(prepared: Prepared, channel: Option<Channel>, waits: bool) -> Self {
        let Prepared { session, parts, claim } = prepared;
        let turn = session.start(Command::Prompt { parts, channel });
        Self { session, turn: Some(turn), claim, waits }
    }

    /// The next event. Unless the request waits for answers, approvals are refused, and questions are answered with the
    /// fact that no user can be asked.
    pub(super) async fn next(&mut self) -> Option<Event> {
        use futures::StreamExt;
        let event = self.turn.as_mut()?.next().await?;
        if let Event::Recorded(entry) = &event
            && !self.waits
        {
            match &entry.fact {
                Fact::ApprovalAsked { call, .. } => unattended::refuse(&self.session, call),
                Fact::QuestionAsked { call, .. } => unattended::reply(&self.session, call),
                _ => {}
            }
        }
        Some(event)
    }

    /// The report of the turn, which is not interrupted afterwards. Fails if the model could not be reached.
    pub(super) async fn report(&mut self) -> Answer<TurnReport> {
        let Some(turn) = self.turn.take() else { return Err(ApiError::failed("the turn is over")) };
        let report = turn.report().await;
        self.claim = None;
        checked(&self.session, report)
    }
}

/// Returns `report`, or the error of a turn in which the model could not be reached or that has no end. After a turn
/// that has run calls, the error tells clients not to retry.
pub(super) fn checked(session: &Session, report: TurnReport) -> Answer<TurnReport> {
    let (status, why) = match (report.outcome, report.fault) {
        (Some(Outcome::Failed), Some(ModelFault::RateLimited | ModelFault::QuotaExhausted)) => {
            (StatusCode::TOO_MANY_REQUESTS, report.error.clone())
        }
        (Some(Outcome::Failed), Some(_)) => (StatusCode::BAD_GATEWAY, report.error.clone()),
        // The request itself is invalid.
        (Some(Outcome::Failed), None) => (StatusCode::BAD_REQUEST, report.error.clone()),
        (None, _) => (StatusCode::BAD_GATEWAY, report.error.clone()),
        (Some(_), _) => return Ok(report),
    };
    let why = why.unwrap_or_else(|| "the session was closed in the middle of the turn".to_owned());
    let error = match has_acted(&report) {
        false => ApiError::new(status, "model_failed", why),
        true => {
            let why = format!("{why}; the session `{}` has what the turn did until then", session.id());
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "turn_failed", why).never_again()
        }
    };
    Err(match report.hint {
        Some(hint) => error.suggest(hint),
        None => error,
    })
}

impl Drop for Attended {
    fn drop(&mut self) {
        if self.turn.is_some() {
            let _it_has_ended = self.session.send(Command::Interrupt);
        }
    }
}

/// Finds the prompt of a repeated request that was recorded before a crash: the session, and the entry. `known`: as for
/// [`prepare`].
pub(super) async fn begun_before(
    context: &Context,
    key: Option<&Keyed>,
    known: Option<&(SessionId, Seq)>,
) -> Option<(Session, Seq)> {
    let key = key.filter(|key| key.is_repeated)?;
    for id in std::iter::once(&key.id).chain(known.map(|(id, _)| id)) {
        if let Ok(session) = opened(context, &id.0).await
            && let Some(&from) = said_before(context, &session.entries(), key).last()
        {
            // A turn that failed or was cut off is started again if it has run no call.
            let report = TurnReport::of(&turn_since(&session, from));
            let is_cut_off =
                report.outcome.is_none() && context.hub.state(session.id()) == SessionState::Idle;
            let is_over = report.outcome == Some(Outcome::Failed) || is_cut_off;
            let is_in_vain = is_over && !has_acted(&report);
            return (!is_in_vain).then_some((session, from));
        }
    }
    None
}

/// The entries of the turn that began at `from`: up to its end, or up to the next prompt if it has no end.
pub(super) fn turn_since(session: &Session, from: Seq) -> Vec<Arc<Entry>> {
    let entries = session.entries();
    let turn = entries.into_iter().skip_while(|entry| entry.seq < from);
    let mut is_over = false;
    let turn = turn.take_while(|entry| {
        let is_next = entry.seq > from && matches!(entry.fact, Fact::Prompted { .. });
        let is_taken = !is_over && !is_next;
        is_over |= matches!(entry.fact, Fact::TurnEnded { .. });
        is_taken
    });
    turn.collect()
}

fn has_acted(report: &TurnReport) -> bool {
    report.calls.iter().any(CallReport::has_started)
}

/// The report of the turn that an earlier attempt of the request began.
pub(super) fn report_since(session: &Session, from: Seq) -> Answer<TurnReport> {
    let report = TurnReport::of(&turn_since(session, from));
    let is_cut_off = report.outcome.is_none();
    checked(session, report).map_err(|error| match is_cut_off {
        true => error
            .suggest("the server ended in the middle of the turn; look what it did before you ask again")
            .never_again(),
        false => error,
    })
}

/// The session of a conversation, and the new prompt. `known`: the session of the conversation, and its last entry
/// there. A session or fork that is made for a request with a `key` gets the key's ID.
pub(super) async fn prepare(
    context: &Context,
    model: &str,
    said: &Said,
    known: Option<(SessionId, Seq)>,
    key: Option<Keyed>,
) -> Answer<Prepared> {
    let hub = &context.hub;
    let (agent, model) = chosen(context, model).await?;
    if let Some((id, end)) = known
        && let Ok(found) = hub.find(&id.0)
    {
        let fits = model.as_ref().is_none_or(|model| *model == found.place.model);
        if fits && found.agent == agent {
            return going_on(context, &id, end, said, key).await;
        }
    }
    let place = hub.place(None, model, None)?;
    let id = made_as(key);
    let session = match hub.home().begun(&id)? {
        Some(begun) => opened(context, &begun.0).await?,
        None => hub.create(id, place, &agent).await?,
    };
    let parts = said.whole();
    // Lists show the beginning of the first prompt, which here would be the earlier messages.
    if parts != said.prompt {
        let _it_has_a_title = hub.home().rename(&session.id().0, &title(&text_of(&said.prompt)));
    }
    Ok(Prepared { session, parts, claim: None })
}

/// The beginning of the first line with text, short enough for a name.
fn title(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().filter(|sign| !sign.is_control()).take(60).collect()
}

/// Continues a session. The session is forked at the end of the client's conversation if it has gone on since, or if
/// another request is running in it; also for a request with a key, which finds the fork by its ID after a crash.
async fn going_on(
    context: &Context,
    id: &SessionId,
    end: Seq,
    said: &Said,
    key: Option<Keyed>,
) -> Answer<Prepared> {
    let hub = &context.hub;
    let mut claim = context.conversations.claim(id);
    let mut session = opened(context, &id.0).await?;
    let entries = session.entries();
    if claim.is_none() || key.is_some() || has_gone_on(&entries, end) {
        let (own, id, made) = (hub.clone(), id.clone(), made_as(key));
        let user = hub.user_name().map(str::to_owned);
        let fork = blocking(move || match own.home().begun(&made)? {
            Some(forked) => Ok(forked),
            None => own.home().fork_as(made, &id.0, Some(end), user).map_err(ApiError::from),
        });
        session = hub.open(&fork.await?.0).await?;
        claim = None;
    }
    let mut parts = said.prompt.clone();
    let is_told = entries.iter().any(|entry| match &entry.fact {
        Fact::Prompted { parts, .. } => text_of(parts).contains(&said.instructions),
        _ => false,
    });
    if !said.instructions.is_empty() && !is_told {
        parts.insert(0, Part::text(format!("Instructions from here on:\n\n{}\n\n", said.instructions)));
    }
    Ok(Prepared { session, parts, claim })
}

/// Whether a prompt, a call or an undo follows the turn that ended at `end`.
fn has_gone_on(entries: &[Arc<Entry>], end: Seq) -> bool {
    let is_new = |entry: &Arc<Entry>| {
        let said =
            matches!(entry.fact, Fact::Prompted { .. } | Fact::PromptQueued { .. } | Fact::Called { .. });
        entry.seq > end && (said || matches!(entry.fact, Fact::Rewound { .. }))
    };
    last_end(entries) != Some(end) || entries.iter().any(is_new)
}

/// The end of the last turn of the conversation.
pub(super) fn last_end(entries: &[Arc<Entry>]) -> Option<Seq> {
    let path = active_path(entries);
    path.iter().rev().find(|entry| matches!(entry.fact, Fact::TurnEnded { .. })).map(|entry| entry.seq)
}

/// The end of the turn that begins at `from`.
pub(super) fn end_of(entries: &[Arc<Entry>], from: Seq) -> Option<Seq> {
    entries
        .iter()
        .find(|entry| entry.seq >= from && matches!(entry.fact, Fact::TurnEnded { .. }))
        .map(|entry| entry.seq)
}

/// Resolves the requested model: the name of an agent, or `PROVIDER/MODEL`.
async fn chosen(context: &Context, name: &str) -> Answer<(String, Option<String>)> {
    let hub = &context.hub;
    let engine = hub.engines().get(&hub.place(None, None, None)?).await?;
    let setup = engine.setup();
    if setup.agents.iter().any(|agent| agent.name == name) {
        return Ok((name.to_owned(), None));
    }
    match name == setup.model.spec {
        true => Ok((agent_of(hub, None), None)),
        false if name.contains('/') => Ok((agent_of(hub, None), Some(name.to_owned()))),
        false => Err(no_model(name)),
    }
}
