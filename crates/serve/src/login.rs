//! [`Logins`]: lets users log in at an OpenID provider, with the authorization code flow and PKCE. The browser returns
//! with a code, which the provider exchanges for an ID token; the user gets a token of this server, which is kept only
//! in memory. What a login needs when the browser returns is in a cookie of that browser, so that it may return to
//! another server of a fleet, or to one that was restarted meanwhile.
mod accounts;

use crate::{bearer::given, bucket::Bucket, parts::LoginSettings};
pub(crate) use accounts::Accounts;
use accounts::Claimed;
use axum::{
    Json, Router,
    extract::{Query, State},
    http::{
        HeaderMap, StatusCode,
        header::{COOKIE, HOST, LOCATION, SET_COOKIE},
    },
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures::{FutureExt, future::BoxFuture};
use haft_app::{
    config::serve::OidcFile,
    users::{self, Role},
};
use haft_http::Reach;
use openidconnect::{
    AccessTokenHash, AdditionalClaims, AsyncHttpClient, AuthenticationFlow, AuthorizationCode,
    ClaimsVerificationError, Client, ClientId, ClientSecret, CsrfToken, EmptyExtraTokenFields,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IdTokenFields, IssuerUrl,
    Nonce, OAuth2TokenResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    StandardErrorResponse, StandardTokenResponse, TokenResponse as _,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
        CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreResponseType,
        CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
    },
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// The routes: where a login begins, where the browser returns, and whether logins are offered.
const BEGIN: &str = "/login";
const CALLBACK: &str = "/login/callback";
const OFFER: &str = "/login/offer";
const END: &str = "/logout";
/// Holds [`Begun`], which ties a login to the browser in which it began.
const COOKIE_NAME: &str = "haft-login";
/// How long a user may take to log in at the provider.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(600);
/// Burst of logins that begin or end, and how many per second: they may ask the provider, and need no token.
const LOGINS: f64 = 100.0;
const LOGINS_A_SECOND: f64 = 5.0;
/// How long the provider's metadata and keys are cached.
const METADATA_LIFETIME: Duration = Duration::from_secs(600);
/// Minimum time between two requests for the provider's keys, since each login with an unknown key may cause one.
const MIN_METADATA_AGE: Duration = Duration::from_secs(1);
/// How long a provider that cannot be reached is not asked again.
const FAILURE_LIFETIME: Duration = Duration::from_secs(5);
/// Timeout of a request to the provider, and maximum size of its response in bytes.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Hours after which users log in again.
const HOURS: u32 = 12;

/// The provider, and the accounts of the users who log in there.
pub(crate) struct Logins {
    settings: OidcFile,
    secret: Option<ClientSecret>,
    accounts: Accounts,
    roles: BTreeMap<String, Role>,
    http: Http,
    provider: tokio::sync::Mutex<Option<(Instant, Result<CoreProviderMetadata, LoginError>)>>,
    beginnings: Mutex<Bucket>,
    returns: Mutex<Bucket>,
}

/// A login that has begun, as the browser keeps it in a cookie.
struct Begun {
    state: CsrfToken,
    nonce: Nonce,
    verifier: PkceCodeVerifier,
}

impl Begun {
    /// The value of the cookie. Its three parts are base64url, which has no `.`.
    fn cookie(&self) -> String {
        let Self { state, nonce, verifier } = self;
        [state.secret(), nonce.secret(), verifier.secret()].map(String::as_str).join(".")
    }

    /// The login that this browser began, if it returns with `state`.
    fn of(headers: &HeaderMap, state: &str) -> Option<Self> {
        let all = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let value = all
            .flat_map(|cookies| cookies.split(';'))
            .find_map(|cookie| cookie.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))?;
        let mut parts = value.split('.').map(str::to_owned);
        let (known, nonce, verifier) = (parts.next()?, parts.next()?, parts.next()?);
        (known == state).then(|| Self {
            state: CsrfToken::new(known),
            nonce: Nonce::new(nonce),
            verifier: PkceCodeVerifier::new(verifier),
        })
    }
}

/// Claims beyond the standard ones, such as groups.
#[derive(Debug, Deserialize, Serialize)]
struct Claims {
    #[serde(flatten)]
    all: Map<String, Value>,
}

impl AdditionalClaims for Claims {}

type IdFields = IdTokenFields<
    Claims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type Tokens = StandardTokenResponse<IdFields, CoreTokenType>;
type IdClaims = openidconnect::IdTokenClaims<Claims, CoreGenderClaim>;

/// The OpenID client as which this server is registered at the provider.
type OidcClient = Client<
    Claims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Why a login failed: the response that the browser shows.
#[derive(Clone)]
pub(crate) struct LoginError {
    status: StatusCode,
    message: String,
}

