//! [`Reopened`]: a session that is opened without a model, for undo and redo.
use crate::{App, Failure, SessionPlan, SessionSpec, agents::AGENT, session::workspace};
use futures::StreamExt;
use haft_call::Moved;
use haft_core::{
    Change, Changed, Command, Direction, Entry, Event, Fact, FileKind, Seq, SessionId, SessionOpened, TaskId,
    Tracking, UndoCalls, active_path, changed, past_calls::PastCalls, undo as plan,
};
use haft_engine::{Engine, Home, Model, NotUndone, Session, UndoPlan};
use haft_present::timeline::prompts;
use haft_providers::{Scripted, direct};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A session for undo and redo. [`Self::close`] ends it.
#[expect(missing_debug_implementations, reason = "an engine shows nothing of itself")]
pub struct Reopened {
    /// The session.
    pub session: Session,
    /// The result of an undo or redo that an earlier process began and that was finished when the session was opened.
    pub finished: Option<Restored>,
    engine: Engine,
}

/// The result, or the preview, of an undo or a redo.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// Whether it is an undo or a redo.
    pub way: Direction,
    /// A change for each step, including files in `conflicts`.
    pub changes: Vec<Change>,
    /// The files that were, or would be, left alone: they were modified since, or for the reason in `failed`.
    pub conflicts: Vec<PathBuf>,
    /// Files in `conflicts` that could not be written or read, and why; empty in a preview.
    pub failed: BTreeMap<PathBuf, String>,
    /// Number of calls whose changes were not recorded, and so remain.
    pub untracked: usize,
    /// The calls that were taken back by their numbers.
    pub calls: Vec<usize>,
    /// Files that also hold changes that are not taken back.
    pub merged: Vec<PathBuf>,
    /// Files in `merged` that have conflict markers.
    pub marked: Vec<PathBuf>,
    /// The prompt that is removed from the conversation; the first one if there are several.
    pub prompt: Option<String>,
    /// The background tasks that run or begin later, with their titles. Changes that they make are not recorded.
    pub tasks: Vec<(TaskId, String)>,
}

impl Restored {
    /// The result that this fact records; `None` for other facts.
    fn of(fact: &Fact) -> Option<Self> {
        let Fact::Rewound { way, changes, conflicts, failed, untracked, calls, merged, marked } = fact else {
            return None;
        };
        Some(Self {
            way: *way,
            changes: changes.clone(),
            conflicts: conflicts.clone(),
            failed: failed.clone(),
            untracked: untracked.len(),
            calls: calls.clone(),
            merged: merged.clone(),
            marked: marked.clone(),
            prompt: None,
            tasks: Vec::new(),
        })
    }

    /// A change for each file that was restored.
    pub fn moved(&self) -> Vec<Change> {
        let mut files = changed::squash(&self.changes);
        files.retain(|change| !self.conflicts.contains(&change.path));
        files
    }
}

impl App {
    /// Opens a session for undo: the session `id`, or the newest session of `workspace`; a session of calls without a
    /// model counts only if it changed files. For `workspace`, `None` is the current directory.
    ///
    /// # Errors
    ///
    /// If there is no such session, or it cannot be opened.
    pub async fn reopen(&self, id: Option<&str>, workspace: Option<PathBuf>) -> Result<Reopened, Failure> {
        let spec = SessionSpec { workspace, ..SessionSpec::default() };
        let model = Model::plain("script/none", Arc::new(Scripted::new([])));
        let mut setup = self.plan_without_project_if_broken(spec)?.setup(model)?;
        let id = match id {
            Some(id) => setup.home.find(id)?.0,
            None => {
                newest(&setup.home, &setup.workspace)
                    .ok_or_else(|| {
                        Failure::usage(format!("there is no session in `{}`", setup.workspace.display()))
                            .hint("`haft sessions list` lists sessions")
                    })?
                    .0
            }
        };
        // The files are where the session worked, whatever the current directory.
        if let Some(opened) = SessionOpened::of(&setup.home.peek(&id)?) {
            setup.workspace.clone_from(&opened.workspace);
        }
        let engine = Engine::new(setup);
        let session = engine.open(&id, AGENT).await?;
        let finished = self.finished_rewind(&session).await;
        Ok(Reopened { session, finished, engine })
    }

    /// Waits until an undo or redo that an earlier process left unfinished is complete, and reports it in one line.
    pub(crate) async fn finished_rewind(&self, session: &Session) -> Option<Restored> {
        let restored = Restored::of(&session.finished_rewind().await?.fact)?;
        let what = match restored.way {
            Direction::Undo => "undo",
            Direction::Redo => "redo",
        };
        let (files, left) = (restored.moved().len(), restored.conflicts.len());
        let s = if files == 1 { "" } else { "s" };
        let left = if left > 0 { format!(", {left} left alone") } else { String::new() };
        self.warn(format!(
            "the last {what} was interrupted and is finished now: {files} file{s} restored{left}"
        ));
        Some(restored)
    }

