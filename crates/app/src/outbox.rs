//! [`App::outbox`]: the calls that sessions have queued because their effects cannot be taken back. Also sends and
//! drops them.
use crate::{App, Existing, Failure, SessionSpec, agents::AGENT, session};
use futures::StreamExt;
use haft_core::{Command, Entry, ItemState, OutboxItem, SessionId, SessionOpened, SessionSetup, outbox};
use haft_engine::{Engine, Home, Model, Session, Turn};
use haft_providers::{Scripted, direct};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// A session that is open for sending and dropping items of its outbox. [`Self::close`] ends it.
#[expect(missing_debug_implementations, reason = "an engine shows nothing of itself")]
pub struct OpenedOutbox {
    session: Session,
    engine: Engine,
    /// Whether the last command is being carried out, rather than waiting for a turn of another process.
    has_begun: AtomicBool,
}

impl App {
    /// Returns the items of the session `id`, or those of all sessions that work in `workspace`, in the order in which they
    /// were queued. `None` is the current folder.
    ///
    /// # Errors
    ///
    /// If the folder or the session does not exist, or the journal of the session cannot be read.
    pub fn outbox(&self, id: Option<&str>, workspace: Option<&Path>) -> Result<Vec<OutboxItem>, Failure> {
        let home = self.home();
        if let Some(id) = id {
            let id = home.find(id)?;
            return Ok(items(&home, &id, &home.peek(&id.0)?));
        }
        let workspace = session::workspace(workspace)?;
        let all = home.list().into_iter().rev().map(|session| session.id);
        Ok(all_items(&home, all, |entries| works_in(entries, &workspace)))
    }

    /// Returns the items of these sessions, in the order in which they were queued. A session that cannot be read has none.
    pub fn outbox_of(&self, sessions: impl IntoIterator<Item = SessionId>) -> Vec<OutboxItem> {
        all_items(&self.home(), sessions, |_| true)
    }

    /// Returns the item with this ID, of any session.
    ///
    /// # Errors
    ///
    /// If there is no such item.
    pub fn outbox_item(&self, item: &str) -> Result<OutboxItem, Failure> {
        let home = self.home();
        let short = item.rsplit_once('-').map_or(item, |(session, _)| session);
        let sessions = home.list().into_iter().map(|session| session.id);
        let of_it = sessions.filter(|id| !short.is_empty() && id.0.ends_with(short));
        let found = of_it.filter_map(|id| Some(items(&home, &id, &home.peek(&id.0).ok()?))).flatten();
        found.into_iter().find(|known| known.id == item).ok_or_else(|| {
            Failure::usage(format!("there is no item `{}` in an outbox", item.escape_debug()))
                .hint("`haft outbox list` lists the items of the sessions in this directory")
        })
    }

    /// Opens the session `id` without a model, with its agent, and with the profile and the folder that it began with.
    ///
    /// # Errors
    ///
    /// If the configuration is invalid, or the session cannot be opened.
    pub async fn open_outbox(&self, id: &SessionId) -> Result<OpenedOutbox, Failure> {
        let home = self.home();
        let setup_then = SessionSetup::of(&home.peek(&id.0)?);
        let spec = SessionSpec { session: Some(Existing::Named(id.0.clone())), ..SessionSpec::default() };
        let model = Model::plain(direct::MODEL, Arc::new(Scripted::new([])));
        let setup = self.plan(&spec)?.setup(model)?.for_one_call();
        let agent = setup_then.map_or_else(|| AGENT.to_owned(), |setup| setup.agent);
        let is_known = setup.agents.iter().any(|known| known.name == agent);
        let engine = Engine::new(setup);
        let session = engine.open(&id.0, if is_known { &agent } else { AGENT }).await?;
        Ok(OpenedOutbox { session, engine, has_begun: AtomicBool::new(false) })
    }
}

impl OpenedOutbox {
    /// Makes the call of the item, and returns the item in its state afterwards. `again`: sends it even if the result
    /// of an earlier attempt is unknown.
    ///
    /// # Errors
    ///
    /// If the item may not be sent; the message says why.
    pub async fn send(&self, item: &str, again: bool) -> Result<OutboxItem, Failure> {
        self.carry_out(item, Command::SendItem { item: item.to_owned(), again, by: None }).await
    }

