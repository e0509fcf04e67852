//! Who allows a call: the policy, or else a person, who is shown all that it would do.
use super::errors::denied;
use crate::session::{
    asking::Wish,
    context::SessionContext,
    inbox::granted,
    notes::{Notes, Unrecorded},
    ready::Ready,
};
use haft_core::{
    Access, Answer, Bulk, Change, Confinement, Effect, Execution, Fact, Host, How, Network, Reach, Readable,
    ToolCall, ToolError, Verdict,
};
use haft_sandbox::Programs;
use std::{path::PathBuf, sync::Arc};

/// What the policy says of a call before it runs, with writing kept apart: where changes are made in private, they
/// are asked about when they can be shown.
pub(crate) struct Judged {
    writes: Verdict,
    others: Verdict,
    /// Of the view that is going to be opened.
    pub(crate) how: How,
    /// What a command in that view reaches.
    reach: Reach,
    /// Whether it can change folders outside of that view.
    writes_elsewhere: bool,
    /// Whether a command that can be confined is not.
    pub(crate) is_unconfined: bool,
}

impl Judged {
    /// The verdict before the call runs. Who has typed it has allowed it.
    pub(crate) fn now(&self, session: &SessionContext, call: &ToolCall) -> Verdict {
        if session.inbox.is_typed(&call.id) {
            return Verdict::Allow;
        }
        if self.waits() { self.others.clone() } else { self.writes.clone().and(self.others.clone()) }
    }

    /// Whether more can happen than is recorded of files, so that the call must not run a second time by itself.
    pub(crate) fn reaches_out(&self) -> bool {
        self.reach != Reach::Nothing || self.writes_elsewhere
    }

    /// What the processes of the call may reach that works under `confinement`.
    pub(crate) fn access(&self, session: &SessionContext, confinement: Option<Arc<Confinement>>) -> Access {
        let confinement = confinement.map(|confinement| match self.reach {
            Reach::Nothing => confinement,
            _ => Arc::new(Confinement { reach: self.reach.clone(), ..Arc::unwrap_or_clone(confinement) }),
        });
        Access { confinement, ..session.access.clone() }
    }

    /// Of `effects` those that the verdict is about: an answer holds for these and no others.
    fn about(&self, effects: &[Effect], network: &Network) -> Vec<Effect> {
        let is_about = |effect: &Effect| !self.waits() || !matches!(effect, Effect::Write(_));
        as_run(effects, self.how, network).filter(is_about).collect()
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
    let (workspace, network) = (&session.shared.setup.workspace, &session.access.network);
    let how = session.stage.how(workspace, effects);
    let judged: Vec<Effect> = as_run(effects, how, network).filter(|effect| !is_own(&effect)).collect();
    let (reach, refused) = (reach(&judged, how, network), refused(&judged, how, network));
    let (writes, others): (Vec<Effect>, Vec<Effect>) =
        judged.into_iter().partition(|effect| matches!(effect, Effect::Write(_)));
    let judge = |effects: &[Effect]| session.permission.judge(effects, workspace);
    let writes_elsewhere = how == How::Staged && session.stage.writes_elsewhere(workspace, effects);
    let is_confinable = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.confined);
    let is_unconfined = how == How::Untracked && effects.iter().any(is_confinable);
    let (writes, others) = (judge(&writes), judge(&others).and(refused));
    Judged { writes, others, how, reach, writes_elsewhere, is_unconfined }
}

/// Whether the network settings hold for these effects: their command has a view, or goes on in the background, where it is
/// confined in all but the workspace.
fn is_held(effects: &[Effect], how: How) -> bool {
    let lasts = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.lasting);
    how == How::Staged || effects.iter().any(lasts)
}

/// A command that could be confined is not where its call gets no view of its own. One that is has what `network` gives
/// to all.
fn as_run(effects: &[Effect], how: How, network: &Network) -> impl Iterator<Item = Effect> {
    let is_held = is_held(effects, how);
    let given = if is_held { network.unasked() } else { Reach::Nothing };
    let is_given = {
        let given = given.clone();
        move |effect: &&Effect| match (effect, &given) {
            (Effect::Network(host), Reach::Hosts(hosts)) => {
                hosts.iter().any(|known| known.to_string() == *host)
            }
            _ => false,
        }
    };
    effects.iter().filter(move |effect| !is_given(effect)).cloned().map(move |effect| match effect {
        Effect::Execute(execution) => Effect::Execute(Execution {
            confined: execution.confined && how == How::Staged,
            network: is_held && (execution.network || given == Reach::Everything),
            ..execution
        }),
        other => other,
    })
}

