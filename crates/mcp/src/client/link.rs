//! [`Link`]: the connection to a running server.
use super::{
    calls::{Calls, Client},
    limited::{Limited, LineState},
    oauth,
    repaired::Repaired,
    roots::Roots,
    settings::{McpServer, Transport},
    words,
};
use haft_process::{Process, ProcessError, Program};
use parking_lot::Mutex;
use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::{
    model::{ProtocolVersion, SubscriptionFilter},
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, RunningService,
    },
    transport::{
        IntoTransport, StreamableHttpClientTransport, auth::AuthClient,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

/// A running server. Dropping it closes the connection, and kills its program with all children.
pub(crate) struct Link {
    pub(crate) service: RunningService<RoleClient, Client>,
    pub(crate) calls: Arc<Calls>,
    /// The roots that the first call waits for; `None` for a server with a URL, which is seldom on this machine and has
    /// its own folders.
    roots: Option<Roots>,
    greeted: Instant,
    /// The program, if Haft started one.
    program: Option<Running>,
    _listener: JoinSet<()>,
}

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error(transparent)]
    Start(#[from] ProcessError),
    #[error("`{0}` is not an address of a server")]
    Address(String),
    #[error("the header `{0}` cannot be sent")]
    Header(String),
    #[error("no client for the web can be made: {0}")]
    Web(#[from] reqwest::Error),
    #[error("it did not answer within {} seconds{said}", .limit.as_secs())]
    Silent { limit: Duration, said: String },
    #[error("{reason}{said}")]
    Gone { reason: String, said: String },
    /// The server answers and requires a login.
    #[error("it wants to know who asks (401): {0}")]
    Login(String),
    /// The server answers, but not with MCP.
    #[error("{reason}{said}")]
    Refused { reason: String, said: String },
}

/// A program, and its standard error.
struct Running {
    process: Mutex<Process>,
    words: Arc<Mutex<String>>,
    /// The state of its standard output.
    said: Arc<LineState>,
    reader: JoinSet<()>,
}

/// How long to wait for the error output of a program that failed.
const LAST_WORDS_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum bytes of standard error that are kept.
const MAX_LAST_WORDS_BYTES: usize = 1_000;

/// How often, and how many times, to check whether a program that failed the handshake has ended.
const END_CHECK_INTERVAL: Duration = Duration::from_millis(5);
const MAX_END_CHECKS: usize = 20;

impl Link {
    /// Starts the server and does the handshake, in a second way if the server refuses the first one: MCP 2026-07-28
    /// has no `initialize`, and older servers support nothing else.
    pub(crate) async fn open(
        server: &McpServer,
        folder: &Path,
        environment: &[(String, String)],
        client: impl Fn() -> Client,
    ) -> Result<Self, LinkError> {
        let [first, second] = match &server.transport {
            Transport::Program { .. } => [ClientLifecycleMode::Initialize, newest()],
            Transport::Url { .. } => [newest(), ClientLifecycleMode::Initialize],
        };
        match Self::open_as(server, folder, environment, client(), first).await {
            Err(refused @ LinkError::Refused { .. }) => {
                let opened = Self::open_as(server, folder, environment, client(), second).await;
                // A program's error after the older handshake, which most support, is more helpful.
                let is_program = matches!(server.transport, Transport::Program { .. });
                opened.map_err(|error| if is_program { refused } else { error })
            }
            opened => opened,
        }
    }

    async fn open_as(
        server: &McpServer,
        folder: &Path,
        environment: &[(String, String)],
        client: Client,
        mode: ClientLifecycleMode,
    ) -> Result<Self, LinkError> {
        let (calls, changes, roots) = (client.calls.clone(), client.changes.clone(), client.roots.clone());
        let limit = server.start_timeout;
        let (service, program) = match &server.transport {
            Transport::Program { program, arguments, environment: own } => {
                let environment = environment.iter().chain(own).cloned().collect();
                let (mut program, input) = Running::start(program, arguments, folder, environment)?;
                let greeted = greet(client, input, mode, limit).await;
                if greeted.is_err() {
                    // The program may have ended, with its last output still on the way.
                    let _it_goes_on = timeout(LAST_WORDS_TIMEOUT, program.reader.join_next()).await;
                    program.wait_for_end().await;
                }
                let service = greeted.map_err(|failure| failure.told(server, &program.last_words()))?;
                (service, Some(program))
            }
            Transport::Url { url, headers } => {
                let (http, config) = web(url, headers)?;
                let greeted = match oauth::manager(server).await {
                    Some(login) => {
                        let http = AuthClient::new(http, login);
                        let transport = StreamableHttpClientTransport::with_client(http, config);
                        greet(client, transport, mode, limit).await
                    }
                    None => {
                        let transport = StreamableHttpClientTransport::with_client(http, config);
                        greet(client, transport, mode, limit).await
                    }
                };
                let service = greeted.map_err(|failure| failure.told(server, ""))?;
                (service, None)
            }
        };
        let mut listener = JoinSet::new();
        listener.spawn(hear_of_changes(service.peer().clone(), changes));
        let roots = roots.filter(|_| program.is_some());
        Ok(Self { service, calls, roots, greeted: Instant::now(), program, _listener: listener })
    }

    /// Completes once the server had time to request and use its roots.
    pub(crate) async fn is_ready(&self) {
        if let Some(roots) = &self.roots {
            roots.settled(self.greeted, self.service.peer()).await;
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Whether the connection was closed because a message was too long.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.said.has_overflowed())
    }

    /// Whether the server sent an incomplete message. Its next message would be read as the rest of it.
    pub(crate) fn is_inside_message(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.said.is_inside_line())
    }

    /// Closes the connection, which ends all waiting calls.
    pub(crate) fn hang_up(&self) {
        self.service.cancellation_token().cancel();
    }

    /// How a program ended: `, exit status: 1; it said: …`.
    pub(crate) fn last_words(&self) -> String {
        self.program.as_ref().map(Running::last_words).unwrap_or_default()
    }
}

