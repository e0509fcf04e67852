//! [`CallRun::run`]: runs one call, from the hooks before it to its recorded end.
use crate::{
    checked::CheckedCall,
    errors::{denied, interrupted_after, not_staged},
    hooks::{Heard, HookedCall},
    judgment::{self, Judgment},
    links,
    order::Turn,
    part::{self, Part},
    reads::ReadSnapshot,
    recorder::Unrecorded,
    repeats::Reading,
    resolved::{Names, ResolvedView},
    round::{CallRun, Done, Stopped},
    rules::Redundancy,
    tool::{CallLog, run_tool},
};
use haft_core::{
    Accepted, Change, Effect, Fact, FileRead, Secrets, ToolError, ToolErrorKind, ToolOutput, ToolResult,
    Tracking, Verdict, View, loops::warning,
};
use serde_json::Value;
use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Number of identical rounds after which the model is warned. The turn ends after twice as many.
const WARN_AFTER_ROUNDS: usize = 3;
/// Appended to the result of a command that changed files in plan mode.
const DROPPED_NOTE: &str = "\n[plan mode: the files that this command changed were dropped]";

impl CallRun<'_> {
    /// Runs the call and records its end. Returns `None` if the journal cannot be written.
    pub(crate) async fn run(self, checked: Result<CheckedCall, ToolError>) -> Option<ToolResult> {
        let (round, scope) = (self.round, self.round.scope);
        let mut log = CallLog::start(&self.call);
        let hooked = checked.as_ref().ok().map(|checked| HookedCall::new(checked, &self.call));
        let done = tokio::select! {
            biased;
            () = round.cancel.cancelled() => Err(interrupted_after(self.output.take()).into()),
            done = self.run_with_hooks(checked, hooked.as_ref()) => done,
        };
        // From now on an interrupt only ends a wait for other processes: staged changes are settled.
        let settled = match done {
            Ok(done) => self.commit(done).await,
            Err(stopped) => Err(stopped),
        };
        let mut result = match settled {
            Ok(result) => result,
            Err(Stopped::Error(error)) => self.render_result(Err(log.cause(error))),
            Err(Stopped::Unrecorded) => return None,
        };
        if let Some(ended) = scope.background.awaited_result(&result).await {
            result = ended;
        }
        if round.repeats >= WARN_AFTER_ROUNDS {
            self.add_note(&mut result, &warning(round.repeats));
        }
        if self.is_last {
            self.add_note(&mut result, &self.reply.note(scope, round.cancel).await);
        }
        if let Some(hooked) = hooked {
            let note = hooked.after(scope, &result, round.cancel).await;
            self.add_note(&mut result, &note);
        }
        log.waited(scope.interactions.waited(&self.call.id));
        let duration_ms = log.end(&result);
        let (call, name) = (self.call.id.clone(), self.call.name.clone());
        let ended = Fact::ToolEnded { call, name, result: result.clone(), duration_ms };
        round.recorder.record(ended).await.ok().map(|()| result)
    }

    /// Asks the hooks first. Their context follows the result, even if the call fails.
    async fn run_with_hooks(
        &self,
        checked: Result<CheckedCall, ToolError>,
        hooked: Option<&HookedCall>,
    ) -> Result<Done, Stopped> {
        let checked = checked?;
        let heard = match hooked {
            Some(hooked) => hooked.before(self.round.scope).await?,
            None => Heard::default(),
        };
        let mut done = match self.run_in_view(checked, heard.ask).await {
            Err(Stopped::Error(error)) if !heard.note.is_empty() => {
                Done::without_changes(self.render_result(Err(error)))
            }
            done => done?,
        };
        self.add_note(&mut done.result, &heard.note);
        Ok(done)
    }

    /// The verdict of the policy, combined with `ask`: the reason why a hook wants an approval.
    fn verdict(&self, checked: &CheckedCall, judgment: &Judgment, ask: Option<String>) -> Verdict {
        let scope = self.round.scope;
        let verdict = judgment.verdict(scope, &self.call);
        let Some(reason) = ask.filter(|_| verdict == Verdict::Allow) else { return verdict };
        match scope.interactions.is_typed(&self.call.id) {
            true => verdict,
            // A queued call would be sent outside of a view, but this call may run in a view.
            false if scope.permission.has_outbox() => Verdict::Deny { reason },
            // The approval is asked for later, so that the user sees the changes.
            false if judgment.will_ask(scope) || judgment.can_ask_later(scope, &checked.effects) => {
                let _once = self.asked_by_hook.set(reason);
                verdict
            }
            false => Verdict::Ask { reason },
        }
    }

    /// `ask`: why a hook wants an approval.
    async fn run_in_view(&self, checked: CheckedCall, ask: Option<String>) -> Result<Done, Stopped> {
        let scope = self.round.scope;
        let judgment = Judgment::of(scope, &self.call.id, &checked);
        let verdict = self.verdict(&checked, &judgment, ask);
        if let Verdict::Deny { reason } = verdict {
            return Err(self.refused(reason).into());
        }
        // The model did not make this call, so the files that it has read do not matter.
        if !scope.interactions.is_proposed(&self.call.id) {
            let quotes = checked.tool.quotes_files();
            scope.reads.check(&checked.effects, scope.rules.unread, quotes).await?;
        }
        let reading = match scope.rules.redundancy {
            Redundancy::SameTurn => {
                Reading::of(&checked.tool.spec().name, &checked.arguments, &checked.effects)
            }
            Redundancy::Off => None,
        };
        if let Some(output) = reading.as_ref().and_then(|reading| scope.repeats.answer(reading)) {
            return Ok(Done::without_changes(self.render_result(Ok(output))));
        }
        match verdict {
            Verdict::Ask { reason } if scope.permission.has_outbox() => {
                return self.queue(&checked, reason).await;
            }
            Verdict::Ask { reason } => self.ask_to_run(&checked, &judgment, reason).await?,
            Verdict::Allow | Verdict::Deny { .. } => {}
        }
        if judgment.is_unconfined {
            self.tell_unconfined().await?;
        }
        let (view, output) = self.run_until_current(&checked, &judgment).await?;
        let output = match reading {
            Some(reading) => scope.repeats.keep(&self.call, reading, output),
            None => output,
        };
        self.done(output, view, judgment.how).await
    }

    /// Runs the tool in a view of its own, and repeats it if an earlier call of the reply has changed files meanwhile.
    async fn run_until_current(
        &self,
        checked: &CheckedCall,
        judgment: &Judgment,
    ) -> Result<(Arc<dyn View>, ToolOutput), Stopped> {
        let scope = self.round.scope;
        let readable = Arc::new(judgment::readable(scope, &checked.effects));
        let open = || self.open_view(&checked.effects, checked.names.clone(), judgment.how);
        let mut seen = self.turn.as_ref().map(Turn::sees).unwrap_or_default();
        // A file that changes between this snapshot and the opening of the view counts as not read.
        let mut reads = ReadSnapshot::of(&checked.effects);
        let mut view = open().await?;
        reads = reads.hashed().await;
        self.record_start(&checked.arguments, judgment, reads.recorded(&scope.workspace)).await?;
        let output = loop {
            let access = judgment.access(scope, &self.call.id, view.confinement());
            // A repeated call prints its output again.
            self.output.take();
            let context = self.context(&view, access, readable.clone());
            let running =
                run_tool(&*checked.tool, checked.arguments.clone(), &context, scope.rules.call_seconds);
            let Some(turn) = &self.turn else { break running.await? };
            if let Some(output) = turn.finished(running, seen).await {
                break output?;
            }
            scope.background.give_up(&view);
            if checked.effects_now(scope)?.0 != checked.effects {
                let why = "not run: since an earlier call of the same reply, what it names leads elsewhere";
                return Err(denied(why.into()).into());
            }
            seen = turn.sees();
            view = open().await?;
            reads = ReadSnapshot::of(&checked.effects).hashed().await;
        };
        scope.reads.keep(reads);
        Ok((view, output))
    }

    /// Returns the changes of the call in its view, if the policy allows them.
    async fn done(&self, output: ToolOutput, view: Arc<dyn View>, how: Tracking) -> Result<Done, Stopped> {
        let scope = self.round.scope;
        let mut result = self.render_result(Ok(output));
        if scope.background.holds(&view) {
            return Ok(Done::without_changes(result));
        }
        let changes = changes_of(&view, scope.rules.call_seconds).await?;
        refuse_secret_names(&changes, &scope.access.secrets)?;
        if self.is_for_planning(how) {
            let is_changed = !changes.is_empty() || !view.bulk().paths.is_empty();
            self.add_note(&mut result, if is_changed { DROPPED_NOTE } else { "" });
            return Ok(Done::without_changes(result));
        }
        let accepted = self.judge_changes(&changes, &view.bulk(), how, None).await?;
        let (changes, edits, is_whole) = match accepted {
            Some(accepted) => {
                let Part { changes, note, edits } = self.part(changes, accepted).await?;
                self.add_note(&mut result, &note);
                (changes, edits, false)
            }
            None => (changes, String::new(), true),
        };
        self.add_note(&mut result, &links::note(&changes, &scope.workspace).unwrap_or_default());
        // Unrecorded changes are shown as a summary, and are applied only if the whole proposal is accepted.
        Ok(Done { result, changes, how, view: Some(view).filter(|_| is_whole), edits })
    }

    /// Whether the call is a command in plan mode: its changes are dropped with the view.
    fn is_for_planning(&self, how: Tracking) -> bool {
        how == Tracking::Staged && judgment::is_for_planning(self.round.scope, &self.call.id)
    }

    /// The accepted parts of the call's changes.
    pub(crate) async fn part(&self, changes: Vec<Change>, accepted: Accepted) -> Result<Part, ToolError> {
        let stage = self.round.scope.stage.clone();
        let taken = tokio::task::spawn_blocking(move || part::take(&*stage, &changes, &accepted)).await;
        taken.unwrap_or_else(|error| Err(not_staged(io::Error::other(error))))
    }

    async fn open_view(
        &self,
        effects: &[Effect],
        names: Names,
        how: Tracking,
    ) -> Result<Arc<dyn View>, ToolError> {
        let scope = self.round.scope;
        let (stage, workspace, effects) = (scope.stage.clone(), scope.workspace.clone(), effects.to_vec());
        let opened = tokio::task::spawn_blocking(move || {
            let view = stage.open(&workspace, &effects)?;
            Ok(ResolvedView { view, workspace, names })
        });
        let opened = opened.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        let view = opened.map_err(not_staged)?;
        if view.how() != how {
            let why = "the stage opened another view than it said before";
            return Err(not_staged(io::Error::other(why)));
        }
        Ok(Arc::new(view))
    }

    /// Records once in a session why its commands are not confined.
    async fn tell_unconfined(&self) -> Result<(), Unrecorded> {
        let scope = self.round.scope;
        match scope.stage.unconfined(&scope.workspace) {
            Some(reason) if !scope.told_unconfined.swap(true, Relaxed) => {
                self.round.recorder.record(Fact::Unconfined { reason }).await
            }
            _ => Ok(()),
        }
    }

    /// Records the start of the call. It is on disk before the call has any effect that cannot be undone.
    async fn record_start(
        &self,
        arguments: &Value,
        judgment: &Judgment,
        reads: Vec<FileRead>,
    ) -> Result<(), Stopped> {
        // A call that sends an outbox item must never be repeated automatically, whatever its tool declares.
        let is_sent = self.round.scope.interactions.item_of(&self.call.id).is_some();
        let (how, outside) = (judgment.recorded_as(), judgment.reaches_out() || is_sent);
        let (call, name) = (self.call.id.clone(), self.call.name.clone());
        let started = Fact::ToolStarted { call, name, arguments: arguments.clone(), how, outside, reads };
        if how != Tracking::Untracked && !outside {
            return Ok(self.round.recorder.record(started).await?);
        }
        self.round.recorder.record_durably(started).await?;
        self.round.scope.record_in_ancestors(&[], &[], how).await?;
        Ok(())
    }
}

