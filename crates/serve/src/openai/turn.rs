//! [`Attended`]: the session and the turn of a request.
use super::messages::Said;
use crate::{
    api::{
        Context,
        body::blocking,
        lists::no_model,
        sessions::{agent_of, opened},
    },
    error::{Answer, ApiError},
};
use axum::http::StatusCode;
use haft_core::{Command, Entry, Event, Fact, Outcome, Part, Seq, SessionId, active_path, text_of};
use haft_engine::{Session, Turn, TurnReport, new_session_id};
use haft_present::unattended;
use std::sync::Arc;

/// Interrupts the turn where the client leaves before its end.
pub(super) struct Attended {
    pub(super) session: Session,
    pub(super) turn: Option<Turn>,
    waits: bool,
}

impl Attended {
    pub(super) fn begin(session: Session, parts: Vec<Part>, waits: bool) -> Self {
        let turn = session.start(Command::Prompt { parts, channel: None });
        Self { session, turn: Some(turn), waits }
    }

    /// The next event. If no person is to be waited for, questions are answered with the fact that none can be asked.
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

    /// What it came to; nothing is interrupted any more. An error where the model could not be asked.
    pub(super) async fn report(&mut self) -> Answer<TurnReport> {
        let Some(turn) = self.turn.take() else { return Err(ApiError::failed("the turn is over")) };
        let report = turn.report().await;
        match report.outcome {
            Some(Outcome::Failed) | None => {
                let why = report.error.clone().unwrap_or_else(|| "the session was closed".into());
                let error = ApiError::new(StatusCode::BAD_GATEWAY, "model_failed", why);
                Err(match report.hint {
                    Some(hint) => error.suggest(hint),
                    None => error,
                })
            }
            Some(_) => Ok(report),
        }
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if self.turn.is_some() {
            let _it_has_ended = self.session.send(Command::Interrupt);
        }
    }
}

/// The session of a conversation, and what is said in it now. `known`: where it was held, up to which entry.
pub(super) async fn session(
    context: &Context,
    model: &str,
    said: &Said,
    known: Option<(SessionId, Seq)>,
) -> Answer<(Session, Vec<Part>)> {
    let hub = &context.hub;
    let (agent, model) = chosen(context, model).await?;
    if let Some((id, end)) = known
        && let Ok(found) = hub.find(&id.0)
    {
        let fits = model.as_ref().is_none_or(|model| *model == found.place.model);
        if fits && found.agent == agent {
            return going_on(context, &id, end, said).await;
        }
    }
    let place = hub.place(None, model, None)?;
    let session = hub.create(new_session_id(), place, &agent).await?;
    let parts = said.whole();
    // Lists show the beginning of the first prompt, which here is what came before.
    if parts != said.prompt {
        let _it_has_a_title = hub.home().rename(&session.id().0, &title(&text_of(&said.prompt)));
    }
    Ok((session, parts))
}

/// The beginning of the first line, as a name may be.
fn title(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().filter(|sign| !sign.is_control()).take(60).collect()
}

/// A conversation that went on elsewhere since is forked where this client left it.
async fn going_on(context: &Context, id: &SessionId, end: Seq, said: &Said) -> Answer<(Session, Vec<Part>)> {
    let hub = &context.hub;
    let mut session = opened(context, &id.0).await?;
    let entries = session.entries();
    if last_end(&entries) != Some(end) {
        let (own, id) = (hub.clone(), id.clone());
        let fork = blocking(move || own.home().fork(&id.0, Some(end)).map_err(ApiError::from));
        session = hub.open(&fork.await?.0).await?;
    }
    let mut parts = said.prompt.clone();
    let is_told = entries.iter().any(|entry| match &entry.fact {
        Fact::Prompted { parts, .. } => text_of(parts).contains(&said.instructions),
        _ => false,
    });
    if !said.instructions.is_empty() && !is_told {
        parts.insert(0, Part::text(format!("Instructions from here on:\n\n{}\n\n", said.instructions)));
    }
    Ok((session, parts))
}

/// Where the last turn of the conversation ended.
pub(super) fn last_end(entries: &[Arc<Entry>]) -> Option<Seq> {
    let path = active_path(entries);
    path.iter().rev().find(|entry| matches!(entry.fact, Fact::TurnEnded { .. })).map(|entry| entry.seq)
}

/// Where the turn ended that begins at `from`.
pub(super) fn end_of(entries: &[Arc<Entry>], from: Seq) -> Option<Seq> {
    entries
        .iter()
        .find(|entry| entry.seq >= from && matches!(entry.fact, Fact::TurnEnded { .. }))
        .map(|entry| entry.seq)
}

/// An agent by its name, or a model by `PROVIDER/MODEL`.
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
