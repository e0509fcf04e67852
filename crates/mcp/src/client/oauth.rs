//! [`login`] and [`logout`]: logins of servers behind HTTP, by OAuth 2.1 as MCP describes it (2025-11-25,
//! "Authorization"), over the official SDK: it finds the authorization server, checks issuers and resources, and
//! refreshes tokens. Its requests go through [`http`], which refuses addresses that an authorization server must not
//! have; [`logins`] stores the logins.
mod browser;
mod device;
mod discovered;
mod error;
mod http;
mod login;
mod logins;
mod logout;
mod redirect;

pub use browser::BrowserLogin;
pub use device::DeviceLogin;
pub use error::LoginError;
pub use login::{Login, LoginWay, login};
pub use logout::{LoggedOut, logout};

use super::settings::{McpServer, OAuth, Transport};
use http::OAuthHttp;
use logins::Logins;
use reqwest::Url;
use rmcp::transport::auth::{AuthorizationManager, OAuthClientConfig};
use std::{sync::Arc, time::Duration};

/// Whether a login for `server` is stored. `false` also if the file cannot be read.
#[must_use]
pub fn is_logged_in(server: &McpServer) -> bool {
    let target = Target::of(server).ok();
    target
        .is_some_and(|target| target.logins.get(&target.name, &target.url).is_ok_and(|found| found.is_some()))
}

/// A server that supports logins.
struct Target<'a> {
    name: String,
    url: Url,
    oauth: &'a OAuth,
    logins: Logins,
    /// Timeout of each response.
    limit: Duration,
}

/// Maximum of that timeout, sufficient for any authorization server.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

impl<'a> Target<'a> {
    fn of(server: &'a McpServer) -> Result<Self, LoginError> {
        let (Transport::Url { url, .. }, Some(oauth)) = (&server.transport, &server.oauth) else {
            return Err(LoginError::NoAddress);
        };
        if server.has_token() {
            return Err(LoginError::HasToken);
        }
        let parsed = Url::parse(url).map_err(|_| LoginError::Address(url.clone()))?;
        let logins = Logins::new(&oauth.file);
        let limit = server.start_timeout.min(MAX_TIMEOUT);
        Ok(Self { name: server.name.clone(), url: parsed, oauth, logins, limit })
    }

    fn http(&self) -> Arc<OAuthHttp> {
        Arc::new(OAuthHttp::new(&self.url, self.limit))
    }
}

/// Returns the manager that adds the stored login of `server` to each request, and refreshes it; `None` without a
/// login. Sends no request.
pub(super) async fn manager(server: &McpServer) -> Option<AuthorizationManager> {
    let target = Target::of(server).ok()?;
    let saved = target.logins.get(&target.name, &target.url).ok().flatten()?;
    // The SDK takes the resource for refreshing a token from here; it must be that of the token.
    let mut manager =
        AuthorizationManager::new_with_oauth_http_client(saved.resource.as_str(), target.http())
            .await
            .ok()?;
    manager.set_metadata(saved.metadata);
    let mut client = OAuthClientConfig::new(saved.credentials.client_id, target.url.as_str());
    if let Some(secret) = saved.client_secret {
        client = client.with_client_secret(secret);
    }
    manager.configure_client(client).ok()?;
    manager.set_credential_store(target.logins.of(&target.name, &target.url));
    Some(manager)
}
