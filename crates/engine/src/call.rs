//! The way of one call: find, check, judge, ask, run in a view, judge the changes, settle, record.
pub(crate) mod errors;
pub(crate) mod hooks;
pub(crate) mod judge;
pub(crate) mod links;
pub(crate) mod order;
mod parent_record;
pub(crate) mod run;
pub(crate) mod settle;
pub(crate) mod tool_context;

use crate::{
    session::{
        context::SessionContext,
        named::{Named, Names},
        notes::{Notes, Unrecorded},
        ready::{Prepared, Ready},
        repeats::Reading,
    },
    setup::Redundancy,
};
use errors::{denied, interrupted_after, not_settled, not_staged};
use haft_core::{
    Change, Effect, Fact, FileRead, How, JobOutput, ToolCall, ToolContext, ToolError, ToolErrorKind,
    ToolOutput, ToolResult, Verdict, View, Wording, changed::paths, loops::warning,
};
use judge::{Judged, Refused};
use order::Turn;
use run::{CallLog, run_tool};
use serde_json::Value;
use settle::Settled;
use std::{
    io,
    path::PathBuf,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;
use tool_context::{Round, context};

/// The model is warned after so many identical rounds; the turn ends after twice as many.
const WARN_AFTER: usize = 3;

/// What a call did, before any of it is real.
pub(crate) struct Done {
    pub(crate) result: ToolResult,
    pub(crate) changes: Vec<Change>,
    pub(crate) how: How,
    /// The view of a call that ran a command; it applies what is not recorded, too.
    pub(crate) view: Option<Arc<dyn View>>,
}

impl Done {
    fn nothing(result: ToolResult) -> Self {
        Self { result, changes: Vec::new(), how: How::Declared, view: None }
    }
}

/// Why a call has no result of its own.
pub(crate) enum Stopped {
    Error(ToolError),
    Unrecorded,
}

impl From<ToolError> for Stopped {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

impl From<Unrecorded> for Stopped {
    fn from(_: Unrecorded) -> Self {
        Self::Unrecorded
    }
}

impl From<Refused> for Stopped {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Error(error) => Self::Error(error),
            Refused::Unrecorded => Self::Unrecorded,
        }
    }
}

/// What one run of a call is given.
struct Run<'a> {
    round: &'a Round,
    cancel: &'a CancellationToken,
    notes: &'a Notes,
    turn: Option<&'a Turn>,
    /// What it has said so far.
    output: JobOutput,
}

/// Looks only; nothing runs.
pub(crate) fn prepare(session: &SessionContext, call: ToolCall) -> Prepared {
    let ready = ready(session, &call);
    Prepared { call, ready }
}

fn ready(session: &SessionContext, call: &ToolCall) -> Result<Ready, ToolError> {
    let kit = session.toolbox.kit();
    let registered = kit.tools.find(&call.name);
    if let Some(problem) = &call.problem {
        let message = format!("cannot call `{}`: {problem}", call.name);
        let error = ToolError::new(ToolErrorKind::Validation, message);
        // Of a call that could not be read there may be no name either.
        let Ok(registered) = registered else { return Err(error) };
        let example = haft_core::schema::example(registered.told());
        return Err(error.example(&call.name, example));
    }
    let registered = registered?;
    let setup = &session.shared.setup;
    let arguments = registered.check(&call.arguments, setup.profile.validation)?;
    Ready::new(registered.tool.clone(), arguments, &*session.stage, &setup.workspace)
}

/// Ends with `ToolEnded`, unless the journal cannot be written.
pub(crate) async fn run_call(
    session: &SessionContext,
    Prepared { call, ready }: Prepared,
    round: &Round,
    cancel: &CancellationToken,
    notes: Notes,
    turn: Option<Turn>,
) {
    let mut logged = CallLog::start(&call);
    let named = ready.as_ref().ok().map(|ready| ready.named(&call));
    let output = JobOutput::default();
    let run = Run { round, cancel, notes: &notes, turn: turn.as_ref(), output: output.clone() };
    let done = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(interrupted_after(output.take()).into()),
        done = run_guarded(session, &call, ready, &run) => done,
    };
    // From here on nothing is interrupted but a wait for other processes: what is staged is settled.
    let done = match done {
        Ok(done) => commit(session, &call, done, cancel, &notes, turn.as_ref()).await,
        Err(stopped) => Err(stopped),
    };
    let mut result = match done {
        Ok(result) => result,
        Err(Stopped::Error(error)) => worded(session, &call, Err(logged.cause(error))),
        Err(Stopped::Unrecorded) => return,
    };
    if round.repeats >= WARN_AFTER {
        result.content += &warning(round.repeats);
    }
    if let Some(named) = named {
        result.content += &hooks::after(session, &named, &result, cancel).await;
    }
    logged.waited(session.inbox.waited(&call.id));
    let duration_ms = logged.end(&result);
    let ended = Fact::ToolEnded { call: call.id, name: call.name, result, duration_ms };
    let _session_is_closing = notes.record(ended).await;
}

