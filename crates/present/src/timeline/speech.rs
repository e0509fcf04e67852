//! [`Speech`]: a text that arrives in pieces and may be started again: the part that was received, and the part that is
//! shown.
use haft_core::clip;

/// A reply or a thought that is arriving. Only this type knows what is shown after a retry, or if updates were lost.
#[derive(Debug, Default)]
pub(super) struct Speech {
    heard: String,
    /// How many bytes of `heard` are shown.
    shown: usize,
    /// Number of bytes of `heard` that are shown.
    stale: Option<String>,
}

/// Text that is shown and void. It stays until the text that replaces it differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct News {
    pub(super) text: String,
    /// The next text to show.
    pub(super) is_anew: bool,
}

impl Speech {
    pub(super) fn is_empty(&self) -> bool {
        self.heard.is_empty()
    }

    pub(super) fn hear(&mut self, text: &str) {
        self.heard += text;
    }

    /// Starts again: everything received so far is void.
    pub(super) fn begin_anew(&mut self) {
        let shown = &self.heard[..self.shown];
        if !shown.is_empty() {
            self.stale = Some(shown.to_owned());
        }
        self.heard.clear();
        self.shown = 0;
    }

    /// Keeps the first `length` bytes of the shown text; the rest may still be replaced.
    pub(super) fn take_back(&mut self, length: usize) {
        self.shown = length;
    }

    /// Whether `whole` begins with the received text.
    pub(super) fn is_beginning_of(&self, whole: &str) -> bool {
        whole.starts_with(&self.heard)
    }

    /// Sets the complete text, of which parts may have been missed.
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

    /// Returns up to `most` bytes that were not shown yet. Text after a restart is returned from its beginning, unless
    /// it begins with the shown text.
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
