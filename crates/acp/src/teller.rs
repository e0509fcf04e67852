//! [`Teller`]: translates a session's events to the protocol.
use super::{
    calls::{self, Call, fenced},
    folder::Folder,
    kinds,
    sdk::{ContentBlock, ContentChunk, CurrentModeUpdate, ImageContent, SessionUpdate, TextContent},
};
use haft_core::{CallId, Entry, Fact, Part, ToolCall, Update, active_path};
use haft_engine::{Engine, Session};
use haft_present::{
    safe,
    timeline::{Aside, Item, Replies, Timeline},
    undo,
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Maximum bytes of one chunk of text.
const MAX_TEXT_BYTES: usize = 16_000;

/// The state of the translation of a session.
pub(super) struct Teller {
    session: Session,
    engine: Engine,
    folder: Folder,
    timeline: Timeline,
    /// Number of replies so far, which distinguishes the calls of different rounds.
    round: usize,
    /// Number of restarts of the current reply.
    attempt: usize,
    calls: HashMap<CallId, Call>,
}

impl Teller {
    pub(super) fn new(session: Session, engine: Engine, folder: Folder) -> Self {
        let timeline = Timeline::with(Replies::OnDemand(MAX_TEXT_BYTES));
        Self { session, engine, folder, timeline, round: 0, attempt: 0, calls: HashMap::new() }
    }

    /// The current conversation: undone replies are left out, but counted.
    pub(super) fn replay(&mut self, entries: &[Arc<Entry>]) -> Vec<SessionUpdate> {
        let told: Vec<_> = active_path(entries).into_iter().map(|entry| entry.seq).collect();
        let mut updates = Vec::new();
        for entry in entries {
            match &entry.fact {
                Fact::Replied { .. } if told.binary_search(&entry.seq).is_err() => self.round += 1,
                Fact::Prompted { parts, .. } if told.binary_search(&entry.seq).is_ok() => {
                    updates.extend(said(parts))
                }
                // A rewind of the conversation is not shown, since its undone part is left out.
                Fact::Rewound { calls, .. } if calls.is_empty() => {}
                // The current mode is sent with the response.
                Fact::ModeSet { .. } => {}
                _ if told.binary_search(&entry.seq).is_ok() => updates.extend(self.fact(&entry.fact)),
                _ => {}
            }
        }
        updates
    }

    /// Updates for the calls that have not ended, in a session without running work.
    pub(super) fn left(&self) -> impl Iterator<Item = SessionUpdate> {
        self.calls.values().map(|call| SessionUpdate::ToolCallUpdate(call.left()))
    }

    /// Applies a live update; live text is returned by [`Teller::news`].
    pub(super) fn live(&mut self, update: &Update) -> Vec<SessionUpdate> {
        let items = self.timeline.update(update);
        items.into_iter().flat_map(|item| self.item(item)).collect()
    }

    /// The updates for live text that was not shown yet.
    pub(super) fn news(&mut self) -> Vec<SessionUpdate> {
        if let Some(item) = self.timeline.news() {
            return self.item(item);
        }
        let call = self.calls.values_mut().find(|call| call.has_news);
        call.map(|call| SessionUpdate::ToolCallUpdate(call.output())).into_iter().collect()
    }

    /// Whether [`Teller::news`] returns any.
    pub(super) fn has_news(&self) -> bool {
        self.timeline.has_news() || self.calls.values().any(|call| call.has_news)
    }

    /// The call, if it is known.
    pub(super) fn call(&self, call: &CallId) -> Option<&Call> {
        self.calls.get(call)
    }

    /// The updates for a recorded fact.
    pub(super) fn fact(&mut self, fact: &Fact) -> Vec<SessionUpdate> {
        let items = self.timeline.fact(0, fact);
        let mut updates: Vec<_> = items.into_iter().flat_map(|item| self.item(item)).collect();
        match fact {
            Fact::Called { made } | Fact::GoalChecked { made } | Fact::AttemptsBegun { made } => {
                updates.extend(self.called(made))
            }
            Fact::AcceptedPart { call, .. } => {
                self.calls.get_mut(call).into_iter().for_each(|call| call.is_accepted_in_part = true);
            }
            Fact::Staged { call, .. } | Fact::SubagentChanged { call, .. } | Fact::Unsettled { call, .. } => {
                let call = self.calls.get_mut(call);
                let update = call.map(|call| call.changes(&self.session, &self.folder, fact));
                updates.extend(update.map(SessionUpdate::ToolCallUpdate));
            }
            _ => {}
        }
        updates.extend(undo::told(fact).map(|words| said_beside(&words)));
        updates
    }

    fn item(&mut self, item: Item) -> Vec<SessionUpdate> {
        match item {
            Item::Text { text, is_anew } => {
                vec![SessionUpdate::AgentMessageChunk(self.piece(&text, is_anew))]
            }
            Item::Thought { text, is_anew, .. } => {
                vec![SessionUpdate::AgentThoughtChunk(self.piece(&text, is_anew))]
            }
            Item::Retrying { .. } => {
                self.attempt += 1;
                Vec::new()
            }
            Item::Replied { parts } => self.replied(&parts),
            Item::Announced { call, name } => self.announced(&call, &name).into_iter().collect(),
            Item::Started { call, arguments, .. } => self.started(&call, &arguments),
            Item::Output { call, chunk } => {
                if let Some(call) = self.calls.get_mut(&call) {
                    call.says(&chunk);
                }
                Vec::new()
            }
            Item::Call(ended) => {
                let plan = calls::plan(&ended.result);
                let call = self.calls.remove(&ended.id);
                let ended = call.map(|call| SessionUpdate::ToolCallUpdate(call.ended(&ended.result)));
                ended.into_iter().chain(plan).collect()
            }
            Item::Aside { about: Aside::Mode(mode), .. } => {
                vec![SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.name()))]
            }
            Item::Ended { .. } => self.over(),
            // Without these notes, an editor that only shows replies and calls would hide what happens.
            Item::Note(text) | Item::Aside { about: Aside::Task, text } => {
                vec![notice(&format!("({text})"))]
            }
            // These are in the error of the request, or are shown with their call.
            Item::Failure { .. } | Item::Aside { .. } | Item::Changed { .. } => Vec::new(),
            // The protocol has no field for the reason of a refusal.
            Item::Denied { reason } => vec![said_beside(&format!("the prompt was refused: {reason}"))],
            Item::Prompt { .. } | Item::Thinking(_) | Item::Reply(_) | Item::Rewound { .. } => Vec::new(),
            Item::Asked { .. } => Vec::new(),
        }
    }

    fn announced(&mut self, id: &CallId, name: &str) -> Option<SessionUpdate> {
        if self.calls.contains_key(id) {
            return None;
        }
        let looks = kinds::unfinished(name, &self.engine.setup().tools);
        let announced = Call::new(self.id(id), name, looks, Value::Null);
        let update = announced.announced();
        self.calls.insert(id.clone(), announced);
        Some(update)
    }

    fn replied(&mut self, parts: &[Part]) -> Vec<SessionUpdate> {
        let mut updates = self.outputs();
        self.attempt = 0;
        let made: Vec<&ToolCall> = parts.iter().filter_map(Part::as_call).collect();
        let is_made = |id: &CallId| made.iter().any(|call| call.id == *id);
        let dropped: Vec<CallId> = self.calls.keys().filter(|id| !is_made(id)).cloned().collect();
        updates.extend(dropped.iter().filter_map(|id| self.drop(id)));
        updates.extend(made.into_iter().filter_map(|call| self.called(call)));
        self.round += 1;
        updates
    }

    /// The update for a call that the model takes back. Only calls of the current reply have no arguments yet.
    fn drop(&mut self, id: &CallId) -> Option<SessionUpdate> {
        self.calls.get(id).filter(|call| call.arguments.is_null())?;
        self.calls.remove(id).map(|call| SessionUpdate::ToolCallUpdate(call.dropped()))
    }

    fn called(&mut self, made: &ToolCall) -> Option<SessionUpdate> {
        let setup = self.engine.setup();
        let looks = kinds::of(made, &setup.tools, setup.profile.validation, &self.folder);
        let known = self.calls.remove(&made.id);
        let id = known.as_ref().map_or_else(|| self.id(&made.id), |known| known.id.clone());
        let call = Call::new(id, &made.name, looks, made.arguments.clone());
        let update = match known {
            None => call.announced(),
            Some(_) => SessionUpdate::ToolCallUpdate(call.described()),
        };
        self.calls.insert(made.id.clone(), call);
        Some(update)
    }

    /// The updates for a call that starts, whose arguments may have been corrected.
    fn started(&mut self, id: &CallId, arguments: &Value) -> Vec<SessionUpdate> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        let mut updates = vec![SessionUpdate::ToolCallUpdate(call.started())];
        if call.arguments != *arguments {
            call.arguments = arguments.clone();
            updates.push(SessionUpdate::ToolCallUpdate(call.described()));
        }
        updates
    }

    /// Ends all announced calls: after a turn, calls of a reply that was cut off never start.
    fn over(&mut self) -> Vec<SessionUpdate> {
        let mut updates = self.outputs();
        updates.extend(self.calls.drain().map(|(_, call)| SessionUpdate::ToolCallUpdate(call.dropped())));
        // A reply that was cut off does not share its message ID with the next one.
        self.attempt += 1;
        updates
    }

    /// Output of running calls that was not shown yet.
    fn outputs(&mut self) -> Vec<SessionUpdate> {
        let calls = self.calls.values_mut().filter(|call| call.has_news);
        calls.map(|call| SessionUpdate::ToolCallUpdate(call.output())).collect()
    }

    fn id(&self, call: &CallId) -> String {
        format!("{}-{call}", self.round)
    }

    /// A chunk of text. A reply that replaces an abandoned one begins a separate message.
    fn piece(&self, text: &str, is_anew: bool) -> ContentChunk {
        let gap = if is_anew { "\n\n" } else { "" };
        self.chunk(format!("{gap}{}", safe::text(text)))
    }

    fn chunk(&self, text: String) -> ContentChunk {
        let message = format!("reply-{}-{}", self.round, self.attempt);
        ContentChunk::new(ContentBlock::Text(TextContent::new(text))).message_id(message.as_str())
    }
}

/// A message of Haft itself between replies, as plain text.
pub(super) fn said_beside(words: &str) -> SessionUpdate {
    notice(&fenced(words))
}

/// A separate message in Markdown. In an editor that shows all messages as one, it has an empty line before and after
/// it.
pub(super) fn notice(markdown: &str) -> SessionUpdate {
    // IDs are unique within a process, and only one process shows a session.
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("notice-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let words = ContentBlock::Text(TextContent::new(format!("\n\n{markdown}\n\n")));
    SessionUpdate::AgentMessageChunk(ContentChunk::new(words).message_id(name.as_str()))
}

/// A prompt of the user.
fn said(parts: &[Part]) -> Vec<SessionUpdate> {
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(ContentBlock::Text(TextContent::new(safe::text(text)))),
        Part::Image(image) => {
            Some(ContentBlock::Image(ImageContent::new(image.data.clone(), image.mime.clone())))
        }
        Part::Document(document) => Some(ContentBlock::Text(TextContent::new(safe::text(&document.label())))),
        Part::Thinking { .. } | Part::ToolCall(_) => None,
    });
    blocks.map(|block| SessionUpdate::UserMessageChunk(ContentChunk::new(block))).collect()
}
