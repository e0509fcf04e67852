//! [`Judgment`]: the policy's judgment of a call before it runs, and of its changes.
//!
//! Writing is judged separately from all other effects: if a call works in a private view, the user is asked once the
//! changes can be shown.
use crate::{
    approvals::{ApprovalRequest, Approved},
    checked::CheckedCall,
    diagnostics,
    errors::denied,
    programs::Programs,
    resolved::Names,
    round::{CallRun, Stopped},
    scope::CallScope,
};
use haft_core::{
    Accepted, Access, Answer, Bulk, CallId, Change, Confinement, Effect, Execution, Host, Mode, Network,
    Reach, Readable, ToolCall, ToolError, Tracking, Verdict, policy::normal,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The reason of the question about a proposed call whose changes the policy allows.
const PROPOSED: &str = "Haft proposes the change";

/// The policy's judgment of a call before it runs.
pub(crate) struct Judgment {
    writes: Verdict,
    others: Verdict,
    /// How the changes of the call will be tracked.
    pub(crate) how: Tracking,
    /// Whether it runs outside of a view, and changes no files there.
    leaves_files: bool,
    /// Whether it is made again after a crash although no effects say what it does.
    is_idempotent: bool,
    /// What a command of the call reaches.
    reach: Reach,
    /// Whether it can change folders outside of its view.
    writes_elsewhere: bool,
    /// Whether the call is made in plan mode: its commands have no network and change nothing outside of their views.
    is_for_planning: bool,
    /// Whether a command that could be confined is not.
    pub(crate) is_unconfined: bool,
}

impl Judgment {
    /// Judges the effects of a call by their resolved paths and by the paths as the call spells them. The folders of
    /// the scope itself may be read.
    pub(crate) fn of(
        scope: &CallScope,
        call: &CallId,
        CheckedCall { tool, effects, names, .. }: &CheckedCall,
    ) -> Self {
        let own_folders = scope.own_folders();
        let is_own = |effect: &&Effect| match effect {
            Effect::Read(path) => own_folders.iter().any(|folder| path.starts_with(folder)),
            Effect::Write(_) | Effect::Execute(_) | Effect::Network(_) => false,
        };
        let is_for_planning = is_for_planning(scope, call);
        let network = if is_for_planning { &Network::Ask } else { &scope.access.network };
        let workspace = &scope.workspace;
        let how = scope.stage.how(workspace, effects);
        let judged: Vec<Effect> = as_run(effects, how, network).filter(|effect| !is_own(&effect)).collect();
        let spelled: Vec<Effect> =
            judged.iter().flat_map(|effect| as_spelled(effect, names, workspace)).collect();
        let (reach, refused) = (reach(&judged, how, network), refused(&judged, how, network));
        let (writes, others): (Vec<Effect>, Vec<Effect>) =
            judged.into_iter().partition(|effect| matches!(effect, Effect::Write(_)));
        let judge = |effects: &[Effect]| scope.permission.judge(effects, workspace);
        let can_write_elsewhere = how == Tracking::Staged && !is_for_planning;
        let is_confinable =
            |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.confined);
        Self {
            writes: judge(&writes),
            others: judge(&others).and(refused).and(scope.permission.judge_names(&spelled, workspace)),
            how,
            leaves_files: how == Tracking::Untracked && tool.leaves_files(),
            is_idempotent: tool.is_idempotent(),
            reach,
            writes_elsewhere: can_write_elsewhere && scope.stage.writes_elsewhere(workspace, effects),
            is_for_planning,
            is_unconfined: how == Tracking::Untracked && effects.iter().any(is_confinable),
        }
    }

    /// The verdict before the call runs. A call that the user has typed is allowed.
    pub(crate) fn verdict(&self, scope: &CallScope, call: &ToolCall) -> Verdict {
        if scope.interactions.is_typed(&call.id) {
            return Verdict::Allow;
        }
        // If no user can be asked, a call that needs a question is refused before it runs.
        if self.will_ask(scope) {
            return self.others.clone();
        }
        self.writes.clone().and(self.others.clone())
    }

    /// Whether the user is asked about the call's changes, as far as is known before it runs.
    pub(crate) fn will_ask(&self, scope: &CallScope) -> bool {
        self.asks_about_changes() && !scope.interactions.is_unattended()
    }

    /// Whether the user can be asked once the changes are known: the call only reads and writes files, in a view.
    pub(crate) fn can_ask_later(&self, scope: &CallScope, effects: &[Effect]) -> bool {
        let is_written = |effect: &Effect| matches!(effect, Effect::Write(_));
        let is_file = |effect: &Effect| matches!(effect, Effect::Read(_) | Effect::Write(_));
        self.how != Tracking::Untracked
            && effects.iter().any(is_written)
            && effects.iter().all(is_file)
            && !scope.interactions.is_unattended()
    }

    /// Whether the call may have effects beyond the recorded file changes, so that it must not be repeated
    /// automatically.
    pub(crate) fn reaches_out(&self) -> bool {
        self.reach != Reach::Nothing || self.writes_elsewhere || self.leaves_files && !self.is_idempotent
    }

    /// How the journal records the call's changes. A call that changes no files counts as fully recorded.
    pub(crate) fn recorded_as(&self) -> Tracking {
        if self.leaves_files { Tracking::Declared } else { self.how }
    }

    /// The access of the processes of `call` under `confinement`.
    pub(crate) fn access(
        &self,
        scope: &CallScope,
        call: &CallId,
        confinement: Option<Arc<Confinement>>,
    ) -> Access {
        let confinement = confinement.map(|confinement| match self.reach {
            Reach::Nothing if !self.is_for_planning => confinement,
            _ => {
                let mut own = Arc::unwrap_or_clone(confinement);
                own.reach = self.reach.clone();
                own.writable.retain(|_| !self.is_for_planning);
                Arc::new(own)
            }
        });
        let access = Access { confinement, ..scope.access.clone() };
        match scope.interactions.item_of(call) {
            Some(item) => access.with_idempotency_key(&item),
            None => access,
        }
    }

    /// The `effects` that the verdict is about. An answer applies only to these.
    fn subject(&self, effects: &[Effect], network: &Network) -> Vec<Effect> {
        let is_subject = |effect: &Effect| !self.asks_about_changes() || !matches!(effect, Effect::Write(_));
        as_run(effects, self.how, network).filter(is_subject).collect()
    }

    /// Whether the user is asked about writing once the changes are known.
    fn asks_about_changes(&self) -> bool {
        match self.how {
            Tracking::Staged | Tracking::Declared => matches!(self.writes, Verdict::Ask { .. }),
            Tracking::Untracked => false,
        }
    }
}

