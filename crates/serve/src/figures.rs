//! [`Figures`]: the metrics at `/metrics`, in the Prometheus text format. The names are stable; labels have few values,
//! never a name that a model or a client chose.
use crate::process_figures::ProcessFigures;
use axum::{
    http::{HeaderValue, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use haft_core::{Entry, Fact, Outcome, Usage};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};
use std::sync::{Arc, atomic::AtomicU64};

/// Prefix of the names of Haft's own metrics.
const PREFIX: &str = "haft";

/// Bucket bounds of the histogram of request durations, in seconds.
const SECONDS: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    outcome: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// Tokens by kind, as the metrics label them.
pub(crate) fn by_kind(usage: &Usage) -> [(&'static str, u64); 4] {
    let Usage { input, output, cache_read, cache_write } = *usage;
    [("input", input), ("output", output), ("cache_read", cache_read), ("cache_write", cache_write)]
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Went {
    ok: String,
}

/// Counters and gauges of the server. Clones share the same values.
pub(crate) struct Figures {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Histogram,
    refused: Family<Why, Counter>,
    turns: Family<Ended, Counter>,
    tokens: Family<Kind, Counter>,
    dollars: Counter<f64, AtomicU64>,
    calls: Family<Went, Counter>,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Clients that follow events.
    pub(crate) streams: Gauge,
    /// Open sessions.
    pub(crate) sessions: Gauge,
    /// Sessions with a running turn.
    pub(crate) working: Gauge,
    /// Running jobs.
    pub(crate) jobs: Gauge,
}

impl Figures {
    /// Metrics of a server that runs sessions.
    pub(crate) fn new() -> Self {
        let mut this = Self::of_requests();
        let registry = this.registry.sub_registry_with_prefix(PREFIX);
        registry.register("sessions_open", "Sessions that are open in this process", this.sessions.clone());
        registry.register("sessions_working", "Sessions in which a turn goes", this.working.clone());
        registry.register("jobs_running", "Jobs that are worked on", this.jobs.clone());
        registry.register("turns", "Turns that ended", this.turns.clone());
        registry.register("tool_calls", "Calls that ended", this.calls.clone());
        registry.register("tokens", "Tokens of the turns that ended", this.tokens.clone());
        registry.register(
            "cost_usd",
            "Cost of the turns that ended, where it is known",
            this.dollars.clone(),
        );
        this
    }

    /// Metrics of a server that runs no sessions itself.
    pub(crate) fn of_requests() -> Self {
        let mut this = Self {
            registry: Registry::default(),
            requests: Family::default(),
            seconds: Histogram::new(SECONDS),
            refused: Family::default(),
            turns: Family::default(),
            tokens: Family::default(),
            dollars: Counter::default(),
            calls: Family::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            sessions: Gauge::default(),
            working: Gauge::default(),
            jobs: Gauge::default(),
        };
        this.registry.register_collector(Box::new(ProcessFigures::new()));
        let registry = this.registry.sub_registry_with_prefix(PREFIX);
        let build = Family::<Build, Gauge>::default();
        build.get_or_create(&Build { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("build_info", "The program; always 1", build);
        registry.register("http_requests", "Requests that were answered", this.requests.clone());
        let took = "Time until the answer begins";
        registry.register_with_unit("http_request_duration", took, Unit::Seconds, this.seconds.clone());
        let deprecated = "The same; deprecated";
        registry.register_with_unit("http_request", deprecated, Unit::Seconds, this.seconds.clone());
        registry.register("http_refused", "Requests that were let in nowhere", this.refused.clone());
        registry.register("http_connections", "Connections that are open", this.connections.clone());
        registry.register("event_streams", "Clients that follow events", this.streams.clone());
        this
    }

    /// The registry, to add metrics that are kept elsewhere.
    pub(crate) fn registry(&mut self) -> &mut Registry {
        self.registry.sub_registry_with_prefix(PREFIX)
    }

    /// Counts a request that was answered.
    pub(crate) fn answered(&self, method: &axum::http::Method, status: u16, seconds: f64) {
        let method = if KNOWN_METHODS.contains(&method.as_str()) { method.as_str() } else { "other" };
        self.requests.get_or_create(&Answered { method: method.to_owned(), status }).inc();
        self.seconds.observe(seconds);
    }

    /// Counts a request that was refused.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&Why { reason }).inc();
    }

    /// Counts an entry that was recorded in a session.
    pub(crate) fn recorded(&self, entry: &Entry) {
        match &entry.fact {
            Fact::ToolEnded { result, .. } => {
                self.calls.get_or_create(&Went { ok: result.went_well().to_string() }).inc();
            }
            Fact::TurnEnded { outcome, usage, cost_usd, .. } => {
                self.turns.get_or_create(&Ended { outcome: word(*outcome) }).inc();
                for (kind, count) in by_kind(usage) {
                    self.tokens.get_or_create(&Kind { kind }).inc_by(count);
                }
                self.dollars.inc_by(cost_usd.unwrap_or_default().max(0.0));
            }
            _ => {}
        }
    }

    /// All metrics as text.
    fn text(&self) -> String {
        let mut text = String::new();
        let _a_string_takes_everything = encode(&mut text, &self.registry);
        text
    }
}

impl IntoResponse for &Figures {
    fn into_response(self) -> Response {
        let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        ([(CONTENT_TYPE, kind)], self.text()).into_response()
    }
}

/// Counts a client that follows events until it is dropped.
pub(crate) struct Counted(Arc<Figures>);

impl Counted {
    pub(crate) fn new(figures: Arc<Figures>) -> Self {
        figures.streams.inc();
        Self(figures)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.streams.dec();
    }
}

/// Methods that have their own label value.
const KNOWN_METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"];

/// The outcome as journals spell it.
fn word(outcome: Outcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}