    /// Plans a session; without the project's configuration if that cannot be read, because undo may be what restores
    /// it.
    fn plan_without_project_if_broken(&self, spec: SessionSpec) -> Result<SessionPlan, Failure> {
        let failure = match self.plan(&spec) {
            Ok(plan) => return Ok(plan),
            Err(failure) => failure,
        };
        let elsewhere = SessionSpec { origin: Some(self.places.home.clone()), ..spec };
        let Ok(plan) = self.plan(&elsewhere) else { return Err(failure) };
        self.warn(format!("{failure}; going on without the project's configuration"));
        Ok(plan)
    }
}

fn newest(home: &Home, workspace: &Path) -> Option<SessionId> {
    home.newest(workspace, |session| {
        let entries = || home.peek(&session.id.0).unwrap_or_default();
        session.model != direct::MODEL || !Changed::of(entries().iter().map(|entry| &entry.fact)).is_empty()
    })
}

impl Reopened {
    /// Returns the entry that an undo goes back to: `to`, or the one before the last `calls` that changed files, or the
    /// one before the last turn. `None` if there is nothing to undo.
    ///
    /// # Errors
    ///
    /// If the conversation has no entry `to`.
    pub fn point(&self, to: Option<Seq>, calls: Option<usize>) -> Result<Option<Seq>, Failure> {
        let entries = self.session.entries();
        match (to, calls) {
            (Some(to), _) if active_path(&entries).iter().any(|entry| entry.seq == to) => Ok(Some(to)),
            (Some(to), _) => {
                let hint =
                    "`haft sessions export ID --format json` shows them: `seq` of those that were not undone";
                Err(Failure::usage(format!("there is no entry {to} to go back to")).hint(hint))
            }
            (None, Some(calls)) => Ok(plan::before_last_calls(&entries, calls)),
            (None, None) => Ok(plan::before_last_turn(&entries)),
        }
    }

    /// Checks that the session's workspace exists, unless the session is a job: its work tree may have been removed.
    ///
    /// # Errors
    ///
    /// If it was moved or removed.
    pub fn check_workspace(&self) -> Result<(), Failure> {
        let entries = self.session.entries();
        let Some(opened) = SessionOpened::of(&entries).filter(|opened| !opened.is_job()) else {
            return Ok(());
        };
        let moved = |failure: Failure| {
            failure.hint("if the folder was moved or renamed, move it back to undo or redo in it")
        };
        workspace(Some(&opened.workspace)).map(|_| ()).map_err(moved)
    }

    /// For a job whose work tree was removed, so that there are no files to restore: says where its work is. Otherwise
    /// `None`.
    #[must_use]
    pub fn without_work_tree(&self) -> Option<String> {
        let entries = self.session.entries();
        let opened = SessionOpened::of(&entries)?;
        let order = opened.order.as_ref().filter(|_| !opened.workspace.is_dir())?;
        let branch = order.branch.as_ref().map(|branch| {
            let origin = order.origin.display();
            format!("; its work is the branch `{branch}`: `git branch -D {branch}` in `{origin}` deletes it")
        });
        Some(format!(
            "the work tree of this job was removed, so no files are put back{}",
            branch.unwrap_or_default()
        ))
    }

    /// Returns the preview of going back `to`.
    ///
    /// # Errors
    ///
    /// If files cannot be read.
    pub fn preview(&self, to: Seq) -> Result<Restored, Failure> {
        let planned = plan::back_to(&self.session.entries(), to);
        let Moved { changes, conflicts, merged, failed } = self.session.preview(planned.changes)?;
        Ok(Restored {
            way: Direction::Undo,
            changes,
            conflicts,
            failed,
            merged,
            marked: Vec::new(),
            calls: Vec::new(),
            untracked: planned.untracked.len(),
            prompt: self.prompt_after(to),
            tasks: self.tasks_after(to),
        })
    }