    /// Drops the item, and returns it in its state afterwards.
    ///
    /// # Errors
    ///
    /// If the item was sent or dropped before.
    pub async fn drop_item(&self, item: &str) -> Result<OutboxItem, Failure> {
        self.carry_out(item, Command::DropItem { item: item.to_owned(), by: None }).await
    }

    /// Whether another process has the session open. Sending then waits for the end of its turn.
    pub fn is_joined(&self) -> bool {
        self.session.is_joined()
    }

    /// Interrupts the sending. Returns `false` if it has not begun because another process is in a turn of the session.
    /// That turn continues, and [`Self::close`] withdraws the command.
    pub fn interrupt(&self) -> bool {
        let has_begun = self.has_begun.load(Relaxed);
        if has_begun {
            let _session_is_closed = self.session.send(Command::Interrupt);
        }
        has_begun
    }

    /// Closes the session.
    pub async fn close(self) {
        self.engine.shut_down().await;
    }

    async fn carry_out(&self, item: &str, command: Command) -> Result<OutboxItem, Failure> {
        self.has_begun.store(false, Relaxed);
        let mut turn = self.session.start(command);
        turn.recorded().await;
        self.has_begun.store(true, Relaxed);
        end_of(turn, item).await.map_err(Failure::failed)
    }
}

/// Gives `session` a command that sends or drops `item`, waits until it is done, and returns the item in its state
/// afterwards.
///
/// # Errors
///
/// If the session refuses the command; the message says why.
pub async fn carry_out(session: &Session, item: &str, command: Command) -> Result<OutboxItem, String> {
    end_of(session.start(command), item).await
}

async fn end_of(mut turn: Turn, item: &str) -> Result<OutboxItem, String> {
    while turn.next().await.is_some() {}
    if let Some(why) = turn.refusal() {
        return Err(why.to_owned());
    }
    let now = outbox::outbox(&turn.session().entries()).into_iter().find(|known| known.id == item);
    now.ok_or_else(|| format!("the item `{item}` is gone from its session"))
}

/// The items of these sessions, if `is_wanted` holds for the session's entries.
fn all_items(
    home: &Home,
    sessions: impl IntoIterator<Item = SessionId>,
    is_wanted: impl Fn(&[Arc<Entry>]) -> bool,
) -> Vec<OutboxItem> {
    let with_items = sessions.into_iter().filter(|id| may_have_items(home, id));
    let read = with_items.filter_map(|id| {
        let entries = home.peek(&id.0).ok()?;
        is_wanted(&entries).then(|| items(home, &id, &entries))
    });
    let mut all: Vec<OutboxItem> = read.flatten().collect();
    all.sort_by_key(|item| item.queued_at);
    all
}

/// If no process has the session open, the result of an item that was being sent is unknown.
fn items(home: &Home, id: &SessionId, entries: &[Arc<Entry>]) -> Vec<OutboxItem> {
    let mut items = outbox::outbox(entries);
    let is_sending = |item: &OutboxItem| item.state == ItemState::Sending;
    if items.iter().any(is_sending) && !home.is_open(id) {
        let cut_off = items.iter_mut().filter(|item| is_sending(item));
        cut_off.for_each(|item| item.state = ItemState::Unknown);
    }
    items
}

/// Whether the journal may contain items. Most sessions have none, and need not be read line by line.
fn may_have_items(home: &Home, id: &SessionId) -> bool {
    let journal = fs::read(home.folder(id).join("journal.jsonl")).unwrap_or_default();
    memchr::memmem::find(&journal, br#""type":"queued""#).is_some()
}

/// Whether the session works in `workspace`, or is a job that was started there and works in a folder of its own.
fn works_in(entries: &[Arc<Entry>], workspace: &Path) -> bool {
    let Some(opened) = SessionOpened::of(entries) else { return false };
    let origin: Option<&PathBuf> = opened.order.as_ref().map(|order| &order.origin);
    opened.workspace == workspace || origin.is_some_and(|origin| origin == workspace)
}
