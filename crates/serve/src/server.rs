//! [`serve`] and [`listen`]: accept connections, and shut down the server.
use crate::{
    access_log::AccessLog,
    audit::Audit,
    connection::{Connections, Patient, Peer},
    crew::Crew,
    figures::Figures,
    fleet::{self, Fleet, FleetFigures},
    gate::{Gate, Names, guarded},
    hub::Hub,
    login::{self, Accounts, Logins},
    parts::{LoginSettings, Settings},
    push::{FleetPush, Push},
    readiness::{Needs, Readiness},
    requests::Requests,
    router::router,
};
use axum::{
    Router,
    extract::Request,
    http::{StatusCode, header::ALLOW},
    routing::future::RouteFuture,
};
use futures::{FutureExt, TryFutureExt, future::MapOk};
use haft_app::{config::serve::PushFile, users::Role};
use haft_fleet::FleetKey;
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    collections::BTreeMap, convert::Infallible, future::Future, io, net::SocketAddr, panic::AssertUnwindSafe,
    sync::Arc, time::Duration,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Timeout for the head of a request, and how long a connection may be idle between two requests.
const HEAD: Duration = Duration::from_secs(15);
/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 64;
/// Maximum size of the head of a request, and of what is read ahead of a body, in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// How long connections may take to close when the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Delay before the next connection is accepted after the system failed to accept one.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Limit of open files to request: each open session takes two, each client one.
const FILES: u64 = 65_536;

/// A server that listens, but does not accept connections yet.
pub struct Listening(TcpListener);

