//! [`probe`]: queries the properties of a server and what it offers.
use super::{
    link::{Link, LinkError},
    server::{self, Server},
    settings::McpServer,
    words,
};
use rmcp::service::ServiceError;
use std::{path::PathBuf, sync::Arc};
use tokio::time::timeout;

/// A server's own description. Names are the server's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The name of the program, if known.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// The revision of MCP that both ends use, such as `2025-11-25`.
    pub protocol: String,
    /// Names of its tools, including those that may not be called.
    pub tools: Vec<String>,
    /// Names of its prompts.
    pub prompts: Vec<String>,
    /// URIs of its resources, and URI templates.
    pub resources: Vec<String>,
    /// Which of `tools`, `prompts` and `resources` the server has but failed to list, and why.
    pub failures: Vec<(&'static str, String)>,
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The server does not start, or cannot be reached.
    #[error("it cannot be started: {0}")]
    Start(String),
    /// The server requires a login or a token.
    #[error("it wants to know who asks (401): {0}")]
    Login(
        /// What the user can do.
        String,
    ),
}

/// Starts `server` in `workspace` with `environment`, queries everything that it offers, and ends it.
///
/// # Errors
///
/// See [`ProbeError`]; each list has the timeout `start_timeout` of the server.
pub async fn probe(
    server: McpServer,
    workspace: PathBuf,
    environment: Arc<[(String, String)]>,
) -> Result<Probe, ProbeError> {
    let server = Server::new(server, workspace, environment, Arc::new(|_| {}));
    let link = server.link().await.map_err(|error| match error {
        LinkError::Login(advice) => ProbeError::Login(advice),
        error => ProbeError::Start(error.to_string()),
    })?;
    let Some(info) = link.service.peer().peer_info() else { return Ok(Probe::default()) };
    let (own, has) = (info.server_info.as_ref(), &info.capabilities);
    let limit = server.settings.start_timeout;
    let mut found = Probe {
        name: own.map(|own| own.name.clone()).unwrap_or_default(),
        version: own.map(|own| own.version.clone()).unwrap_or_default(),
        protocol: info.protocol_version.to_string(),
        ..Probe::default()
    };
    let mut failures = Vec::new();
    let mut told = |what, listed: Result<Result<Vec<String>, ServiceError>, _>| {
        let why = match listed {
            Ok(Ok(names)) => return names,
            Ok(Err(error)) => words::of_request(&error) + &link.last_words(),
            Err(_) => format!("no answer within {} seconds", limit.as_secs()),
        };
        failures.push((what, why));
        Vec::new()
    };
    if has.tools.is_some() {
        found.tools = told("tools", timeout(limit, tools(&link)).await);
    }
    if has.prompts.is_some() {
        found.prompts = told("prompts", timeout(limit, prompts(&link)).await);
    }
    if has.resources.is_some() {
        found.resources = told("resources", timeout(limit, resources(&link)).await);
    }
    Ok(Probe { failures, ..found })
}

async fn tools(link: &Link) -> Result<Vec<String>, ServiceError> {
    Ok(server::tools(link).await?.into_iter().map(|tool| tool.name.to_string()).collect())
}

async fn prompts(link: &Link) -> Result<Vec<String>, ServiceError> {
    Ok(server::prompts(link).await?.into_iter().map(|prompt| prompt.name).collect())
}

/// The URIs and the templates. Templates exist since MCP 2025-03-26, and some servers with resources do not support the
/// request.
async fn resources(link: &Link) -> Result<Vec<String>, ServiceError> {
    let listed = server::resources(link).await?.into_iter().map(|resource| resource.uri);
    let templates = server::resource_templates(link).await.unwrap_or_default();
    Ok(listed.chain(templates.into_iter().map(|template| template.uri_template)).collect())
}
