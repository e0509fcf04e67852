//! [`Trial`]: keeps the reply of a model whose dialect is unknown. If it has calls in another dialect, they count.
use haft_dialects::{Call, Dialect, Said, Setting, by_delimiters, read};
use std::sync::{Arc, OnceLock};

/// Longer replies are not looked at: a call of that length was not meant.
const LONGEST: usize = 1 << 20;

/// Keeps a reply until its end.
pub(super) struct Trial {
    text: String,
    found: Arc<OnceLock<&'static Dialect>>,
}

impl Trial {
    /// `found`: where to say what the model speaks.
    pub(super) fn new(found: Arc<OnceLock<&'static Dialect>>) -> Self {
        Self { text: String::new(), found }
    }

    pub(super) fn hear(&mut self, text: &str) {
        if self.text.len() + text.len() <= LONGEST {
            self.text.push_str(text);
        }
    }

    pub(super) fn forget(&mut self) {
        self.text.clear();
    }

    /// The calls of the reply, if a dialect shows its delimiters and all that it reads are calls of known tools.
    pub(super) fn calls(self, setting: &Setting) -> Vec<Call> {
        let Some(dialect) = by_delimiters(&self.text) else { return Vec::new() };
        // Bare JSON may stand anywhere in prose: it counts where it is all that is said.
        if dialect.writes_bare_json() && !self.text.trim_start().starts_with(['{', '<']) {
            return Vec::new();
        }
        let (mut calls, mut prose) = (Vec::new(), String::new());
        for said in read(dialect, setting, [self.text.as_str()]) {
            match said {
                Said::Call(call) if setting.tool(&call.name).is_some() => calls.push(call),
                Said::Call(_) | Said::Problem(_) => return Vec::new(),
                // What is only quoted stands in a fence, or is talked about afterwards.
                Said::Text(text) if !calls.is_empty() && !text.trim().is_empty() => return Vec::new(),
                Said::Text(text) => prose.push_str(&text),
                Said::Thinking(_) | Said::ThinkingEnd => {}
            }
        }
        if prose.matches("```").count() % 2 == 1 {
            return Vec::new();
        }
        if !calls.is_empty() {
            let _found_before = self.found.set(dialect);
        }
        calls
    }
}
