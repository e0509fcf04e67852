//! [`Database`]: runs statements on a connection, which is made again if it breaks. Each statement is one transaction,
//! so its checks and its changes cannot be separated, however the connection ends.
use crate::{error::FleetError, objects::Objects, tls::Tls};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    future::poll_fn,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::broadcast;
use tokio_postgres::{
    AsyncMessage, Client, Config, Row, Statement,
    config::{Host, SslMode},
    error::SqlState,
    types::{ToSql, Type},
};
use tokio_util::{sync::CancellationToken, sync::DropGuard, task::TaskTracker};

/// Timeout for connecting to a database server, and for its responses.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for requests of a user while the database server is unreachable.
pub(crate) const SHORT: Duration = Duration::from_secs(5);
/// The first and the longest delay between two attempts.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Number of notices that a slow receiver may fall behind.
const NOTICES: usize = 1024;

/// The channel of live events of jobs.
pub(crate) const LIVE: &str = "haft_live";
/// The channel of jobs that clients follow.
pub(crate) const FOLLOWED: &str = "haft_followed";

/// The parameters of a statement.
pub(crate) type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// A fleet's database. Cheap to clone; all clones share one connection.
#[derive(Clone)]
pub struct Database(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    config: Config,
    /// The variables for object stores, by name; and the stores in use, by address.
    pub(crate) variables: OnceLock<BTreeMap<String, String>>,
    pub(crate) objects: Mutex<HashMap<String, Arc<Objects>>>,
    tls: Tls,
    connected: Mutex<Option<Arc<Connected>>>,
    /// Held while a connection is made, so that only one is made at a time.
    dialling: tokio::sync::Mutex<()>,
    tasks: TaskTracker,
    notices: broadcast::Sender<Notice>,
    is_listening: AtomicBool,
    stop: CancellationToken,
    _stops: DropGuard,
}

/// A connection. PostgreSQL takes longer to parse and plan the statements of a worker than to execute them, so a
/// statement is prepared when it is used a second time.
struct Connected {
    client: Client,
    /// Statements that were executed; `None` for a statement that was executed only once and so is not prepared.
    statements: Mutex<HashMap<String, Option<Statement>>>,
}

impl Connected {
    async fn query(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        if let Some(prepared) = self.prepared(statement, parameters).await? {
            let values: Vec<_> = parameters.iter().map(|(value, _)| *value).collect();
            let answered = self.client.query(&prepared, &values).await;
            if !answered.as_ref().is_err_and(is_forgotten) {
                return answered;
            }
            self.statements.lock().remove(statement);
        }
        self.client.query_typed(statement, parameters).await
    }

    async fn prepared(
        &self,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Statement>, tokio_postgres::Error> {
        let known = self.statements.lock().get(statement).cloned();
        let prepared = match known {
            Some(Some(prepared)) => return Ok(Some(prepared)),
            Some(None) => {
                let types: Vec<Type> = parameters.iter().map(|(_, kind)| kind.clone()).collect();
                Some(self.client.prepare_typed(statement, &types).await?)
            }
            None => None,
        };
        self.statements.lock().insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

/// Whether PostgreSQL executed nothing because the tables changed since the statement was prepared, or because a
/// connection pooler switched to another connection.
fn is_forgotten(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|state| {
        [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::FEATURE_NOT_SUPPORTED].contains(state)
    })
}

/// A notification of PostgreSQL. A notice without a channel means that some may have been missed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notice {
    /// `haft_jobs`, `haft_commands`, `haft_entries`, or a channel of live events.
    pub(crate) channel: String,
    /// The job.
    pub(crate) job: String,
    /// The text after the job and a space.
    pub(crate) more: String,
}

impl Database {
    /// Parses the address and connects, without checking the tables.
    pub(crate) async fn connect(address: &str) -> Result<Self, FleetError> {
        let config = config(address)?;
        let tls = Tls::new().map_err(FleetError::Address)?;
        let database = Self::of(config, tls);
        database.connected().await?;
        Ok(database)
    }

    /// Opens another connection to the same database, for statements that must not wait.
    pub(crate) fn another(&self) -> Self {
        let another = Self::of(self.0.config.clone(), self.0.tls.clone());
        match self.0.variables.get() {
            Some(variables) => another.with_objects(variables),
            None => another,
        }
    }

