//! [`Variables`]: the settings of telemetry in the environment, by the specification "OpenTelemetry Environment
//! Variable Specification" (1.50) and by "OpenTelemetry Protocol Exporter".
use crate::{collector::Collector, error::TelemetryError};
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator},
    trace::TraceContextExt,
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use std::{collections::HashMap, time::Duration};

/// The settings in the environment.
pub(crate) struct Variables {
    pub(crate) traces: Option<Collector>,
    pub(crate) metrics: Option<Collector>,
    /// Name of the service; `None` if it is not set.
    pub(crate) service: Option<String>,
    /// The parent span of turns; an empty context if no variable names one.
    pub(crate) parent: Context,
}

/// Default timeout of an export.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Variables {
    pub(crate) fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, TelemetryError> {
        // An empty value counts as unset.
        let get = |name: &str| get(name).filter(|value| !value.trim().is_empty());
        let is_disabled = get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let signal = |name| if is_disabled { Ok(None) } else { signal(name, &get) };
        Ok(Self {
            traces: signal("TRACES")?,
            metrics: signal("METRICS")?,
            service: get("OTEL_SERVICE_NAME").or_else(|| service_of(&get("OTEL_RESOURCE_ATTRIBUTES")?)),
            parent: parent(&get),
        })
    }
}

/// The collector for `TRACES` or `METRICS`. Nothing is sent unless a variable names a collector, which would not exist
/// otherwise.
fn signal(signal: &str, get: &dyn Fn(&str) -> Option<String>) -> Result<Option<Collector>, TelemetryError> {
    // The variable for one signal takes precedence over the one for all.
    let find = |what: &str| {
        let names = [format!("OTEL_EXPORTER_OTLP_{signal}_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")];
        names.into_iter().find_map(|name| get(&name).map(|value| (name, value)))
    };
    let endpoint = find("ENDPOINT");
    let exporter = format!("OTEL_{signal}_EXPORTER");
    match get(&exporter).as_deref() {
        Some("none") => return Ok(None),
        None if endpoint.is_none() => return Ok(None),
        None | Some("otlp") => {}
        Some(other) => return Err(invalid(exporter, other, "Haft knows `otlp` and `none`")),
    }
    match find("PROTOCOL") {
        Some((name, value)) if value != "http/protobuf" => {
            let expected = "Haft sends as `http/protobuf`, which collectors take at port 4318";
            return Err(invalid(name, &value, expected));
        }
        _ => {}
    }
    let timeout = find("TIMEOUT").map(|(name, value)| {
        let parsed = value.parse().map(Duration::from_millis);
        parsed.map_err(|_| invalid(name, &value, "a number of milliseconds is expected"))
    });
    Ok(Some(Collector {
        url: url(endpoint, &signal.to_lowercase())?,
        headers: find("HEADERS").map(|(name, value)| headers(name, &value)).transpose()?.unwrap_or_default(),
        timeout: timeout.transpose()?.unwrap_or(TIMEOUT),
    }))
}

/// The endpoint for one signal is used unchanged; to the endpoint for all signals, the path of the signal is appended.
fn url(endpoint: Option<(String, String)>, path: &str) -> Result<String, TelemetryError> {
    let (name, value) =
        endpoint.unwrap_or_else(|| ("OTEL_EXPORTER_OTLP_ENDPOINT".into(), "http://localhost:4318".into()));
    let is_http = reqwest::Url::parse(&value).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_http {
        return Err(invalid(name, &value, "an address like `http://localhost:4318` is expected"));
    }
    let is_for_all = name == "OTEL_EXPORTER_OTLP_ENDPOINT";
    Ok(if is_for_all { format!("{}/v1/{path}", value.trim_end_matches('/')) } else { value })
}

/// Parses `NAME=VALUE,…`, with values percent-encoded as in W3C Baggage.
fn headers(name: String, value: &str) -> Result<HashMap<String, String>, TelemetryError> {
    let pairs = value.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').map(|(name, value)| (name.trim(), value.trim())));
    let pairs: Option<Vec<_>> = pairs.collect();
    // The value may be a key, so it is not repeated.
    let pairs = pairs.ok_or_else(|| invalid(name, "…", "`NAME=VALUE,NAME=VALUE` is expected"))?;
    Ok(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// `service.name` in `OTEL_RESOURCE_ATTRIBUTES`.
fn service_of(attributes: &str) -> Option<String> {
    let mut pairs = attributes.split(',').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(name, value)| (name.trim() == "service.name").then(|| value.trim().to_owned()))
}

/// The span in `TRACEPARENT` and `TRACESTATE`, in the format of W3C Trace Context.
fn parent(get: &dyn Fn(&str) -> Option<String>) -> Context {
    let carrier = Carrier(["TRACEPARENT", "TRACESTATE"].map(|name| get(name).unwrap_or_default()));
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    if context.has_active_span() { context } else { Context::new() }
}

/// The values of `traceparent` and `tracestate`.
struct Carrier([String; 2]);

impl Extractor for Carrier {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(&self.0[0]),
            "tracestate" => Some(&self.0[1]),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

fn invalid(name: String, value: &str, expected: &'static str) -> TelemetryError {
    TelemetryError::Variable { name, value: value.to_owned(), expected }
}
