//! [`Fallback`]: holds calls in the text of a reply that may still bring native ones, which come first.
use haft_dialects::{SENTINEL, Said};

/// From the first call in the text on, everything waits for the end of the reply.
#[derive(Default)]
pub(super) struct Fallback {
    /// The text as it came.
    raw: String,
    /// So much of it was told before the first call.
    told: usize,
    waiting: Vec<Said>,
    has_native: bool,
}

impl Fallback {
    /// The reply has a native call.
    pub(super) fn native(&mut self) {
        self.has_native = true;
    }

    /// What is certain now of what a reader made of `text`.
    pub(super) fn hear(&mut self, text: &str, said: Vec<Said>) -> Vec<Said> {
        self.raw += text;
        self.sift(said)
    }

    fn sift(&mut self, said: Vec<Said>) -> Vec<Said> {
        let mut certain = Vec::new();
        for said in said {
            match &said {
                Said::Text(text) if self.waiting.is_empty() => {
                    self.told += text.len();
                    certain.push(said);
                }
                Said::Thinking(_) | Said::ThinkingEnd if self.waiting.is_empty() => certain.push(said),
                _ => self.waiting.push(said),
            }
        }
        certain
    }

    /// The rest: the calls, or the text that they stood in beside native ones. What stands behind the sentinel is no text
    /// for people either way.
    pub(super) fn end(mut self, said: Vec<Said>) -> Vec<Said> {
        let mut rest = self.sift(said);
        let is_text = self.has_native && !self.waiting.is_empty();
        match self.raw.get(self.told..).filter(|_| is_text) {
            Some(text) if text.contains(SENTINEL) => {
                let is_text = |said: &Said| matches!(said, Said::Text(_) | Said::Thinking(_));
                rest.extend(self.waiting.into_iter().filter(is_text));
            }
            Some(text) => rest.push(Said::Text(text.to_owned())),
            None => rest.extend(self.waiting),
        }
        rest
    }
}