    fn of(config: Config, tls: Tls) -> Self {
        let stop = CancellationToken::new();
        Self(Arc::new(Inner {
            config,
            variables: OnceLock::new(),
            objects: Mutex::default(),
            tls,
            connected: Mutex::default(),
            dialling: Default::default(),
            tasks: TaskTracker::new(),
            notices: broadcast::channel(NOTICES).0,
            is_listening: AtomicBool::new(false),
            _stops: stop.clone().drop_guard(),
            stop,
        }))
    }

    /// Host and port, for messages.
    pub fn place(&self) -> String {
        place(&self.0.config)
    }

    /// Executes a statement once. If the connection breaks meanwhile, it is unknown whether the statement was executed.
    pub(crate) async fn query(
        &self,
        action: &'static str,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, FleetError> {
        let mut used = None;
        let asking = async {
            let connected = used.insert(self.connected().await?);
            let answered = connected.query(statement, parameters).await;
            answered.map_err(|error| FleetError::of(action, &self.place(), &error))
        };
        // The timeout includes the wait behind other statements on a connection whose server does not respond.
        let answered = tokio::time::timeout(REQUEST_TIMEOUT, asking).await;
        answered.unwrap_or_else(|_| {
            // Drops this connection, so that the next statement makes another one and need not wait for the same cause.
            let mut held = self.0.connected.lock();
            if let (Some(used), Some(connected)) = (&used, &*held)
                && Arc::ptr_eq(used, connected)
            {
                held.take();
            }
            Err(self.no_answer())
        })
    }

    fn no_answer(&self) -> FleetError {
        let why = format!("no answer within {} s", REQUEST_TIMEOUT.as_secs());
        FleetError::Unreachable { place: self.place(), why }
    }

    /// Repeats a statement until the server responds, at most until `end`. Only for statements that may be executed
    /// twice.
    pub(crate) async fn query_until(
        &self,
        end: impl Fn() -> bool,
        action: &'static str,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, FleetError> {
        let mut pause = RETRY_DELAYS.0;
        loop {
            match self.query(action, statement, parameters).await {
                Err(error) if error.is_passing() && !end() => {
                    tracing::debug!(%error, "tried again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(RETRY_DELAYS.1);
                }
                answered => return answered,
            }
        }
    }

    /// Like [`Self::query_until`], with a timeout.
    pub(crate) async fn query_within(
        &self,
        limit: Duration,
        action: &'static str,
        statement: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, FleetError> {
        let begun = Instant::now();
        self.query_until(|| begun.elapsed() > limit, action, statement, parameters).await
    }

    /// Runs `work` in the background, as long as this database exists.
    pub(crate) fn spawn<F>(&self, work: impl FnOnce(Self) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.tasks.spawn(self.0.stop.clone().run_until_cancelled_owned(work(self.clone())));
    }

    /// Executes several statements in one transaction.
    pub(crate) async fn script(&self, action: &'static str, statements: &str) -> Result<(), FleetError> {
        let Connected { client, .. } = &*self.connected().await?;
        client.batch_execute(statements).await.map_err(|error| FleetError::of(action, &self.place(), &error))
    }

    async fn connected(&self) -> Result<Arc<Connected>, FleetError> {
        let open = || self.0.connected.lock().clone().filter(|connected| !connected.client.is_closed());
        if let Some(connected) = open() {
            return Ok(connected);
        }
        let _one_at_a_time = self.0.dialling.lock().await;
        if let Some(connected) = open() {
            return Ok(connected);
        }
        let (client, connection) = self.dial().await?;
        let stop = self.0.stop.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                _ended = connection => {}
                () = stop.cancelled() => {}
            }
        });
        let connected = Connected { client, statements: Mutex::default() };
        Ok(self.0.connected.lock().insert(Arc::new(connected)).clone())
    }

    async fn dial(&self) -> Result<(Client, Connection), FleetError> {
        let dialled = tokio::time::timeout(REQUEST_TIMEOUT, self.0.config.connect(self.0.tls.clone())).await;
        dialled
            .map_err(|_| self.no_answer())?
            .map_err(|error| FleetError::of("let anybody in", &self.place(), &error))
    }