/// Subscribes to changes of lists, which is necessary since MCP 2026-07-28.
async fn hear_of_changes(server: Peer<RoleClient>, changes: Arc<AtomicU64>) {
    if server.peer_info().is_none_or(|server| server.protocol_version.has_initialize()) {
        return;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let Ok(mut subscription) = server.listen(filter).await else { return };
    while let Ok(Some(_changed)) = subscription.next().await {
        changes.fetch_add(1, Ordering::Relaxed);
    }
}

fn newest() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// Why the handshake failed.
enum Failure {
    Silent(Duration),
    Refused(Box<ClientInitializeError>),
}

impl Failure {
    fn told(self, server: &McpServer, said: &str) -> LinkError {
        let said = said.to_owned();
        match self {
            Self::Silent(limit) => LinkError::Silent { limit, said },
            Self::Refused(error) => {
                let reason = words::of_greeting(&error);
                match *error {
                    _ if words::wants_login(&error) => LinkError::Login(server.login_advice()),
                    ClientInitializeError::ConnectionClosed(_) => LinkError::Gone { reason, said },
                    _ => LinkError::Refused { reason, said },
                }
            }
        }
    }
}

async fn greet<T, E, A>(
    client: Client,
    transport: T,
    mode: ClientLifecycleMode,
    limit: Duration,
) -> Result<RunningService<RoleClient, Client>, Failure>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let transport = Repaired(transport.into_transport());
    let greeted = timeout(limit, client.serve_with_lifecycle(transport, mode)).await;
    greeted.map_err(|_| Failure::Silent(limit))?.map_err(|error| Failure::Refused(Box::new(error)))
}

type Streams = (Limited<tokio::process::ChildStdout>, tokio::process::ChildStdin);

impl Running {
    fn start(
        program: &str,
        arguments: &[String],
        folder: &Path,
        environment: Arc<[(String, String)]>,
    ) -> Result<(Self, Streams), ProcessError> {
        let program = Program {
            program: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            folder: folder.to_owned(),
            environment,
            timeout: None,
            capture: 0,
            confinement: None,
        };
        let piped = program.start_piped()?;
        let (words, mut reader) = (Arc::default(), JoinSet::new());
        reader.spawn(listen(piped.errors, Arc::clone(&words)));
        let said = Arc::default();
        let output = Limited::new(piped.output, Arc::clone(&said));
        let running = Self { process: Mutex::new(piped.process), words, said, reader };
        Ok((running, (output, piped.input)))
    }

    /// Waits up to 100 ms for the program to end, so that its exit status is known.
    async fn wait_for_end(&self) {
        for _ in 0..MAX_END_CHECKS {
            if matches!(self.process.lock().ended(), Ok(Some(_))) {
                return;
            }
            sleep(END_CHECK_INTERVAL).await;
        }
    }

    fn last_words(&self) -> String {
        let ended = self.process.lock().ended().ok().flatten();
        let ended = ended.map(|status| format!(", {status}")).unwrap_or_default();
        let words = self.words.lock().trim().to_owned();
        if words.is_empty() { ended } else { format!("{ended}; it said: {words}") }
    }
}

/// Keeps the end of standard error.
async fn listen(mut errors: impl AsyncRead + Unpin, words: Arc<Mutex<String>>) {
    let mut buffer = [0; 4_096];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        let mut words = words.lock();
        words.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let start = words.ceil_char_boundary(words.len().saturating_sub(MAX_LAST_WORDS_BYTES));
        words.drain(..start);
    }
}

fn web(
    url: &str,
    headers: &[(String, String)],
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), LinkError> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let parsed = parsed.ok_or_else(|| LinkError::Address(url.to_owned()))?;
    let mut sent = HashMap::new();
    for (name, value) in headers {
        let header = name.parse::<HeaderName>().ok().zip(HeaderValue::from_str(value).ok());
        let (header, mut value) = header.ok_or_else(|| LinkError::Header(name.clone()))?;
        value.set_sensitive(true);
        sent.insert(header, value);
    }
    let builder = haft_http::builder().redirect(redirect::Policy::custom(stay));
    // A proxy could not reach this machine.
    let builder = if is_on_loopback(&parsed) { builder.no_proxy() } else { builder };
    let client = builder.build()?;
    Ok((client, StreamableHttpClientTransportConfig::with_uri(url).custom_headers(sent)))
}

fn is_on_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(haft_core::address::is_loopback)
}

/// Follows redirects only within the origin, since headers may contain keys.
fn stay(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let origin = |url: &Url| url.origin();
    let is_same = attempt.previous().first().is_some_and(|first| origin(first) == origin(attempt.url()));
    if is_same && attempt.previous().len() <= 5 { attempt.follow() } else { attempt.stop() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_proxy_cannot_reach_is_known() {
        let table = [
            ("http://localhost:8/mcp", true),
            ("https://LOCALHOST/mcp", true),
            ("http://127.0.0.1:8/", true),
            ("http://127.1:8/", true),
            ("http://[::1]:8/", true),
            ("http://localhost.example.org/", false),
            ("http://127.0.0.1.example.org/", false),
            ("http://10.0.0.1/", false),
        ];
        for (url, expected) in table {
            assert_eq!(is_on_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
