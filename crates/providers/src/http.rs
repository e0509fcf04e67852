//! [`post`] and [`get`]: send one request and read the response. Redirects are not followed, and each read has a limit.
use crate::{answer::Answer, endpoint::Endpoint, fault, reset, sign_in::Outgoing};
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use haft_core::ProviderError;
use haft_http::{Proxy, Reach, io_kind, says};
use reqwest::{Client, RequestBuilder, Response, header::HeaderMap};
use std::{
    io,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};
use tokio::runtime::{self, Handle};

/// Maximum bytes of an error's body that are read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Sends `body` as JSON to `path` and waits for the headers of the response.
pub(crate) async fn post(endpoint: &Endpoint, path: &str, body: Vec<u8>) -> Result<Answer, ProviderError> {
    let url = endpoint.url(path);
    let headers = headers(endpoint, &Outgoing { method: "POST", url: &url, body: &body }).await?;
    let request = client(Reach::of(&endpoint.base_url))?.post(&url);
    send(endpoint, request.header("content-type", "application/json").body(body), headers).await
}

/// Requests `path` and waits for the headers of the response.
pub(crate) async fn get(endpoint: &Endpoint, path: &str) -> Result<Answer, ProviderError> {
    let url = endpoint.url(path);
    let headers = headers(endpoint, &Outgoing { method: "GET", url: &url, body: &[] }).await?;
    send(endpoint, client(Reach::of(&endpoint.base_url))?.get(&url), headers).await
}

/// Returns a successful response; otherwise the error that it reports.
pub(crate) async fn accept(endpoint: &Endpoint, answer: Answer) -> Result<Answer, ProviderError> {
    match answer.status {
        200..=299 => Ok(answer),
        300..=399 => Err(fault::redirected(endpoint, answer.status, answer.location.as_deref())),
        status => {
            let (retry_after, is_final) = (answer.retry_after, answer.is_final);
            let (body, _) = gather(answer.bytes, MAX_ERROR_BODY).await;
            let body = String::from_utf8_lossy(&body);
            let complaint = fault::Complaint::of_body(status, &body, retry_after);
            let error = fault::Complaint { is_final, ..complaint }.sort(endpoint);
            Err(fault::with_clock(error, endpoint, answer.date))
        }
    }
}

/// Reads the first `limit` bytes. Also returns the error that cut them off, if there was one.
pub(crate) async fn gather(
    mut bytes: BoxStream<'static, Result<Bytes, ProviderError>>,
    limit: usize,
) -> (Vec<u8>, Option<ProviderError>) {
    let mut gathered = Vec::new();
    while let Some(chunk) = bytes.next().await {
        match chunk {
            Ok(chunk) => gathered.extend_from_slice(&chunk[..chunk.len().min(limit - gathered.len())]),
            Err(error) => return (gathered, Some(error)),
        }
        if gathered.len() == limit {
            break;
        }
    }
    (gathered, None)
}