/// Whether the model makes the call in plan mode.
pub(crate) fn is_for_planning(scope: &CallScope, call: &CallId) -> bool {
    scope.permission.mode() == Mode::Plan && !scope.interactions.is_typed(call)
}

/// Returns `effect` for each other path by which the call names its file.
fn as_spelled(effect: &Effect, names: &Names, workspace: &Path) -> Vec<Effect> {
    let (found, of_path): (&PathBuf, fn(PathBuf) -> Effect) = match effect {
        Effect::Read(path) => (path, Effect::Read),
        Effect::Write(path) => (path, Effect::Write),
        Effect::Execute(_) | Effect::Network(_) => return Vec::new(),
    };
    let names = names.iter().filter(|(_, leads_to)| *leads_to == found).map(|(name, _)| normal(name));
    names.filter(|name| *name != normal(&workspace.join(found))).map(of_path).collect()
}

/// Whether the network settings apply: the command has a view, or continues in the background, where it is confined in
/// all but the workspace.
fn network_applies(effects: &[Effect], how: Tracking) -> bool {
    let lasts = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.lasting);
    how == Tracking::Staged || effects.iter().any(lasts)
}

/// `effects` as they will actually run: a command runs unconfined if its call gets no view; a confined command has the
/// network access that all commands have.
fn as_run(effects: &[Effect], how: Tracking, network: &Network) -> impl Iterator<Item = Effect> {
    let applies = network_applies(effects, how);
    let given = if applies { network.unasked() } else { Reach::Nothing };
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
            confined: execution.confined && how == Tracking::Staged,
            network: applies && (execution.network || given == Reach::Everything),
            ..execution
        }),
        other => other,
    })
}

