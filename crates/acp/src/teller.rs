//! [`Teller`]: translates a session's events into the protocol.
use super::{
    calls::{self, Call},
    folder::Folder,
    kinds,
    sdk::{ContentBlock, ContentChunk, CurrentModeUpdate, ImageContent, SessionUpdate, TextContent},
};
use haft_core::{CallId, Entry, Fact, Part, ToolCall, Update, active_path, clip, text_of};
use haft_engine::{Engine, Session};
use haft_present::{notes, safe};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};

/// Maximum bytes of one piece of text.
const MAX_TEXT_BYTES: usize = 16_000;

/// What was told of a session so far.
pub(super) struct Teller {
    session: Session,
    engine: Engine,
    folder: Folder,
    /// How many replies there were; tells apart the calls of different rounds.
    round: usize,
    /// How often the reply that is heard was begun anew.
    attempt: usize,
    text: Stream,
    thoughts: Stream,
    calls: HashMap<CallId, Call>,
}

/// A text that arrives in pieces, and may be taken back.
#[derive(Default)]
struct Stream {
    heard: String,
    /// How many bytes of `heard` are shown.
    shown: usize,
    /// What was shown and then taken back, until what comes in its place differs.
    stale: Option<String>,
}

impl Stream {
    /// Everything so far was for nothing.
    fn begin_anew(&mut self) {
        let shown = &self.heard[..self.shown];
        if !shown.is_empty() {
            self.stale = Some(shown.to_owned());
        }
        self.heard.clear();
        self.shown = 0;
    }

    /// This is all of it.
    fn finish(&mut self, whole: String) {
        if !whole.starts_with(&self.heard[..self.shown]) {
            self.begin_anew();
        }
        self.heard = whole;
    }

    /// What is to be shown next. What was taken back comes again, whole, unless it is the same.
    fn news(&mut self) -> Option<String> {
        if !self.has_news() {
            return None;
        }
        let mut gap = "";
        if let Some(stale) = self.stale.take() {
            match self.heard.starts_with(&stale) {
                true => self.shown = stale.len(),
                false => gap = "\n\n",
            }
        }
        let piece = clip::head(&self.heard[self.shown..], MAX_TEXT_BYTES);
        self.shown += piece.len();
        Some(format!("{gap}{}", safe::text(piece)))
    }

    fn has_news(&self) -> bool {
        match &self.stale {
            Some(stale) => !stale.starts_with(&self.heard),
            None => self.shown < self.heard.len(),
        }
    }
}

impl Teller {
    pub(super) fn new(session: Session, engine: Engine, folder: Folder) -> Self {
        let (text, thoughts) = (Stream::default(), Stream::default());
        Self { session, engine, folder, round: 0, attempt: 0, text, thoughts, calls: HashMap::new() }
    }

    /// The conversation as it stands: what was undone is left out, but counted.
    pub(super) fn replay(&mut self, entries: &[Arc<Entry>]) -> Vec<SessionUpdate> {
        let told: Vec<_> = active_path(entries).into_iter().map(|entry| entry.seq).collect();
        let mut updates = Vec::new();
        for entry in entries {
            match &entry.fact {
                Fact::Replied { .. } if told.binary_search(&entry.seq).is_err() => self.round += 1,
                Fact::Prompted { parts, .. } if told.binary_search(&entry.seq).is_ok() => {
                    updates.extend(said(parts))
                }
                // The mode that holds is told with the answer.
                Fact::ModeSet { .. } => {}
                _ if told.binary_search(&entry.seq).is_ok() => updates.extend(self.fact(&entry.fact)),
                _ => {}
            }
        }
        updates
    }

