//! [`Chosen`]: the models, efforts and agents that users chose for sessions that had begun.
use super::{Hub, Known, SessionState};
use crate::error::{Answer, ApiError};
use haft_core::{Command, SessionId, SessionSetup};
use haft_engine::{Home, SetupReader};
use parking_lot::Mutex;
use std::{collections::HashMap, mem};

/// Choices that are not in the journal yet, by session.
#[derive(Default)]
pub(super) struct Chosen(Mutex<HashMap<SessionId, Kept>>);

#[derive(Default)]
struct Kept {
    setup: SetupReader,
    /// A choice that is not in the journal yet.
    choice: Choice,
}

/// The agent, model and effort with which a session continues. Fields that are `None` stay unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    pub(crate) agent: Option<String>,
    /// `PROVIDER/MODEL`.
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
}

impl Chosen {
    /// Returns `known` with the choices for its session.
    pub(super) fn over(&self, mut known: Known, home: &Home) -> Known {
        let mut all = self.0.lock();
        let kept = all.entry(known.id.clone()).or_default();
        if let Some(setup) = kept.setup.read(home, &known.id) {
            let SessionSetup { agent, model, effort } = setup.clone();
            (known.agent, known.place.model, known.place.effort) = (agent, model, effort);
        }
        kept.choice.clone().put_into(&mut known);
        known
    }

    /// Stores a choice, and returns the previous one.
    fn set(&self, known: &Known) -> Choice {
        let choice = Choice {
            agent: Some(known.agent.clone()),
            model: Some(known.place.model.clone()),
            effort: known.place.effort.clone(),
        };
        mem::replace(&mut self.0.lock().entry(known.id.clone()).or_default().choice, choice)
    }

    /// Drops a choice that the journal has recorded.
    fn recorded(&self, id: &SessionId) {
        if let Some(kept) = self.0.lock().get_mut(id) {
            kept.choice = Choice::default();
        }
    }

    /// The model that was chosen for a session, according to what was read of its journal.
    fn model(&self, id: &SessionId) -> Option<String> {
        let all = self.0.lock();
        let kept = all.get(id)?;
        kept.choice.model.clone().or_else(|| Some(kept.setup.known()?.model.clone()))
    }

    fn restore(&self, id: SessionId, before: Choice) {
        self.0.lock().entry(id).or_default().choice = before;
    }
}

impl Choice {
    pub(crate) fn is_empty(&self) -> bool {
        let Self { agent, model, effort } = self;
        agent.is_none() && model.is_none() && effort.is_none()
    }

    fn put_into(self, known: &mut Known) {
        let Self { agent, model, effort } = self;
        known.agent = agent.unwrap_or_else(|| known.agent.clone());
        known.place.model = model.unwrap_or_else(|| known.place.model.clone());
        known.place.effort = effort.or_else(|| known.place.effort.take());
    }
}

impl Hub {
    /// Continues a session with another model, effort or agent. If that fails, the session stays unchanged.
    pub(crate) async fn switch(&self, id: &str, choice: Choice) -> Answer<()> {
        let mut known = self.find(id)?;
        if known.order.is_some() {
            return Err(ApiError::conflict("the model and the agent of a job stay as they are")
                .suggest("fork the session, and choose them for the fork"));
        }
        if self.state(&known.id) == SessionState::Elsewhere {
            return Err(ApiError::conflict("another process has the session open").suggest("choose there"));
        }
        if self.user().is_some() {
            self.check_mode(&self.open(id).await?)?;
        }
        let model = choice.model.map(|named| self.model(&known.place.workspace, named)).transpose()?;
        Choice { model, ..choice }.put_into(&mut known);
        let place = self.place_again(&known)?;
        let engine = self.engines().get(&place).await?;
        if !engine.setup().agents.iter().any(|agent| agent.name == known.agent) {
            let message = format!("there is no agent `{}`", known.agent.escape_debug());
            return Err(ApiError::wrong(message).suggest("`GET /v1/choices` lists agents"));
        }
        self.check_agent(&engine, &known.agent)?;
        let mode = self.live(&known.id).map(|session| session.mode());
        // Stored first, so that a request that opens the session meanwhile uses the choice.
        let before = self.inner.chosen.set(&known);
        if let Err(error) = self.close(&known.id).await {
            self.inner.chosen.restore(known.id, before);
            return Err(error);
        }
        let session = self.open(id).await?;
        session.start(Command::KeepSetup).report().await;
        self.inner.chosen.recorded(&known.id);
        if let Some(mode) = mode.filter(|mode| *mode != session.mode()) {
            session.start(Command::SetMode { mode }).report().await;
        }
        self.tell(&known.id);
        Ok(())
    }

    /// The model that a user chose for a session that had begun.
    pub(crate) fn chosen_model(&self, id: &SessionId) -> Option<String> {
        self.inner.chosen.model(id)
    }
}