/// Asks hooks first. What they add stands behind the result, whatever that is.
async fn run_guarded(
    session: &SessionContext,
    call: &ToolCall,
    ready: Result<Ready, ToolError>,
    run: &Run<'_>,
) -> Result<Done, Stopped> {
    let ready = ready?;
    let context = hooks::before(session, &ready.named(call)).await?;
    let mut done = match run_in_view(session, call, ready, run).await {
        Err(Stopped::Error(error)) if !context.is_empty() => Done::nothing(worded(session, call, Err(error))),
        done => done?,
    };
    done.result.content += &context;
    Ok(done)
}

async fn run_in_view(
    session: &SessionContext,
    call: &ToolCall,
    ready: Ready,
    Run { round, cancel, notes, turn, output: said }: &Run<'_>,
) -> Result<Done, Stopped> {
    let setup = &session.shared.setup;
    let judged = judge::judge(session, &ready.effects);
    let verdict = judged.now(session, call);
    if let Verdict::Deny { reason } = verdict {
        return Err(denied(reason).into());
    }
    session.seen.check(&ready, setup.profile.unread).await?;
    let looked = session.seen.look(&ready);
    let reading = match setup.profile.redundancy {
        Redundancy::SameTurn => Reading::of(call, &ready, &looked),
        Redundancy::Off => None,
    };
    if let Some(output) = reading.as_ref().and_then(|reading| session.repeats.answer(reading)) {
        return Ok(Done::nothing(worded(session, call, Ok(output))));
    }
    if let Verdict::Ask { reason } = verdict {
        judge::ask_to_run(session, call, &ready, &judged, reason, notes).await?;
    }
    if judged.is_unconfined {
        tell_unconfined(session, notes).await?;
    }
    let readable = Arc::new(judge::readable(session, &ready.effects));
    let (how, mut seen) = (judged.how, turn.map(Turn::sees).unwrap_or_default());
    let open = || open_view(session, &ready.effects, ready.names.clone(), how);
    let mut view = open().await?;
    let mut looked = looked.read().await;
    let reads = looked.recorded(&setup.workspace);
    start(session, call, &ready.arguments, &judged, reads, notes).await?;
    let output = loop {
        let access = judged.access(session, view.confinement());
        // A call that is made again says all of it again.
        said.take();
        let context = context(session, call, round, (&view, said), cancel, notes);
        let context = ToolContext { readable: readable.clone(), access, ..context };
        let running = run_tool(&*ready.tool, ready.arguments.clone(), &context, session.limits.call_seconds);
        let Some(turn) = turn else { break running.await? };
        if let Some(output) = turn.finished(running, seen).await {
            break output?;
        }
        session.jobs.give_up(&view);
        if ready.effects_now(&*session.stage, &setup.workspace)?.0 != ready.effects {
            let why = "not run: since an earlier call of the same reply, what it names leads elsewhere";
            return Err(denied(why.into()).into());
        }
        seen = turn.sees();
        view = open().await?;
        looked = session.seen.look(&ready).read().await;
    };
    session.seen.keep(looked);
    let output = match reading {
        Some(reading) => session.repeats.keep(call, reading, output),
        None => output,
    };
    done(session, call, output, (view, how), notes).await
}

/// What it did in its view, where that may be made real.
async fn done(
    session: &SessionContext,
    call: &ToolCall,
    output: ToolOutput,
    (view, how): (Arc<dyn View>, How),
    notes: &Notes,
) -> Result<Done, Stopped> {
    let mut result = worded(session, call, Ok(output));
    if session.jobs.holds(&view) {
        return Ok(Done::nothing(result));
    }
    let changes = changes_of(&view, session.limits.call_seconds).await?;
    judge::judge_changes(session, call, &changes, &view.bulk(), how, None, notes).await?;
    result.content += &links::told(&changes, &session.shared.setup.workspace).unwrap_or_default();
    Ok(Done { result, changes, how, view: Some(view) })
}

async fn open_view(
    session: &SessionContext,
    effects: &[Effect],
    names: Names,
    how: How,
) -> Result<Arc<dyn View>, ToolError> {
    let (stage, workspace, effects) =
        (session.stage.clone(), session.shared.setup.workspace.clone(), effects.to_vec());
    let opened = tokio::task::spawn_blocking(move || {
        let view = stage.open(&workspace, &effects)?;
        Ok(Named { view, workspace, names })
    });
    let opened = opened.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    let view = opened.map_err(not_staged)?;
    if view.how() != how {
        let why = "the stage opened another view than it said before";
        return Err(not_staged(io::Error::other(why)));
    }
    Ok(Arc::new(view))
}

