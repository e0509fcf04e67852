//! [`CallScope`]: what the calls of a session share, or those of a program without a session.
use crate::{
    ancestors::{Ancestors, ParentCall},
    approvals::{Asker, Interactions},
    attempts::{Attempt, Attempted},
    background::BackgroundCommands,
    permission::Permission,
    reads::ReadTracker,
    repeats::Repeats,
    rules::{CallRules, Unread},
};
use futures::future::BoxFuture;
use haft_core::{
    Access, Diagnostics, Hooks, Limits, NoHooks, NoSampler, NoSubagents, Policy, Sampler, SessionId, Stage,
    Subagents, ToolError, ToolErrorKind,
};
use std::{
    future::ready,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize},
    },
};

/// What the calls of a session share, or those of a program without a session.
pub struct CallScope {
    /// The session. A program without one chooses any name.
    pub session: SessionId,
    /// The agent that makes the calls.
    pub agent: String,
    /// The real workspace: absolute, links followed.
    pub workspace: PathBuf,
    /// Folder for output that is too long for a result. See [`haft_core::ToolContext::artifacts`].
    pub artifacts: PathBuf,
    /// Other folders that calls may read without approval.
    pub readable: Vec<PathBuf>,
    /// Opens private views and settles what was changed in them.
    pub stage: Arc<dyn Stage>,
    /// What runs unasked, what is asked about, what is denied.
    pub permission: Permission,
    /// What the processes of a call may reach.
    pub access: Access,
    /// How calls are checked and their results worded.
    pub rules: CallRules,
    /// Programs that may object to a call or add to its result.
    pub hooks: Arc<dyn Hooks>,
    /// Compares errors and warnings before and after a change; `None` if no program does.
    pub diagnostics: Option<Arc<dyn Diagnostics>>,
    /// Open questions, and what a person has allowed.
    pub interactions: Interactions,
    /// Work that outlives its call.
    pub background: Arc<BackgroundCommands>,
    /// Which content of which file the model has read.
    pub reads: ReadTracker,
    /// Calls of this turn that need not be made again.
    pub repeats: Repeats,
    /// How many calls the session has queued.
    pub queued: AtomicUsize,
    /// Whether [`haft_core::Fact::Unconfined`] was recorded.
    pub told_unconfined: AtomicBool,
    /// The calls that delegated to this session; `None` if a person opened it.
    pub ancestors: Option<Ancestors>,
    /// Lets calls delegate.
    pub delegates: Arc<dyn Delegates>,
    /// Answers calls beside the conversation.
    pub sampler: Arc<dyn Sampler>,
}

/// Lets calls delegate a part of the work to other agents.
pub trait Delegates: Send + Sync {
    /// Returns the subagents of one call of `scope`. `parent` records in this session and its ancestors what they change;
    /// `asker` asks the person of this session what they want to be allowed.
    fn subagents(&self, scope: &CallScope, parent: ParentCall, asker: Asker) -> Arc<dyn Subagents>;

    /// Makes one attempt at a goal, in a session below that of `scope`, from its beginning to its end. `parent` is the call
    /// that it is made for; none of its changes are recorded there.
    ///
    /// # Errors
    /// Fails if no such session can be opened.
    fn attempt<'a>(
        &'a self,
        scope: &'a CallScope,
        attempt: Attempt,
        parent: ParentCall,
        asker: Asker,
    ) -> BoxFuture<'a, Result<Attempted, ToolError>>;
}

/// No call delegates.
impl Delegates for NoSubagents {
    fn subagents(&self, _: &CallScope, _: ParentCall, _: Asker) -> Arc<dyn Subagents> {
        Arc::new(NoSubagents)
    }

    fn attempt<'a>(
        &'a self,
        _: &'a CallScope,
        _: Attempt,
        _: ParentCall,
        _: Asker,
    ) -> BoxFuture<'a, Result<Attempted, ToolError>> {
        let why = "cannot try again: no session can be opened below this one";
        Box::pin(ready(Err(ToolError::new(ToolErrorKind::User, why))))
    }
}

impl CallScope {
    /// A scope without a session: nothing is journaled, no person is asked (what the policy would ask about is refused), and
    /// no hook is called. `folder` lies outside the workspace and holds output that is too long for a result. Calls wait for
    /// the background work that they start, unless `background` is replaced.
    pub fn standalone(workspace: PathBuf, stage: Arc<dyn Stage>, policy: Policy, folder: PathBuf) -> Self {
        let rules = CallRules {
            unread: Unread::Allow,
            call_seconds: Limits::default().call_seconds,
            ..CallRules::default()
        };
        let mode = policy.mode;
        Self {
            session: SessionId(String::new()),
            agent: String::new(),
            workspace,
            artifacts: folder.join("outputs"),
            readable: vec![folder],
            stage,
            permission: Permission::new(policy, mode, &[]),
            access: Access::default(),
            background: Arc::new(BackgroundCommands::awaited(rules.render.clone())),
            rules,
            hooks: Arc::new(NoHooks),
            diagnostics: None,
            interactions: Interactions::unattended(),
            reads: ReadTracker::default(),
            repeats: Repeats::default(),
            queued: AtomicUsize::new(0),
            told_unconfined: AtomicBool::new(false),
            ancestors: None,
            delegates: Arc::new(NoSubagents),
            sampler: Arc::new(NoSampler),
        }
    }

    /// Folders that calls may read without approval: [`CallScope::readable`] and [`CallScope::artifacts`].
    pub(crate) fn own_folders(&self) -> Vec<PathBuf> {
        self.readable.iter().chain([&self.artifacts]).cloned().collect()
    }
}
