//! [`OAuthHttp`]: sends the requests of a login, and refuses addresses that an authorization server must not have.
use crate::client::calls::introduction;
use haft_core::{address::is_loopback, public_address::is_public};
use haft_http::Reach;
use oauth2::{HttpRequest, HttpResponse, http};
use reqwest::{
    Client, StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE},
};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::json;
use std::{net::IpAddr, sync::OnceLock, time::Duration};

/// Maximum bytes of a response: metadata and tokens are far smaller.
const MAX_BYTES: usize = 1 << 20;

/// The HTTP client for the logins of one server. It follows no redirects, since requests contain codes and tokens.
pub(super) struct OAuthHttp {
    /// Whether the MCP server is on this machine.
    is_loopback: bool,
    /// Whether the MCP server's host is a private address.
    is_private: bool,
    /// Created at first use, since reading the machine's root certificates takes a while.
    secure: OnceLock<Client>,
    /// Timeout of each response.
    limit: Duration,
}

/// Why nothing was sent, or no response arrived.
#[derive(Debug, thiserror::Error)]
enum Unsent {
    #[error("`{0}` is not encrypted, or private")]
    Forbidden(String),
    #[error("an answer has more than {} KB", MAX_BYTES >> 10)]
    TooLong,
}

impl OAuthHttp {
    /// A client for the MCP server at `server`.
    pub(super) fn new(server: &Url, limit: Duration) -> Self {
        let is_loopback = server.host_str().is_some_and(is_loopback);
        let is_private = is_loopback || is_private(server);
        Self { is_loopback, is_private, secure: OnceLock::new(), limit }
    }

    /// Whether a login may use this address: it is encrypted and public, or in a network that the MCP server is in,
    /// too.
    pub(super) fn allows(&self, url: &Url) -> bool {
        let is_here = url.host_str().is_some_and(is_loopback);
        match url.scheme() {
            "https" if is_here => self.is_loopback,
            "https" => self.is_private || !is_private(url),
            "http" => is_here && self.is_loopback,
            _ => false,
        }
    }

    /// The challenge with which the server at `url` refuses a handshake without a login; `None` if it does not refuse
    /// it, or cannot be reached. Many servers name their metadata and scopes only there.
    pub(super) async fn challenge(&self, url: &Url) -> Option<String> {
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": introduction()});
        let client = self.client(Reach::of(url.as_str())).ok().filter(|_| self.allows(url))?;
        let request = client.post(url.clone()).json(&greeting);
        let request = request.header(ACCEPT, "application/json, text/event-stream");
        let answer = tokio::time::timeout(self.limit, request.send()).await.ok()?.ok()?;
        let challenges = answer.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenges: Vec<&str> = challenges.filter_map(|challenge| challenge.to_str().ok()).collect();
        let names = |challenge: &&&str| challenge.contains("resource_metadata");
        let challenge = challenges.iter().find(names).or(challenges.first());
        challenge
            .filter(|_| answer.status() == StatusCode::UNAUTHORIZED)
            .map(|challenge| (*challenge).to_owned())
    }

    /// Sends a form by POST.
    pub(super) async fn post(
        &self,
        url: &str,
        form: &[(&str, &str)],
    ) -> Result<HttpResponse, OAuthHttpClientError> {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = http::Request::post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(body.into_bytes())?).await
    }

    /// Sends `request` and reads the whole response.
    pub(super) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, OAuthHttpClientError> {
        let request = reqwest::Request::try_from(request)?;
        if !self.allows(request.url()) {
            return Err(Box::new(Unsent::Forbidden(request.url().origin().ascii_serialization())));
        }
        let client = self.client(Reach::of(request.url().as_str()))?;
        let answer = async {
            let mut response = client.execute(request).await?;
            let mut built = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                built = built.header(name, value);
            }
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await? {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_BYTES {
                    return Err(Box::new(Unsent::TooLong).into());
                }
            }
            Ok(built.body(body)?)
        };
        let late = |_| format!("no answer within {} seconds", self.limit.as_secs());
        tokio::time::timeout(self.limit, answer).await.map_err(late)?
    }

    fn client(&self, reach: Reach) -> reqwest::Result<Client> {
        match self.secure.get().filter(|_| reach == Reach::Secure) {
            Some(client) => Ok(client.clone()),
            None => {
                let client = reach.builder().build()?;
                if reach == Reach::Secure {
                    let _another_was_first = self.secure.set(client.clone());
                }
                Ok(client)
            }
        }
    }
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request.request))
    }
}

/// Whether the host is a private IP address.
fn is_private(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().is_ok_and(|address| !is_public(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authorization_server_is_encrypted_and_no_further_inside_than_the_server() {
        let table = [
            ("https://mcp.example.com/mcp", "https://auth.example.com/token", true),
            ("https://mcp.example.com/mcp", "http://auth.example.com/token", false),
            ("https://mcp.example.com/mcp", "http://127.0.0.1:1/token", false),
            ("https://mcp.example.com/mcp", "https://localhost/token", false),
            ("https://mcp.example.com/mcp", "https://169.254.169.254/token", false),
            ("https://mcp.example.com/mcp", "https://[fd00::1]/token", false),
            ("https://mcp.example.com/mcp", "file:///etc/passwd", false),
            ("https://10.0.0.1/mcp", "https://10.0.0.2/token", true),
            ("https://10.0.0.1/mcp", "https://127.0.0.1/token", false),
            ("http://127.0.0.1:1/mcp", "http://localhost:2/token", true),
            ("http://127.0.0.1:1/mcp", "http://10.0.0.2/token", false),
            ("http://127.0.0.1:1/mcp", "https://auth.example.com/token", true),
        ];
        for (server, url, expected) in table {
            let http = OAuthHttp::new(&Url::parse(server).unwrap(), Duration::from_secs(1));
            assert_eq!(http.allows(&Url::parse(url).unwrap()), expected, "{server} {url}");
        }
    }
}
