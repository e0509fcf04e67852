//! [`Window`] and [`Room`]: how many tokens of a context window a conversation takes, and what is evicted when it is
//! full.
//!
//! A conversation is cut in large steps, down to about half of the window: each cut changes the beginning of the
//! request, and a vendor's prompt cache finds requests by their beginning.
use crate::{
    Message, ToolResult, Transcript,
    tokens::{of_message, of_result},
};
use std::sync::Arc;

/// Results with fewer tokens are not evicted: the note that replaces them would save too little.
const MIN_EVICTED_TOKENS: u64 = 120;
/// The context window of a model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Request and reply together.
    pub tokens: u64,
    /// Maximum tokens of the reply alone.
    pub reply: u64,
    /// The fixed beginning of each request: system prompt and tools.
    pub fixed: u64,
}

/// What has to happen before a request so that it fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// The conversation fits and is sent.
    Fits,
    /// The texts of these results are evicted; they stay readable in a file.
    Evict(Vec<Cut>),
    /// All but the last `kept` messages is summarized.
    Compact {
        /// Number of last messages that stay unchanged; the first of them is a reply.
        kept: usize,
    },
}

/// A tool result that is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Index in [`Transcript::messages`].
    pub message: usize,
    /// Tokens of the result to keep; 0 to keep only a note.
    pub keep: u64,
}

impl Window {
    /// A window in which at most a quarter is reserved for the reply.
    pub fn new(tokens: u64, reply: u64, fixed: u64) -> Self {
        Self { tokens, reply: reply.min(tokens / 4), fixed }
    }

    /// Maximum tokens of a request.
    pub fn limit(&self) -> u64 {
        self.tokens - self.reply
    }

    /// Size above which results are evicted: 90% of the limit, because estimates may be a tenth too low.
    fn full(&self) -> u64 {
        self.limit() / 10 * 9
    }

    /// The target size of an eviction: half of the limit.
    fn target(&self) -> u64 {
        self.limit() / 2
    }

    /// Maximum tokens of a summary.
    pub fn summary(&self) -> u64 {
        (self.limit() / 8).min(4_000)
    }

    /// Maximum bytes of a pinned prompt that is kept unchanged.
    pub fn pinned_bytes(&self) -> usize {
        usize::try_from(self.limit() / 8 * 3).unwrap_or(usize::MAX)
    }
}

/// Returns what has to happen before `transcript` can be sent. Call this again after that has happened: each step
/// except [`Room::Fits`] leaves less to cut, and a summarized conversation is not summarized again before the model has
/// replied.
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

/// Returns a compaction that keeps the last reply with its results, and before it as many messages as fit in `room`.
/// `None` if there is only a prompt before them, or if the conversation was summarized just before.
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

/// Index of the first of the last messages that fit in `room`. It is a reply, so that each result stays with its call.
/// The last reply is always kept: the model has not read its results yet.
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

/// Evicts results that the model has read, oldest first, until the target size is reached. Also returns the size after
/// that.
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

/// Cuts results that the model has not read yet and that do not fit in the window: each keeps its share of the room.
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

/// Index of the first result after the last reply, which the model has not read.
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
