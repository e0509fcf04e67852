//! [`Hub`]: holds the open sessions, and gives access to those on disk.
//!
//! A session is open while it is working, and for a while after. Then it is closed and uses no memory. The next command
//! opens it by replaying its journal. Following its events does not open a session.
mod chosen;
mod engines;
mod held;
mod named;
mod now;
mod roles;

use crate::{
    error::{Answer, ApiError},
    figures::Figures,
    parts::{Bounds, Place, Settings},
    users::{SignedIn, User, Users},
};
pub(crate) use chosen::Choice;
use chosen::Chosen;
use engines::Engines;
use futures::{Stream, StreamExt, stream::BoxStream};
use haft_core::{Event, Fact, JobSpec, Seq, SessionId, SessionOpened};
use haft_engine::{Engine, EngineError, Home, JournalError, RemoteClients, Session};
use haft_process::give_memory_back;
use held::{Held, Opened};
use now::Now;
pub(crate) use now::SessionState;
use parking_lot::Mutex;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, broadcast};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Number of events that a listener may fall behind. A slower listener reads the whole list again.
const EVENT_CAPACITY: usize = 1_024;
/// How often to check whether a session has closed.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum number of open sessions, working or idle.
const MAX_OPEN: usize = 8_192;
/// Maximum time after a sign-out until a stream of the user ends.
const USER_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum depth of a tree of sessions.
const MAX_DEPTH: usize = 64;

/// Maximum number of attached terminals.
pub(crate) const MAX_ATTACHED: usize = 256;

/// Reserves a place for another attached terminal until the permit is dropped.
pub(crate) fn place_in(places: &Arc<Semaphore>) -> Answer<OwnedSemaphorePermit> {
    places.clone().try_acquire_owned().map_err(|_| {
        ApiError::new(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            "overloaded",
            format!("{MAX_ATTACHED} terminals are attached"),
        )
        .suggest("detach some of them")
    })
}

/// The served sessions that a user may see. Clones share the same sessions.
#[derive(Clone)]
pub(crate) struct Hub {
    inner: Arc<Inner>,
    /// The user; `None` for the server itself and for clients with its own token, who see all sessions.
    signed_in: Option<SignedIn>,
}

struct Inner {
    settings: Arc<Settings>,
    users: Arc<Users>,
    home: Home,
    figures: Arc<Figures>,
    engines: Engines,
    open: Opened,
    chosen: Chosen,
    news: broadcast::Sender<News>,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// Cancelled when the server begins to stop.
    leaving: CancellationToken,
    /// Notified when a session was opened, which may become idle.
    opened: Notify,
    /// Clients that are attached to sessions.
    clients: RemoteClients,
    places: Arc<Semaphore>,
    /// Warnings that were shown already.
    warned: Mutex<HashSet<String>>,
}

/// The state of a session has changed, or the session asks another question.
#[derive(Clone, Debug)]
pub(crate) struct News {
    /// ID of the session.
    pub(crate) session: SessionId,
    /// State of the session; `None` if it does not exist.
    pub(crate) state: Option<SessionState>,
}

/// How a session was opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The session was opened from disk or created: it is idle.
    Fresh,
    /// Another part of the program opened the session, and closes it.
    Lent,
    /// The session was open before: it may be working.
    Running,
}

/// What the first entry of a session says, with the model, effort and agent that were chosen later.
pub(crate) struct Known {
    pub(crate) id: SessionId,
    pub(crate) agent: String,
    pub(crate) place: Place,
    pub(crate) order: Option<JobSpec>,
    /// The user who began it.
    pub(crate) owner: Option<String>,
}

impl Hub {
    pub(crate) fn new(settings: Settings, figures: Arc<Figures>) -> Self {
        let settings = Arc::new(settings);
        let inner = Inner {
            engines: Engines::new(settings.clone()),
            users: Arc::new(Users::new(settings.home().0, settings.roles.clone())),
            home: settings.home(),
            settings,
            figures,
            open: Opened::default(),
            chosen: Chosen::default(),
            news: broadcast::channel(EVENT_CAPACITY).0,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            leaving: CancellationToken::new(),
            opened: Notify::new(),
            clients: RemoteClients::default(),
            places: Arc::new(Semaphore::new(MAX_ATTACHED)),
            warned: Mutex::default(),
        };
        Self { inner: Arc::new(inner), signed_in: None }
    }