impl LoginError {
    fn refused(message: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, message: message.into() }
    }

    fn of_provider(what: &str, error: &dyn std::error::Error) -> Self {
        let mut message = format!("{what}: {error}");
        let mut cause = error.source();
        while let Some(deeper) = cause {
            message += &format!(": {deeper}");
            cause = deeper.source();
        }
        Self { status: StatusCode::BAD_GATEWAY, message }
    }
}

impl IntoResponse for LoginError {
    fn into_response(self) -> Response {
        tracing::warn!(status = self.status.as_u16(), why = self.message, "a login failed");
        (
            self.status,
            format!(
                "You are not logged in: {}.\nGo back to the page of this server to try again.\n",
                self.message
            ),
        )
            .into_response()
    }
}

/// A failed request to the provider.
#[derive(Debug)]
enum ProviderError {
    Http(reqwest::Error),
    TooLong,
}

impl std::fmt::Display for ProviderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(_) => f.write_str("the request failed"),
            Self::TooLong => write!(f, "the answer has more than {MAX_ANSWER_BYTES} bytes"),
        }
    }
}

impl std::error::Error for ProviderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Http(error) => Some(error),
            Self::TooLong => None,
        }
    }
}

/// The HTTP client for requests to the provider.
struct Http(reqwest::Client);

impl Http {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ProviderError> {
        let request = reqwest::Request::try_from(request).map_err(ProviderError::Http)?;
        let mut answer = self.0.execute(request).await.map_err(ProviderError::Http)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut body = Vec::new();
        while let Some(bytes) = answer.chunk().await.map_err(ProviderError::Http)? {
            body.extend_from_slice(&bytes);
            if body.len() > MAX_ANSWER_BYTES {
                return Err(ProviderError::TooLong);
            }
        }
        let mut response = HttpResponse::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = ProviderError;
    type Future = BoxFuture<'c, Result<HttpResponse, ProviderError>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        self.send(request).boxed()
    }
}

impl Logins {
    /// Logins with these settings.
    ///
    /// # Errors
    /// Fails if the system's certificates cannot be read.
    pub(crate) fn new(
        LoginSettings { provider: settings, secret }: LoginSettings,
        roles: BTreeMap<String, Role>,
        accounts: Accounts,
    ) -> reqwest::Result<Self> {
        let http = Reach::of(&settings.issuer).builder().timeout(PROVIDER_TIMEOUT).build().map(Http)?;
        let secret = secret.map(ClientSecret::new);
        let full = || Mutex::new(Bucket::full(LOGINS, LOGINS_A_SECOND));
        let (provider, beginnings, returns) = (Default::default(), full(), full());
        Ok(Self { settings, secret, accounts, roles, http, provider, beginnings, returns })
    }

    /// The provider's metadata, which is refreshed regularly because keys change.
    async fn provider(&self) -> Result<CoreProviderMetadata, LoginError> {
        let mut known = self.provider.lock().await;
        if let Some((at, found)) = known.as_ref()
            && at.elapsed() < if found.is_ok() { METADATA_LIFETIME } else { FAILURE_LIFETIME }
        {
            return found.clone();
        }
        let found = self.discover().await;
        *known = Some((Instant::now(), found.clone()));
        found
    }

    /// Drops the cached metadata: the provider may have changed its keys since.
    async fn forget_keys(&self) {
        self.provider.lock().await.take_if(|(at, _)| at.elapsed() >= MIN_METADATA_AGE);
    }

    async fn discover(&self) -> Result<CoreProviderMetadata, LoginError> {
        let failed = |error: &dyn std::error::Error| {
            LoginError::of_provider("the OpenID provider cannot be asked", error)
        };
        let issuer = IssuerUrl::new(self.settings.issuer.clone()).map_err(|error| failed(&error))?;
        let found = CoreProviderMetadata::discover_async(issuer, &self.http).await;
        found.map_err(|error| failed(&error))
    }

    /// The address to which the provider redirects browsers.
    fn address(&self, headers: &HeaderMap) -> Result<RedirectUrl, LoginError> {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let own = self.settings.url.clone().unwrap_or_else(|| {
            let plain = format!("http://{host}");
            if Reach::of(&plain) == Reach::Loopback { plain } else { format!("https://{host}") }
        });
        RedirectUrl::new(format!("{}{CALLBACK}", own.trim_end_matches('/')))
            .map_err(|error| LoginError::of_provider("the address of this server is invalid", &error))
    }

    async fn client(&self, back: RedirectUrl) -> Result<OidcClient, LoginError> {
        let id = ClientId::new(self.settings.client_id.clone());
        let client = OidcClient::from_provider_metadata(self.provider().await?, id, self.secret.clone());
        Ok(client.set_redirect_uri(back))
    }