    /// Takes in what happens; what is to be shown of it is given by [`Teller::news`].
    pub(super) fn live(&mut self, update: &Update) -> Option<SessionUpdate> {
        match update {
            Update::Text { text } => self.text.heard += text,
            Update::Thinking { text } => self.thoughts.heard += text,
            Update::Retrying { .. } => {
                self.text.begin_anew();
                self.thoughts.begin_anew();
                self.attempt += 1;
            }
            Update::ToolOutput { call, chunk } => {
                if let Some(call) = self.calls.get_mut(call) {
                    call.says(chunk);
                }
            }
            Update::ToolCall { call, name } if !self.calls.contains_key(call) => {
                let looks = kinds::unfinished(name, &self.engine.setup().tools);
                let announced = Call::new(self.id(call), name, looks, Value::Null);
                let update = announced.announced();
                self.calls.insert(call.clone(), announced);
                return Some(update);
            }
            Update::ToolCall { .. } | Update::ToolArguments { .. } | Update::ToolCallEnd { .. } => {}
            Update::Summarizing => {}
        }
        None
    }

    /// Something that was heard and not shown yet.
    pub(super) fn news(&mut self) -> Option<SessionUpdate> {
        if let Some(thought) = self.thoughts.news() {
            return Some(SessionUpdate::AgentThoughtChunk(self.chunk(thought)));
        }
        if let Some(text) = self.text.news() {
            return Some(SessionUpdate::AgentMessageChunk(self.chunk(text)));
        }
        let call = self.calls.values_mut().find(|call| call.has_news)?;
        Some(SessionUpdate::ToolCallUpdate(call.output()))
    }

    /// Whether [`Teller::news`] has any.
    pub(super) fn has_news(&self) -> bool {
        self.text.has_news() || self.thoughts.has_news() || self.calls.values().any(|call| call.has_news)
    }

    /// The call, where it is known.
    pub(super) fn call(&self, call: &CallId) -> Option<&Call> {
        self.calls.get(call)
    }

    /// Something that was recorded.
    pub(super) fn fact(&mut self, fact: &Fact) -> Vec<SessionUpdate> {
        match fact {
            Fact::Replied { parts, .. } => {
                let mut updates = self.replied(parts);
                updates.extend(self.note(fact));
                updates
            }
            Fact::Called { made } => self.called(made).into_iter().collect(),
            Fact::ToolStarted { call, arguments, .. } => self.started(call, arguments),
            Fact::Staged { call, .. } | Fact::ChangedBelow { call, .. } | Fact::Unsettled { call, .. } => {
                let call = self.calls.get_mut(call);
                let update = call.map(|call| call.changes(&self.session, &self.folder, fact));
                update.map(SessionUpdate::ToolCallUpdate).into_iter().collect()
            }
            Fact::ToolEnded { call, result, .. } => {
                let plan = calls::plan(result);
                let ended =
                    self.calls.remove(call).map(|call| SessionUpdate::ToolCallUpdate(call.ended(result)));
                ended.into_iter().chain(plan).collect()
            }
            Fact::ModeSet { mode } => {
                vec![SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.name()))]
            }
            Fact::TurnEnded { .. } => self.over(),
            // These fail the request, which says why.
            Fact::ModelFailed { .. } | Fact::PromptDenied { .. } | Fact::Evicted { .. } => Vec::new(),
            fact => self.note(fact).into_iter().collect(),
        }
    }

    /// An editor that shows no more than replies and calls leaves the person in the dark.
    fn note(&self, fact: &Fact) -> Option<SessionUpdate> {
        let note = format!("\n\n({})", notes::of(fact)?);
        Some(SessionUpdate::AgentMessageChunk(self.chunk(note)))
    }

    fn replied(&mut self, parts: &[Part]) -> Vec<SessionUpdate> {
        self.thoughts.finish(thoughts_of(parts));
        self.text.finish(text_of(parts));
        let mut updates: Vec<_> = std::iter::from_fn(|| self.news()).collect();
        (self.text, self.thoughts, self.attempt) = (Stream::default(), Stream::default(), 0);
        let made: Vec<&ToolCall> = parts.iter().filter_map(Part::as_call).collect();
        let is_made = |id: &CallId| made.iter().any(|call| call.id == *id);
        let dropped: Vec<CallId> = self.calls.keys().filter(|id| !is_made(id)).cloned().collect();
        updates.extend(dropped.iter().filter_map(|id| self.drop(id)));
        updates.extend(made.into_iter().filter_map(|call| self.called(call)));
        self.round += 1;
        updates
    }

    /// A call that the model takes back; those of this reply only are known without arguments.
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

    /// The arguments may have been put right.
    fn started(&mut self, id: &CallId, arguments: &Value) -> Vec<SessionUpdate> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        let mut updates = vec![SessionUpdate::ToolCallUpdate(call.started())];
        if call.arguments != *arguments {
            call.arguments = arguments.clone();
            updates.push(SessionUpdate::ToolCallUpdate(call.described()));
        }
        updates
    }

    /// Nothing goes on after a turn: what was announced in a reply that was cut off never came to be.
    fn over(&mut self) -> Vec<SessionUpdate> {
        let mut updates: Vec<_> = std::iter::from_fn(|| self.news()).collect();
        updates.extend(self.calls.drain().map(|(_, call)| SessionUpdate::ToolCallUpdate(call.dropped())));
        (self.text, self.thoughts, self.attempt) = (Stream::default(), Stream::default(), 0);
        updates
    }

    fn id(&self, call: &CallId) -> String {
        format!("{}-{call}", self.round)
    }

    fn chunk(&self, text: String) -> ContentChunk {
        let message = format!("reply-{}-{}", self.round, self.attempt);
        ContentChunk::new(ContentBlock::Text(TextContent::new(text))).message_id(message.as_str())
    }
}