    /// The hub for this user, with the sessions that the user may see.
    pub(crate) fn seen_by(&self, signed_in: SignedIn) -> Self {
        Self { inner: self.inner.clone(), signed_in: Some(signed_in) }
    }

    /// The user whose sessions this hub shows; `None` for a client with the server's own token.
    pub(crate) fn user(&self) -> Option<&Arc<User>> {
        self.signed_in.as_ref().map(|signed_in| &signed_in.user)
    }

    /// Waits until the user's token is invalid: the user logs out, gets another token or role, or is removed. For a
    /// client with the server's own token, waits forever.
    pub(crate) async fn until_signed_out(self) {
        let Some(signed_in) = &self.signed_in else { return std::future::pending().await };
        while self.users().still_lets_in(signed_in) {
            tokio::time::sleep(USER_INTERVAL).await;
        }
    }

    pub(crate) fn user_name(&self) -> Option<&str> {
        self.user().map(|user| user.name.as_str())
    }

    pub(crate) fn users(&self) -> &Arc<Users> {
        &self.inner.users
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    pub(crate) fn home(&self) -> &Home {
        &self.inner.home
    }

    pub(crate) fn figures(&self) -> &Arc<Figures> {
        &self.inner.figures
    }

    pub(crate) fn engines(&self) -> &Engines {
        &self.inner.engines
    }

    /// Shows a warning to the user who runs the server, once for each text.
    pub(crate) fn warn_once(&self, warning: String) {
        if self.inner.warned.lock().insert(warning.clone()) {
            self.settings().app.warn(warning);
        }
    }

    /// Clients that are attached to sessions, and their commands.
    pub(crate) fn clients(&self) -> &RemoteClients {
        &self.inner.clients
    }

    /// Reserves a place for another attached terminal until the permit is dropped.
    pub(crate) fn place_for_client(&self) -> Answer<OwnedSemaphorePermit> {
        place_in(&self.inner.places)
    }

    /// Cancelled when the server stops.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.inner.stop
    }

    /// Subscribes to changes of sessions.
    pub(crate) fn news(&self) -> broadcast::Receiver<News> {
        self.inner.news.subscribe()
    }

    /// The folder that a client names, if it is served; without a name, the first served folder.
    pub(crate) fn folder(&self, named: Option<&str>) -> Answer<PathBuf> {
        let folders = self.folders();
        let Some(named) = named else {
            return folders.into_iter().next().ok_or_else(|| {
                ApiError::forbidden("your role allows no folder that is served")
                    .suggest("ask the person who runs the server to add one to the role")
            });
        };
        let path = Path::new(named);
        let real = path.canonicalize().ok().filter(|real| path.is_absolute() && real.is_dir());
        match real.filter(|real| self.is_served(real)) {
            Some(real) => Ok(real),
            None => Err(self.no_folder(named, &folders)),
        }
    }

    /// The error if a client names a folder in which it cannot begin sessions. Suggests `folders`.
    fn no_folder(&self, named: &str, folders: &[PathBuf]) -> ApiError {
        let named = named.escape_debug();
        let all =
            folders.iter().map(|folder| format!("`{}`", folder.display())).collect::<Vec<_>>().join(", ");
        match self.user() {
            None => ApiError::wrong(format!("`{named}` is not a folder that is served"))
                .suggest(format!("name one in {all}, or start `haft serve` with `--folder DIR`")),
            Some(user) => {
                ApiError::wrong(format!("the role `{}` does not have the folder `{named}`", user.role.name))
                    .suggest(format!(
                        "name one in {all}, or ask the person who runs the server to add it to the role"
                    ))
            }
        }
    }

