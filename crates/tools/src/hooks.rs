//! [`OwnHooks`]: the user's hooks: commands and addresses that get an event as one JSON object, and answer with one.
//!
//! If a hook that guards (`before_tool`, `turn_start`) cannot be asked, it denies: the user who set up a guard relies
//! on it. What it is sent, and what it answers, is in `docs/agents.md`.
mod ask;
mod plugin;
mod settings;

pub use plugin::{PluginHook, PluginHooks, can_confine};
pub use settings::{BadHook, HookEvent, HookSettings, OnFailure};

use ask::Answer;
use futures::future::BoxFuture;
use haft_core::{Hooked, Hooks, Moment, Outcome, SessionId, Stage, ToolResult};
use serde::Serialize;
use serde_json::Value;
use settings::Hook;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The user's hooks, asked one after the other in the order of their file.
pub struct OwnHooks {
    hooks: Vec<Hook>,
    workspace: PathBuf,
    environment: Arc<[(String, String)]>,
    on_note: Arc<dyn Fn(String) + Send + Sync>,
    /// Those of plugins, and where they are confined.
    of_plugins: Option<(Vec<PluginHooks>, Arc<dyn Stage>)>,
}

impl OwnHooks {
    /// Commands start in `workspace` with `environment` and no other. `on_note` gets a note about a hook that failed
    /// without denying anything. Fails if a hook cannot work as it is set up.
    pub fn new(
        hooks: &[HookSettings],
        workspace: PathBuf,
        environment: Arc<[(String, String)]>,
        on_note: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Result<Self, BadHook> {
        let hooks = hooks.iter().map(Hook::new).collect::<Result<_, _>>()?;
        Ok(Self { hooks, workspace, environment, on_note, of_plugins: None })
    }

    /// The same, and then hooks of plugins, each in a view that `stage` opens. One that fails denies nothing.
    #[must_use]
    pub fn with_plugins(self, plugins: Vec<PluginHooks>, stage: Arc<dyn Stage>) -> Self {
        Self { of_plugins: Some((plugins, stage)), ..self }
    }

    async fn ask_all(&self, session: &SessionId, moment: Moment<'_>) -> Hooked {
        let told = HookInput::new(session, &self.workspace, &moment);
        let mut contexts = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.hears(told.event, told.tool)) {
            match ask::ask(hook, &told, &self.workspace, &self.environment).await {
                Ok(Answer { deny: Some(reason), .. }) => return Hooked::deny(reason),
                Ok(Answer { deny: None, context }) => contexts.extend(context),
                Err(why) if hook.denies_on_failure() => return Hooked::deny(format!("{hook} {why}")),
                Err(why) => (self.on_note)(format!("{hook} {why}")),
            }
        }
        match self.ask_plugins(session, &moment).await {
            Ok(more) => contexts.extend(more),
            Err(reason) => return Hooked::deny(reason),
        }
        Hooked { deny: None, context: (!contexts.is_empty()).then(|| contexts.join("\n")) }
    }

    /// What hooks of plugins add; the error is the reason of the first that denies.
    async fn ask_plugins(&self, session: &SessionId, moment: &Moment<'_>) -> Result<Vec<String>, String> {
        let mut contexts = Vec::new();
        let Some((plugins, stage)) = &self.of_plugins else { return Ok(contexts) };
        for plugin in plugins {
            for hook in plugin.hooks.iter().filter(|hook| hook.hears(moment)) {
                let told = (session, moment);
                match plugin::ask((plugin, hook), told, &self.workspace, &self.environment, stage).await {
                    Ok(Answer { deny: Some(reason), .. }) => return Err(reason),
                    Ok(Answer { deny: None, context }) => contexts.extend(context),
                    Err(why) => (self.on_note)(format!("a hook of the plugin `{}` {why}", plugin.plugin)),
                }
            }
        }
        Ok(contexts)
    }
}

impl Hooks for OwnHooks {
    fn hear<'a>(&'a self, session: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        Box::pin(self.ask_all(session, moment))
    }
}

/// What a hook is sent.
#[derive(Serialize)]
pub(crate) struct HookInput<'a> {
    event: HookEvent,
    session: &'a SessionId,
    workspace: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a ToolResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
}

impl<'a> HookInput<'a> {
    fn new(session: &'a SessionId, workspace: &'a Path, moment: &Moment<'a>) -> Self {
        let (tool, arguments, result, prompt, outcome) = (None, None, None, None, None);
        let event = HookEvent::of(moment);
        let bare = Self { event, session, workspace, tool, arguments, result, prompt, outcome };
        match *moment {
            Moment::BeforeCall { call } => {
                Self { tool: Some(&call.name), arguments: Some(&call.arguments), ..bare }
            }
            Moment::AfterCall { call, result } => Self {
                tool: Some(&call.name),
                arguments: Some(&call.arguments),
                result: Some(result),
                ..bare
            },
            Moment::TurnStarts { prompt } => Self { prompt: Some(prompt), ..bare },
            Moment::TurnEnds { outcome } => Self { outcome: Some(outcome), ..bare },
        }
    }
}
