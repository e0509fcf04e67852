//! [`BrowserLogin`]: a login that the user completes in a browser.
use super::{
    LoginError, Target,
    discovered::{CLIENT_NAME, Discovered, known_client, parameter, save},
    logins::{Logins, SavedLogin, is_bearer},
    redirect::Callback,
};
use reqwest::Url;
use rmcp::transport::auth::{
    AuthorizationMetadata, AuthorizationRequest, AuthorizationSession, CredentialStore,
    InMemoryCredentialStore,
};

/// A login that the user completes in a browser.
pub struct BrowserLogin {
    name: String,
    url: Url,
    logins: Logins,
    client_secret: Option<String>,
    metadata: AuthorizationMetadata,
    session: AuthorizationSession,
    tokens: InMemoryCredentialStore,
    callback: Option<Callback>,
    state: String,
    redirect: String,
}

impl BrowserLogin {
    pub(super) async fn begin(target: &Target<'_>, found: Discovered) -> Result<Self, LoginError> {
        let oauth = target.oauth;
        let port = oauth.callback_port.unwrap_or_default();
        let callback = Callback::listen(port).await.map_err(|why| LoginError::Port { port, why })?;
        let redirect = callback.address();
        let Discovered { mut manager, metadata, .. } = found;
        let scopes = match oauth.scopes.is_empty() {
            true => manager.select_initial_scopes(&[]).await,
            false => oauth.scopes.clone(),
        };
        let (id, client_secret) = match known_client(oauth, &metadata) {
            Some(known) => known,
            None => {
                let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
                let client = manager.register_client(CLIENT_NAME, &redirect, &scopes).await?;
                (client.client_id, client.client_secret)
            }
        };
        let mut request =
            AuthorizationRequest::new(redirect.clone()).with_scopes(scopes).with_preregistered_client(id);
        if let Some(secret) = &client_secret {
            request = request.with_client_secret(secret);
        }
        let tokens = InMemoryCredentialStore::new();
        manager.set_credential_store(tokens.clone());
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)?;
        let state = parameter(session.get_authorization_url(), "state").unwrap_or_default();
        Ok(Self {
            name: target.name.clone(),
            url: target.url.clone(),
            logins: target.logins.clone(),
            client_secret,
            metadata,
            session,
            tokens,
            callback: Some(callback),
            state,
            redirect,
        })
    }

    /// The address for the user to open.
    #[must_use]
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// The prefix of the address to which the browser is redirected.
    #[must_use]
    pub fn redirect(&self) -> &str {
        &self.redirect
    }

    /// Waits until the browser is redirected, and returns its address. A second call never returns.
    ///
    /// # Errors
    ///
    /// If the port cannot be listened on anymore.
    pub async fn redirected(&mut self) -> Result<String, LoginError> {
        match self.callback.take() {
            Some(callback) => {
                let port = callback.port;
                callback.redirected(&self.state).await.map_err(|why| LoginError::Port { port, why })
            }
            None => std::future::pending().await,
        }
    }

    /// Takes the address to which the browser was redirected, exchanges its code for tokens, and stores them.
    ///
    /// # Errors
    ///
    /// If the address does not belong to this login, the user or the authorization server refused, or the login cannot
    /// be stored.
    pub async fn finish(&self, redirected: &str) -> Result<(), LoginError> {
        if !redirected.starts_with(&self.redirect) {
            return Err(LoginError::Foreign("it begins with another one than the browser is sent to"));
        }
        if parameter(redirected, "state").as_ref() != Some(&self.state) {
            return Err(LoginError::Foreign("its `state` is another one"));
        }
        if let Some(error) = parameter(redirected, "error") {
            let why = parameter(redirected, "error_description").map(|why| format!(": {why}"));
            return Err(LoginError::Refused(format!("{error}{}", why.unwrap_or_default())));
        }
        is_bearer(&self.session.handle_callback_url(redirected).await?)?;
        let Some(credentials) = self.tokens.load().await? else { return Err(LoginError::NoOAuth) };
        let login = SavedLogin {
            url: self.url.to_string(),
            resource: parameter(self.address(), "resource").unwrap_or_else(|| self.url.to_string()),
            metadata: self.metadata.clone(),
            client_secret: self.client_secret.clone(),
            credentials,
        };
        save(&self.logins, &self.name, login).await
    }
}