    /// The place of a session: folder, model and profile as the client names them, otherwise the server's defaults.
    pub(crate) fn place(
        &self,
        folder: Option<&str>,
        model: Option<String>,
        profile: Option<String>,
    ) -> Answer<Place> {
        let workspace = self.folder(folder)?;
        let settings = self.settings();
        let model = model.map_or_else(|| self.usual_model(), |named| self.model(&workspace, named))?;
        let profile = profile
            .map_or_else(|| Ok(settings.profile().to_owned()), |named| self.profile(&workspace, named))?;
        let bounds = self.user().map(|user| Bounds::of(&user.role)).unwrap_or_default();
        Ok(Place { workspace, model, profile, effort: None, bounds })
    }

    /// The folders in which sessions may begin: the served folders that the user's role allows, and the role's folders
    /// inside served folders.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let Some(user) = self.user() else { return self.settings().folders.clone() };
        let served = self.settings().folders.iter();
        let inside = user.role.file().folders.iter().filter(|folder| self.is_served(folder));
        let all = served.filter(|folder| user.role.has_folder(folder)).chain(inside);
        let mut seen = HashSet::new();
        all.filter(|folder| seen.insert(*folder)).cloned().collect()
    }

    /// Whether sessions may work in this folder.
    pub(crate) fn is_served(&self, folder: &Path) -> bool {
        self.settings().folders.iter().any(|served| folder.starts_with(served))
            && self.user().is_none_or(|user| user.role.has_folder(folder))
    }

    /// Whether the user sees the session with this first entry: it is the user's own, or the role shows all sessions.
    fn sees(&self, opened: &SessionOpened) -> bool {
        let Some(user) = self.user() else { return true };
        user.role.sees_all() || self.owner_of(opened).is_some_and(|owner| owner == user.name)
    }

    /// The user who began the session, or for a child session, the session at the top of its tree.
    fn owner_of(&self, opened: &SessionOpened) -> Option<String> {
        let mut above = opened.clone();
        for _ in 0..MAX_DEPTH {
            let Some(id) = above.delegated_by else { return above.user };
            above = self.home().opened(&id)?.1;
        }
        None
    }

    /// Whether a session in `workspace` is shown. A job is found by its ID, since it works in a copy of the requested
    /// folder.
    pub(crate) fn shows(&self, workspace: &Path, id: &SessionId) -> bool {
        (self.user().is_none() && self.is_served(workspace)) || self.find(&id.0).is_ok()
    }

    /// Finds a session by its full ID. An ID is never taken as a path.
    pub(crate) fn find(&self, id: &str) -> Answer<Known> {
        let missing = || {
            let id: String = id.chars().take(80).collect();
            ApiError::missing(format!("there is no session `{}`", id.escape_debug()))
                .suggest("`GET /v1/sessions` lists them")
        };
        let id = self.home().exact(id).ok_or_else(missing)?;
        let opened = self.home().read_opened(&id);
        // A user gets no details about a session that may belong to another user.
        let opened = opened.map_err(|error| match self.user() {
            None => error.into(),
            Some(_) => ApiError::away("the session cannot be read now"),
        });
        let (_, opened) = opened?.ok_or_else(missing)?;
        if !self.is_served(opened.asked_in()) && !self.is_served(&opened.workspace) {
            return Err(missing());
        }
        // A session of another user is reported as missing.
        if !self.sees(&opened) {
            return Err(missing());
        }
        let owner = self.owner_of(&opened);
        let bounds = owner.as_deref().map_or_else(Bounds::default, |name| {
            self.users().named(name).map_or_else(Bounds::of_unknown, |user| Bounds::of(&user.role))
        });
        let SessionOpened { agent, model, effort, workspace, profile, order, .. } = opened;
        let place = Place { workspace, model, profile, effort, bounds };
        Ok(self.inner.chosen.over(Known { id, agent, place, order, owner }, self.home()))
    }

    /// Creates a session with this ID.
    pub(crate) async fn create(&self, id: SessionId, place: Place, agent: &str) -> Answer<Session> {
        let engine = self.engines().get(&place).await?;
        self.check_agent(&engine, agent)?;
        self.make_room()?;
        let created = engine.create_as(id, agent, self.user_name().map(str::to_owned));
        let session = created.inspect_err(|error| {
            if let EngineError::Journal(error @ JournalError::Io { .. }) = error {
                self.settings().app.warn(error.to_string());
            }
        })?;
        Ok(self.hold(session, Kind::Fresh))
    }

    /// Returns a session that can take commands, and opens it if necessary.
    pub(crate) async fn open(&self, id: &str) -> Answer<Session> {
        let known = self.find(id)?;
        if let Some(session) = self.inner.open.find(&known.id) {
            if known.place.bounds.up_to.is_none_or(|up_to| session.ceiling() <= up_to) {
                return Ok(session);
            }
            // The user's role was narrowed since the session was opened.
            drop(session);
            self.close(&known.id).await?;
        }
        if let Some((_, below)) = self.engines().with(&known.id) {
            return Ok(self.hold(below, Kind::Running));
        }
        let engine = self.engines().get(&self.place_again(&known)?).await?;
        self.make_room()?;
        let session = engine.open(&known.id.0, &known.agent).await?;
        for line in session.journal().damage() {
            self.warn_once(format!("{}: {line}", session.journal().path().display()));
        }
        session.finished_rewind().await;
        let kind = if session.is_joined() { Kind::Running } else { Kind::Fresh };
        Ok(self.hold(session, kind))
    }

    /// The engine for the next turn of a session; the session is not opened.
    pub(crate) async fn engine_of(&self, id: &str) -> Answer<Engine> {
        let known = self.find(id)?;
        self.engines().get(&self.place_again(&known)?).await
    }

    /// The events of a session from `from` on, if it is open. Does not open the session.
    pub(crate) async fn events(&self, known: &Known, from: Seq) -> Option<BoxStream<'static, Event>> {
        if let Some(session) = self.live(&known.id) {
            return Some(session.events(from).boxed());
        }
        if !self.home().is_open(&known.id) {
            return None;
        }
        let engine = self.engines().get(&self.place_again(known).ok()?).await.ok()?;
        let joined = engine.join(&known.id.0).await.ok()?;
        Some(self.hold(joined, Kind::Running).events(from).boxed())
    }

    /// The session, if it is open in this process.
    pub(crate) fn live(&self, id: &SessionId) -> Option<Session> {
        self.inner.open.find(id).or_else(|| Some(self.engines().with(id)?.1))
    }

    /// The current state of a session.
    pub(crate) fn state(&self, id: &SessionId) -> SessionState {
        match self.inner.open.state(id) {
            Some(state) => state,
            None if self.engines().with(id).is_some() => SessionState::Working,
            None if self.home().is_open(id) => SessionState::Elsewhere,
            None => SessionState::Idle,
        }
    }

    /// Serves a session that another part of the program has opened and will close.
    pub(crate) fn adopt(&self, session: Session) {
        self.hold(session, Kind::Lent);
    }

    /// Keeps an idle session open, since a client follows it.
    pub(crate) fn touch(&self, id: &SessionId) {
        self.inner.open.touch(id);
    }

    fn make_room(&self) -> Answer<()> {
        if self.inner.open.len() < MAX_OPEN || self.inner.open.close_oldest() {
            return Ok(());
        }
        Err(ApiError::new(
            axum::http::StatusCode::SERVICE_UNAVAILABLE,
            "overloaded",
            format!("{MAX_OPEN} sessions are at work"),
        )
        .suggest("wait until some of them have ended"))
    }

    fn hold(&self, session: Session, kind: Kind) -> Session {
        let (id, next) = (session.id().clone(), haft_present::cursor::next(&session));
        // Work that an ended process left unfinished counts as ended.
        let from = if kind == Kind::Running { Seq(0) } else { next };
        let held = Held::new(session.clone(), from, kind == Kind::Lent);
        let serial = held.serial();
        if let Some(first) = self.inner.open.add(held) {
            return first;
        }
        // The role may have changed while the engine was being created.
        if self.users().are_known() {
            self.narrow_one(&session);
        }
        self.inner.figures.sessions.inc();
        let (hub, events, journal) = (self.clone(), session.events(from), session.journal().clone());
        self.inner.tasks.spawn(async move {
            hub.watch(id.clone(), serial, (events, next)).await;
            if let Some(why) = journal.failure().filter(|_| journal.could_not_write()) {
                hub.settings().app.warn(format!("the session `{id}` was closed: {why}"));
            }
        });
        self.inner.opened.notify_one();
        session
    }

    /// Tracks the state of the session until it closes.
    async fn watch(&self, id: SessionId, serial: u64, (events, new): (impl Stream<Item = Event>, Seq)) {
        self.tell(&id);
        let mut events = pin!(events);
        let (mut now, mut last, mut was_working) = (Now::default(), None, false);
        while let Some(event) = events.next().await {
            let Event::Recorded(entry) = event else { continue };
            now.apply(&entry);
            if entry.seq < new {
                continue;
            }
            self.inner.figures.recorded(&entry);
            self.inner.open.used(&id, serial);
            let state = now.state();
            let is_working = state != SessionState::Idle;
            if is_working != was_working {
                self.inner.figures.working.inc_by(if is_working { 1 } else { -1 });
                was_working = is_working;
            }
            let asks = matches!(entry.fact, Fact::ApprovalAsked { .. } | Fact::QuestionAsked { .. });
            if last.replace(state) != Some(state) || asks {
                let _nobody_listens = self.inner.news.send(News { session: id.clone(), state: Some(state) });
            }
        }
        if was_working {
            self.inner.figures.working.dec();
        }
        self.inner.open.remove(&id, serial);
        self.inner.figures.sessions.dec();
        // Until its files are released, the session would be reported as open in another process.
        self.closed(&id).await;
        self.tell(&id);
    }

    /// Sends the state of a session to the listeners.
    pub(crate) fn tell(&self, id: &SessionId) {
        let state = self.home().exact(&id.0).map(|id| self.state(&id));
        let _nobody_listens = self.inner.news.send(News { session: id.clone(), state });
    }

    /// Closes a session, even if another request opens it again meanwhile. Fails if the session is working.
    pub(crate) async fn close(&self, id: &SessionId) -> Answer<()> {
        let close = async {
            loop {
                if !self.inner.open.close(id) {
                    return Err(ApiError::conflict(format!("the session `{id}` is at work"))
                        .suggest("interrupt it first"));
                }
                if !self.is_taken(id) {
                    return Ok(());
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(held::FAREWELL, close).await.unwrap_or_else(|_| {
            Err(ApiError::conflict(format!("the session `{id}` is still in use")).suggest("try again"))
        })
    }

    /// Whether the session is open, in this process or another one.
    fn is_taken(&self, id: &SessionId) -> bool {
        self.engines().with(id).is_some() || self.home().is_open(id)
    }

    /// Waits, with a timeout, until a session that ended in this process is closed.
    async fn closed(&self, id: &SessionId) {
        let gone = async {
            while self.is_taken(id) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let _another_has_it = tokio::time::timeout(held::FAREWELL, gone).await;
    }

    /// Closes idle sessions, forever. No timer runs while no session is open.
    pub(crate) async fn close_idle(&self) {
        let idle = self.settings().idle;
        loop {
            match self.inner.open.next_idle(idle).or(self.engines().next_unused(idle)) {
                None => self.inner.opened.notified().await,
                Some(due) if due > Instant::now() => tokio::time::sleep_until(due.into()).await,
                Some(_) => {
                    let closed = self.inner.open.close_due(idle) + self.engines().close_unused(idle).await;
                    if closed > 0 {
                        // Waits until their tasks have ended.
                        tokio::time::sleep(POLL_INTERVAL).await;
                        give_memory_back();
                    }
                }
            }
        }
    }

    /// Runs `work` to its end even if the client disconnects, until the server stops.
    pub(crate) fn go_on(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.inner.tasks.spawn(self.inner.leaving.clone().run_until_cancelled_owned(work));
    }

    /// Interrupts all turns, waits until all events are recorded and sent, and closes all sessions.
    pub(crate) async fn shut_down(&self) {
        self.inner.leaving.cancel();
        self.engines().shut_down().await;
        self.inner.open.clear();
        self.inner.tasks.close();
        let _one_of_them_hangs = tokio::time::timeout(held::FAREWELL, self.inner.tasks.wait()).await;
        self.inner.stop.cancel();
    }
}
