//! [`Engines`]: keeps one engine for all sessions that work in the same folder with the same model and profile.
use crate::{
    error::Answer,
    parts::{Place, Settings},
};
use haft_core::SessionId;
use haft_engine::{Engine, Session};
use haft_present::host::Host;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// The recently used engines.
pub(crate) struct Engines {
    settings: Arc<Settings>,
    known: Mutex<HashMap<Place, Kept>>,
}

struct Kept {
    engine: Engine,
    used: Instant,
}

impl Engines {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self { settings, known: Mutex::default() }
    }

    /// The engine for sessions of this place, if it exists.
    pub(crate) fn known(&self, wanted: &Place) -> Option<Engine> {
        self.known.lock().get(wanted).map(|kept| kept.engine.clone())
    }

    /// The engine for sessions of this place; starts it if necessary.
    pub(crate) async fn get(&self, wanted: &Place) -> Answer<Engine> {
        let find = || {
            let mut known = self.known.lock();
            let kept = known.get_mut(wanted)?;
            kept.used = Instant::now();
            Some(kept.engine.clone())
        };
        if let Some(engine) = find() {
            return Ok(engine);
        }
        let engine = self.settings.host.engine(wanted.request()).await?;
        // Another request may have started the engine meanwhile: then this one is not used.
        let fresh = || Kept { engine, used: Instant::now() };
        Ok(self.known.lock().entry(wanted.clone()).or_insert_with(fresh).engine.clone())
    }

    /// The engine that has the session open, with a handle to it.
    pub(super) fn with(&self, id: &SessionId) -> Option<(Engine, Session)> {
        let engines: Vec<Engine> = self.known.lock().values().map(|kept| kept.engine.clone()).collect();
        engines.into_iter().find_map(|engine| {
            let session = engine.find(id)?;
            Some((engine, session))
        })
    }

    /// All sessions that are open in this process, including child sessions.
    pub(super) fn sessions(&self) -> Vec<Session> {
        let engines: Vec<Engine> = self.known.lock().values().map(|kept| kept.engine.clone()).collect();
        engines.iter().flat_map(Engine::sessions).collect()
    }

    /// When the next engine without sessions may be closed.
    pub(super) fn next_unused(&self, idle: Duration) -> Option<Instant> {
        self.known
            .lock()
            .values()
            .filter(|kept| kept.engine.sessions().is_empty())
            .map(|kept| kept.used + idle)
            .min()
    }

    /// Closes the engines that had no session for at least `idle`, and the servers that they started; returns their
    /// number.
    pub(super) async fn close_unused(&self, idle: Duration) -> usize {
        let now = Instant::now();
        let mut unused = Vec::new();
        self.known.lock().retain(|_, kept| {
            let is_unused = kept.used + idle <= now && kept.engine.sessions().is_empty();
            if is_unused {
                unused.push(kept.engine.clone());
            }
            !is_unused
        });
        for engine in &unused {
            engine.shut_down().await;
        }
        unused.len()
    }

    /// Shuts down all engines.
    pub(super) async fn shut_down(&self) {
        let all: Vec<Engine> = self.known.lock().drain().map(|(_, kept)| kept.engine).collect();
        futures::future::join_all(all.iter().map(Engine::shut_down)).await;
    }
}
