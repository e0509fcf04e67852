//! Continues a job that failed, was stopped, or lost its process.
use super::{
    CANCEL, Job, list,
    mode::{chosen, keep},
};
use crate::{
    CliContext,
    args::TurnArgs,
    assemble::{self, SessionSpec},
    commands::run,
    config::Settings,
    failure::Failure,
};
use haft_core::{JobStatus, JobSummary};
use haft_engine::{Home, Setup};
use std::fs;

/// The job `id` of `home`, about to go on; `adjust` has a last word on its engine's parts, before the session is open.
pub(in crate::commands) async fn taken_up(
    context: &CliContext,
    home: &Home,
    id: &str,
    turn: TurnArgs,
    adjust: impl FnOnce(&mut Setup),
) -> Result<Job, Failure> {
    let (id, JobSummary { order, status, .. }) = list::find(home, id)?;
    if status == JobStatus::Completed {
        return Err(Failure::usage(format!("the job `{id}` is completed"))
            .hint(format!("`haft sessions resume {id}` talks to it")));
    }
    let entries = home.peek(&id.0)?;
    let turn = run::with_session(turn, &id.0, &entries);
    let turn = TurnArgs {
        agent: Some(order.kind.clone()),
        start: turn.start.or_else(|| order.start.clone().map(Box::new)),
        settings: Settings {
            permission: turn.settings.permission.or_else(|| chosen(&entries)),
            ..turn.settings
        },
        ..turn
    };
    let agent = assemble::agent(context, &order.origin, &order.kind)?;
    let assembled = SessionSpec::of(context, &turn)?.engine_with(adjust).await?;
    let session = assembled.engine.resume(&id.0, &order.kind)?;
    // The mark of an earlier cancellation.
    let _was_never_made = fs::remove_file(home.folder(&id).join(CANCEL));
    keep(&session, &turn)?;
    Ok(Job { agent, order, turn, assembled, session })
}
