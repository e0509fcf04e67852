//! [`SignIn`]: how to sign in to a cloud, as its own tools do: by variables of the environment, files of these tools,
//! the tools themselves, and the servers that give tokens to machines.
//!
//! Which of them applies is a [`Source`], found without a request. A [`Signer`] fetches a [`Credential`] from it, keeps
//! that until shortly before it expires, and makes the headers of each request.
mod aws;
mod azure;
mod command;
mod exchange;
mod google;
mod variables;

pub(crate) use aws::encoded;
pub use variables::Variables;

use crate::Wire;
use exchange::FetchError;
use haft_core::{ProviderError, Secrets, secret};
use serde::Deserialize;
use std::{
    fmt,
    time::{Duration, SystemTime},
};

/// A credential that expires within this time is fetched again, so that no request arrives after its end.
const MARGIN: Duration = Duration::from_secs(60);

/// How to sign in to a cloud without an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignIn {
    /// Keys of AWS: variables, profiles, web identities, and the roles of containers and machines.
    Aws,
    /// Microsoft Entra ID: an application with a secret or a federated token, a managed identity, or the login of `az`.
    Azure,
    /// Application Default Credentials of Google: a file, or the service account of the machine.
    Google,
}

/// Why signing in to a cloud is impossible, found without a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Missing {
    /// What was tried, and what is missing.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Missing {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

impl SignIn {
    /// Variables that hold secrets of a sign-in. They are withheld from commands.
    pub const SECRETS: &[&str] = &[
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AZURE_CLIENT_SECRET",
        "IDENTITY_HEADER",
    ];

    /// The base URL: `given`, or the cloud's own address, completed from `variables`.
    pub(crate) fn address(
        self,
        given: Option<&str>,
        variables: &Variables,
        wire: Wire,
    ) -> Result<String, Missing> {
        match self {
            Self::Aws => aws::address(given, variables),
            Self::Azure => azure::address(given),
            Self::Google => google::address(given, variables, wire),
        }
    }

    /// A name for the identity that signs requests to the cloud.
    pub(crate) fn named(self, variables: &Variables) -> Result<String, Missing> {
        self.source(variables).map(|source| source.to_string())
    }

    fn source(self, variables: &Variables) -> Result<Source, Missing> {
        match self {
            Self::Aws => aws::source(variables).map(Source::Aws),
            Self::Azure => azure::source(variables).map(Source::Azure),
            Self::Google => google::source(variables).map(Source::Google),
        }
    }

    /// The header that carries a key.
    pub(crate) fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Aws => ("authorization", format!("Bearer {key}")),
            Self::Azure => ("api-key", key.to_owned()),
            Self::Google => ("x-goog-api-key", key.to_owned()),
        }
    }
}

/// The source of credentials.
#[derive(Clone)]
enum Source {
    Aws(aws::Source),
    Azure(azure::Source),
    Google(google::Source),
}

impl Source {
    async fn fetch(&self) -> Result<Credential, FetchError> {
        match self {
            Self::Aws(source) => source.fetch().await,
            Self::Azure(source) => source.fetch().await,
            Self::Google(source) => source.fetch().await,
        }
    }

    /// The secrets to hide in output.
    fn secrets(&self) -> Vec<&str> {
        match self {
            Self::Aws(source) => source.secrets(),
            Self::Azure(source) => source.secrets(),
            Self::Google(source) => source.secrets(),
        }
    }

    /// How to renew the sign-in.
    fn renewal(&self) -> String {
        match self {
            Self::Aws(source) => source.renewal(),
            Self::Azure(source) => source.renewal(),
            Self::Google(source) => source.renewal(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aws(source) => source.fmt(f),
            Self::Azure(source) => source.fmt(f),
            Self::Google(source) => source.fmt(f),
        }
    }
}

/// A request that is not sent yet.
pub(crate) struct Outgoing<'a> {
    pub method: &'static str,
    pub url: &'a str,
    pub body: &'a [u8],
}

/// A proof of identity, with its expiry.
#[derive(Clone)]
struct Credential {
    proof: Proof,
    /// `None` if it does not expire.
    ends: Option<SystemTime>,
}

#[derive(Clone)]
enum Proof {
    /// Keys that sign each request separately.
    Keys(aws::Keys),
    Token {
        token: String,
        /// The project that is billed, if it is not that of the address.
        billed_to: Option<String>,
    },
}

