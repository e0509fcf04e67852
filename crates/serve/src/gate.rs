//! [`Gate`]: checks every request before it is routed: the host must be a name of this server, the origin must not be
//! another page, the token must be valid, and the content type must be one that foreign pages cannot send without a
//! preflight.
mod names;
mod owners;

use crate::{
    access_log::{AccessLog, Logged},
    audit::{Asked, Audit, named},
    bearer::{given, is_repeated},
    bucket::Bucket,
    connection::Peer,
    error::{Answer, ApiError},
    figures::Figures,
    login, page,
    users::{HIGHLIGHT, SignedIn, Users},
};
use axum::{
    Router,
    body::HttpBody,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version,
        header::{
            CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER,
            TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
        },
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use haft_app::users::Role;
use haft_fleet::{Database, Owner};
pub(crate) use names::Names;
use owners::Owners;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, io, sync::Arc, time::Instant};
use subtle::ConstantTimeEq;

/// Wrong tokens that are answered without delay; the allowance grows by one per second.
const WRONG_TOKENS: f64 = 20.0;
/// Burst of requests with the right token, and how many per second: a client that exceeds it is in an endless loop.
const REQUESTS: f64 = 4_000.0;
const REQUESTS_A_SECOND: f64 = 2_000.0;

/// Decides which requests are allowed.
pub(crate) struct Gate {
    /// SHA-256 of the token: the time of a comparison reveals nothing about the token itself.
    token: [u8; 32],
    names: Names,
    wrong: Mutex<Bucket>,
    requests: Mutex<Bucket>,
    figures: Arc<Figures>,
    /// Owners, who have tokens of their own.
    owners: Option<Owners>,
    /// Users of a server without a fleet, who have tokens of their own.
    users: Option<Arc<Users>>,
    audit: Option<Audit>,
    log: AccessLog,
}

/// The client of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A client with the server's own token, or a user who has logged in to administer a fleet.
    Admin(Option<Owner>),
    /// An owner of jobs.
    Owner {
        owner: Owner,
        /// The role of the login; `None` with the owner's own token.
        role: Option<String>,
        /// Whether the client may answer approvals and questions of jobs.
        may_approve: bool,
    },
}

impl Asker {
    /// Name and role for the audit log; `None` for a client with the server's own token.
    fn named(&self) -> Option<(String, String)> {
        let owner = match self {
            Self::Admin(owner) => owner.as_ref()?,
            Self::Owner { owner, .. } => owner,
        };
        Some((owner.0.clone(), self.role().to_owned()))
    }

    /// The name of the client's role.
    pub(crate) fn role(&self) -> &str {
        match self {
            Self::Admin(_) => fleet_role(true),
            Self::Owner { role: Some(role), .. } => role,
            Self::Owner { role: None, .. } => fleet_role(false),
        }
    }

    /// Fails unless the client administers the fleet.
    pub(crate) fn administers(&self) -> Answer<()> {
        match self {
            Self::Admin(_) => Ok(()),
            Self::Owner { owner: Owner(name), .. } => {
                let message = format!("`{}` may not administer the fleet", name.escape_debug());
                Err(ApiError::forbidden(message).suggest(
                    "`GET /v1/jobs` lists your jobs; ask the administrator of the fleet for more access",
                ))
            }
        }
    }

    /// Fails if the client's role may not answer approvals and questions of jobs.
    pub(crate) fn approves(&self) -> Answer<()> {
        match self {
            Self::Owner { owner: Owner(name), may_approve: false, .. } => {
                let (name, role) = (name.escape_debug(), self.role());
                let message = format!("`{name}` has the role `{role}`, which may not approve");
                Err(ApiError::forbidden(message)
                    .suggest("ask the administrator of the fleet for another role"))
            }
            Self::Admin(_) | Self::Owner { .. } => Ok(()),
        }
    }
}

/// The role name of administrators of a fleet, and of other users.
pub(crate) fn fleet_role(is_admin: bool) -> &'static str {
    if is_admin { "admin" } else { "owner" }
}

/// The client that sent a request.
enum Caller {
    Asker(Asker),
    User(SignedIn),
}