    /// The address to which the browser is redirected, and what it keeps until it returns.
    async fn begin(&self, headers: &HeaderMap) -> Result<(String, Begun), LoginError> {
        take(&self.beginnings)?;
        let client = self.client(self.address(headers)?).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let usual = || vec!["email".to_owned(), "profile".to_owned()];
        let scopes = self.settings.scopes.clone().unwrap_or_else(usual);
        let (url, state, nonce) = client
            .authorize_url(
                AuthenticationFlow::<CoreResponseType>::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scopes(scopes.into_iter().map(Scope::new))
            .set_pkce_challenge(challenge)
            .url();
        Ok((url.to_string(), Begun { state, nonce, verifier }))
    }

    /// Exchanges the code for an ID token, and gives the user a token of this server.
    async fn finish(&self, code: String, state: &str, headers: &HeaderMap) -> Result<String, LoginError> {
        let Some(Begun { nonce, verifier, .. }) = Begun::of(headers, state) else {
            return Err(LoginError::refused("the login took too long, or it began in another browser"));
        };
        take(&self.returns)?;
        let back = self.address(headers)?;
        let mut client = self.client(back.clone()).await?;
        let failed = |error: &dyn std::error::Error| {
            LoginError::of_provider("the OpenID provider refused the login", error)
        };
        let asked = client.exchange_code(AuthorizationCode::new(code)).map_err(|error| failed(&error))?;
        let tokens = asked.set_pkce_verifier(verifier).request_async(&self.http).await;
        let tokens = tokens.map_err(|error| failed(&error))?;
        let id = tokens.id_token().ok_or_else(|| LoginError::refused("the provider gave no ID token"))?;
        let checked = id.claims(&client.id_token_verifier(), &nonce);
        if let Err(ClaimsVerificationError::SignatureVerification(_)) = checked {
            self.forget_keys().await;
            client = self.client(back).await?;
        }
        let checker = client.id_token_verifier();
        let distrusted = |error: &dyn std::error::Error| {
            LoginError::of_provider("the provider's ID token is invalid", error)
        };
        let claims = id.claims(&checker, &nonce).map_err(|error| distrusted(&error))?;
        if let Some(expected) = claims.access_token_hash() {
            let (algorithm, key) = (
                id.signing_alg().map_err(|error| failed(&error))?,
                id.signing_key(&checker).map_err(|error| failed(&error))?,
            );
            let found = AccessTokenHash::from_token(tokens.access_token(), algorithm, key);
            if found.map_err(|error| failed(&error))? != *expected {
                return Err(LoginError::refused("the ID token belongs to another access token"));
            }
        }
        self.open(claims).await
    }

    /// Logs in the user of these claims, and returns a token.
    async fn open(&self, claims: &IdClaims) -> Result<String, LoginError> {
        let named = name(self.settings.claim.as_deref().unwrap_or("email"), claims);
        let opened = match &named {
            Ok(name) => self.open_as(claims, name).await,
            Err(error) => Err(error.clone()),
        };
        if opened.as_ref().is_err_and(|error| error.status == StatusCode::FORBIDDEN) {
            let who = named.unwrap_or_else(|_| claims.subject().as_str().to_owned());
            self.accounts.log_refusal(who).await?;
        }
        opened
    }

    async fn open_as(&self, claims: &IdClaims, name: &str) -> Result<String, LoginError> {
        let role = self.role(claims, name)?;
        let is_verified = matches!(self.settings.claim.as_deref(), None | Some("email" | "sub"));
        let hours = self.settings.hours.map_or(HOURS, |hours| hours.get());
        let length = Duration::from_secs(u64::from(hours) * 3_600);
        let claimed = Claimed { name: name.to_owned(), role, is_verified };
        self.accounts.let_in(claimed, &self.roles, length).await
    }

    fn role(&self, claims: &IdClaims, name: &str) -> Result<String, LoginError> {
        let given =
            self.settings.group_claim.as_ref().and_then(|claim| claims.additional_claims().all.get(claim));
        let has = |group: &str| match given {
            Some(Value::String(one)) => one == group,
            Some(Value::Array(all)) => all.iter().any(|one| one == group),
            _ => false,
        };
        let mapped = self.settings.groups.iter().find(|(group, _)| has(group)).map(|(_, role)| role);
        mapped.or(self.settings.role.as_ref()).cloned().ok_or_else(|| {
            LoginError::refused(format!("`{name}` is in no group that has a role on this server"))
        })
    }
}

/// Fails if too many users log in at the moment.
fn take(bucket: &Mutex<Bucket>) -> Result<(), LoginError> {
    match bucket.lock().take(Instant::now()) {
        true => Ok(()),
        false => {
            let message = "too many people log in at the moment; wait a few seconds".to_owned();
            Err(LoginError { status: StatusCode::TOO_MANY_REQUESTS, message })
        }
    }
}

/// The name of the user, taken from this claim.
fn name(claim: &str, claims: &IdClaims) -> Result<String, LoginError> {
    let found = match claim {
        "email" => claims.email().map(|email| email.as_str().to_ascii_lowercase()),
        "sub" => Some(claims.subject().as_str().to_owned()),
        "preferred_username" => claims.preferred_username().map(|name| name.as_str().to_owned()),
        other => claims.additional_claims().all.get(other).and_then(Value::as_str).map(str::to_owned),
    };
    match found {
        None if claim == "email" => Err(LoginError::refused(
            "the ID token of the provider has no claim `email`; the person who runs the server can ask for the scope \
             `email` (`scopes`), or name another claim (`claim`)",
        )),
        Some(_) if claim == "email" && claims.email_verified() != Some(true) => {
            Err(LoginError::refused("the provider has not verified the e-mail address"))
        }
        found => found.filter(|name| users::is_name(name)).ok_or_else(|| {
            LoginError::refused(format!("the claim `{claim}` holds no name that a user can have"))
        }),
    }
}

/// Whether a path is one of these routes, which need no token.
pub(crate) fn is_part(path: &str) -> bool {
    matches!(path, BEGIN | CALLBACK | OFFER)
}

/// The routes for logins. The page learns whether there is a provider.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>(logins: Option<Arc<Logins>>) -> Router<S> {
    let issuer = logins.as_ref().map(|logins| logins.settings.issuer.clone());
    let offer = Router::new().route(OFFER, get(async move || Json(json!({"issuer": issuer}))));
    let Some(logins) = logins else { return offer };
    let own = Router::new()
        .route(BEGIN, get(begin))
        .route(CALLBACK, get(callback))
        .route(END, post(end))
        .with_state(logins);
    offer.merge(own)
}

