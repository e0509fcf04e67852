//! [`AuthorizationServer`]: an MCP server and its authorization server in one, which misbehave on request.
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

/// What it does that it should not, or can do that others cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trick {
    None,
    /// Its metadata carry the name of another issuer.
    WrongIssuer,
    /// The browser comes back with the name of another issuer.
    WrongIssuerInRedirect,
    /// It describes another resource.
    OtherResource,
    /// It names an authorization server that is not encrypted.
    PlainServer,
    /// Its tokens are given where nothing is encrypted.
    PlainTokens,
    /// It sends discovery to another host.
    DiscoveryElsewhere,
    /// It sends the code to another host.
    TokensElsewhere,
    /// Its tokens are of another type.
    MacTokens,
    /// The person says no.
    Denied,
    /// It knows no PKCE with S256.
    NoPkce,
    /// It has no metadata.
    NoOAuth,
    /// It names its metadata and scopes only where it refuses a greeting, and keeps them in a place of its own.
    InChallenge,
    /// It never answers a question for metadata.
    Slow,
    /// It takes no refresh token.
    NoRefresh,
    /// It registers no clients; the client `known` with the secret `s3cret` was registered before.
    NoRegistration,
    /// It takes addresses of documents for IDs of clients.
    Documents,
    /// It logs in other devices.
    Devices,
}

/// Runs until it is dropped.
pub(super) struct AuthorizationServer {
    /// Without a path.
    pub(super) address: String,
    state: Arc<Served>,
    _runtime: tokio::runtime::Runtime,
}

struct Served {
    trick: Trick,
    address: String,
    /// Method, path with query, body, and the header `Authorization`, one per request.
    heard: Mutex<Vec<String>>,
}

impl AuthorizationServer {
    pub(super) fn start(trick: Trick) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Served { trick, address: address.clone(), heard: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(state.clone());
        runtime.handle().spawn(async move { axum::serve(listener, router).await });
        Self { address, state, _runtime: runtime }
    }

    pub(super) fn heard(&self) -> Vec<String> {
        self.state.heard.lock().unwrap().clone()
    }
}