/// Why a request is refused.
enum Refusal {
    /// The request names another host, as after DNS rebinding.
    Host,
    /// The request comes from a page of another origin.
    Page,
    /// The request has no valid token.
    Token {
        /// The command that creates tokens for users.
        adds: Option<&'static str>,
    },
    /// The token belongs to a user with this role, which is not configured.
    Role(String),
    /// The client has tried too many wrong tokens.
    Guessing,
    /// The client sends too many requests.
    Often,
    /// The content type is one that a page of another origin could send without a preflight.
    Content,
    /// The token cannot be looked up; holds the reason.
    Away(String),
}

impl Gate {
    pub(crate) fn new(token: &str, names: Names, figures: Arc<Figures>) -> Self {
        Self {
            token: Sha256::digest(token.as_bytes()).into(),
            names,
            wrong: Mutex::new(Bucket::full(WRONG_TOKENS, 1.0)),
            requests: Mutex::new(Bucket::full(REQUESTS, REQUESTS_A_SECOND)),
            figures,
            owners: None,
            users: None,
            audit: None,
            log: AccessLog::Off,
        }
    }

    /// Admits the owners of jobs as well, and logs all requests that change something.
    /// `has_logins`: whether users log in at this server with one of `roles`.
    pub(crate) fn with_owners(
        self,
        database: Database,
        roles: BTreeMap<String, Role>,
        has_logins: bool,
    ) -> Self {
        let audit = Some(Audit::Fleet(database.clone()));
        Self { owners: Some(Owners::new(database, roles, has_logins)), audit, ..self }
    }

    /// Admits users as well, and logs all requests that change something.
    pub(crate) fn with_users(self, users: Arc<Users>, audit: Audit) -> Self {
        Self { users: Some(users), audit: Some(audit), ..self }
    }

    /// Logs requests.
    pub(crate) fn with_log(self, log: AccessLog) -> Self {
        Self { log, ..self }
    }

    fn refuse(&self, refusal: Refusal) -> Response {
        self.figures.refused(refusal.word());
        refusal.into_response()
    }

    /// Identifies the client by its token.
    async fn caller(&self, uri: &Uri, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let caller = if is_open(uri.path()) { None } else { self.named(headers).await? };
        if caller.is_none() {
            self.check_token(headers)?;
        }
        match take(&self.requests) {
            true => Ok(caller.unwrap_or(Caller::Asker(Asker::Admin(None)))),
            false => Err(Refusal::Often),
        }
    }

    /// Finds the owner or the user with the token of the request.
    async fn named(&self, headers: &HeaderMap) -> Result<Option<Caller>, Refusal> {
        if let Some(asker) = self.of_fleet(headers).await? {
            return Ok(Some(Caller::Asker(asker)));
        }
        let others = given(headers).filter(|given| !self.is_token(given));
        let user = others.and_then(|given| self.users.as_ref()?.find(given));
        Ok(user.map(Caller::User))
    }

    /// Identifies the fleet's owner with this token, if it is not the server's own.
    async fn of_fleet(&self, headers: &HeaderMap) -> Result<Option<Asker>, Refusal> {
        match (&self.owners, given(headers)) {
            (Some(owners), Some(given)) if !self.is_token(given) => owners.find(given).await,
            _ => Ok(None),
        }
    }

    /// Whether the request comes from a program or from the page of this server. Programs send neither header; browsers
    /// send at least one of them with every request that changes something.
    fn is_own_page(&self, headers: &HeaderMap) -> bool {
        let is_own_origin = match headers.get(ORIGIN) {
            None => true,
            Some(origin) => self.names.is_own_origin(origin, headers.get(HOST)),
        };
        let from = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
        is_own_origin && matches!(from, None | Some(b"same-origin" | b"none"))
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = given(headers);
        if given.is_some_and(|given| self.is_token(given)) {
            return Ok(());
        }
        let users = self.users.as_ref().filter(|users| users.are_known());
        if let Some(role) = users.zip(given).and_then(|(users, given)| users.missing_role(given)) {
            return Err(Refusal::Role(role));
        }
        let adds = match &self.owners {
            Some(_) => Some("haft fleet owner NAME"),
            None => users.map(|_| "haft serve add-user NAME"),
        };
        match given.is_none() || take(&self.wrong) {
            true => Err(Refusal::Token { adds }),
            false => Err(Refusal::Guessing),
        }
    }