/// Compares for at most `seconds`; 0 for no limit. An interrupted call stops comparing.
async fn changes_of(view: &Arc<dyn View>, seconds: u64) -> Result<Vec<Change>, ToolError> {
    if seconds > 0 {
        view.finish_by(Instant::now() + Duration::from_secs(seconds));
    }
    let _stopping = StopOnDrop(view);
    let comparing = view.clone();
    let changes = tokio::task::spawn_blocking(move || comparing.changes()).await;
    changes.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(not_staged)
}

/// Refuses changes of files with a secret in their name: the journal must not contain secrets, and an undo could not
/// find the file by a redacted name.
fn refuse_secret_names(changes: &[Change], secrets: &Secrets) -> Result<(), ToolError> {
    let names = changes.iter().map(|change| change.path.to_string_lossy());
    match names.into_iter().find(|name| secrets.are_in(name)) {
        None => Ok(()),
        Some(name) => {
            let why = format!(
                "nothing was changed: the name `{}` holds a value that is kept secret, so that the change could not be undone",
                secrets.hide(&name)
            );
            Err(ToolError::new(ToolErrorKind::User, why).hint("choose a name without it"))
        }
    }
}

/// Stops the comparison when its future is dropped.
struct StopOnDrop<'a>(&'a Arc<dyn View>);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
