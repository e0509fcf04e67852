//! The ways to reach an MCP server: standard streams, or HTTP on this machine.
use anyhow::{Context, ensure};
use rmcp::{
    ServerHandler, ServiceExt,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use std::{future::Future, net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Talks over standard input and output until the client leaves or `stop` is ready.
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

/// A socket of this machine. Others must not reach it: nobody is asked who they are.
pub async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    ensure!(address.ip().is_loopback(), "`{address}` can be reached from outside; listen on 127.0.0.1");
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

/// Serves Streamable HTTP at `/mcp` until `stop` is ready. Pages of other hosts in a person's browser are refused by
/// `Host` and `Origin`.
pub async fn over_http(
    server: impl ServerHandler + Clone,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let ct = CancellationToken::new();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(["localhost", "127.0.0.1", "::1"])
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
        .with_cancellation_token(ct.clone());
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let router = axum::Router::new().route_service("/mcp", service);
    let stopped = async move {
        stop.await;
        ct.cancel();
    };
    axum::serve(listener, router).with_graceful_shutdown(stopped).await.context("cannot serve")
}