    /// Compares in constant time: a wrong token with a right beginning takes as long as any other.
    fn is_token(&self, given: &[u8]) -> bool {
        Sha256::digest(given).as_slice().ct_eq(&self.token).into()
    }
}

/// Puts `gate` in front of the routes: a request is routed only if all layers allow it. The layer that is added last
/// runs first.
pub(crate) fn guarded(routes: Router, gate: Gate) -> Router {
    let gate = Arc::new(gate);
    routes
        .layer(from_fn_with_state(gate.clone(), audited))
        .layer(from_fn_with_state(gate.clone(), require_content_type))
        .layer(from_fn_with_state(gate.clone(), require_token))
        .layer(from_fn_with_state(gate.clone(), require_same_site))
        .layer(from_fn_with_state(gate.clone(), require_host))
        .layer(from_fn_with_state(gate, observe))
}

/// Counts and logs requests, and adds the headers that every response has.
async fn observe(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let (begun, method) = (Instant::now(), request.method().clone());
    let logged = Logged::new(gate.log, &request);
    let has_body = request.version() < Version::HTTP_2 && !request.body().is_end_stream();
    let mut response = next.run(request).await;
    let is_refused = response.status().is_client_error() || response.status().is_server_error();
    let headers = response.headers_mut();
    if has_body && is_refused {
        // The body may be unread, which closes the connection: without this header, the client would send its next
        // request on a closed connection.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    gate.figures.answered(&method, response.status().as_u16(), begun.elapsed().as_secs_f64());
    logged.follow(response)
}

/// The request must name this server: after DNS rebinding, a foreign page sends its own name.
async fn require_host(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    // A proxy may have checked one of two headers and passed on both.
    if is_repeated(headers, &HOST) || !gate.names.is_ours(headers.get(HOST), request.uri()) {
        return gate.refuse(Refusal::Host);
    }
    next.run(request).await
}

/// The request must come from a program, from the page of this server, or from a link to that page.
async fn require_same_site(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_repeated = [ORIGIN, SEC_FETCH_SITE, SEC_FETCH_MODE].iter().any(|name| is_repeated(headers, name));
    let is_from_here = gate.is_own_page(headers) || (is_public(&request) && is_followed_link(headers));
    if is_repeated || !is_from_here {
        return gate.refuse(Refusal::Page);
    }
    next.run(request).await
}

/// The request must carry the token of the server, of an owner or of a user, unless it reads what is public.
async fn require_token(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    // Cloned, since a body cannot be shared between threads and the lookup of the token is asynchronous.
    let (uri, headers) = (request.uri().clone(), request.headers().clone());
    let public = is_public(&request).then_some(Caller::Asker(Asker::Admin(None)));
    let caller = match public {
        Some(caller) => Ok(caller),
        None => gate.caller(&uri, &headers).await,
    };
    match caller {
        Ok(Caller::Asker(asker)) => drop(request.extensions_mut().insert(asker)),
        Ok(Caller::User(user)) => drop(request.extensions_mut().insert(user)),
        Err(refusal) => return gate.refuse(refusal),
    }
    if !is_open(request.uri().path())
        && let Some(peer) = request.extensions().get::<Peer>()
    {
        peer.is_known();
    }
    next.run(request).await
}

/// Writes each request that changes something to the audit log before it is executed, and again with its status
/// afterwards.
async fn audited(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    // An upgrade counts as a change: all commands of an attached terminal come over one connection.
    let is_read = is_read(request.method()) || request.uri().path() == HIGHLIGHT;
    let is_read = is_read && !request.headers().contains_key(UPGRADE);
    let Some(audit) = gate.audit.as_ref().filter(|_| !is_read) else {
        return next.run(request).await;
    };
    let user = request.extensions().get::<SignedIn>().map(|signed_in| named(&signed_in.user));
    let by = user.or_else(|| request.extensions().get::<Asker>().and_then(Asker::named));
    // A server without users has a single user; its sessions record what was done.
    if by.is_none() && gate.users.as_ref().is_some_and(|users| !users.are_known()) {
        return next.run(request).await;
    }
    let asked = Asked::new(by, request.method().as_str(), request.uri().path());
    if let Err(error) = audit.write(&asked).await {
        return match error.kind() {
            io::ErrorKind::NotConnected => {
                ApiError::away(error.to_string()).suggest("nothing was done; send the request again")
            }
            _ => ApiError::failed(format!("the audit log cannot be written: {error}"))
                .suggest("nothing was done; `haft serve audit` or `haft fleet audit` says more"),
        }
        .into_response();
    }
    let response = next.run(request).await;
    let answered = asked.ended(response.status().as_u16());
    if let Err(error) = audit.write(&answered).await {
        tracing::error!(%error, "the status of a request is not in the audit log");
    }
    response
}

/// A body must have a content type that foreign pages cannot send without a preflight.
async fn require_content_type(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let (headers, method) = (request.headers(), request.method());
    if !is_read(method) && has_body(headers) && !is_content_of_ours(headers) {
        return gate.refuse(Refusal::Content);
    }
    next.run(request).await
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Whether a route has no private data: the page, which asks for the token itself, logins, and the checks of a load
/// balancer.
fn is_open(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz") || page::is_part(path) || login::is_part(path)
}

/// Whether the request only reads something that needs no token.
fn is_public(request: &Request) -> bool {
    is_read(request.method()) && is_open(request.uri().path())
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Whether the request is a click on a link to the page.
fn is_followed_link(headers: &HeaderMap) -> bool {
    headers.get(ORIGIN).is_none() && headers.get(SEC_FETCH_MODE).is_some_and(|mode| mode == "navigate")
}

fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING)
        || headers.contains_key(CONTENT_TYPE)
        || headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
}

/// Content type of arbitrary content, which is recognized by its bytes.
pub(crate) const BYTES: &str = "application/octet-stream";

/// Whether the content type is allowed. Pages can send three types without a preflight: text, forms, and forms with
/// files.
fn is_content_of_ours(headers: &HeaderMap) -> bool {
    if is_repeated(headers, &CONTENT_TYPE) {
        return false;
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    ["application/json", "application/pdf", BYTES].contains(&kind.as_str()) || kind.starts_with("image/")
}

fn take(bucket: &Mutex<Bucket>) -> bool {
    bucket.lock().take(Instant::now())
}

impl Refusal {
    fn word(&self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Page => "origin",
            Self::Token { .. } => "token",
            Self::Role(_) => "role",
            Self::Guessing => "guessing",
            Self::Often => "rate",
            Self::Content => "content",
            Self::Away(_) => "away",
        }
    }

    fn error(&self) -> ApiError {
        match self {
            Self::Host => ApiError::new(
                StatusCode::MISDIRECTED_REQUEST,
                "wrong_host",
                "the request does not name this server in one header `Host`",
            )
            .suggest("use the address that `haft serve` prints, or start it with `--host NAME`"),
            Self::Page => ApiError::new(
                StatusCode::FORBIDDEN,
                "wrong_origin",
                "the request comes from the page of another server",
            )
            .suggest("only the page of this server may talk to it"),
            Self::Token { adds: None } => ApiError::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "the header `Authorization` does not hold the token of this server",
            )
            .suggest("send `Authorization: Bearer TOKEN` with the token that `haft serve` prints"),
            Self::Token { adds: Some(command) } => ApiError::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "the header `Authorization` holds neither the token of this server nor that of one of its users",
            )
            .suggest(format!("ask the person who runs the server for a new token (`{command}`)")),
            Self::Role(role) => {
                ApiError::forbidden(format!("your role `{}` is not configured", role.escape_debug())).suggest(
                    "ask the person who runs the server for another role (`haft serve add-user NAME --role ROLE`)",
                )
            }
            Self::Guessing => {
                ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit", "there were too many wrong tokens")
                    .suggest("wait a minute; `haft serve --show-token` prints the token")
            }
            Self::Often => ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit", "too many requests")
                .suggest("wait a second; follow `/events` instead of asking again and again"),
            Self::Content => ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "wrong_content_type",
                "Content-Type must be `application/json`",
            )
            .suggest("send `Content-Type: application/json`"),
            Self::Away(why) => ApiError::away(why),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match &self {
            Self::Token { .. } => {
                ([(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))], self.error()).into_response()
            }
            Self::Guessing | Self::Often | Self::Away(_) => {
                ([(RETRY_AFTER, HeaderValue::from_static("1"))], self.error()).into_response()
            }
            Self::Host | Self::Page | Self::Content | Self::Role(_) => self.error().into_response(),
        }
    }
}
