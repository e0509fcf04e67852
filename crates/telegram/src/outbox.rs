//! [`Outbox`]: queues what to show in a chat, in order, between the session and the writer.
use super::{
    asking::{Document, data_of},
    rich::Rich,
    turn_renderer::{Extent, Section, TurnRenderer},
    types::InlineKeyboardMarkup,
};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// A complete item to send.
pub(super) enum Job {
    /// The output of `session` before its entry `next`.
    Deliver { session: String, section: Section, next: u64 },
    /// The chat is in another session from here on: the growing message stays as it is.
    Left,
    /// A message of the bot itself.
    Say { text: Rich, keyboard: Option<InlineKeyboardMarkup> },
    /// A question with buttons, identified by its ID. If its text is too long, it is sent before as a file.
    Ask { ask: u64, text: Rich, keyboard: Option<InlineKeyboardMarkup>, document: Option<Document> },
    /// The text of a question after it was answered.
    Answered { ask: u64, text: Rich },
    /// Removes buttons that are invalid.
    Unbutton { message: i64 },
    /// A file of the workspace.
    File { name: String, bytes: Vec<u8> },
}

/// When the growing message is edited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Minimum time between two edits.
    pub(super) pace: Duration,
    /// Edit only for more new characters than this, or for a call.
    pub(super) more_than: usize,
    /// Maximum UTF-16 units of a message.
    pub(super) limit: usize,
}

/// The writer's next step.
pub(super) enum Next {
    Job(Job),
    /// Update the growing message with this text.
    Draft(Rich, Extent),
    /// Wait until something changes, or until this moment.
    Wait(Option<Instant>),
}

/// Shared by the task that follows a session and the writer.
pub(super) struct Outbox {
    inner: Mutex<OnDesk>,
    changed: Notify,
    idle: Notify,
}

struct OnDesk {
    chat: i64,
    jobs: VecDeque<Job>,
    renderer: TurnRenderer,
    is_writing: bool,
    is_running: bool,
    is_asking: bool,
    /// The data of the buttons of each question that is in the chat.
    offered: HashMap<u64, HashSet<String>>,
    paused_until: Option<Instant>,
}

impl Outbox {
    /// The outbox of the chat with this ID.
    pub(super) fn new(chat: i64, renderer: TurnRenderer) -> Self {
        let inner = Mutex::new(OnDesk {
            chat,
            jobs: VecDeque::new(),
            renderer,
            is_writing: false,
            is_running: false,
            is_asking: false,
            offered: HashMap::new(),
            paused_until: None,
        });
        Self { inner, changed: Notify::new(), idle: Notify::new() }
    }

    /// The ID of the chat.
    pub(super) fn chat(&self) -> i64 {
        self.inner.lock().chat
    }

    /// Sets another ID of the chat.
    pub(super) fn move_to(&self, chat: i64) {
        self.inner.lock().chat = chat;
    }

    /// Appends an item.
    pub(super) fn push(&self, job: Job) {
        self.inner.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// Sends a message of the bot itself.
    pub(super) fn say(&self, text: impl AsRef<str>) {
        let text = Rich::plain_text(&haft_present::safe::text(text.as_ref()));
        self.push(Job::Say { text, keyboard: None });
    }

    /// Changes the presentation of the running turn.
    pub(super) fn tell(&self, tell: impl FnOnce(&mut TurnRenderer)) {
        tell(&mut self.inner.lock().renderer);
        self.changed.notify_one();
    }

    /// Finishes the current part of the turn, up to the entry `next` of `session`.
    pub(super) fn close(&self, session: String, next: u64) {
        let section = self.inner.lock().renderer.take();
        self.push(Job::Deliver { session, section, next });
    }

    pub(super) fn set_running(&self, is_running: bool) {
        self.inner.lock().is_running = is_running;
    }

    pub(super) fn is_running(&self) -> bool {
        self.inner.lock().is_running
    }

    /// Sets whether a question waits for the user.
    pub(super) fn set_asking(&self, is_asking: bool) {
        self.inner.lock().is_asking = is_asking;
    }

    /// Records the buttons of the question `ask`, which is about to be sent.
    pub(super) fn offer(&self, ask: u64, keyboard: Option<&InlineKeyboardMarkup>) {
        let data = keyboard.into_iter().flat_map(data_of).map(str::to_owned).collect();
        self.inner.lock().offered.insert(ask, data);
    }

    /// Forgets the buttons of the question `ask`.
    pub(super) fn withdraw(&self, ask: u64) {
        self.inner.lock().offered.remove(&ask);
    }

    /// Whether the question `ask` was sent with a button of this data.
    pub(super) fn offers(&self, ask: u64, data: &str) -> bool {
        self.inner.lock().offered.get(&ask).is_some_and(|offered| offered.contains(data))
    }

    /// Sends nothing before `until`, as Telegram demands.
    pub(super) fn pause(&self, until: Instant) {
        self.inner.lock().paused_until = Some(until);
    }

    /// Whether to show that the bot is busy: not while it waits for the user, or must not send.
    pub(super) fn is_at_it(&self) -> bool {
        let outbox = self.inner.lock();
        let is_paused = outbox.paused_until.is_some_and(|until| until > Instant::now());
        outbox.is_running && !outbox.is_asking && !is_paused
    }

    /// The writer's next step, if it has shown `shown`, with the last edit at `last`.
    pub(super) fn next(&self, rules: Rules, shown: Extent, last: Option<Instant>) -> Next {
        let mut outbox = self.inner.lock();
        outbox.is_writing = false;
        self.idle.notify_waiters();
        if let Some(until) = outbox.paused_until.filter(|until| *until > Instant::now()) {
            return Next::Wait(Some(until));
        }
        if let Some(job) = outbox.jobs.pop_front() {
            outbox.is_writing = true;
            return Next::Job(job);
        }
        let extent = outbox.renderer.extent();
        if outbox.renderer.is_empty() || !is_due(rules, shown, extent) {
            return Next::Wait(None);
        }
        let not_before = last.map(|last| last + rules.pace);
        match not_before.filter(|moment| *moment > Instant::now()) {
            Some(moment) => Next::Wait(Some(moment)),
            None => Next::Draft(outbox.renderer.rich(), extent),
        }
    }

    /// Waits until something changes.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until everything is sent.
    pub(super) async fn settled(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            {
                let outbox = self.inner.lock();
                if outbox.jobs.is_empty() && !outbox.is_writing {
                    return;
                }
            }
            idle.await;
        }
    }
}

/// Whether there is enough new text.
fn is_due(rules: Rules, shown: Extent, now: Extent) -> bool {
    shown.marks != now.marks || shown.said.abs_diff(now.said) > rules.more_than
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn a_message_is_edited_for_enough_new_characters_or_a_call() {
        let rules = |more_than| Rules { pace: Duration::ZERO, more_than, limit: 4_000 };
        let extent = |said, marks| Extent { said, marks };
        let table = [
            (50, extent(0, 0), extent(50, 0), false),
            (50, extent(0, 0), extent(51, 0), true),
            (50, extent(60, 0), extent(61, 1), true),
            (0, extent(0, 0), extent(1, 0), true),
            (0, extent(9, 0), extent(2, 0), true),
            (0, extent(9, 1), extent(9, 1), false),
        ];
        for (more_than, shown, now, expected) in table {
            assert_eq!(is_due(rules(more_than), shown, now), expected, "{more_than} {shown:?} {now:?}");
        }
    }
}
