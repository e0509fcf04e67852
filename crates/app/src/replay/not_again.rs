//! [`NotAgain`]: the hook of a replay, which keeps calls from running that did not run when they were recorded, and those
//! that would do something outside of the copy a second time: it puts the files that they left into the copy.
use super::{
    copy::is_inside,
    moved::Moved,
    recording::{FETCH, PUBLISH, RecordedCall},
};
use futures::{FutureExt, future::BoxFuture};
use haft_core::{CallId, Change, Hooked, Hooks, Moment, SessionId, Stage, ToolCall};
use haft_stage::LocalStage;
use serde_json::Value;
use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Denies calls by what was recorded of them.
pub(super) struct NotAgain {
    /// By the call's ID, which several sessions and replies may share.
    recorded: HashMap<CallId, Vec<Known>>,
    /// The copy of the workspace.
    work: PathBuf,
    /// Where the session keeps the contents of files.
    contents: LocalStage,
}

struct Known {
    arguments: Value,
    runs_again: bool,
    /// What it left, if that is put into the copy in its place.
    left: Vec<Change>,
    /// Whether this was done.
    is_done: AtomicBool,
}

impl NotAgain {
    /// Collects the calls of a session and its subagents. `contents`: the folder where the session keeps those of files.
    pub(super) fn of<'a>(
        calls: impl Iterator<Item = &'a RecordedCall>,
        moved: &Moved,
        work: &Path,
        contents: PathBuf,
    ) -> Self {
        let mut recorded: HashMap<CallId, Vec<Known>> = HashMap::new();
        for call in calls {
            recorded.entry(call.id.clone()).or_default().push(Known {
                arguments: moved.all_there_value(&call.arguments),
                runs_again: call.runs_again(),
                left: call.left.iter().filter(|change| is_inside(&change.path)).cloned().collect(),
                is_done: AtomicBool::new(false),
            });
        }
        Self { recorded, work: work.to_owned(), contents: LocalStage::new(contents) }
    }

    /// Those that the call may be. If an ID is shared, the arguments tell which one, unless the tool has other names for
    /// them.
    fn known(&self, call: &ToolCall) -> Vec<&Known> {
        let known = self.recorded.get(&call.id).map(Vec::as_slice).unwrap_or_default();
        let alike: Vec<_> = known.iter().filter(|known| known.arguments == call.arguments).collect();
        if alike.is_empty() { known.iter().collect() } else { alike }
    }

    fn hear_before(&self, call: &ToolCall) -> io::Result<Hooked> {
        if call.name == PUBLISH {
            return Ok(Hooked::deny("a replay delivers nothing"));
        }
        let known = self.known(call);
        let is_request = call.name == FETCH && !known.is_empty();
        if known.is_empty() || (known.iter().any(|known| known.runs_again) && !is_request) {
            return Ok(Hooked::default());
        }
        if let Some(next) = known.into_iter().find(|known| !known.is_done.swap(true, Relaxed)) {
            self.contents.settle(&self.work, &next.left)?;
        }
        Ok(Hooked::deny("it did not run when it was recorded, or it would reach beyond the copy"))
    }
}

impl Hooks for NotAgain {
    fn hear<'a>(&'a self, _: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        let said = match moment {
            Moment::BeforeCall { call, .. } => self.hear_before(call).unwrap_or_else(|error| {
                Hooked::deny(format!("the files that it left cannot be put into the copy: {error}"))
            }),
            _ => Hooked::default(),
        };
        async { said }.boxed()
    }
}