/// Compares for `seconds` at most; 0 for no limit. An interrupted call stops comparing.
async fn changes_of(view: &Arc<dyn View>, seconds: u64) -> Result<Vec<Change>, ToolError> {
    if seconds > 0 {
        view.finish_by(Instant::now() + Duration::from_secs(seconds));
    }
    let _stopping = StopOnDrop(view);
    let comparing = view.clone();
    let changes = tokio::task::spawn_blocking(move || comparing.changes()).await;
    changes.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(not_staged)
}

/// Stops comparing when its result is not awaited any more.
struct StopOnDrop<'a>(&'a Arc<dyn View>);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Once, since it is so for each of them.
async fn tell_unconfined(session: &SessionContext, notes: &Notes) -> Result<(), Unrecorded> {
    match session.stage.unconfined(&session.shared.setup.workspace) {
        Some(reason) if !session.told_unconfined.swap(true, Relaxed) => {
            notes.record(Fact::Unconfined { reason }).await
        }
        _ => Ok(()),
    }
}

/// The intent is on disk before anything happens that cannot be taken back.
async fn start(
    session: &SessionContext,
    call: &ToolCall,
    arguments: &Value,
    judged: &Judged,
    reads: Vec<FileRead>,
    notes: &Notes,
) -> Result<(), Stopped> {
    let (how, outside) = (judged.how, judged.reaches_out());
    let (id, name, arguments) = (call.id.clone(), call.name.clone(), arguments.clone());
    let started = Fact::ToolStarted { call: id, name, arguments, how, outside, reads };
    if how != How::Untracked && !outside {
        return Ok(notes.record(started).await?);
    }
    notes.record_durably(started).await?;
    session.record_in_parents(&[], how).await?;
    Ok(())
}

/// Records what the call did, then makes it real.
pub(crate) async fn commit(
    session: &SessionContext,
    call: &ToolCall,
    done: Done,
    cancel: &CancellationToken,
    notes: &Notes,
    turn: Option<&Turn>,
) -> Result<ToolResult, Stopped> {
    let Done { result, changes, how, view } = done;
    let bulk = view.as_ref().map(|view| view.bulk()).unwrap_or_default();
    let unkept: Vec<PathBuf> = bulk.folders.iter().map(|folder| folder.path.clone()).collect();
    let changes_files = !changes.is_empty() || !unkept.is_empty();
    if let Some(turn) = turn.filter(|_| changes_files || bulk.changes_tmp) {
        turn.changes();
    }
    if !changes_files {
        apply_bulk(view).await?;
        return Ok(result);
    }
    let _alone = session.before_others(&changes).await?;
    let (id, recorded) = (call.id.clone(), (changes.clone(), result.clone()));
    let staged = Fact::Staged { call: id, changes: recorded.0, how, result: recorded.1, unkept };
    notes.record_durably(staged).await?;
    let (recorded, settled) = match session.record_in_parents(&changes, how).await {
        Ok(seen) => (seen, session.make_real(changes, how, cancel).await),
        Err(error) => (None, Settled { unsettled: paths(&changes), error: Some(error) }),
    };
    let Settled { unsettled, error } = settled;
    let Some(error) = error else {
        apply_bulk(view).await?;
        return Ok(result);
    };
    if let Some(seen) = recorded {
        seen.unsettled(&unsettled).await;
    }
    notes.record(Fact::Unsettled { call: call.id.clone(), paths: unsettled }).await?;
    Err(error.into())
}

/// Writes what no undo takes back.
async fn apply_bulk(view: Option<Arc<dyn View>>) -> Result<(), ToolError> {
    let Some(view) = view else { return Ok(()) };
    let settled = tokio::task::spawn_blocking(move || view.apply_bulk()).await;
    settled.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| not_settled(error, true))
}

/// As the profile words it, and no longer than it allows.
pub(crate) fn worded(
    session: &SessionContext,
    call: &ToolCall,
    result: Result<ToolOutput, ToolError>,
) -> ToolResult {
    let profile = &session.shared.setup.profile;
    let tools = &session.toolbox.kit().tools;
    let result = result.map_err(|error| tools.in_told_names(&call.name, error));
    let cut = |text: &str| profile.clip.apply(text, "ask for a part of it");
    // What is wrapped in JSON is cut before: half an object is none.
    let result = match profile.render.result {
        Wording::Text | Wording::Fields | Wording::Success => result,
        Wording::Titled => result
            .map(|output| ToolOutput { for_model: cut(&output.for_model), ..output })
            .map_err(|error| ToolError { message: cut(&error.message), ..error }),
    };
    let mut result = profile.render.result(call, result);
    if profile.render.result != Wording::Titled {
        result.content = cut(&result.content);
    }
    if let Some(error) = &mut result.error {
        error.message = cut(&error.message);
    }
    result
}
