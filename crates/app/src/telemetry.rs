//! [`App::observer`]: exports telemetry of sessions to a collector, if the environment names one.
use crate::App;
use haft_core::{CallId, Entry, SessionId};
use haft_engine::Observer;
use haft_telemetry::Telemetry;
use std::sync::{Arc, OnceLock};

/// Telemetry of the process, started with its first engine.
#[derive(Clone, Default)]
pub(crate) struct ProcessTelemetry(Arc<OnceLock<Option<Arc<Observed>>>>);

struct Observed(Telemetry);

impl Observer for Observed {
    fn opened(&self, session: &SessionId, above: Option<(&SessionId, &CallId)>, entries: &[Arc<Entry>]) {
        self.0.open(session, above, entries);
    }

    fn recorded(&self, session: &SessionId, entry: &Entry) {
        self.0.record(session, entry);
    }
}

impl App {
    /// The observer for sessions. A variable with an invalid value causes a warning.
    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        let start = || match Telemetry::start(|name| self.environment.get(name).map(str::to_owned)) {
            Ok(telemetry) => telemetry.map(|telemetry| Arc::new(Observed(telemetry))),
            Err(error) => {
                self.warn(error.to_string());
                None
            }
        };
        self.telemetry.0.get_or_init(start).clone().map(|observed| observed as Arc<dyn Observer>)
    }

    /// Sends the remaining telemetry, for at most 5 seconds. Must be called at the end of the program.
    pub async fn send_telemetry(&self) {
        let Some(Some(observed)) = self.telemetry.0.get().cloned() else { return };
        // The SDK blocks its thread, and needs this runtime for sending. A panic of the SDK has no effect here.
        tokio::task::spawn_blocking(move || observed.0.shut_down()).await.ok();
    }
}
