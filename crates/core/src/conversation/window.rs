//! [`Window`] and [`Room`]: how many tokens of a context window a conversation takes, and what is evicted when it is
//! full.
//!
//! A conversation is cut in big steps, down to about half: each cut changes what a request begins with, and a vendor's
//! cache finds requests by their beginning.
use crate::{
    Message, ToolResult, Transcript,
    tokens::{of_message, of_result},
};
use std::sync::Arc;

/// A result that takes less is not worth a note that says where it lies.
const MIN_EVICTED_TOKENS: u64 = 120;
/// How much a model can take in, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Request and reply together.
    pub tokens: u64,
    /// Maximum tokens of the reply alone.
    pub reply: u64,
    /// What each request begins with: system prompt and tools.
    pub fixed: u64,
}

/// What happens before a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// The conversation fits and is sent.
    Fits,
    /// The texts of these results give way; they stay readable elsewhere.
    Evict(Vec<Cut>),
    /// All but the last `kept` messages is summarized.
    Compact {
        /// Messages that stay as they are; they begin with one of the model's.
        kept: usize,
    },
}

/// A tool result that gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Index in [`Transcript::messages`].
    pub message: usize,
    /// Tokens of it that stay; 0 if a line that names it is enough.
    pub keep: u64,
}

impl Window {
    /// A window in which at most a quarter is kept free for the reply.
    pub fn new(tokens: u64, reply: u64, fixed: u64) -> Self {
        Self { tokens, reply: reply.min(tokens / 4), fixed }
    }

    /// Maximum tokens of a request.
    pub fn limit(&self) -> u64 {
        self.tokens - self.reply
    }

    /// Above this something gives way: estimates may be a tenth too low.
    fn full(&self) -> u64 {
        self.limit() / 10 * 9
    }

    /// What is aimed at when something gives way.
    fn target(&self) -> u64 {
        self.limit() / 2
    }

    /// Maximum tokens of a summary.
    pub fn summary(&self) -> u64 {
        (self.limit() / 8).min(4_000)
    }

    /// Bytes of a pinned prompt that stay word for word.
    pub fn pinned_bytes(&self) -> usize {
        usize::try_from(self.limit() / 8 * 3).unwrap_or(usize::MAX)
    }
}

/// Returns what has to happen before `transcript` can be sent. Call this again after that has happened: each answer but
/// [`Room::Fits`] leaves less to cut, and a conversation that was summarized is not summarized again before the model
/// has spoken.
pub fn room(transcript: &Transcript, window: &Window) -> Room {
    let size = transcript.size(window.fixed);
    // If not even the tools and the system prompt fit, evicting messages cannot help; send the request and let the
    // server decide.
    if size <= window.full() || window.fixed >= window.full() {
        return Room::Fits;
    }
    let (old, left) = old_results(transcript, window, size);
    if !old.is_empty() && left <= window.full().midpoint(window.target()) {
        return Room::Evict(old);
    }
    if let Some(Room::Compact { kept }) = compact(transcript, window.limit() / 4)
        && left_out(transcript, kept) > window.limit() / 4
    {
        return Room::Compact { kept };
    }
    let cuts = new_results(transcript, window, size);
    if cuts.is_empty() { Room::Fits } else { Room::Evict(cuts) }
}

/// A summary in place of what came before the last messages, of which at least the model's last one stays, and as many
/// as take at most `room`. `None` if there is no more than a prompt before them, or if it was done just now.
pub fn compact(transcript: &Transcript, room: u64) -> Option<Room> {
    let messages = transcript.messages();
    let start = tail(messages, room)?;
    (start > 1 && !transcript.is_compacted()).then(|| Room::Compact { kept: messages.len() - start })
}

/// About how many tokens are before the last `kept` messages.
fn left_out(transcript: &Transcript, kept: usize) -> u64 {
    let messages = transcript.messages();
    messages[..messages.len() - kept].iter().map(|message| of_message(message)).sum()
}

/// Where the last messages begin that take at most `room`: with a message of the model, so that each result stays
/// with its call. The last of those stays in any case: its results have not been read yet.
fn tail(messages: &[Arc<Message>], room: u64) -> Option<usize> {
    let mut taken = 0;
    let mut start = None;
    for (place, message) in messages.iter().enumerate().rev() {
        taken += of_message(message);
        if taken > room && start.is_some() {
            break;
        }
        if is_models(message) {
            start = Some(place);
        }
    }
    start
}

fn is_models(message: &Arc<Message>) -> bool {
    matches!(**message, Message::Assistant { .. })
}

/// The results that the model has read, oldest first, until `target` is reached; and what is left then.
fn old_results(transcript: &Transcript, window: &Window, size: u64) -> (Vec<Cut>, u64) {
    let (mut cuts, mut left) = (Vec::new(), size);
    let scale = transcript.scale(window.fixed);
    for (message, result) in results(transcript, 0..unread_from(transcript)) {
        if left <= window.target() {
            break;
        }
        let gain = of_result(result).saturating_sub(MIN_EVICTED_TOKENS);
        if gain > 0 {
            cuts.push(Cut { message, keep: 0 });
            left = left.saturating_sub((gain as f64 * scale) as u64);
        }
    }
    (cuts, left)
}

/// Results that the model has not read yet and that do not fit beside the rest: each keeps its share of the room.
fn new_results(transcript: &Transcript, window: &Window, size: u64) -> Vec<Cut> {
    let unread = unread_from(transcript)..transcript.messages().len();
    let sizes: Vec<(usize, u64)> =
        results(transcript, unread).map(|(message, result)| (message, of_result(result))).collect();
    let scale = transcript.scale(window.fixed);
    let all: u64 = sizes.iter().map(|(_, tokens)| (*tokens as f64 * scale) as u64).sum();
    let room = window.full().saturating_sub(size.saturating_sub(all));
    let share = (room as f64 / scale) as u64 / sizes.len().max(1) as u64;
    let keep = share.saturating_sub(MIN_EVICTED_TOKENS);
    let large = sizes.into_iter().filter(|(_, tokens)| *tokens > keep + MIN_EVICTED_TOKENS);
    large.map(|(message, _)| Cut { message, keep }).collect()
}

/// The results after the model's last message: it has not read them.
fn unread_from(transcript: &Transcript) -> usize {
    transcript.messages().iter().rposition(is_models).unwrap_or_default()
}

fn results(
    transcript: &Transcript,
    places: std::ops::Range<usize>,
) -> impl Iterator<Item = (usize, &ToolResult)> {
    places.filter_map(|place| match &*transcript.messages()[place] {
        Message::Tool { result, .. } => Some((place, result)),
        Message::User { .. } | Message::Assistant { .. } => None,
    })
}