async fn answer(
    State(served): State<Arc<Served>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = String::from_utf8_lossy(&body).into_owned();
    let token = headers.get(header::AUTHORIZATION).map_or("", |token| token.to_str().unwrap());
    served.heard.lock().unwrap().push(format!("{method} {uri} {body} {token}"));
    match uri.path() {
        "/mcp" if served.trick == Trick::InChallenge && method == Method::GET => {
            StatusCode::METHOD_NOT_ALLOWED.into_response()
        }
        "/mcp" => mcp(&served, token, &body),
        "/own/metadata" => served.resource(),
        "/.well-known/oauth-protected-resource/mcp" if served.trick == Trick::InChallenge => {
            StatusCode::NOT_FOUND.into_response()
        }
        "/.well-known/oauth-protected-resource/mcp" if served.trick == Trick::Slow => {
            std::future::pending().await
        }
        "/.well-known/oauth-protected-resource/mcp" if served.trick != Trick::NoOAuth => served.resource(),
        "/.well-known/oauth-authorization-server" if served.trick != Trick::NoOAuth => served.metadata(),
        "/register" => registered(&body),
        "/authorize" => served.authorize(&uri),
        "/token" => served.token(&body),
        "/device" => json_of(&json!({
            "device_code": "device-code", "user_code": "WDJB-MJHT", "expires_in": 60, "interval": 0,
            "verification_uri": format!("{}/enter", served.address),
        })),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A server that has one tool, which says with which token it was called.
fn mcp(served: &Served, token: &str, body: &str) -> Response {
    if token != "Bearer secret-token" {
        let (path, scope) = match served.trick {
            Trick::InChallenge => ("own/metadata", ", scope=\"notes more\""),
            _ => (".well-known/oauth-protected-resource/mcp", ""),
        };
        let challenge = format!("Bearer resource_metadata=\"{}/{path}\"{scope}", served.address);
        return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response();
    }
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}),
        Some("tools/call") => json!({"content": [{"type": "text", "text": format!("pong to {token}")}]}),
        Some(_) if !message["id"].is_null() => {
            let error = json!({"code": -32601, "message": "there is no such method"});
            return json_of(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    json_of(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

impl Served {
    fn resource(&self) -> Response {
        let address = &self.address;
        let server = if self.trick == Trick::PlainServer { "http://auth.example.com" } else { address };
        let resource = match self.trick {
            Trick::OtherResource => "https://other.example.com/mcp".to_owned(),
            Trick::DiscoveryElsewhere => {
                return (StatusCode::FOUND, [(header::LOCATION, "http://localhost:9/metadata")])
                    .into_response();
            }
            _ => format!("{address}/mcp"),
        };
        json_of(
            &json!({"resource": resource, "authorization_servers": [server], "scopes_supported": ["notes"]}),
        )
    }

    fn metadata(&self) -> Response {
        let (trick, address) = (self.trick, &self.address);
        let issuer = if trick == Trick::WrongIssuer { "https://evil.example.com" } else { address };
        let plain = trick == Trick::PlainTokens;
        let token = if plain { "http://auth.example.com/token".into() } else { format!("{address}/token") };
        let mut metadata = json!({
            "issuer": issuer, "authorization_endpoint": format!("{address}/authorize"), "token_endpoint": token,
            "registration_endpoint": format!("{address}/register"), "response_types_supported": ["code"],
            "code_challenge_methods_supported": [if trick == Trick::NoPkce { "plain" } else { "S256" }],
            "authorization_response_iss_parameter_supported": true,
            "client_id_metadata_document_supported": trick == Trick::Documents,
        });
        if [Trick::NoRegistration, Trick::Documents].contains(&trick) {
            metadata.as_object_mut().unwrap().remove("registration_endpoint");
        }
        if trick == Trick::Devices {
            metadata["device_authorization_endpoint"] = json!(format!("{address}/device"));
        }
        json_of(&metadata)
    }

    /// The person says yes at once.
    fn authorize(&self, uri: &Uri) -> Response {
        let asked = fields(uri.query().unwrap_or_default());
        let issuer = match self.trick {
            Trick::WrongIssuerInRedirect => "https%3A%2F%2Fevil.example.com".to_owned(),
            _ => self.address.replace(':', "%3A").replace('/', "%2F"),
        };
        let said = match self.trick {
            Trick::Denied => "error=access_denied&error_description=not%20today",
            _ => "code=the-code",
        };
        let location = format!("{}?{said}&state={}&iss={issuer}", asked["redirect_uri"], asked["state"]);
        (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
    }

    fn token(&self, body: &str) -> Response {
        let asked = fields(body);
        if self.trick == Trick::TokensElsewhere {
            let elsewhere = self.address.replace("127.0.0.1", "localhost") + "/stolen";
            return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, elsewhere)]).into_response();
        }
        let kind = if self.trick == Trick::MacTokens { "mac" } else { "Bearer" };
        let is_wrong = match asked["grant_type"].as_str() {
            "refresh_token" => self.trick == Trick::NoRefresh,
            "authorization_code" => asked["code"] != "the-code" || asked["code_verifier"].is_empty(),
            _ => asked["device_code"] != "device-code",
        };
        let tries =
            self.heard.lock().unwrap().iter().filter(|heard| heard.starts_with("POST /token")).count();
        if is_wrong || asked["resource"] != format!("{}/mcp", self.address) {
            let error = json!({"error": "invalid_grant"}).to_string();
            return (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], error)
                .into_response();
        }
        if self.trick == Trick::Devices && tries < 2 {
            let error = json!({"error": "authorization_pending"}).to_string();
            return (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], error)
                .into_response();
        }
        // One that has to be refreshed at once.
        let seconds = if self.trick == Trick::NoRefresh { 1 } else { 3600 };
        json_of(&json!({
            "access_token": "secret-token", "token_type": kind, "expires_in": seconds, "refresh_token": "secret-refresh",
        }))
    }
}

fn registered(body: &str) -> Response {
    let mut client: Value = serde_json::from_str(body).unwrap();
    client["client_id"] = json!("registered");
    json_of(&client)
}

/// The fields of a form or a query.
fn fields(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn json_of(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
