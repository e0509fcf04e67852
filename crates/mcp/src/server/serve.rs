//! [`over_stdio`] and [`over_http`]: serve MCP over standard streams, or over HTTP on this machine.
use anyhow::{Context, ensure};
use axum::{
    Router,
    extract::Request,
    http::{
        Method, StatusCode,
        header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use rmcp::{
    ServerHandler, ServiceExt,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService,
            session::{SessionManager, local::LocalSessionManager},
        },
    },
};
use std::{
    future::{Future, IntoFuture},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves over standard input and output until the client disconnects or `stop` completes.
pub async fn over_stdio(
    server: impl ServerHandler,
    stop: impl Future<Output = ()> + Send,
) -> anyhow::Result<()> {
    let ct = CancellationToken::new();
    let serving = async {
        let running = server.serve_with_ct(stdio(), ct.clone()).await.context("the client did not begin")?;
        running.waiting().await.context("the connection broke")?;
        Ok(())
    };
    tokio::select! {
        served = serving => served,
        () = stop => Ok(()),
    }
}

/// Listens on a loopback address: messages are not encrypted, so other machines must not reach it.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    ensure!(address.ip().is_loopback(), "`{address}` can be reached from outside; listen on 127.0.0.1");
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// Serves Streamable HTTP at `/mcp` until `stop` completes, to clients that send `token` as `Authorization: Bearer`;
/// without a token, to every client that can connect. Pages of other hosts in the user's browser are refused by `Host`
/// and `Origin`.
pub async fn over_http(
    server: impl ServerHandler + Clone,
    listener: TcpListener,
    token: Option<String>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let ct = CancellationToken::new();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(["localhost", "127.0.0.1", "::1"])
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
        .with_cancellation_token(ct.clone());
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions.clone(), config);
    let ending = middleware::from_fn(move |request, next| end(sessions.clone(), request, next));
    let router = Router::new().route_service("/mcp", service).layer(ending);
    let router = match token.map(Arc::<str>::from) {
        None => router,
        Some(token) => {
            router.layer(middleware::from_fn(move |request, next| let_in(token.clone(), request, next)))
        }
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(ct.clone().cancelled_owned());
    let stopped = async move {
        stop.await;
        ct.cancel();
        tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    };
    tokio::select! {
        served = serving.into_future() => served.context("cannot serve"),
        () = stopped => Ok(()),
    }
}

/// How long open connections may take to end after the server stops. A client that has sent half a request never ends
/// by itself.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// Corrects the status of `DELETE`: 200 if the session has ended, and 404 if it did not exist. The SDK answers both
/// with 202.
async fn end(sessions: Arc<LocalSessionManager>, request: Request, next: Next) -> Response {
    if request.method() != Method::DELETE {
        return next.run(request).await;
    }
    let named = request.headers().get(SESSION).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let is_known = sessions.has_session(&named.into()).await.unwrap_or_default();
    let mut response = next.run(request).await;
    if response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = if is_known { StatusCode::OK } else { StatusCode::NOT_FOUND };
    }
    response
}

/// The header with the session of a request (MCP 2025-11-25, "Session Management").
const SESSION: &str = "mcp-session-id";

/// The response to a client with no token or a wrong one.
const WHO: &str = "this server wants the header `Authorization: Bearer TOKEN`, with the token that `haft mcp --listen` \
                   prints when it starts\n";

async fn let_in(token: Arc<str>, request: Request, next: Next) -> Response {
    match given(request.headers()).is_some_and(|given| is_same(given, &token)) {
        true => next.run(request).await,
        false => (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], WHO).into_response(),
    }
}

/// The token of a request. RFC 9110, 11.1: the scheme's name is case-insensitive.
fn given(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Compares in constant time: a wrong token with a right beginning takes as long as any other.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |differences, (a, b)| differences | (a ^ b));
    given.len() == token.len() && differences == 0
}