    /// The notifications from now on. Notifications that are sent while the connection is down are lost, so a receiver
    /// must poll as well. The first call starts the listener, which runs as long as this database exists.
    pub(crate) fn notices(&self) -> broadcast::Receiver<Notice> {
        let heard = self.0.notices.subscribe();
        if !self.0.is_listening.swap(true, Ordering::Relaxed) {
            let (own, stop) = (Arc::downgrade(&self.0), self.0.stop.clone());
            self.0.tasks.spawn(async move {
                while let Some(inner) = own.upgrade() {
                    let hearing = Self(inner).hear();
                    tokio::select! {
                        _broke = hearing => tokio::time::sleep(RETRY_DELAYS.1).await,
                        () = stop.cancelled() => return,
                    }
                }
            });
        }
        heard
    }

    /// Receives notifications until the connection breaks.
    async fn hear(self) -> Result<(), FleetError> {
        let (client, mut connection) = self.dial().await?;
        let (notices, stop) = (self.0.notices.clone(), self.0.stop.clone());
        drop(self);
        let listen = async {
            let channels = ["haft_jobs", "haft_commands", "haft_entries", LIVE, FOLLOWED];
            let statements = channels.map(|channel| format!("LISTEN {channel}"));
            if client.batch_execute(&statements.join("; ")).await.is_ok() {
                // Notifications sent before this connection was made are lost.
                let _nobody_listens = notices.send(Notice::default());
            }
        };
        let hear = async {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(told) = message {
                    let (job, more) = told.payload().split_once(' ').unwrap_or((told.payload(), ""));
                    let channel = told.channel().to_owned();
                    let notice = Notice { channel, job: job.to_owned(), more: more.to_owned() };
                    let _nobody_listens = notices.send(notice);
                }
            }
        };
        tokio::select! {
            ((), ()) = async { tokio::join!(hear, listen) } => {}
            () = stop.cancelled() => {}
        }
        drop(client);
        Ok(())
    }
}

type Connection =
    tokio_postgres::Connection<tokio_postgres::Socket, crate::tls::Private<tokio_postgres::Socket>>;

/// Values of libpq's `sslmode` that request what always applies here: with TLS, the server must prove its name.
const VERIFIED: [&str; 2] = ["sslmode=verify-full", "sslmode=verify-ca"];

fn config(address: &str) -> Result<Config, FleetError> {
    let is_address = ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme));
    if !is_address {
        let hint = "expected `postgres://USER@HOST/DATABASE`";
        return Err(FleetError::Address(hint.to_owned()));
    }
    if address.contains("sslrootcert=") {
        let instead = "omit `sslrootcert`, and set the environment variable SSL_CERT_FILE to that file";
        return Err(FleetError::Address(instead.to_owned()));
    }
    let read = VERIFIED.iter().fold(address.to_owned(), |read, word| read.replace(word, "sslmode=require"));
    let mut config: Config = read.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        FleetError::Address(cause.unwrap_or_else(|| error.to_string()))
    })?;
    if config.get_hosts().is_empty() {
        return Err(FleetError::Address("it has no host".to_owned()));
    }
    // Without `sslmode`, TLS is required except on this machine, so that no password is sent over a network in the
    // clear.
    if !read.contains("sslmode=") {
        let mode = if config.get_hosts().iter().all(is_here) { SslMode::Disable } else { SslMode::Require };
        config.ssl_mode(mode);
    }
    config.application_name("haft").connect_timeout(REQUEST_TIMEOUT / 2);
    config.tcp_user_timeout(REQUEST_TIMEOUT).keepalives_idle(REQUEST_TIMEOUT);
    Ok(config)
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

fn place(config: &Config) -> String {
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_hosts().first() {
        Some(Host::Tcp(name)) => format!("{name}:{port}"),
        Some(Host::Unix(folder)) => format!("{}/.s.PGSQL.{port}", folder.display()),
        None => "nowhere".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_word_on_tls_is_private_but_on_this_machine() {
        let table = [
            ("postgres://haft@db.example.org/haft", Some(SslMode::Require)),
            ("postgres://haft@db.example.org/haft?sslmode=disable", Some(SslMode::Disable)),
            ("postgres://haft@db.example.org/haft?sslmode=verify-full", Some(SslMode::Require)),
            ("postgres://haft@127.0.0.1/haft", Some(SslMode::Disable)),
            ("postgres:///haft?host=/run/postgresql", Some(SslMode::Disable)),
            ("postgres:///haft", None),
            ("mysql://haft@db/haft", None),
            ("postgres://haft@db:port/haft", None),
        ];
        for (address, expected) in table {
            assert_eq!(config(address).ok().map(|config| config.get_ssl_mode()), expected, "{address}");
        }
    }
}
