//! [`Telemetry`]: sends the activity of sessions as traces and metrics to an OpenTelemetry collector.
//!
//! Each turn, each request to the model and each call is a span, named by OpenTelemetry's semantic conventions for
//! generative AI. All data is taken from the facts of the journal. No text of a prompt, a reply, a call or a result is
//! sent.
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

/// Name of the instrumentation, and of the service unless a variable sets it.
const NAME: &str = "haft";
/// How long the program waits at its end for data that was not sent yet.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends the activity of sessions to a collector, in the background, by OTLP over HTTP.
pub struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    tracer: SdkTracer,
    instruments: Instruments,
    /// The parent span of turns.
    parent: Context,
    sessions: Mutex<HashMap<SessionId, SessionSpans>>,
}

impl Telemetry {
    /// Starts with the variables that `get` returns (`OTEL_…`, `TRACEPARENT`); `None` if they name no collector. Must
    /// be called in a Tokio runtime, in which data is sent.
    ///
    /// The SDK itself reads further variables of the process, such as `OTEL_BSP_SCHEDULE_DELAY`.
    ///
    /// # Errors
    ///
    /// If a variable has an invalid value, or requires something that Haft does not support.
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

    /// Adds a session whose journal already holds `entries`, which are not sent. `above`: the call that delegated to
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

    /// Records an entry of `session`. Does not wait.
    pub fn record(&self, session: &SessionId, entry: &Entry) {
        if let Some(spans) = self.sessions().get_mut(session) {
            spans.record(entry, &self.tracer, &self.instruments);
        }
    }

    /// Sends the remaining data, for at most 5 seconds. Blocks its thread; the runtime must continue meanwhile.
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

/// The resource that the SDK reads from the variables, with Haft's name and version.
fn resource(service: Option<String>) -> Resource {
    let builder =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    builder.with_service_name(service.unwrap_or_else(|| NAME.to_owned())).build()
}
