//! [`Repeats`]: earlier calls of this turn whose repetition would give the same result.
use crate::reads::{ReadSnapshot, Stamp};
use haft_core::{CallId, Effect, ToolCall, ToolOutput};
use parking_lot::Mutex;
use serde_json::Value;
use std::{collections::HashMap, path::PathBuf, sync::Arc};

/// Successful calls of this turn, by the tool and the normalized arguments. Clones share the same state.
#[derive(Clone, Default)]
pub struct Repeats(Arc<Mutex<HashMap<String, Earlier>>>);

struct Earlier {
    call: CallId,
    /// Output of the call.
    text: String,
    files: Option<Vec<(PathBuf, Stamp)>>,
}

/// A call that only reads, so that the result of an earlier one may answer it.
pub(crate) struct Reading {
    key: String,
    /// The files that it reads; `None` if it reads folders too, whose contents may have changed.
    files: Option<Vec<(PathBuf, Stamp)>>,
}

impl Reading {
    /// A call of the tool with the own name `tool`; `None` if it does more than read.
    pub(crate) fn of(tool: &str, arguments: &Value, effects: &[Effect]) -> Option<Self> {
        if effects.is_empty() || !effects.iter().all(|effect| matches!(effect, Effect::Read(_))) {
            return None;
        }
        let files = Some(ReadSnapshot::of(effects).files()).filter(|files| files.len() == effects.len());
        let mut arguments = arguments.clone();
        arguments.sort_all_objects();
        Some(Self { key: format!("{tool} {arguments}"), files })
    }
}

impl Repeats {
    /// Forgets all calls: a new turn begins.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// Returns an answer without a call, if an equal one succeeded before and the files that it reads have not changed.
    pub(crate) fn answer(&self, reading: &Reading) -> Option<ToolOutput> {
        let made = self.0.lock();
        let is_same = |earlier: &&Earlier| earlier.files.is_some() && earlier.files == reading.files;
        let earlier = made.get(&reading.key).filter(is_same)?;
        Some(reference("not called again: the same as", &earlier.call))
    }

    /// Remembers a call that succeeded. If its output is that of an equal call before, returns a reference to it instead.
    pub(crate) fn keep(&self, call: &ToolCall, reading: Reading, output: ToolOutput) -> ToolOutput {
        let Reading { key, files } = reading;
        let mut made = self.0.lock();
        if let Some(earlier) = made.get(&key).filter(|earlier| earlier.text == output.for_model) {
            return reference("called again, with the result of", &earlier.call);
        }
        let text = output.for_model.clone();
        made.insert(key, Earlier { call: call.id.clone(), text, files });
        output
    }
}

fn reference(how: &str, earlier: &CallId) -> ToolOutput {
    let text = format!("[{how} `{earlier}` in this turn, and nothing has changed; its result is above]");
    ToolOutput::text(text).details(serde_json::json!({"same_as": earlier}))
}
