//! A collector of telemetry that keeps what it is sent.
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{KeyValue, any_value::Value},
    metrics::v1::Metric,
    trace::v1::Span,
};
use prost::Message;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// One request: its path, its headers and its body.
type Request = (String, HeaderMap, Bytes);

pub(crate) struct Collector {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    _runtime: tokio::runtime::Runtime,
}

impl Collector {
    /// Answers each request with this status.
    pub(crate) fn answering(status: StatusCode) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let keep = move |State(kept): State<Arc<Mutex<Vec<Request>>>>,
                         uri: Uri,
                         headers: HeaderMap,
                         body: Bytes| async move {
            kept.lock().unwrap().push((uri.path().to_owned(), headers, body));
            status
        };
        let app = Router::new().fallback(keep).with_state(requests.clone());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        runtime.handle().spawn(async move { axum::serve(listener, app).await });
        Self { address, requests, _runtime: runtime }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn bodies(&self, path: &str) -> Vec<Bytes> {
        let requests = self.requests().into_iter();
        requests.filter(|(asked, ..)| asked == path).map(|(.., body)| body).collect()
    }

    /// All spans, the earliest first.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for body in self.bodies("/v1/traces") {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            spans.extend(scopes.flat_map(|scope| scope.spans));
        }
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }

    /// What all spans say of their program.
    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        let body = self.bodies("/v1/traces").remove(0);
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        attributes(&request.resource_spans[0].resource.as_ref().unwrap().attributes)
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for body in self.bodies("/v1/metrics") {
            let request = ExportMetricsServiceRequest::decode(body).unwrap();
            let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
            metrics.extend(scopes.flat_map(|scope| scope.metrics));
        }
        metrics
    }
}

/// Attributes by name, each value as text.
pub(crate) fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let pairs = attributes.iter().map(|pair| {
        let value = match pair.value.as_ref().unwrap().value.as_ref().unwrap() {
            Value::StringValue(text) => text.clone(),
            Value::IntValue(number) => number.to_string(),
            Value::DoubleValue(number) => number.to_string(),
            other => format!("{other:?}"),
        };
        (pair.key.clone(), value)
    });
    pairs.collect()
}