impl Credential {
    /// Reads a token of OAuth: `{"access_token", "expires_in"}`, the time in seconds.
    fn of_oauth(answer: &serde_json::Value) -> Option<Self> {
        let token = answer["access_token"].as_str().filter(|token| is_token(token))?;
        let seconds = crate::json::count(&answer["expires_in"]).unwrap_or(0);
        Some(Self::token(token, SystemTime::now().checked_add(Duration::from_secs(seconds))))
    }

    fn token(token: &str, ends: Option<SystemTime>) -> Self {
        Self { proof: Proof::Token { token: token.to_owned(), billed_to: None }, ends }
    }

    fn billed_to(mut self, project: Option<String>) -> Self {
        match &mut self.proof {
            Proof::Token { billed_to, .. } => *billed_to = project,
            Proof::Keys(_) => {}
        }
        self
    }

    fn is_fresh(&self) -> bool {
        self.ends.is_none_or(|ends| SystemTime::now() + MARGIN < ends)
    }

    fn headers(&self, request: &Outgoing<'_>, variables: &Variables) -> Vec<(&'static str, String)> {
        match &self.proof {
            Proof::Keys(keys) => keys.sign(request, variables),
            Proof::Token { token, billed_to } => {
                let project = billed_to.iter().map(|project| ("x-goog-user-project", project.clone()));
                [("authorization", format!("Bearer {token}"))].into_iter().chain(project).collect()
            }
        }
    }

    /// Registers the token, or the keys, as secrets, so that no output shows them.
    fn register(&self) {
        match &self.proof {
            Proof::Keys(keys) => keys.secrets().into_iter().for_each(secret::register),
            Proof::Token { token, .. } => secret::register(token),
        }
    }
}

/// Whether the token can be part of a header.
fn is_token(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Signs requests to one vendor. Concurrent requests share one credential, which is fetched once.
pub(crate) struct Signer {
    sign_in: SignIn,
    variables: Variables,
    kept: tokio::sync::Mutex<Option<Credential>>,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("sign_in", &self.sign_in).finish_non_exhaustive()
    }
}

impl Signer {
    pub(crate) fn new(sign_in: SignIn, variables: Variables) -> Self {
        Self { sign_in, variables, kept: tokio::sync::Mutex::default() }
    }

    /// The headers that prove the identity of a request to `provider`, which is the vendor's name in messages.
    pub(crate) async fn headers(
        &self,
        provider: &str,
        request: &Outgoing<'_>,
    ) -> Result<Vec<(&'static str, String)>, ProviderError> {
        let mut kept = self.kept.lock().await;
        if let Some(credential) = kept.as_ref().filter(|credential| credential.is_fresh()) {
            credential.register();
            return Ok(credential.headers(request, &self.variables));
        }
        let source = self.sign_in.source(&self.variables).map_err(|missing| missing.of(provider))?;
        source.secrets().into_iter().for_each(secret::register);
        let fetched = source.fetch().await.map_err(|why| {
            let (provider, message) = (provider.to_owned(), self.hide_in(format!("{source}: {why}")));
            match why {
                FetchError::Refused(_) => ProviderError::SignIn { provider, message, hint: source.renewal() },
                FetchError::Unreachable(_) => ProviderError::Connection { provider, message, source: None },
            }
        })?;
        fetched.register();
        let headers = fetched.headers(request, &self.variables);
        *kept = Some(fetched);
        Ok(headers)
    }

    /// Drops the credential, which the vendor refused; returns whether another one can be fetched.
    pub(crate) async fn forget(&self) -> bool {
        self.kept.lock().await.take().is_some_and(|credential| credential.ends.is_some())
    }

    /// Removes the registered secrets from `text`.
    pub(crate) fn hide_in(&self, text: String) -> String {
        Secrets::default().hide(&text).into_owned()
    }

    /// What to do if the vendor refuses the credential.
    pub(crate) fn hint(&self) -> String {
        match self.sign_in.source(&self.variables) {
            Ok(source) => format!(
                "Haft used {source}; check that it may use this model, or sign in again: {}",
                source.renewal()
            ),
            Err(missing) => missing.hint,
        }
    }
}

impl Missing {
    fn of(self, provider: &str) -> ProviderError {
        ProviderError::SignIn { provider: provider.to_owned(), message: self.message, hint: self.hint }
    }
}
