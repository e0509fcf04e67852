//! [`PromptHistory`]: the messages that the model reads after evictions and summaries, and how many tokens they take.
use crate::{Clip, Evicted, Keep, Message, Part, Usage, text_of, tokens};
use std::sync::Arc;

/// A server's count is not credible below this fraction of the estimate. A count somewhat below the estimate is normal:
/// a server may describe tools in fewer tokens than their definitions.
const MIN_CREDIBLE_RATIO: f64 = 0.1;
/// Maximum number of tokens that a tokenizer makes for each estimated token.
const MAX_TOKEN_RATIO: f64 = 4.0;

/// The beginning of a summary, up to the number of replies that it replaces.
const SUMMARY_HEADING: &str = "[The conversation so far in a summary, in place of ";

/// The messages, and data about their size.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptHistory {
    messages: Vec<Arc<Message>>,
    /// The sum of the estimates of `messages`.
    estimated: u64,
    measured: Option<Measured>,
    /// The first prompt, and the last prompt with its index; without an index if a summary has replaced it.
    first: Option<Arc<Message>>,
    last: Option<(Arc<Message>, Option<usize>)>,
    /// Number of replies that summaries have replaced.
    replies_left_out: usize,
    is_compacted: bool,
}

/// A server's token count, and the estimate for the same messages.
#[derive(Clone, Copy, Debug)]
struct Measured {
    tokens: u64,
    estimated: u64,
}

impl PromptHistory {
    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    pub(crate) fn is_compacted(&self) -> bool {
        self.is_compacted
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.is_compacted &= !matches!(message, Message::Assistant { .. });
        self.estimated += tokens::of_message(&message);
        self.messages.push(Arc::new(message));
    }

    /// Pins the last message, which is a prompt of the user.
    pub(crate) fn pin(&mut self) {
        let Some(prompt) = self.messages.last() else { return };
        self.first.get_or_insert_with(|| prompt.clone());
        self.last = Some((prompt.clone(), Some(self.messages.len() - 1)));
    }

    /// Adds `part` to the last message if that is a prompt, so that both are pinned; otherwise adds it as a message of
    /// its own.
    pub(crate) fn add_to_prompt(&mut self, part: Part) {
        let last = self.messages.pop();
        if self.first.as_ref().zip(last.as_ref()).is_some_and(|(first, last)| Arc::ptr_eq(first, last)) {
            self.first = None;
        }
        let mut parts = match last.as_deref() {
            Some(Message::User { parts }) => parts.clone(),
            Some(Message::Assistant { .. } | Message::Tool { .. }) | None => Vec::new(),
        };
        match last {
            Some(prompt) if matches!(*prompt, Message::User { .. }) => {
                self.estimated -= tokens::of_message(&prompt);
            }
            other => self.messages.extend(other),
        }
        parts.push(part);
        self.push(Message::User { parts });
        self.pin();
    }

    /// Records the server's count up to and including the last message. If it is lower than before although nothing was
    /// evicted, the server left out cached tokens.
    pub(crate) fn measure(&mut self, usage: Usage) {
        let read = usage.input + usage.cache_read + usage.cache_write;
        let now = Measured { tokens: read + usage.output, estimated: self.estimated };
        let has_shrunk = |before: &Measured| now.estimated >= before.estimated && now.tokens < before.tokens;
        if read > 0 && !self.measured.as_ref().is_some_and(has_shrunk) {
            self.measured = Some(now);
        }
    }

    /// The ratio of tokens counted by the server to estimated tokens, at least 1.
    pub(crate) fn scale(&self, fixed: u64) -> f64 {
        self.counted(fixed).map_or(1.0, |(_, scale)| scale.clamp(1.0, MAX_TOKEN_RATIO))
    }

