//! [`CallScope`]: what all calls of a session share, or all calls of a program without a session.
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

/// The parts that all calls of a session share, or all calls of a program without a session.
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
    /// Opens private views and settles their changes.
    pub stage: Arc<dyn Stage>,
    /// Decides which calls are allowed, asked about or denied.
    pub permission: Permission,
    /// What the processes of a call may reach.
    pub access: Access,
    /// How calls are checked and their results worded.
    pub rules: CallRules,
    /// Hooks that may deny a call or add to its result.
    pub hooks: Arc<dyn Hooks>,
    /// Compares errors and warnings before and after a change; `None` if no program does.
    pub diagnostics: Option<Arc<dyn Diagnostics>>,
    /// Open questions, and what the user has allowed.
    pub interactions: Interactions,
    /// Work that outlives its call.
    pub background: Arc<BackgroundCommands>,
    /// Which content of which file the model has read.
    pub reads: ReadTracker,
    /// Calls of this turn that need not be repeated.
    pub repeats: Repeats,
    /// Number of calls that the session has queued.
    pub queued: AtomicUsize,
    /// Whether [`haft_core::Fact::Unconfined`] was recorded.
    pub told_unconfined: AtomicBool,
    /// The calls that delegated to this session; `None` if it was not delegated.
    pub ancestors: Option<Ancestors>,
    /// Runs subagents and attempts for calls.
    pub delegates: Arc<dyn Delegates>,
    /// Asks the model on behalf of calls, outside of the conversation.
    pub sampler: Arc<dyn Sampler>,
}

/// Lets calls delegate a part of the work to other agents.
pub trait Delegates: Send + Sync {
    /// Returns the subagents of one call of `scope`. `parent` records their changes in this session and its ancestors;
    /// `asker` asks the user of this session for approvals.
    fn subagents(&self, scope: &CallScope, parent: ParentCall, asker: Asker) -> Arc<dyn Subagents>;

    /// Runs one complete attempt at a goal, in a child session of `scope`. `parent` is the call that it is made for;
    /// none of its changes are recorded there.
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
    /// A scope without a session: nothing is journaled, no user is asked (calls that need an approval are refused), and
    /// no hook is called. `folder` is outside the workspace, and receives output that is too long for a result. Calls
    /// wait for the background work that they start, unless `background` is replaced.
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