/// What a command in a view reaches: what all of them do, and what it asked for.
fn reach(effects: &[Effect], how: How, network: &Network) -> Reach {
    let has_all = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.network);
    if !is_held(effects, how) {
        return Reach::Nothing;
    }
    if effects.iter().any(has_all) {
        return Reach::Everything;
    }
    let mut hosts = match network.unasked() {
        Reach::Hosts(hosts) => hosts,
        Reach::Nothing | Reach::Everything => Vec::new(),
    };
    hosts.extend(named_hosts(effects).filter_map(|host| Host::parse(host).ok()));
    if hosts.is_empty() { Reach::Nothing } else { Reach::Hosts(hosts) }
}

/// What nobody can allow, since the person has said what there is of the network.
fn refused(effects: &[Effect], how: How, network: &Network) -> Verdict {
    let has_all = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.network);
    let all = effects.iter().any(has_all).then_some(None);
    let mut wanted = all.into_iter().chain(named_hosts(effects).map(Some));
    match wanted.find_map(|host| network.refusal(host)) {
        Some(reason) if is_held(effects, how) => Verdict::Deny { reason },
        _ => Verdict::Allow,
    }
}

fn named_hosts(effects: &[Effect]) -> impl Iterator<Item = &str> {
    effects.iter().filter_map(|effect| match effect {
        Effect::Network(host) => Some(host.as_str()),
        Effect::Read(_) | Effect::Write(_) | Effect::Execute(_) => None,
    })
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
    let effects = judged.about(&ready.effects, &session.access.network);
    let workspace = &session.shared.setup.workspace;
    let programs = Programs::of(&ready.effects, workspace);
    let wish = Wish { reason, effects, changes: Vec::new(), bulk: Vec::new(), runs };
    ask(session, call, wish, notes).await?;
    // Whoever answers takes their time, and what was shown must be what runs.
    let (effects, _) = ready.effects_now(&*session.stage, workspace)?;
    if effects != ready.effects {
        return Err(
            denied("not run: what it names leads elsewhere than when the person was asked".into()).into()
        );
    }
    if let Some(path) = programs.changed() {
        let message = format!("not run: `{}` was changed while the person was asked", path.display());
        return Err(denied(message).hint("call again, so that the person can look at it first").into());
    }
    Ok(())
}

/// Judges what a call did in private, and asks a person where the policy wants that: `runs` says what did it, where that
/// is no call of the conversation.
pub(crate) async fn judge_changes(
    session: &SessionContext,
    call: &ToolCall,
    changes: &[Change],
    bulk: &Bulk,
    how: How,
    runs: Option<&ToolCall>,
    notes: &Notes,
) -> Result<(), Refused> {
    if session.inbox.is_typed(&call.id) {
        return Ok(());
    }
    let workspace = &session.shared.setup.workspace;
    match session.permission.judge_changes(changes, &bulk.paths, how, workspace) {
        Verdict::Allow => Ok(()),
        Verdict::Deny { reason } => Err(denied(reason).into()),
        Verdict::Ask { reason } => {
            let bulk = match session.permission.judge_changes(&[], &bulk.paths, how, workspace) {
                Verdict::Allow => Vec::new(),
                _ => bulk.folders.clone(),
            };
            let paths =
                changes.iter().map(|change| &change.path).chain(bulk.iter().map(|folder| &folder.path));
            let effects = paths.map(|path| Effect::Write(workspace.join(path))).collect();
            let runs = runs.cloned().map(Box::new);
            ask(session, call, Wish { reason, effects, changes: changes.to_vec(), bulk, runs }, notes).await
        }
    }
}

async fn ask(session: &SessionContext, call: &ToolCall, wish: Wish, notes: &Notes) -> Result<(), Refused> {
    let workspace = &session.shared.setup.workspace;
    let is_open = |effect: &&Effect| {
        session.permission.judge(std::slice::from_ref(*effect), workspace) == Verdict::Allow
    };
    let asked: Vec<Effect> = wish.effects.iter().filter(|effect| !is_open(effect)).cloned().collect();
    // What was allowed for the whole session was single files, and their content.
    let is_more = !wish.bulk.is_empty() || wish.changes.iter().any(Change::gives_rights);
    if !is_more && session.inbox.has_granted(&asked) {
        return Ok(());
    }
    let answer = session.inbox.wait_for(&call.id);
    let (id, reason, effects) = (call.id.clone(), wish.reason.clone(), wish.effects.clone());
    notes.record(wish.asked(id.clone())).await?;
    let answer = answer.await.unwrap_or(Answer::Nobody);
    notes.record(Fact::ApprovalAnswered { call: id, answer }).await?;
    let error = match answer {
        Answer::Once | Answer::Always => {
            session.inbox.grant(granted(answer, &effects).cloned());
            return Ok(());
        }
        Answer::No => denied(format!("{reason}, and the user said no")),
        Answer::Nobody => denied(format!("{reason}, and there is nobody who could give it"))
            .hint("find a way that needs no approval, or say what you would have done"),
    };
    Err(error.into())
}
