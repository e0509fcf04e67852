//! [`Telemetry`]: what sessions do, as traces and metrics that are sent to an OpenTelemetry collector.
//!
//! A turn, a request to the model and a call are a span each, named by OpenTelemetry's semantic conventions for generative
//! AI. Everything comes from the facts of the journal. No text of a prompt, a reply, a call or a result is sent.
mod collector;
mod error;
mod spans;
mod variables;

pub use error::TelemetryError;

use haft_core::{CallId, Entry, SessionId};
use opentelemetry::{Context, KeyValue, metrics::MeterProvider, trace::TracerProvider};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{SdkTracer, SdkTracerProvider},
};
use spans::{Instruments, SessionSpans};
use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use variables::Variables;

/// Name of the service, unless a variable says another one, and of what measures it.
const NAME: &str = "haft";
/// How long the end of the program waits for what was not sent yet.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends what sessions do to a collector, in the background, by OTLP over HTTP.
pub struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    tracer: SdkTracer,
    instruments: Instruments,
    /// The span that turns stand below.
    parent: Context,
    sessions: Mutex<HashMap<SessionId, SessionSpans>>,
}

impl Telemetry {
    /// Starts as the variables say that `get` returns (`OTEL_…`, `TRACEPARENT`); `None` if they name no collector. Has to
    /// be called in a runtime of tokio, which sends.
    ///
    /// The SDK reads variables of the process that concern it alone, such as `OTEL_BSP_SCHEDULE_DELAY`.
    ///
    /// # Errors
    ///
    /// If a variable has an invalid value, or asks for what Haft cannot send.
    pub fn start(get: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, TelemetryError> {
        let variables = Variables::read(&get)?;
        if variables.traces.is_none() && variables.metrics.is_none() {
            return Ok(None);
        }
        let resource = resource(variables.service);
        let (mut traces, mut metrics) = (SdkTracerProvider::builder(), SdkMeterProvider::builder());
        if let Some(collector) = variables.traces {
            traces = traces.with_batch_exporter(collector.span_exporter()?);
        }
        if let Some(collector) = variables.metrics {
            metrics = metrics.with_reader(PeriodicReader::builder(collector.metric_exporter()?).build());
        }
        let traces = traces.with_resource(resource.clone()).build();
        let metrics = metrics.with_resource(resource).build();
        let (tracer, instruments) = (traces.tracer(NAME), Instruments::of(&metrics.meter(NAME)));
        let (parent, sessions) = (variables.parent, Mutex::default());
        Ok(Some(Self { traces, metrics, tracer, instruments, parent, sessions }))
    }

    /// Takes over a session whose journal holds `entries` already: they are not sent. `above` is the call that delegated to
    /// it, if any.
    pub fn open(
        &self,
        session: &SessionId,
        above: Option<(&SessionId, &CallId)>,
        entries: &[impl AsRef<Entry>],
    ) {
        let mut sessions = self.sessions();
        let parent = above.and_then(|(above, call)| sessions.get(above)?.context_of(call));
        let mut spans = SessionSpans::new(session, parent.unwrap_or_else(|| self.parent.clone()));
        entries.iter().for_each(|entry| spans.learn(entry.as_ref()));
        sessions.insert(session.clone(), spans);
    }

    /// Takes what `session` has recorded. Waits for nothing.
    pub fn record(&self, session: &SessionId, entry: &Entry) {
        if let Some(spans) = self.sessions().get_mut(session) {
            spans.record(entry, &self.tracer, &self.instruments);
        }
    }

    /// Sends what is left, for at most 5 seconds. Blocks its thread; the runtime must go on meanwhile.
    pub fn shut_down(&self) {
        for session in self.sessions().values_mut() {
            session.end_all();
        }
        let until = Instant::now() + SHUTDOWN_TIMEOUT;
        let left = || until.saturating_duration_since(Instant::now());
        let ended = self.traces.shutdown_with_timeout(left()).and(self.metrics.shutdown_with_timeout(left()));
        if let Err(error) = ended {
            tracing::warn!("cannot send all telemetry: {error}");
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionSpans>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").finish_non_exhaustive()
    }
}

/// What the SDK reads of the variables, with Haft's name and version.
fn resource(service: Option<String>) -> Resource {
    let builder =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    builder.with_service_name(service.unwrap_or_else(|| NAME.to_owned())).build()
}