type Headers = Vec<(&'static str, String)>;

async fn send(
    endpoint: &Endpoint,
    request: RequestBuilder,
    headers: Headers,
) -> Result<Answer, ProviderError> {
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let response = request.send().await.map_err(|error| failed(endpoint, error))?;
    Ok(answer(endpoint.clone(), response))
}

/// The headers that authorize `request`, and the other headers of the wire.
async fn headers(endpoint: &Endpoint, request: &Outgoing<'_>) -> Result<Headers, ProviderError> {
    let key = endpoint.key.as_ref().map(|key| key.expose()).filter(|key| !key.is_empty());
    if key.is_some_and(|key| key.bytes().any(|byte| !byte.is_ascii_graphic())) {
        return Err(unusable_key(endpoint));
    }
    let besides = || endpoint.wire.headers(None);
    Ok(match (key, &endpoint.signer, endpoint.sign_in) {
        (None, Some(signer), _) => [signer.headers(&endpoint.title, request).await?, besides()].concat(),
        (Some(key), _, Some(cloud)) => [vec![cloud.key_header(key)], besides()].concat(),
        _ => endpoint.wire.headers(key),
    })
}

fn unusable_key(endpoint: &Endpoint) -> ProviderError {
    let variable = endpoint.key_variable.unwrap_or("the key");
    ProviderError::Auth {
        provider: endpoint.title.clone(),
        message: "the key contains whitespace or unexpected characters".into(),
        hint: Some(format!("check the value of {variable}")),
    }
}

fn answer(endpoint: Endpoint, response: Response) -> Answer {
    let header = |name: &str| text(response.headers(), name);
    let media_type = header("content-type").unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_lowercase();
    let (milliseconds, seconds) = (header("retry-after-ms"), header("retry-after"));
    let now = SystemTime::now();
    let retry_after = fault::retry_after(milliseconds.as_deref(), seconds.as_deref(), now)
        .or_else(|| reset::in_headers(header, now));
    Answer {
        status: response.status().as_u16(),
        media_type,
        retry_after,
        is_final: header("x-should-retry").as_deref() == Some("false"),
        location: header("location"),
        date: header("date").and_then(|date| httpdate::parse_http_date(&date).ok()),
        bytes: response
            .bytes_stream()
            .map(move |chunk| chunk.map_err(|error| failed(&endpoint, error)))
            .boxed(),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

fn failed(endpoint: &Endpoint, error: reqwest::Error) -> ProviderError {
    // Our message names the address; the error's own may contain a query.
    let error = error.without_url();
    let is_refused = io_kind(&error) == Some(io::ErrorKind::ConnectionRefused);
    if is_refused && matches!(Reach::of(&endpoint.base_url), Reach::Loopback) {
        return endpoint.not_running();
    }
    if says(&error, "certificate") {
        return endpoint.untrusted();
    }
    let what = match io_kind(&error) {
        Some(io::ErrorKind::ConnectionRefused) => "nothing listens there",
        Some(io::ErrorKind::TimedOut) => "no answer in time",
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            "the server closed the connection"
        }
        Some(io::ErrorKind::UnexpectedEof) => "the response was cut off",
        _ if error.is_timeout() => "no connection within 10 s",
        _ if says(&error, "dns error") => "unknown host name",
        _ if error.is_connect() => "no connection",
        // The message of hyper.
        _ if says(&error, "end of file before message length") => "the response was cut off",
        _ if error.is_decode() => "the response cannot be decompressed",
        _ => "the response was cut off",
    };
    match Proxy::of_process(&endpoint.base_url).filter(|_| error.is_connect()) {
        Some(proxy) => endpoint.broken_by(&format!("no way through the proxy `{proxy}`: {what}"), error),
        None => endpoint.broken_by(what, error),
    }
}

/// Maximum number of kept clients: most programs need one or two, and programs with many runtimes at the same time
/// build them again.
const MAX_CLIENTS: usize = 32;

/// Clients by runtime, least recently used first.
static CLIENTS: Mutex<Vec<(Option<runtime::Id>, Reach, Client)>> = Mutex::new(Vec::new());

/// Returns the client of this runtime for such addresses. It is built at first use and shared, so that its connections
/// are reused. Other runtimes do not share it, since a connection only works while the runtime that opened it runs. A
/// later runtime with the same ID as an ended one is harmless: closed connections are not used again.
pub(crate) fn client(reach: Reach) -> Result<Client, ProviderError> {
    let runtime = Handle::try_current().ok().map(|handle| handle.id());
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let place = clients.iter().position(|(of, reaches, _)| (*of, *reaches) == (runtime, reach));
    let client = match place.map(|place| clients.remove(place)) {
        Some((_, _, client)) => client,
        None => reach.builder().build().map_err(|error| ProviderError::Rejected {
            provider: "this machine".into(),
            message: format!("cannot set up connections: {error}"),
            hint: None,
        })?,
    };
    let excess = (clients.len() + 1).saturating_sub(MAX_CLIENTS);
    clients.drain(..excess);
    clients.push((runtime, reach, client.clone()));
    Ok(client)
}
