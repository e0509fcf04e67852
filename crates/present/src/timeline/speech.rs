//! [`Speech`]: a text that arrives in pieces and may begin anew: what was heard of it, and what of that is shown.
use haft_core::clip;

/// A reply or a thought on its way. This is the one place that knows what is shown after a retry, or where updates were
/// lost.
#[derive(Debug, Default)]
pub(super) struct Speech {
    heard: String,
    /// How many bytes of `heard` are shown.
    shown: usize,
    /// Text that was shown and is void now. It stays until the text that replaces it differs.
    stale: Option<String>,
}

/// What is shown next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct News {
    pub(super) text: String,
    /// Whether it replaces the text that is shown.
    pub(super) is_anew: bool,
}

impl Speech {
    pub(super) fn is_empty(&self) -> bool {
        self.heard.is_empty()
    }

    pub(super) fn hear(&mut self, text: &str) {
        self.heard += text;
    }

    /// The model says it again from the beginning: everything heard so far is void.
    pub(super) fn begin_anew(&mut self) {
        let shown = &self.heard[..self.shown];
        if !shown.is_empty() {
            self.stale = Some(shown.to_owned());
        }
        self.heard.clear();
        self.shown = 0;
    }

    /// Keeps the first `length` bytes of what is shown; the rest may still be replaced.
    pub(super) fn take_back(&mut self, length: usize) {
        self.shown = length;
    }

    /// Whether `whole` continues where this stops.
    pub(super) fn is_beginning_of(&self, whole: &str) -> bool {
        whole.starts_with(&self.heard)
    }

    /// This is all of it. Some of it may have been missed.
    pub(super) fn finish(&mut self, whole: &str) {
        if !whole.starts_with(&self.heard[..self.shown]) {
            self.begin_anew();
        }
        whole.clone_into(&mut self.heard);
    }

    pub(super) fn has_news(&self) -> bool {
        match &self.stale {
            Some(stale) => !stale.starts_with(&self.heard),
            None => self.shown < self.heard.len(),
        }
    }

    /// Returns up to `most` bytes that were not shown yet. Text that was taken back comes again as a whole, unless it
    /// is the same.
    pub(super) fn news(&mut self, most: usize) -> Option<News> {
        if !self.has_news() {
            return None;
        }
        let mut is_anew = false;
        if let Some(stale) = self.stale.take() {
            match self.heard.starts_with(&stale) {
                true => self.shown = stale.len(),
                false => is_anew = true,
            }
        }
        let text = clip::head(&self.heard[self.shown..], most).to_owned();
        self.shown += text.len();
        Some(News { text, is_anew })
    }
}
