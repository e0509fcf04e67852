//! [`Proxy`]: lets a confined command reach the allowed hosts, through its own loopback.
mod client;
mod dial;
mod hello;
mod request;

use client::pass_on;
use dial::dial;
use haft_core::{Confinement, Host, Reach};
use request::{Asked, Refusal};
use std::{
    convert::Infallible,
    io,
    net::TcpListener as Listener,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::confine::{ADDRESS, Receiver};

/// Maximum connections at a time; others wait.
const MAX_CONNECTIONS: usize = 64;

/// Maximum bytes of the head of a request, and of the first TLS message.
const MAX_HEAD: usize = 64 << 10;

/// How long a client may take to send its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// How long one connection may last. It ends with its command anyway.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(3_600);

/// How long to wait after a connection could not be accepted.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Maximum unreached hosts that are remembered.
const MAX_REMEMBERED: usize = 16;

/// A host that a command did not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// The host as the command requested it.
    pub host: String,
    /// Why; `None` if it was not allowed.
    pub why: Option<String>,
}

/// The hosts that were not reached. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Unreached>>>);

impl Log {
    fn add(&self, host: &Host, why: Option<String>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unreached = Unreached { host: host.to_string(), why };
        if known.len() < MAX_REMEMBERED && !known.contains(&unreached) {
            known.push(unreached);
        }
    }

    /// Returns the hosts, and clears the list.
    pub fn take(&self) -> Vec<Unreached> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A proxy for one command.
#[derive(Debug)]
pub struct Proxy {
    listener: Listener,
    rules: Rules,
}

/// The hosts that the proxy allows, and the log of unreached ones.
#[derive(Clone, Debug)]
struct Rules {
    hosts: Arc<[Host]>,
    /// Whether the hosts may be in private networks.
    private: bool,
    log: Log,
}

impl Proxy {
    /// Creates the proxy of a command whose program has begun, so that its process has sent the listening socket.
    pub fn new(receiver: Receiver, confinement: &Confinement) -> io::Result<Self> {
        let listener = receiver.listener()?;
        listener.set_nonblocking(true)?;
        let (hosts, private) = (hosts(confinement).into(), confinement.private_hosts);
        Ok(Self { listener, rules: Rules { hosts, private, log: Log::default() } })
    }

    /// The hosts that were not reached, updated continuously.
    pub fn log(&self) -> Log {
        self.rules.log.clone()
    }

    /// Serves until it is dropped, which ends all its connections.
    pub async fn serve(self) -> io::Result<Infallible> {
        let listener = TcpListener::from_std(self.listener)?;
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                taken = listener.accept(), if open.len() < MAX_CONNECTIONS => match taken {
                    Ok((client, _)) => {
                        let rules = self.rules.clone();
                        open.spawn(timeout(CONNECTION_TIMEOUT, async move { rules.connection(client).await }));
                    }
                    Err(_) => sleep(RETRY_DELAY).await,
                },
                Some(_) = open.join_next() => {}
            }
        }
    }
}

impl Rules {
    /// Ignores the error: a failed connection does not affect the others.
    async fn connection(&self, mut client: TcpStream) -> io::Result<()> {
        let mut bytes = Vec::new();
        let head = timeout(HEAD_TIMEOUT, read_head(&mut client, &mut bytes)).await??;
        let rest = bytes.split_off(head);
        let asked = match request::read(&bytes) {
            Ok(asked) => asked,
            Err(refusal) => return refuse(client, refusal).await,
        };
        let (Asked::Tunnel(host) | Asked::Forward { host, .. }) = &asked;
        if !self.hosts.iter().any(|allowed| host.is_within(allowed)) {
            self.log.add(host, None);
            return refuse(client, (403, format!("`{host}` is not among the hosts that commands may reach")))
                .await;
        }
        let server = match dial(host, self.private).await {
            Ok(server) => server,
            Err(refusal) => {
                self.log.add(host, Some(refusal.1.clone()));
                return refuse(client, refusal).await;
            }
        };
        match asked {
            Asked::Tunnel(host) => self.tunnel(client, rest, server, &host).await,
            Asked::Forward { head, body, .. } => forward(client, rest, server, &head, body).await,
        }
    }

