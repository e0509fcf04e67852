//! [`Collector`]: the address to which telemetry is sent, and how.
use crate::error::TelemetryError;
use async_trait::async_trait;
use haft_http::Reach;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use reqwest::Client;
use std::{collections::HashMap, time::Duration};
use tokio::runtime::Handle;

/// The collector for one kind of data.
pub(crate) struct Collector {
    /// Address of requests.
    pub(crate) url: String,
    /// Headers of each request, which may contain a key.
    pub(crate) headers: HashMap<String, String>,
    /// Timeout of a request.
    pub(crate) timeout: Duration,
}

impl Collector {
    pub(crate) fn span_exporter(self) -> Result<SpanExporter, TelemetryError> {
        let builder = SpanExporter::builder().with_http().with_http_client(self.client()?);
        let builder = builder.with_protocol(Protocol::HttpBinary).with_headers(self.headers);
        Ok(builder.with_timeout(self.timeout).with_endpoint(self.url).build()?)
    }

    pub(crate) fn metric_exporter(self) -> Result<MetricExporter, TelemetryError> {
        let builder = MetricExporter::builder().with_http().with_http_client(self.client()?);
        let builder = builder.with_protocol(Protocol::HttpBinary).with_headers(self.headers);
        Ok(builder.with_timeout(self.timeout).with_endpoint(self.url).build()?)
    }

    fn client(&self) -> Result<RuntimeClient, TelemetryError> {
        let client = Reach::of(&self.url).builder().timeout(self.timeout).build()?;
        Ok(RuntimeClient { client, runtime: Handle::current() })
    }
}

/// Sends requests in the program's runtime: the SDK sends from its own threads, where no sockets are served.
#[derive(Debug)]
struct RuntimeClient {
    client: Client,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for RuntimeClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let url = request.uri().to_string();
        let (client, request) = (self.client.clone(), request.try_into()?);
        // Waited for below; its timeout ends it.
        let answered = self.runtime.spawn(async move {
            let response = client.execute(request).await?;
            let (status, body) = (response.status(), response.bytes().await?);
            Ok::<_, reqwest::Error>((status, body))
        });
        let (status, body) = answered.await?.inspect_err(|error| {
            let why = haft_http::io_kind(error).map_or_else(|| error.to_string(), |kind| kind.to_string());
            tracing::warn!("cannot send telemetry to `{url}`: {why}");
        })?;
        if !status.is_success() {
            tracing::warn!("cannot send telemetry to `{url}`: it answers {status}");
        }
        Ok(Response::builder().status(status).body(body)?)
    }
}
