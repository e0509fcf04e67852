//! [`Store`]: what the bot keeps over a restart: the authorized users, the session of each chat, and what was handled
//! and shown.
//!
//! One file for each bot, written completely and then moved over the previous one; a lock beside it keeps a second
//! process away.
use super::{api::Token, updates::Message};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Maximum number of handled updates that are remembered separately.
const MAX_REMEMBERED: usize = 500;
/// Time without any update after which Telegram restarts its numbering (Bot API, `update_id`), in milliseconds.
const NEW_COUNT: u64 = 6 * 24 * 3_600 * 1_000;

/// Maximum valid ID of an update; Telegram's are far below.
const MAX_UPDATE_ID: i64 = 1 << 52;
/// Maximum gap between two IDs: Telegram counts by one, or restarts somewhere below this. An ID further ahead is not
/// one of Telegram's.
const MAX_UPDATE_GAP: i64 = 1 << 32;

/// The stored state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// ID of the last update, after which the next poll begins.
    pub(super) last: Option<i64>,
    /// When the last update arrived, in milliseconds since 1970-01-01 UTC.
    at: u64,
    /// IDs of the last handled updates.
    handled: BTreeSet<i64>,
    /// Users who were admitted by a code.
    pub(super) users: Vec<User>,
    /// Chats, by their ID.
    pub(super) chats: BTreeMap<i64, ChatState>,
    /// ID of the next question, never used twice.
    pub(super) next_ask: u64,
    /// Former IDs of groups, by their current ones.
    pub(super) moved: BTreeMap<i64, i64>,
}

/// An authorized user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    /// Name of the user in Telegram, for readers of the file.
    pub(super) name: String,
}

/// How a chat stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ChatState {
    /// The current session.
    pub(super) session: Option<String>,
    /// The model of that session, if it is not the default one.
    pub(super) model: Option<String>,
    /// The model of the next session.
    pub(super) wish: Option<String>,
    /// The first entry of the session's journal that was not shown in the chat.
    pub(super) next: u64,
    /// The growing message.
    pub(super) message: Option<i64>,
    /// How many messages of the finished text are in the chat.
    pub(super) sent: usize,
    /// Messages with buttons that were not pressed yet.
    pub(super) asked: Vec<i64>,
    /// Messages that no session has recorded yet.
    pub(super) unsent: Vec<Message>,
    /// IDs of authorized users who wrote in this chat.
    pub(super) people: BTreeSet<i64>,
    /// Whether the chat is a group.
    pub(super) is_group: bool,
}

impl ChatState {
    /// Stores a message of an authorized user until a session has recorded it.
    pub(super) fn hear(&mut self, message: &Message) {
        self.is_group = !message.is_private;
        self.people.extend(message.from.as_ref().map(|from| from.id));
        self.unsent.push(message.clone());
    }
}

impl State {
    /// Whether this update is handled for the first time; marks it as handled.
    fn is_new(&mut self, update: i64, now: u64) -> bool {
        let counts_anew = self.counts_anew(now);
        if self.last.is_some_and(|last| update < last) && counts_anew {
            (self.last, self.handled) = (None, BTreeSet::new());
        }
        let is_odd =
            self.last.is_some_and(|last| update > last.saturating_add(MAX_UPDATE_GAP) && !counts_anew);
        if is_odd || !(0..=MAX_UPDATE_ID).contains(&update) {
            return false;
        }
        let is_too_old =
            self.handled.len() >= MAX_REMEMBERED && self.handled.first().is_some_and(|first| update < *first);
        if is_too_old || !self.handled.insert(update) {
            return false;
        }
        while self.handled.len() > MAX_REMEMBERED {
            self.handled.pop_first();
        }
        (self.last, self.at) = (self.last.max(Some(update)), now);
        true
    }

    /// Whether the next update may have any ID.
    fn counts_anew(&self, now: u64) -> bool {
        now.saturating_sub(self.at) > NEW_COUNT
    }

    /// Changes the ID of a group; messages have other IDs there. A chat that already exists under the new ID stays as
    /// it is.
    pub(super) fn move_chat(&mut self, from: i64, to: i64) {
        if self.chats.contains_key(&to) {
            return;
        }
        let Some(mut chat) = self.chats.remove(&from) else { return };
        (chat.message, chat.asked) = (None, Vec::new());
        chat.unsent.iter_mut().for_each(|message| message.chat = to);
        self.moved.insert(to, from);
        self.chats.insert(to, chat);
    }

    /// The offset of the next poll; 0 for all updates if Telegram may have restarted its numbering.
    fn offset(&self, now: u64) -> i64 {
        match self.last.filter(|last| (0..=MAX_UPDATE_ID).contains(last)) {
            Some(last) if !self.counts_anew(now) => last + 1,
            _ => 0,
        }
    }
}

/// The state and its file.
pub(super) struct Store {
    file: PathBuf,
    state: Mutex<State>,
    /// Locked while the store exists.
    _lock: File,
}

