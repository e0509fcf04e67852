//! Calls that were made before in this turn and would give the same again (C-16).
use super::{
    ready::Ready,
    seen::{Looked, Stamp},
};
use haft_core::{CallId, Effect, ToolCall, ToolOutput};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

/// Calls of this turn that went well, by name and arguments.
#[derive(Clone, Default)]
pub(crate) struct Repeats(Arc<Mutex<HashMap<String, Earlier>>>);

struct Earlier {
    call: CallId,
    /// What came of it.
    text: String,
    files: Option<Vec<(PathBuf, Stamp)>>,
}

/// A call that only reads, and so may be one that was made before.
pub(crate) struct Reading {
    key: String,
    /// The files that it reads, as they are; none where it reads folders too: what lies in them may have changed.
    files: Option<Vec<(PathBuf, Stamp)>>,
}

impl Reading {
    /// None where `call` does more than read.
    pub(crate) fn of(call: &ToolCall, ready: &Ready, looked: &Looked) -> Option<Self> {
        let reads = ready.effects.iter().all(|effect| matches!(effect, Effect::Read(_)));
        let files = Some(looked.files()).filter(|files| files.len() == ready.effects.len());
        let key = || format!("{} {}", call.name, ready.arguments);
        (reads && !ready.effects.is_empty()).then(|| Self { key: key(), files })
    }
}

impl Repeats {
    /// A new turn begins (C-16 `clearCurrentTurn`).
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// What to answer without a call, if the same one went well before and the files that it reads have not changed.
    pub(crate) fn answer(&self, reading: &Reading) -> Option<ToolOutput> {
        let made = self.lock();
        let is_same = |earlier: &&Earlier| earlier.files.is_some() && earlier.files == reading.files;
        let earlier = made.get(&reading.key).filter(is_same)?;
        Some(said("not called again: the same as", &earlier.call))
    }

    /// Keeps a call that went well. Where it brought what the same one brought before, the model is told so instead.
    pub(crate) fn keep(&self, call: &ToolCall, reading: Reading, output: ToolOutput) -> ToolOutput {
        let Reading { key, files } = reading;
        let mut made = self.lock();
        if let Some(earlier) = made.get(&key).filter(|earlier| earlier.text == output.for_model) {
            return said("called again, with the result of", &earlier.call);
        }
        let text = output.for_model.clone();
        made.insert(key, Earlier { call: call.id.clone(), text, files });
        output
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Earlier>> {
        self.0.lock().expect("no code panics while it holds the calls of a turn")
    }
}

fn said(how: &str, earlier: &CallId) -> ToolOutput {
    let text = format!("[{how} `{earlier}` in this turn, and nothing has changed; its result is above]");
    ToolOutput::text(text).details(serde_json::json!({"same_as": earlier}))
}