/// The network access of a command in a view: the access of all commands, and what the command requested.
fn reach(effects: &[Effect], how: Tracking, network: &Network) -> Reach {
    let has_all = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.network);
    if !network_applies(effects, how) {
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

/// Denies what the network settings forbid; no answer of the user can allow it.
fn refused(effects: &[Effect], how: Tracking, network: &Network) -> Verdict {
    let has_all = |effect: &Effect| matches!(effect, Effect::Execute(execution) if execution.network);
    let all = effects.iter().any(has_all).then_some(None);
    let mut wanted = all.into_iter().chain(named_hosts(effects).map(Some));
    match wanted.find_map(|host| network.refusal(host)) {
        Some(reason) if network_applies(effects, how) => Verdict::Deny { reason },
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
pub(crate) fn readable(scope: &CallScope, effects: &[Effect]) -> Readable {
    scope.permission.readable(effects, &scope.workspace, scope.own_folders())
}

impl CallRun<'_> {
    /// The error if the policy denies the call, or would ask although no user can be asked.
    pub(crate) fn refused(&self, reason: String) -> ToolError {
        if self.round.scope.interactions.is_unattended() {
            return denied(format!("`{}` may not run here: {reason}", self.call.name));
        }
        denied(reason)
    }

    /// Asks the user before the call runs.
    pub(crate) async fn ask_to_run(
        &self,
        checked: &CheckedCall,
        judgment: &Judgment,
        reason: String,
    ) -> Result<(), Stopped> {
        let scope = self.round.scope;
        let runs = Some(Box::new(checked.with_own_names(&self.call))).filter(|runs| **runs != self.call);
        let effects = judgment.subject(&checked.effects, &scope.access.network);
        let programs = Programs::of(&checked.effects, &scope.workspace);
        let (changes, bulk, diagnostics) = Default::default();
        let request = ApprovalRequest { reason, effects, changes, bulk, runs, diagnostics };
        let reason = request.reason.clone();
        if self.ask(request).await?.is_some() {
            // The call has no changes yet, so no part of them can be accepted.
            return Err(denied(format!("{reason}, and the user accepted only a part of it")).into());
        }
        // The effects may have changed before the user answered: only what was shown may run.
        let (effects, _) = checked.effects_now(scope)?;
        if effects != checked.effects {
            let why = "not run: what it names leads elsewhere than when the person was asked";
            return Err(denied(why.into()).into());
        }
        if let Some(path) = programs.changed() {
            let message = format!("not run: `{}` was changed while the person was asked", path.display());
            return Err(denied(message).hint("call again, so that the person can look at it first").into());
        }
        Ok(())
    }

    /// Judges the changes of the call in its view, and asks the user if the policy requires it. `runs` is the call that
    /// made them, if it is not a call of the conversation. Returns the parts that the user accepts; `None` for all.
    pub(crate) async fn judge_changes(
        &self,
        changes: &[Change],
        bulk: &Bulk,
        how: Tracking,
        runs: Option<&ToolCall>,
    ) -> Result<Option<Accepted>, Stopped> {
        let scope = self.round.scope;
        if scope.interactions.is_typed(&self.call.id) {
            return Ok(None);
        }
        let (permission, workspace) = (&scope.permission, &scope.workspace);
        let is_proposed = !changes.is_empty() && scope.interactions.is_proposed(&self.call.id);
        let verdict = match permission.judge_changes(changes, &bulk.paths, how, workspace) {
            Verdict::Allow if is_proposed => Verdict::Ask { reason: PROPOSED.to_owned() },
            verdict => verdict,
        };
        let asked_by_hook = self.asked_by_hook.get().filter(|_| !changes.is_empty());
        let verdict = match (verdict, asked_by_hook) {
            (Verdict::Allow, Some(hook)) => Verdict::Ask { reason: hook.clone() },
            (Verdict::Ask { reason }, Some(hook)) => Verdict::Ask { reason: format!("{reason}; {hook}") },
            (verdict, _) => verdict,
        };
        match verdict {
            Verdict::Allow => Ok(None),
            Verdict::Deny { reason } => Err(self.refused(reason).into()),
            Verdict::Ask { reason } => {
                let bulk = match permission.judge_changes(&[], &bulk.paths, how, workspace) {
                    Verdict::Allow => Vec::new(),
                    _ => bulk.folders.clone(),
                };
                let paths =
                    changes.iter().map(|change| &change.path).chain(bulk.iter().map(|folder| &folder.path));
                let effects = paths.map(|path| Effect::Write(workspace.join(path))).collect();
                let diagnostics = match scope.interactions.is_unattended() {
                    true => None,
                    false => diagnostics::compare(scope, changes).await.map(Box::new),
                };
                let (changes, runs) = (changes.to_vec(), runs.cloned().map(Box::new));
                self.ask(ApprovalRequest { reason, effects, changes, bulk, runs, diagnostics }).await
            }
        }
    }

    async fn ask(&self, request: ApprovalRequest) -> Result<Option<Accepted>, Stopped> {
        let scope = self.round.scope;
        if scope.interactions.is_unattended() {
            return Err(self.refused(request.reason).into());
        }
        let is_open = |effect: &&Effect| {
            scope.permission.judge(std::slice::from_ref(*effect), &scope.workspace) == Verdict::Allow
        };
        let asked: Vec<Effect> = request.effects.iter().filter(|effect| !is_open(effect)).cloned().collect();
        let reason = request.reason.clone();
        let approved = self.asker().approve(request, &asked, None).await?;
        let unanswered = Approved { answered: Answer::Unanswered.into(), accepted: None };
        let Approved { answered, accepted } = approved.unwrap_or(unanswered);
        let error = match answered.answer {
            Answer::Once | Answer::Always => return Ok(accepted),
            Answer::No => denied(format!("{reason}, and the user said no")),
            Answer::Unanswered => denied(format!("{reason}, and there is no person who could give it"))
                .hint("find a way that needs no approval, or say what you would have done"),
            Answer::NotUnderstood => {
                denied(format!("{reason}, and the front-end's answer was not understood"))
                    .hint("the user may not have seen the question; say what you would have done")
            }
        };
        Err(error.into())
    }
}
