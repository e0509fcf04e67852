//! [`Tls`]: TLS to PostgreSQL, as for models: `rustls` with `ring`, and the certificate authorities that the system
//! trusts.
use futures::future::BoxFuture;
use rustls::{ClientConfig, pki_types::ServerName};
use rustls_platform_verifier::BuilderVerifierExt;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// Encrypts a connection after the server has proved that its name is that of the host.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl Tls {
    /// Fails if the system's certificate authorities cannot be read.
    pub(crate) fn new() -> Result<Self, String> {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_platform_verifier())
            .map_err(|error| error.to_string())?;
        Ok(Self(TlsConnector::from(Arc::new(config.with_no_client_auth()))))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Private<S>;
    type TlsConnect = ToHost;
    type Error = io::Error;

    // Also called for a Unix socket, which has no name and needs none.
    fn make_tls_connect(&mut self, host: &str) -> io::Result<ToHost> {
        Ok(ToHost { connector: self.0.clone(), name: ServerName::try_from(host.to_owned()).ok() })
    }
}

/// A handshake with one host.
pub(crate) struct ToHost {
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ToHost {
    type Stream = Private<S>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Private<S>>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = self.name.ok_or_else(|| io::Error::other("the host has no name to prove"))?;
            self.connector.connect(name, stream).await.map(Private)
        })
    }
}

/// An encrypted stream.
pub(crate) struct Private<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Private<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Private<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Private<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