/// Why the store cannot be opened.
#[derive(Debug)]
pub(super) enum Unusable {
    /// Another process has locked it.
    Taken,
    /// The file, and the error.
    Io(PathBuf, io::Error),
}

impl Store {
    /// Opens the state of `token`'s bot in `folder`, which is created if it does not exist.
    pub(super) fn open(folder: &Path, token: &Token) -> Result<Self, Unusable> {
        let file = folder.join(format!("{}.json", token.bot()));
        let failed = |error| Unusable::Io(file.clone(), error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let lock = File::options().create(true).append(true).mode(0o600).open(file.with_extension("lock"));
        let lock = lock.map_err(failed)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Unusable::Taken,
            TryLockError::Error(error) => failed(error),
        })?;
        let state = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(error.into()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => State::default(),
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { file, state: Mutex::new(state), _lock: lock })
    }

    /// Path of the file.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Calls `look` with the state.
    pub(super) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock())
    }

    /// Changes the state, and writes it to the file before it returns.
    pub(super) fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        let mut state = self.state.lock();
        let before = state.clone();
        let changed = change(&mut state);
        if *state != before {
            save(&self.file, &state)?;
        }
        Ok(changed)
    }

    /// The offset of the next poll.
    pub(super) fn offset(&self) -> i64 {
        self.read(|state| state.offset(now()))
    }

    /// Returns the new ones among `updates`, in order. They are marked as handled, and what `keep` changes for each is
    /// stored, in a single write before this returns.
    pub(super) fn take_new<T>(
        &self,
        mut updates: Vec<(i64, T)>,
        mut keep: impl FnMut(&mut State, &T),
    ) -> io::Result<Vec<T>> {
        let now = now();
        updates.sort_by_key(|(id, _)| *id);
        self.write(|state| {
            updates.retain(|(id, _)| state.is_new(*id, now));
            updates.iter().for_each(|(_, update)| keep(state, update));
            updates.into_iter().map(|(_, update)| update).collect()
        })
    }

    /// How a chat stands.
    pub(super) fn chat(&self, chat: i64) -> ChatState {
        self.read(|state| state.chats.get(&chat).cloned().unwrap_or_default())
    }
}

/// The current time in milliseconds since 1970-01-01 UTC.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64
}

/// Writes the file atomically, readable only by its owner.
fn save(file: &Path, state: &State) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut next = tempfile::NamedTempFile::new_in(folder)?;
    next.write_all(&serde_json::to_vec_pretty(state)?)?;
    next.as_file().sync_data()?;
    next.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn taken(store: &Store, ids: &[i64]) -> Vec<i64> {
        store.take_new(ids.iter().map(|id| (*id, *id)).collect(), |_, _| {}).unwrap()
    }

    // D54
    #[test]
    fn an_update_is_handled_once_in_whatever_order_it_comes() {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::new("1:a").unwrap();
        let store = Store::open(folder.path(), &token).unwrap();
        assert_eq!(taken(&store, &[7, 5, 5]), [5, 7]);
        assert_eq!(taken(&store, &[6, 7, 5]), [6]);
        assert_eq!(taken(&store, &[6]), [0; 0]);
        assert!(matches!(Store::open(folder.path(), &token), Err(Unusable::Taken)));
        drop(store);
        let store = Store::open(folder.path(), &token).unwrap();
        assert_eq!((taken(&store, &[5, 6, 7, 8]), store.read(|state| state.last)), (vec![8], Some(8)));
        let mode = fs::metadata(store.file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    // D54
    #[test]
    fn what_is_too_old_to_be_remembered_is_not_handled_again() {
        let mut state = State::default();
        assert!((0..2_000).all(|id| state.is_new(id, 1)));
        assert!((0..2_000).all(|id| !state.is_new(id, 2)));
        assert!(state.is_new(2_000, 3));
        // Telegram restarts its numbering after a week without updates.
        assert_eq!((state.offset(4), state.offset(NEW_COUNT + 5)), (2_001, 0));
        assert!(state.is_new(17, NEW_COUNT + 5));
        assert_eq!(state.last, Some(17));
    }

    #[test]
    fn a_number_that_no_update_has_changes_nothing() {
        for first in [None, Some(7)] {
            let mut state = State::default();
            first.into_iter().for_each(|first| assert!(state.is_new(first, 1)));
            assert!([i64::MAX, i64::MIN, -1, MAX_UPDATE_ID + 1].iter().all(|odd| !state.is_new(*odd, 2)));
            assert_eq!((state.last, state.offset(2)), (first, first.map_or(0, |first| first + 1)));
        }
        let mut state = State::default();
        assert!(
            state.is_new(7, 1) && !state.is_new(8 + MAX_UPDATE_GAP, 1) && state.is_new(7 + MAX_UPDATE_GAP, 1)
        );
        // A value that an earlier version may have stored.
        state.last = Some(i64::MAX);
        assert_eq!(state.offset(2), 0);
    }
}
