//! Who allows a call: the policy, or else a person, who is shown all that it would do.
use super::errors::denied;
use crate::session::{
    asking::Wish,
    context::SessionContext,
    notes::{Notes, Unrecorded},
    ready::Ready,
};
use haft_core::{Answer, Change, Effect, Execution, Fact, How, Readable, ToolCall, ToolError, Verdict};
use std::path::PathBuf;

/// What the policy says of a call before it runs, with writing kept apart: where changes are made in private, they
/// are asked about when they can be shown.
pub(crate) struct Judged {
    writes: Verdict,
    others: Verdict,
    /// Of the view that is going to be opened.
    pub(crate) how: How,
}

impl Judged {
    /// The verdict before the call runs. Who has typed it has allowed it.
    pub(crate) fn now(&self, session: &SessionContext, call: &ToolCall) -> Verdict {
        if session.inbox.is_typed(&call.id) {
            return Verdict::Allow;
        }
        if self.waits() { self.others.clone() } else { self.writes.clone().and(self.others.clone()) }
    }

    /// Of `effects` those that the verdict is about: an answer holds for these and no others.
    fn about(&self, effects: &[Effect]) -> Vec<Effect> {
        let is_about = |effect: &&Effect| !self.waits() || !matches!(effect, Effect::Write(_));
        effects.iter().filter(is_about).map(|effect| as_run(effect.clone(), self.how)).collect()
    }

    /// Whether writing is asked about when its changes are known.
    fn waits(&self) -> bool {
        match self.how {
            How::Staged | How::Declared => matches!(self.writes, Verdict::Ask { .. }),
            How::Untracked => false,
        }
    }
}

/// Judges `effects`, which must be resolved. What the session itself put aside for the model may be read, and what the
/// person did.
pub(crate) fn judge(session: &SessionContext, effects: &[Effect]) -> Judged {
    let own_folders = own_folders(session);
    let is_own = |effect: &&Effect| match effect {
        Effect::Read(path) => own_folders.iter().any(|folder| path.starts_with(folder)),
        Effect::Write(_) | Effect::Execute(_) | Effect::Network(_) => false,
    };
    let workspace = &session.shared.setup.workspace;
    let how = session.stage.how(workspace, effects);
    let judged = effects.iter().filter(|effect| !is_own(effect)).cloned().map(|effect| as_run(effect, how));
    let (writes, others): (Vec<Effect>, Vec<Effect>) =
        judged.partition(|effect| matches!(effect, Effect::Write(_)));
    let judge = |effects: &[Effect]| session.permission.judge(effects, workspace);
    Judged { writes: judge(&writes), others: judge(&others), how }
}

/// A command that could be confined is not where its call gets no view of its own.
fn as_run(effect: Effect, how: How) -> Effect {
    match effect {
        Effect::Execute(execution) if how != How::Staged => {
            Effect::Execute(Execution { confined: false, ..execution })
        }
        other => other,
    }
}

/// What a call may read below the folders that it was allowed to read.
pub(crate) fn readable(session: &SessionContext, effects: &[Effect]) -> Readable {
    session.permission.readable(effects, &session.shared.setup.workspace, own_folders(session))
}

fn own_folders(session: &SessionContext) -> Vec<PathBuf> {
    let known = session.shared.setup.knowledge.readable.iter();
    known.chain([&session.artifacts]).cloned().collect()
}

/// Why a call must not go on.
pub(crate) enum Refused {
    Error(ToolError),
    Unrecorded,
}

impl From<ToolError> for Refused {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}

impl From<Unrecorded> for Refused {
    fn from(_: Unrecorded) -> Self {
        Self::Unrecorded
    }
}

/// Asks a person about `ready`, before it runs.
pub(crate) async fn ask_to_run(
    session: &SessionContext,
    call: &ToolCall,
    ready: &Ready,
    judged: &Judged,
    reason: String,
    notes: &Notes,
) -> Result<(), Refused> {
    let runs = ready.named(call);
    let runs = Some(Box::new(runs)).filter(|runs| **runs != *call);
    let effects = judged.about(&ready.effects);
    ask(session, call, Wish { reason, effects, changes: Vec::new(), runs }, notes).await?;
    // Whoever answers takes their time, and what was shown must be what runs.
    let (effects, _) = ready.effects_now(&*session.stage, &session.shared.setup.workspace)?;
    if effects != ready.effects {
        return Err(
            denied("not run: what it names leads elsewhere than when the person was asked".into()).into()
        );
    }
    Ok(())
}

/// Judges what a call did in private, and asks a person where the policy wants that.
pub(crate) async fn judge_changes(
    session: &SessionContext,
    call: &ToolCall,
    changes: &[Change],
    how: How,
    notes: &Notes,
) -> Result<(), Refused> {
    if session.inbox.is_typed(&call.id) {
        return Ok(());
    }
    let workspace = &session.shared.setup.workspace;
    match session.permission.judge_changes(changes, how, workspace) {
        Verdict::Allow => Ok(()),
        Verdict::Deny { reason } => Err(denied(reason).into()),
        Verdict::Ask { reason } => {
            let effects = changes.iter().map(|change| Effect::Write(workspace.join(&change.path))).collect();
            ask(session, call, Wish { reason, effects, changes: changes.to_vec(), runs: None }, notes).await
        }
    }
}

async fn ask(session: &SessionContext, call: &ToolCall, wish: Wish, notes: &Notes) -> Result<(), Refused> {
    if session.inbox.has_granted(&wish.effects) {
        return Ok(());
    }
    let answer = session.inbox.wait_for(&call.id);
    let (id, reason, effects) = (call.id.clone(), wish.reason.clone(), wish.effects.clone());
    notes.record(wish.asked(id.clone())).await?;
    let answer = answer.await.unwrap_or(Answer::Nobody);
    notes.record(Fact::ApprovalAnswered { call: id, answer }).await?;
    let error = match answer {
        Answer::Once => return Ok(()),
        Answer::Always => {
            session.inbox.grant(effects);
            return Ok(());
        }
        Answer::No => denied(format!("{reason}, and the user said no")),
        Answer::Nobody => denied(format!("{reason}, and there is nobody who could give it"))
            .hint("find a way that needs no approval, or say what you would have done"),
    };
    Err(error.into())
}