    /// Goes back to the state after the entry `to`.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn go_back(&self, to: Seq) -> Result<Restored, Failure> {
        // Read first: afterwards the conversation no longer contains them.
        let (prompt, tasks) = (self.prompt_after(to), self.tasks_after(to));
        let restored = self.moved_by(Command::Rewind { to }).await?;
        Ok(Restored { prompt, tasks, ..restored })
    }

    /// Returns the calls of the session, including those that were taken back by their numbers.
    pub fn calls(&self) -> PastCalls {
        PastCalls::of(&self.session.entries())
    }

    /// Plans taking these calls back: the effects, and the later calls that depend on them. Commands of the session may
    /// run again, in views.
    ///
    /// # Errors
    ///
    /// If a call cannot be taken back for a reason other than dependent calls, or files cannot be read.
    pub async fn plan_calls(&self, undo: &UndoCalls) -> Result<UndoPlan, NotUndone> {
        self.engine.plan_undo(&self.session, undo).await
    }

    /// Takes these calls back, and keeps later changes.
    ///
    /// # Errors
    ///
    /// If later calls depend on them, other changes are in the way, or the journal cannot be written.
    pub async fn undo_calls(&self, undo: UndoCalls) -> Result<Restored, Failure> {
        self.moved_by(Command::UndoCalls(undo)).await
    }

    /// Takes the last undo back. `None` if nothing was undone.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub async fn redo(&self) -> Result<Option<Restored>, Failure> {
        match plan::last_undo(&self.session.entries()) {
            Some(_) => self.moved_by(Command::Redo).await.map(Some),
            None => Ok(None),
        }
    }

    async fn moved_by(&self, command: Command) -> Result<Restored, Failure> {
        let mut turn = self.session.start(command);
        while let Some(event) = turn.next().await {
            let Event::Recorded(entry) = event else { continue };
            if let Some(restored) = Restored::of(&entry.fact) {
                return Ok(restored);
            }
        }
        let why = turn.report().await.error;
        Err(Failure::failed(why.unwrap_or_else(|| "there was nothing left to restore".into())))
    }

    fn prompt_after(&self, to: Seq) -> Option<String> {
        prompts(&self.session.entries()).into_iter().find(|(before, _)| *before >= to).map(|(_, text)| text)
    }

    fn tasks_after(&self, to: Seq) -> Vec<(TaskId, String)> {
        let entries = self.session.entries();
        let ends = |fact: &Fact, job: &TaskId| matches!(fact, Fact::TaskEnded { task, .. } if task == job);
        let has_ended = |job: &TaskId| entries.iter().any(|entry| ends(&entry.fact, job));
        let path: Vec<&Arc<Entry>> = active_path(&entries);
        let has_begun = |job: &TaskId| path.iter().any(|entry| entry.seq < to && entry.fact.begins(job));
        let task = |entry: &&Arc<Entry>| match &entry.fact {
            Fact::TaskStarted { task, title, how: Tracking::Staged } => Some((task.clone(), title.clone())),
            _ => None,
        };
        let begun = path.iter().filter(|entry| entry.seq >= to).filter_map(task);
        begun.filter(|(job, _)| !has_begun(job) && !has_ended(job)).collect()
    }

    /// Returns the content of `file` that going back `to` would restore. Without `to`: the content that the last undo
    /// would have restored if it had not left the file alone. `file` is relative to the workspace or to the current
    /// directory.
    ///
    /// # Errors
    ///
    /// If an undo would not restore the file, or no file existed before.
    pub fn content_at(&self, file: &Path, to: Option<Seq>) -> Result<Vec<u8>, Failure> {
        let entries = self.session.entries();
        let Some(SessionOpened { workspace, .. }) = SessionOpened::of(&entries) else {
            return Err(Failure::failed("cannot read the session"));
        };
        let planned = to.map(|to| changed::squash(&plan::back_to(&entries, to).changes)).unwrap_or_default();
        let changes: Vec<Change> = self.left_alone().into_iter().chain(planned).collect();
        let here = [file.canonicalize(), std::path::absolute(file)].map(Result::unwrap_or_default);
        let is_it = |change: &&Change| change.path == file || here.contains(&workspace.join(&change.path));
        let Some(change) = changes.iter().find(is_it) else {
            let names =
                changes.iter().map(|change| format!("`{}`", change.path.display())).collect::<Vec<_>>();
            let hint = if names.is_empty() { "no file would be restored".into() } else { names.join(", ") };
            let why = format!("an undo would not restore `{}`", file.display());
            return Err(Failure::usage(why).hint(format!("it would restore: {hint}")));
        };
        match &change.after {
            Some(state) if state.kind() == FileKind::File => Ok(self.session.content(&state.hash)?),
            Some(_) => Err(Failure::failed(format!("`{}` was not a file before", file.display()))),
            None => Err(Failure::failed(format!("`{}` did not exist before", file.display()))
                .hint("an undo removes it, unless it was modified since: then delete it yourself")),
        }
    }

    /// The changes that the last undo did not make because it left these files alone. Empty after the next prompt.
    pub fn left_alone(&self) -> Vec<Change> {
        plan::left_alone(&self.session.entries())
    }

    /// Closes the session.
    pub async fn close(self) {
        self.engine.shut_down().await;
    }
}