impl Listening {
    /// The address of the socket.
    ///
    /// # Errors
    /// Fails if the system does not tell the address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Listens at `address`.
///
/// # Errors
/// Fails if the system cannot bind this address.
pub async fn listen(address: SocketAddr) -> io::Result<Listening> {
    TcpListener::bind(address).await.map(Listening)
}

/// Serves until `stop` completes. Then turns are interrupted so that they can be continued, jobs are left to be
/// resumed, and clients get all recorded events.
///
/// # Errors
/// Fails if the system does not tell the address of the socket.
pub async fn serve(
    listening: Listening,
    settings: Settings,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    allow_many_files();
    let Service { router, hub, crew, push, requests, figures, draining } =
        Service::new(settings, listening.address()?);
    let doors = Doors::new(router, figures);
    let background = async { tokio::join!(hub.close_idle(), hub.narrow(), crew.work(), push.work()) };
    tokio::select! {
        never = doors.receive(listening.0) => match never {},
        _ = background => {}
        () = stop => {}
    }
    draining.cancel();
    crew.stop().await;
    hub.shut_down().await;
    requests.close().await;
    doors.close().await;
    Ok(())
}

/// All routes of a server at `address`, with access control, as a tower service. It accepts no connections, runs no
/// jobs, notifies no devices and closes no idle sessions: [`serve`] does.
pub fn routes(settings: Settings, address: SocketAddr) -> Router {
    Service::new(settings, address).router
}

/// The routes of a server, and what they share.
struct Service {
    router: Router,
    hub: Hub,
    crew: Crew,
    push: Push,
    requests: Requests,
    figures: Arc<Figures>,
    /// Cancelled when the server begins to stop.
    draining: CancellationToken,
}

impl Service {
    fn new(settings: Settings, address: SocketAddr) -> Self {
        let figures = Arc::new(Figures::new());
        let names = Names::new(address, &settings.hosts);
        let gate =
            Gate::new(&settings.token, names, figures.clone()).with_log(AccessLog::of(settings.access_log));
        let hub = Hub::new(settings, figures.clone());
        let accounts = Accounts::Users { users: hub.users().clone(), home: hub.home().0.clone() };
        let logins = logins(hub.settings().login.clone(), hub.settings().roles.clone(), accounts);
        let gate = gate.with_users(hub.users().clone(), Audit::new(&hub.home().0));
        let (crew, push) = (Crew::new(hub.clone()), Push::new(hub.clone()));
        let requests = Requests::new(hub.home().0.join("serve-requests"));
        let draining = CancellationToken::new();
        let readiness = Readiness::new(Needs::Folder(hub.home().0.clone()), draining.clone());
        let router = router(hub.clone(), crew.clone(), push.clone(), requests.clone(), Arc::new(readiness))
            .merge(login::routes(logins));
        Self { router: guarded(router, gate), hub, crew, push, requests, figures, draining }
    }
}

/// The logins at an OpenID provider, if the configuration names one.
fn logins(
    login: Option<LoginSettings>,
    roles: BTreeMap<String, Role>,
    accounts: Accounts,
) -> Option<Arc<Logins>> {
    match Logins::new(login?, roles, accounts) {
        Ok(logins) => Some(Arc::new(logins)),
        Err(error) => {
            tracing::error!(%error, "no user can log in");
            None
        }
    }
}

/// The parameters of a server of a fleet.
pub struct FleetSettings {
    /// The fleet whose jobs are served.
    pub fleet: Fleet,
    /// The token for all sessions, sent as `Authorization: Bearer`.
    pub token: String,
    /// The OpenID provider for logins, if there is one.
    pub login: Option<LoginSettings>,
    /// The roles of logins, by name.
    pub roles: BTreeMap<String, Role>,
    /// Names under which clients reach the server, in addition to those of this machine.
    pub hosts: Vec<String>,
    /// Whether each request is logged, as a line of JSON on standard output.
    pub access_log: bool,
    /// How devices are notified.
    pub push: PushFile,
    /// The key that encrypts the fleet's secrets. Without it, no device is notified.
    pub key: Option<FleetKey>,
}

/// Serves the jobs of a fleet until `stop` completes. Workers continue without the server.
///
/// # Errors
/// Fails if the system does not tell the address of the socket.
pub async fn serve_fleet(
    listening: Listening,
    settings: FleetSettings,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    allow_many_files();
    let (figures, stopping) = (Arc::new(FleetFigures::new()), CancellationToken::new());
    let names = Names::new(listening.address()?, &settings.hosts);
    let own = figures.own.clone();
    let gate = Gate::new(&settings.token, names, own.clone())
        .with_owners(settings.fleet.database.clone(), settings.roles.clone(), settings.login.is_some())
        .with_log(AccessLog::of(settings.access_log));
    let accounts = Accounts::Owners(settings.fleet.database.clone());
    let logins = logins(settings.login, settings.roles, accounts);
    let database = settings.fleet.database.clone();
    let push = Arc::new(FleetPush::new(database, settings.push, settings.token, settings.key));
    let router =
        fleet::router(settings.fleet, figures, push.clone(), stopping.clone()).merge(login::routes(logins));
    let doors = Doors::new(guarded(router, gate), own);
    tokio::select! {
        never = doors.receive(listening.0) => match never {},
        () = push.work() => {}
        () = stop => {}
    }
    stopping.cancel();
    doors.close().await;
    Ok(())
}

/// Accepts connections, and closes them.
struct Doors {
    router: Router,
    figures: Arc<Figures>,
    connections: Connections,
    open: TaskTracker,
    closing: CancellationToken,
}

impl Doors {
    fn new(router: Router, figures: Arc<Figures>) -> Self {
        Self {
            router,
            figures,
            connections: Connections::default(),
            open: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    async fn receive(&self, listener: TcpListener) -> Infallible {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    if let Some(peer) = self.connections.admit() {
                        self.admit(stream, peer);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a client could not be let in");
                    self.connections.make_room();
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, peer: Peer) {
        let _it_is_slower_then = stream.set_nodelay(true);
        let (router, figures, closing) = (self.router.clone(), self.figures.clone(), self.closing.clone());
        self.open.spawn(async move {
            figures.connections.inc();
            // A panic in one connection ends only that connection.
            let talked = AssertUnwindSafe(talk(stream, router, peer.clone(), closing)).catch_unwind().await;
            if talked.is_err() {
                tracing::warn!("a connection ended with a fault in the program");
            }
            peer.has_left();
            figures.connections.dec();
        });
    }

    async fn close(self) {
        self.closing.cancel();
        self.open.close();
        let _the_rest_is_cut_off = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.open.wait()).await;
    }
}

/// Answers the requests of a connection, one after the other.
async fn talk(stream: TcpStream, router: Router, peer: Peer, closing: CancellationToken) {
    let service = Asked { router, peer: peer.clone() };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream)), TowerToHyperService::new(service))
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _it_has_left = connection.as_mut() => return,
        () = peer.must_leave() => return,
        () = closing.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _it_has_left = connection.await;
}

/// A router, and the client whose requests it answers.
#[derive(Clone)]
struct Asked {
    router: Router,
    peer: Peer,
}

impl tower_service::Service<hyper::Request<Incoming>> for Asked {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future = MapOk<RouteFuture<Infallible>, fn(Self::Response) -> Self::Response>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<Incoming>) -> Self::Future {
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(self.peer.clone());
        tower_service::Service::call(&mut self.router, request).map_ok(without_methods)
    }
}

/// Removes the header `Allow` from a 401: an unauthorized client must not learn which routes exist.
fn without_methods(mut response: axum::response::Response) -> axum::response::Response {
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().remove(ALLOW);
    }
    response
}

/// Raises the limit of open files as far as the system allows, up to [`FILES`]. If that fails, clients get an error
/// once too many files are open.
fn allow_many_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(FILES, |most| most.min(FILES));
    if current.is_some_and(|current| current < wanted) {
        let _as_before = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