fn thoughts_of(parts: &[Part]) -> String {
    let thoughts = parts.iter().filter_map(|part| match part {
        Part::Thinking { text, .. } => Some(text.as_str()),
        Part::Text { .. } | Part::Image(_) | Part::ToolCall(_) => None,
    });
    thoughts.collect()
}

/// What a person said.
fn said(parts: &[Part]) -> Vec<SessionUpdate> {
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(ContentBlock::Text(TextContent::new(safe::text(text)))),
        Part::Image(image) => {
            Some(ContentBlock::Image(ImageContent::new(image.data.clone(), image.mime.clone())))
        }
        Part::Thinking { .. } | Part::ToolCall(_) => None,
    });
    blocks.map(|block| SessionUpdate::UserMessageChunk(ContentChunk::new(block))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown after each piece; `None` is a line that breaks.
    fn shown(pieces: &[Option<&str>], whole: &str) -> Vec<String> {
        let mut stream = Stream::default();
        let mut shown = Vec::new();
        for piece in pieces {
            match piece {
                Some(text) => stream.heard += text,
                None => stream.begin_anew(),
            }
            shown.extend(stream.news());
        }
        stream.finish(whole.to_owned());
        shown.extend(stream.news());
        shown
    }

    #[test]
    fn what_is_said_anew_is_shown_where_it_differs() {
        type Row<'a> = (&'a [Option<&'a str>], &'a str, &'a [&'a str]);
        let table: [Row<'_>; 6] = [
            (&[Some("Hel"), Some("lo")], "Hello", &["Hel", "lo"]),
            (&[Some("Hel")], "Hello", &["Hel", "lo"]),
            (&[Some("Hel"), None, Some("H"), Some("ello")], "Hello", &["Hel", "lo"]),
            (&[Some("Hel"), None, Some("H"), Some("i!")], "Hi!", &["Hel", "\n\nHi!"]),
            (&[None, Some("Hi")], "Hi", &["Hi"]),
            // A piece was lost.
            (&[Some("a"), Some("c")], "abc", &["a", "c", "\n\nabc"]),
        ];
        for (pieces, whole, expected) in table {
            assert_eq!(shown(pieces, whole), expected, "{pieces:?}");
        }
    }
}
