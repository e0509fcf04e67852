//! [`Discovered`]: the authorization server of an MCP server, as all kinds of logins need it.
use super::{
    LoginError, Target,
    http::OAuthHttp,
    logins::{Logins, SavedLogin},
};
use crate::client::settings::OAuth;
use reqwest::Url;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationMetadata};
use std::sync::Arc;

/// The client name for registrations.
pub(super) const CLIENT_NAME: &str = "Haft";

/// The authorization server of an MCP server.
pub(super) struct Discovered {
    pub(super) http: Arc<OAuthHttp>,
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
}

impl Discovered {
    pub(super) async fn of(target: &Target<'_>) -> Result<Self, LoginError> {
        let http = target.http();
        let mut manager =
            AuthorizationManager::new_with_oauth_http_client(target.url.clone(), http.clone()).await?;
        let challenge = http.challenge(&target.url).await;
        let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref()).await?;
        if !resolved.source.is_discovered() {
            return Err(LoginError::NoOAuth);
        }
        let metadata = resolved.metadata;
        let endpoints = [Some(metadata.authorization_endpoint.as_str()), Some(&metadata.token_endpoint)];
        let more = ["device_authorization_endpoint", "revocation_endpoint"];
        let more = more.map(|name| endpoint(&metadata, name));
        for address in endpoints.into_iter().chain(more).chain([metadata.registration_endpoint.as_deref()]) {
            let Some(address) = address else { continue };
            if !Url::parse(address).is_ok_and(|url| http.allows(&url)) {
                return Err(LoginError::Forbidden(format!("`{address}`")));
            }
        }
        manager.set_metadata(metadata.clone());
        Ok(Self { http, manager, metadata })
    }

    /// An endpoint that the SDK does not name.
    pub(super) fn endpoint(&self, name: &str) -> Option<&str> {
        endpoint(&self.metadata, name)
    }
}

/// ID and secret of a client that need not be registered: a configured one, or the address of a client ID metadata
/// document if the authorization server supports those.
pub(super) fn known_client(
    oauth: &OAuth,
    metadata: &AuthorizationMetadata,
) -> Option<(String, Option<String>)> {
    let takes_documents = metadata.additional_fields.get("client_id_metadata_document_supported");
    let takes_documents = takes_documents.and_then(serde_json::Value::as_bool) == Some(true);
    let id = oauth.client_id.as_ref().filter(|id| takes_documents || !id.starts_with("https://"))?;
    Some((id.clone(), oauth.client_secret.clone()))
}

/// An endpoint that the SDK does not name.
pub(super) fn endpoint<'a>(metadata: &'a AuthorizationMetadata, name: &str) -> Option<&'a str> {
    metadata.additional_fields.get(name).and_then(serde_json::Value::as_str)
}

/// The value of a query parameter of an address.
pub(super) fn parameter(address: &str, name: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Stores a login, and replaces the previous one.
pub(super) async fn save(logins: &Logins, name: &str, login: SavedLogin) -> Result<(), LoginError> {
    let failed = |why| logins.failed(why);
    let lock = logins.lock().await.map_err(failed)?;
    logins.put(name, login, &lock).map_err(failed)
}
