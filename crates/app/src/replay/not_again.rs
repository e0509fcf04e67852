//! [`NotAgain`]: the hook of a replay that keeps calls from running again. These are calls that did not run when they
//! were recorded, and calls with effects outside of the copy. The files that the latter changed are put into the copy.
use super::{
    copy::is_inside,
    moved::Moved,
    recording::{FETCH, PUBLISH, RecordedCall, Recording},
};
use crate::Failure;
use futures::{FutureExt, future::BoxFuture};
use haft_core::{CallId, Change, Hooked, Hooks, Moment, Seq, SessionId, Stage, ToolCall, ToolResult};
use haft_engine::Home;
use haft_stage::LocalStage;
use serde_json::Value;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Denies calls according to their recording.
pub(super) struct NotAgain {
    /// Calls by their ID, which several sessions and replies may use.
    recorded: HashMap<CallId, Vec<Known>>,
    /// Whether commands of the replay run in views, without a network and other folders.
    is_isolated: bool,
    /// The copy of the workspace.
    work: PathBuf,
    /// The recorded session's stored contents of files.
    contents: LocalStage,
    /// Where the replay keeps its own sessions.
    home: Home,
    moved: Moved,
}

struct Known {
    /// With the paths of the copy.
    arguments: Value,
    call: RecordedCall,
    is_test: bool,
    /// Whether the call was made, or its files were put into the copy.
    is_done: AtomicBool,
}

impl NotAgain {
    /// Collects the calls of a session and its subagents. `contents`: the folder of the session's contents. `home`: where
    /// the replay keeps its own sessions.
    pub(super) fn of<'a>(
        recordings: impl Iterator<Item = &'a Recording>,
        moved: &Moved,
        work: &Path,
        contents: PathBuf,
        home: Home,
    ) -> Self {
        let mut recorded: HashMap<CallId, Vec<Known>> = HashMap::new();
        for (recording, call) in recordings.flat_map(|of| of.calls.iter().map(move |call| (of, call))) {
            recorded.entry(call.id.clone()).or_default().push(Known {
                arguments: moved.all_there_value(&call.arguments),
                call: call.clone(),
                is_test: recording.is_test(call),
                is_done: AtomicBool::new(false),
            });
        }
        let (work, contents) = (work.to_owned(), LocalStage::new(contents));
        Self { recorded, is_isolated: false, work, contents, home, moved: moved.clone() }
    }

    /// Lets commands that reached out run again if `stage` gives them views.
    pub(super) fn with_views_of(self, stage: &dyn Stage) -> Self {
        let mut known = self.recorded.values().flatten();
        let wants_views = known.any(|known| known.call.runs_isolated());
        Self { is_isolated: wants_views && stage.unconfined(&self.work).is_none(), ..self }
    }

    /// The recorded calls that may correspond to `call`. If several share its ID, the arguments decide, unless none has
    /// equal arguments.
    fn known(&self, call: &ToolCall) -> Vec<&Known> {
        let known = self.recorded.get(&call.id).map(Vec::as_slice).unwrap_or_default();
        let alike: Vec<_> = known.iter().filter(|known| known.arguments == call.arguments).collect();
        if alike.is_empty() { known.iter().collect() } else { alike }
    }

    fn runs(&self, call: &ToolCall, known: &[&Known]) -> bool {
        let runs = |known: &&Known| {
            known.call.runs_again() || self.is_isolated && known.call.runs_isolated() && call.name != FETCH
        };
        known.is_empty() && call.name != PUBLISH || known.iter().any(runs)
    }

    fn hear_before(&self, call: &ToolCall) -> Result<Hooked, Failure> {
        if call.name == PUBLISH {
            return Ok(Hooked::deny("a replay delivers nothing"));
        }
        let known = self.known(call);
        if self.runs(call, &known) {
            return Ok(Hooked::default());
        }
        if let Some(next) = known.into_iter().find(|known| !known.is_done.swap(true, Relaxed)) {
            self.settle(&self.contents, &next.call.left)?;
        }
        Ok(Hooked::deny("it did not run when it was recorded, or it would reach beyond the copy"))
    }

    /// Puts the recorded files in place of those that a call made without a network and other folders, if it gave another
    /// result.
    fn hear_after(&self, session: &SessionId, call: &ToolCall, result: &ToolResult) -> Result<(), Failure> {
        let known = self.known(call);
        if !self.runs(call, &known) || known.iter().any(|known| known.call.runs_again()) {
            return Ok(());
        }
        let mut isolated = known.into_iter().filter(|known| known.call.runs_isolated());
        let Some(next) = isolated.find(|known| !known.is_done.swap(true, Relaxed)) else { return Ok(()) };
        let heard = Recording::of(&self.home.peek(&session.0)?);
        let now = heard.calls.into_iter().rfind(|made| made.id == call.id);
        let Some(mut now) = now else { return Ok(()) };
        now.ended = Some((Seq::default(), result.clone()));
        if next.call.is_repeated_by(&now, next.is_test, &self.moved) {
            return Ok(());
        }
        let back: Vec<Change> = now.left.iter().rev().map(Change::inverse).collect();
        self.settle(&LocalStage::new(self.home.contents(session)), &back)?;
        self.settle(&self.contents, &next.call.left)
    }

    fn settle(&self, contents: &LocalStage, changes: &[Change]) -> Result<(), Failure> {
        let inside: Vec<Change> = changes.iter().filter(|change| is_inside(&change.path)).cloned().collect();
        let left = contents.settle(&self.work, &inside);
        left.map(drop).map_err(|error| {
            Failure::failed(format!("the files that it left cannot be put into the copy: {error}"))
        })
    }
}

impl Hooks for NotAgain {
    fn hear<'a>(&'a self, session: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        let said = match moment {
            Moment::BeforeCall { call, .. } => {
                self.hear_before(call).unwrap_or_else(|error| Hooked::deny(error.to_string()))
            }
            Moment::AfterCall { call, result, .. } => match self.hear_after(session, call, result) {
                Ok(()) => Hooked::default(),
                Err(error) => Hooked { context: Some(error.to_string()), ..Hooked::default() },
            },
            _ => Hooked::default(),
        };
        async { said }.boxed()
    }
}