    /// Passes bytes in both directions. Ends if the client requests another host in TLS.
    async fn tunnel(
        &self,
        mut client: TcpStream,
        begun: Vec<u8>,
        mut server: TcpStream,
        host: &Host,
    ) -> io::Result<()> {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        let ((from_client, mut to_client), (mut from_server, to_server)) = (client.split(), server.split());
        let asking = pass_on(from_client, to_server, begun, host);
        let answering = async {
            copy(&mut from_server, &mut to_client).await?;
            to_client.shutdown().await
        };
        tokio::pin!(asking, answering);
        let is_other = tokio::select! {
            asked = &mut asking => {
                let is_other = asked?;
                if !is_other {
                    answering.await?;
                }
                is_other
            }
            answered = &mut answering => {
                answered?;
                asking.await?
            }
        };
        if is_other {
            self.log.add(host, Some(format!("`{host}` was asked for as another host")));
        }
        Ok(())
    }
}

/// Forwards one request and its response.
async fn forward(
    mut client: TcpStream,
    rest: Vec<u8>,
    mut server: TcpStream,
    head: &[u8],
    body: u64,
) -> io::Result<()> {
    server.write_all(head).await?;
    let ((from_client, mut to_client), (mut from_server, mut to_server)) = (client.split(), server.split());
    let mut content = rest.as_slice().chain(from_client).take(body);
    let sending = async {
        copy(&mut content, &mut to_server).await?;
        std::future::pending::<io::Result<()>>().await
    };
    tokio::select! {
        answered = copy(&mut from_server, &mut to_client) => answered.map(drop)?,
        failed = sending => failed?,
    }
    to_client.shutdown().await
}

/// Reads up to the end of the head, and returns the length of the head. May read further bytes.
async fn read_head(client: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        if let Some(end) = request::end_of_head(bytes) {
            return Ok(end);
        }
        read_more(client, bytes).await?;
    }
}

async fn read_more(client: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    if bytes.len() >= MAX_HEAD {
        return Err(io::ErrorKind::InvalidData.into());
    }
    match client.read_buf(bytes).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

async fn refuse(mut client: TcpStream, (status, why): Refusal) -> io::Result<()> {
    let phrase = match status {
        403 => "Forbidden",
        411 => "Length Required",
        502 => "Bad Gateway",
        _ => "Bad Request",
    };
    let why = why.escape_debug().to_string();
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

/// Names of the variables that tell programs about a proxy: most programs read the first ones, in upper or lower case;
/// npm, cargo, pip and Node.js have their own.
const PROXY_VARIABLES: [&str; 10] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "CARGO_HTTP_PROXY",
    "PIP_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
];

/// The command's own loopback.
const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The environment variables that a confined command needs in addition to its own.
pub fn environment(confinement: &Confinement) -> Vec<(&'static str, String)> {
    // The command's workspace is a mount, and the repository may be above it.
    let git = ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1".to_owned());
    let hosts = hosts(confinement);
    if hosts.is_empty() {
        return vec![git];
    }
    let is_listed = |own: &&str| hosts.iter().any(|host| host.name() == **own);
    let direct: Vec<&str> = LOOPBACK_HOSTS.into_iter().filter(|own| !is_listed(own)).collect();
    let direct = ["NO_PROXY", "no_proxy", "npm_config_noproxy"].map(|name| (name, direct.join(",")));
    let proxy = PROXY_VARIABLES.map(|name| (name, format!("http://{ADDRESS}")));
    [git].into_iter().chain(proxy).chain(direct).chain([("NODE_USE_ENV_PROXY", "1".to_owned())]).collect()
}

/// The hosts that a command reaches through its proxy.
fn hosts(confinement: &Confinement) -> &[Host] {
    match &confinement.reach {
        Reach::Hosts(hosts) => hosts,
        Reach::Nothing | Reach::Everything => &[],
    }
}