async fn begin(State(logins): State<Arc<Logins>>, headers: HeaderMap) -> Result<Response, LoginError> {
    let (url, begun) = logins.begin(&headers).await?;
    let secure = if logins.address(&headers)?.starts_with("https:") { "; Secure" } else { "" };
    let seconds = LOGIN_TIMEOUT.as_secs();
    let cookie = begun.cookie();
    let cookie =
        format!("{COOKIE_NAME}={cookie}; Path={BEGIN}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    Ok((StatusCode::SEE_OTHER, [(LOCATION, url), (SET_COOKIE, cookie)]).into_response())
}

/// Forgets the token of this request.
async fn end(State(logins): State<Arc<Logins>>, headers: HeaderMap) -> Result<StatusCode, LoginError> {
    if let Some(token) = given(&headers) {
        logins.accounts.log_out(token).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The query with which the provider redirects a browser.
#[derive(Deserialize)]
struct Came {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

async fn callback(
    State(logins): State<Arc<Logins>>,
    headers: HeaderMap,
    Query(came): Query<Came>,
) -> Result<Response, LoginError> {
    if let Some(error) = came.error {
        let more = came.error_description.map(|more| format!(" ({more})")).unwrap_or_default();
        return Err(LoginError::refused(format!("the OpenID provider says `{error}`{more}")));
    }
    let (Some(code), Some(state)) = (came.code, came.state) else {
        return Err(LoginError::refused("the OpenID provider sent no code"));
    };
    let token = logins.finish(code, &state, &headers).await?;
    // Browsers do not send the fragment after `#`; the page removes it from the address.
    let done = format!("{COOKIE_NAME}=; Path={BEGIN}; Max-Age=0; HttpOnly; SameSite=Lax");
    Ok((StatusCode::SEE_OTHER, [(LOCATION, format!("/#token={token}")), (SET_COOKIE, done)]).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    // H-93
    #[test]
    fn a_name_that_the_provider_does_not_vouch_for_is_refused_with_the_reason() {
        let missing = "the ID token of the provider has no claim `email`; the person who runs the server can ask for \
                       the scope `email` (`scopes`), or name another claim (`claim`)";
        let unverified = "the provider has not verified the e-mail address";
        for (more, expected) in [
            (json!({}), Err(missing)),
            (json!({"email": "Ann@example.org"}), Err(unverified)),
            (json!({"email": "Ann@example.org", "email_verified": false}), Err(unverified)),
            (json!({"email": "Ann@example.org", "email_verified": true}), Ok("ann@example.org")),
            // Some providers send `email_verified` as a string.
            (json!({"email": "Ann@example.org", "email_verified": "true"}), Ok("ann@example.org")),
            (json!({"email": "Ann@example.org", "email_verified": "false"}), Err(unverified)),
        ] {
            let mut claims =
                json!({"iss": "https://id.example", "sub": "1", "aud": ["haft"], "exp": 2, "iat": 1});
            claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let claims: IdClaims = serde_json::from_value(claims).unwrap();
            let found = name("email", &claims).map_err(|error| error.message);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{more}");
        }
    }
}
