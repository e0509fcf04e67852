//! [`Outbox`]: holds what is to be shown in a chat, in order, between the session and the writer.
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

/// Something to write that is whole.
pub(super) enum Job {
    /// What `session` said up to its entry `next`, which comes later.
    Deliver { session: String, section: Section, next: u64 },
    /// The chat is in another session from here on: the message that grew stays as it is.
    Left,
    /// A word of ours.
    Say { text: Rich, keyboard: Option<InlineKeyboardMarkup> },
    /// A question with buttons; it is known by its number. What is too long for it comes first, as a file.
    Ask { ask: u64, text: Rich, keyboard: Option<InlineKeyboardMarkup>, document: Option<Document> },
    /// A question has been answered, and this is how it reads then.
    Answered { ask: u64, text: Rich },
    /// Removes buttons that are no longer valid.
    Unbutton { message: i64 },
    /// A file of the workspace.
    File { name: String, bytes: Vec<u8> },
}

/// When a message that grows is edited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// No sooner after the last time.
    pub(super) pace: Duration,
    /// Edit only for more new characters than this, or for a call.
    pub(super) more_than: usize,
    /// UTF-16 units of a message.
    pub(super) limit: usize,
}

/// What is to be done now.
pub(super) enum Next {
    Job(Job),
    /// The message that grows, and how much of it there is.
    Draft(Rich, Extent),
    /// Wait until something changes, or until this moment.
    Wait(Option<Instant>),
}

/// Shared by the tasks that follow a session and the writer.
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

    /// The number of the chat.
    pub(super) fn chat(&self) -> i64 {
        self.inner.lock().chat
    }

    /// The chat has this number from here on.
    pub(super) fn move_to(&self, chat: i64) {
        self.inner.lock().chat = chat;
    }

    /// Puts something behind what is to be written.
    pub(super) fn push(&self, job: Job) {
        self.inner.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// Says a sentence of ours.
    pub(super) fn say(&self, text: impl AsRef<str>) {
        let text = Rich::plain_text(&haft_present::safe::text(text.as_ref()));
        self.push(Job::Say { text, keyboard: None });
    }

    /// Goes on with what is told of the turn.
    pub(super) fn tell(&self, tell: impl FnOnce(&mut TurnRenderer)) {
        tell(&mut self.inner.lock().renderer);
        self.changed.notify_one();
    }

    /// Ends the part of the turn that is told, up to the entry `next` of `session`.
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

    /// A question waits for the person.
    pub(super) fn set_asking(&self, is_asking: bool) {
        self.inner.lock().is_asking = is_asking;
    }

    /// The question `ask` is shown with these buttons.
    pub(super) fn offer(&self, ask: u64, keyboard: Option<&InlineKeyboardMarkup>) {
        let data = keyboard.into_iter().flat_map(data_of).map(str::to_owned).collect();
        self.inner.lock().offered.insert(ask, data);
    }

    /// The question `ask` has no buttons any more.
    pub(super) fn withdraw(&self, ask: u64) {
        self.inner.lock().offered.remove(&ask);
    }

    /// Whether the question `ask` was shown with a button with this data.
    pub(super) fn offers(&self, ask: u64, data: &str) -> bool {
        self.inner.lock().offered.get(&ask).is_some_and(|offered| offered.contains(data))
    }

    /// Telegram wants nothing of this chat before `until`.
    pub(super) fn pause(&self, until: Instant) {
        self.inner.lock().paused_until = Some(until);
    }

    /// Whether to show that the bot is busy: not while it waits for a person, or must not send.
    pub(super) fn is_at_it(&self) -> bool {
        let outbox = self.inner.lock();
        let is_paused = outbox.paused_until.is_some_and(|until| until > Instant::now());
        outbox.is_running && !outbox.is_asking && !is_paused
    }

    /// What the writer does next, which has shown as much as `shown`, and edited at `last`.
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

    /// Waits until all is written.
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