    pub(crate) fn size(&self, fixed: u64) -> u64 {
        let Some((Measured { tokens, estimated }, _)) = self.counted(fixed) else {
            return fixed + self.estimated;
        };
        let since = self.estimated as f64 - estimated as f64;
        (tokens as f64 + since * self.scale(fixed)).max(0.0).ceil() as u64
    }

    /// The last credible count, and its ratio to the estimate.
    fn counted(&self, fixed: u64) -> Option<(Measured, f64)> {
        let measured = self.measured?;
        let scale = measured.tokens as f64 / (fixed + measured.estimated).max(1) as f64;
        (scale >= MIN_CREDIBLE_RATIO).then_some((measured, scale))
    }

    pub(crate) fn evict(&mut self, results: &[Evicted]) {
        for Evicted { message, text } in results {
            let Some(message) = self.messages.get_mut(*message) else { continue };
            let before = tokens::of_message(message);
            if let Message::Tool { result, .. } = Arc::make_mut(message) {
                (result.content, result.images) = (text.clone(), Vec::new());
            }
            self.estimated = self.estimated - before + tokens::of_message(message);
        }
    }

    /// The first prompt, `summary` and the last prompt become one user message, and the last `kept` messages follow.
    /// Thus no two messages of the same role are adjacent, which some models reject.
    pub(crate) fn compact(&mut self, summary: &str, kept: usize, pinned_bytes: usize) {
        let mut start = self.messages.len().saturating_sub(kept);
        // A damaged line that was left out shifts the indices: never keep a result without its call.
        while self.messages.get(start).is_some_and(|message| matches!(**message, Message::Tool { .. })) {
            start += 1;
        }
        let tail = self.messages.split_off(start);
        let is_reply = |message: &&Arc<Message>| matches!(***message, Message::Assistant { .. });
        self.replies_left_out += self.messages.iter().filter(is_reply).count();
        let head = self.head(summary, start, pinned_bytes);
        self.messages = std::iter::once(Arc::new(head)).chain(tail).collect();
        if let Some((_, place)) = &mut self.last {
            *place = place.and_then(|place| (place + 1).checked_sub(start)).filter(|place| *place > 0);
        }
        self.estimated = self.messages.iter().map(|message| tokens::of_message(message)).sum();
        self.is_compacted = true;
    }

    fn head(&self, summary: &str, start: usize, pinned_bytes: usize) -> Message {
        let pinned = |message: &Arc<Message>| pinned(message, pinned_bytes);
        let mut parts: Vec<Part> = self.first.iter().flat_map(pinned).collect();
        let left_out = self.replies_left_out;
        parts.push(Part::text(format!(
            "\n\n{SUMMARY_HEADING}{left_out} replies of yours and the results of their calls]\n\n{summary}"
        )));
        let is_first =
            |prompt: &Arc<Message>| self.first.as_ref().is_some_and(|first| Arc::ptr_eq(first, prompt));
        if let Some((prompt, place)) = &self.last
            && !is_first(prompt)
            && place.is_none_or(|place| place < start)
        {
            parts.push(Part::text("\n\n[The last prompt, word for word]\n\n"));
            parts.extend(pinned(prompt));
        }
        Message::User { parts }
    }
}

/// The text of a prompt and of its documents, and its pictures.
fn pinned(message: &Arc<Message>, bytes: usize) -> Vec<Part> {
    let Message::User { parts } = &**message else { return Vec::new() };
    // A complete document could fill the window permanently.
    let read = message.without_documents();
    let parts = match &read {
        Some(Message::User { parts }) => parts,
        _ => parts,
    };
    let text = Clip { lines: usize::MAX, bytes, keep: Keep::Both }.apply(&text_of(parts), "");
    let pictures = parts.iter().filter(|part| matches!(part, Part::Image(_))).cloned();
    std::iter::once(Part::text(text)).chain(pictures).collect()
}

/// Number of replies that the summary in this text replaces, if there is one.
pub fn replies_left_out(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once(SUMMARY_HEADING)?;
    rest.split(' ').next()?.parse().ok()
}
