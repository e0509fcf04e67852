//! [`DeviceLogin`]: a login that the user completes on another device (RFC 8628).
use super::{
    LoginError, Target,
    discovered::{CLIENT_NAME, Discovered, endpoint, known_client, parameter, save},
    http::OAuthHttp,
    logins::{Logins, SavedLogin, is_bearer},
};
use oauth2::{
    ClientId, ClientSecret, DeviceAuthorizationUrl, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse,
    Scope, StandardDeviceAuthorizationResponse, TokenUrl,
    basic::{BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse},
    http::{Request, header::CONTENT_TYPE},
};
use rmcp::transport::auth::{
    AuthorizationMetadata, ClientRegistrationResponse, OAuthHttpClientError, OAuthTokenResponse,
    StoredCredentials,
};
use serde_json::json;
use std::{sync::Arc, time::SystemTime};

/// The metadata field with the address that gives out codes.
pub(super) const ENDPOINT: &str = "device_authorization_endpoint";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

type Client = oauth2::Client<
    BasicErrorResponse,
    OAuthTokenResponse,
    BasicTokenIntrospectionResponse,
    oauth2::StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointNotSet,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// A login that the user completes on another device.
pub struct DeviceLogin {
    name: String,
    logins: Logins,
    http: Arc<OAuthHttp>,
    client: Client,
    details: StandardDeviceAuthorizationResponse,
    scopes: Vec<String>,
    /// The login without its credentials.
    url: String,
    resource: String,
    metadata: AuthorizationMetadata,
    client_secret: Option<String>,
}

/// Requests a code.
pub(super) async fn begin(target: &Target<'_>, found: Discovered) -> Result<DeviceLogin, LoginError> {
    let Discovered { http, mut manager, metadata } = found;
    let address = endpoint(&metadata, ENDPOINT).ok_or(LoginError::NoDevice)?;
    let wrong = |_| LoginError::Forbidden(format!("`{address}`"));
    let device = DeviceAuthorizationUrl::new(address.to_owned()).map_err(wrong)?;
    let token = TokenUrl::new(metadata.token_endpoint.clone()).map_err(wrong)?;
    let scopes = match target.oauth.scopes.is_empty() {
        true => manager.select_initial_scopes(&[]).await,
        false => target.oauth.scopes.clone(),
    };
    let (id, secret) = client(target, &http, &metadata).await?;
    manager.configure_client_id(&id)?;
    // The SDK provides the resource only in this address.
    let resource = parameter(&manager.get_authorization_url(&[]).await?, "resource");
    let resource = resource.unwrap_or_else(|| target.url.to_string());
    let mut client: Client =
        oauth2::Client::new(ClientId::new(id)).set_device_authorization_url(device).set_token_uri(token);
    if let Some(secret) = &secret {
        client = client.set_client_secret(ClientSecret::new(secret.clone()));
    }
    let request = client.exchange_device_code().add_extra_param("resource", resource.clone());
    let request = request.add_scopes(scopes.iter().cloned().map(Scope::new));
    let details = request.request_async(&sender(&http)).await.map_err(refused)?;
    if !url::Url::parse(details.verification_uri()).is_ok_and(|url| http.allows(&url)) {
        return Err(LoginError::Forbidden(format!("`{}`", details.verification_uri().as_str())));
    }
    Ok(DeviceLogin {
        name: target.name.clone(),
        logins: target.logins.clone(),
        http,
        client,
        details,
        scopes,
        url: target.url.to_string(),
        resource,
        metadata,
        client_secret: secret,
    })
}

impl DeviceLogin {
    /// The address for the user to open.
    #[must_use]
    pub fn address(&self) -> &str {
        self.details.verification_uri().as_str()
    }

    /// The code for the user to enter there.
    #[must_use]
    pub fn code(&self) -> &str {
        self.details.user_code().secret()
    }

    /// Polls until the user has entered the code, with the interval and the timeout of the authorization server, and
    /// stores the login.
    ///
    /// # Errors
    ///
    /// If the user or the authorization server refused, the code has expired, or the login cannot be stored.
    pub async fn finish(&self) -> Result<(), LoginError> {
        let request = self.client.exchange_device_access_token(&self.details);
        let request = request.add_extra_param("resource", self.resource.clone());
        let send = sender(&self.http);
        let token = request.request_async(&send, tokio::time::sleep, None).await.map_err(refused)?;
        is_bearer(&token)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let id = self.client.client_id().to_string();
        let credentials = StoredCredentials::new(id, Some(token), self.scopes.clone(), Some(now.as_secs()));
        let login = SavedLogin {
            url: self.url.clone(),
            resource: self.resource.clone(),
            credentials: credentials.with_issuer(self.metadata.issuer.clone()),
            metadata: self.metadata.clone(),
            client_secret: self.client_secret.clone(),
        };
        save(&self.logins, &self.name, login).await
    }
}

fn refused<E: std::error::Error + 'static>(
    error: oauth2::RequestTokenError<E, impl oauth2::ErrorResponse + 'static>,
) -> LoginError {
    match error {
        oauth2::RequestTokenError::ServerResponse(said) => LoginError::Refused(said.to_string()),
        error => LoginError::Failed(crate::client::words::in_full(&error)),
    }
}

fn sender(
    http: &Arc<OAuthHttp>,
) -> impl Fn(HttpRequest) -> futures::future::BoxFuture<'static, Result<HttpResponse, Unsent>> + use<> {
    let http = http.clone();
    move |request| {
        let http = http.clone();
        Box::pin(async move { http.send(request).await.map_err(Unsent) })
    }
}

/// The library requires a separate error type.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unsent(OAuthHttpClientError);

/// ID and secret of the configured client, or of a client that is registered for this login (RFC 7591).
async fn client(
    target: &Target<'_>,
    http: &OAuthHttp,
    metadata: &AuthorizationMetadata,
) -> Result<(String, Option<String>), LoginError> {
    if let Some(known) = known_client(target.oauth, metadata) {
        return Ok(known);
    }
    let Some(address) = &metadata.registration_endpoint else {
        return Err(LoginError::Unregistered("it registers no clients".into()));
    };
    let client = json!({
        "client_name": CLIENT_NAME, "redirect_uris": [], "grant_types": [GRANT, "refresh_token"],
        "response_types": [], "token_endpoint_auth_method": "none", "application_type": "native",
    });
    let request = Request::post(address).header(CONTENT_TYPE, "application/json");
    let request = request.body(client.to_string().into_bytes());
    let request = request.map_err(|error| LoginError::Unregistered(error.to_string()))?;
    let answer = http.send(request).await.map_err(|error| LoginError::Unregistered(error.to_string()))?;
    if !answer.status().is_success() {
        let said = String::from_utf8_lossy(answer.body());
        return Err(LoginError::Unregistered(format!("HTTP {}: {}", answer.status().as_u16(), said.trim())));
    }
    let known: ClientRegistrationResponse =
        serde_json::from_slice(answer.body()).map_err(|error| LoginError::Unregistered(error.to_string()))?;
    Ok((known.client_id, known.client_secret.filter(|secret| !secret.is_empty())))
}
