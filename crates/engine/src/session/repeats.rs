//! Calls that were made before in this turn and would give the same again (C-16).
use super::{ready::Ready, seen::Stamp};
use haft_core::{CallId, ToolCall, ToolOutput};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

/// Calls of this turn, by name and arguments.
#[derive(Clone, Default)]
pub(crate) struct Repeats(Arc<Mutex<HashMap<String, Earlier>>>);

struct Earlier {
    call: CallId,
    files: Vec<(PathBuf, Stamp)>,
}

impl Repeats {
    /// A new turn begins (C-16 `clearCurrentTurn`).
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// What to answer in place of `call`, if the same one has been made before and the files it reads have not changed.
    pub(crate) fn answer(
        &self,
        call: &ToolCall,
        ready: &Ready,
        files: Vec<(PathBuf, Stamp)>,
    ) -> Option<ToolOutput> {
        if files.is_empty() || files.len() != ready.effects.len() {
            return None;
        }
        let key = format!("{} {}", call.name, ready.arguments);
        let mut made = self.lock();
        if let Some(earlier) = made.get(&key).filter(|earlier| earlier.files == files) {
            let text = format!(
                "[not called again: the same as `{}` in this turn, and nothing has changed; its result is above]",
                earlier.call
            );
            return Some(ToolOutput::text(text).details(serde_json::json!({"same_as": earlier.call})));
        }
        made.insert(key, Earlier { call: call.id.clone(), files });
        None
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Earlier>> {
        self.0.lock().expect("no code panics while it holds the calls of a turn")
    }
}
