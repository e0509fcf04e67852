//! [`OwnHooks`]: the user's hooks: commands and addresses that receive an event as one JSON object, and respond with
//! one.
//!
//! If a hook that guards (`before_tool`, `turn_start`) cannot be asked, it denies, because the user relies on the
//! guard. What a hook receives and responds is in `docs/agents.md`.
mod ask;
mod claude;
mod plugin;
mod settings;

pub use plugin::{PluginHook, PluginHooks, can_confine};
pub use settings::{BadHook, HookEvent, HookSettings, OnFailure};

use ask::Answer;
use futures::future::BoxFuture;
use haft_core::{Hooked, Hooks, Moment, Outcome, SessionId, Stage, ToolResult};
use serde::Serialize;
use serde_json::{Value, json};
use settings::Hook;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

/// The user's hooks, asked one after the other in the order of their file.
pub struct OwnHooks {
    hooks: Vec<Hook>,
    workspace: PathBuf,
    environment: Arc<[(String, String)]>,
    on_note: Arc<dyn Fn(String) + Send + Sync>,
    of_plugins: Option<ConfinedHooks>,
}

/// Hooks of plugins, and what they need.
struct ConfinedHooks {
    plugins: Vec<PluginHooks>,
    /// Opens their views.
    stage: Arc<dyn Stage>,
    /// The folder of all sessions, from which hooks are told the path of the journal.
    sessions: PathBuf,
}

impl OwnHooks {
    /// Commands start in `workspace` with `environment` and no other variables. `on_note` receives a note about each
    /// hook that failed without denying anything. Fails if the settings of a hook are invalid.
    pub fn new(
        hooks: &[HookSettings],
        workspace: PathBuf,
        environment: Arc<[(String, String)]>,
        on_note: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Result<Self, BadHook> {
        let hooks = hooks.iter().map(Hook::new).collect::<Result<_, _>>()?;
        Ok(Self { hooks, workspace, environment, on_note, of_plugins: None })
    }

    /// Adds hooks of plugins, each in a view that `stage` opens. A hook that fails denies nothing. `sessions` is the
    /// folder of all sessions.
    #[must_use]
    pub fn with_plugins(self, plugins: Vec<PluginHooks>, stage: Arc<dyn Stage>, sessions: PathBuf) -> Self {
        Self { of_plugins: Some(ConfinedHooks { plugins, stage, sessions }), ..self }
    }

    async fn ask_all(&self, session: &SessionId, moment: Moment<'_>) -> Hooked {
        let told = HookInput::new(session, &self.workspace, &moment);
        let (mut contexts, mut ask) = (Vec::new(), None);
        let hooks: Vec<&Hook> = self.hooks.iter().filter(|hook| hook.hears(&told)).collect();
        let may_change = told.event == HookEvent::AfterTool && !hooks.is_empty();
        let before = if may_change { states(told.writes) } else { Vec::new() };
        for hook in hooks {
            match ask::ask(hook, &told, &self.workspace, &self.environment).await {
                Ok(Answer { deny: Some(reason), .. }) => return Hooked::deny(reason),
                // Only calls can be approved.
                Ok(Answer { ask: Some(reason), .. }) if told.event == HookEvent::TurnStart => {
                    return Hooked::deny(reason);
                }
                Ok(answer) => {
                    contexts.extend(answer.context);
                    ask = ask.or(answer.ask);
                }
                Err(why) if hook.denies_on_failure() => return Hooked::deny(format!("{hook} {why}")),
                Err(why) => (self.on_note)(format!("{hook} {why}")),
            }
        }
        if may_change {
            let changed = told.writes.iter().zip(before).zip(states(told.writes));
            let changed = changed.filter(|((_, before), after)| before != after);
            contexts.extend(changed.map(|((path, _), _)| {
                let path = path.strip_prefix(&self.workspace).unwrap_or(path).display();
                format!("`{path}` was changed by a hook after this call: read it again before you edit it")
            }));
        }
        let of_plugins = self.ask_plugins(session, &moment).await;
        if of_plugins.deny.is_some() {
            return of_plugins;
        }
        contexts.extend(of_plugins.context);
        let context = (!contexts.is_empty()).then(|| contexts.join("\n"));
        Hooked { ask: ask.or(of_plugins.ask), context, ..Hooked::default() }
    }

    /// Asks the hooks of plugins, up to the first one that denies.
    async fn ask_plugins(&self, session: &SessionId, moment: &Moment<'_>) -> Hooked {
        let (mut contexts, mut ask) = (Vec::new(), None);
        let Some(ConfinedHooks { plugins, stage, sessions }) = &self.of_plugins else {
            return Hooked::default();
        };
        let journal = sessions.join(&session.0).join("journal.jsonl");
        let about = json!({"session_id": session, "transcript_path": journal, "cwd": self.workspace});
        let mut hooks = Vec::new();
        plugins.iter().for_each(|plugin| hooks.extend(plugin.hooks.iter().map(|hook| (plugin, hook))));
        for (plugin, hook) in hooks {
            for input in claude::inputs(hook, &about, &self.workspace, moment) {
                match plugin::ask((plugin, hook), &input, &self.workspace, &self.environment, stage).await {
                    Ok(Answer { deny: Some(reason), .. }) => return Hooked::deny(reason),
                    Ok(Answer { context: Some(reason), .. }) if hook.event == HookEvent::TurnEnd => {
                        let hook = hook.named(plugin);
                        (self.on_note)(format!("{hook} asks to go on, but the turn is over: {reason}"));
                    }
                    Ok(answer) => {
                        contexts.extend(answer.context);
                        ask = ask.or(answer.ask);
                    }
                    Err(why) => (self.on_note)(format!("{} {why}", hook.named(plugin))),
                }
            }
        }
        Hooked { ask, context: (!contexts.is_empty()).then(|| contexts.join("\n")), ..Hooked::default() }
    }
}

/// The time and size of each file, which show whether it changes; `None` if it does not exist.
fn states(paths: &[PathBuf]) -> Vec<Option<(SystemTime, u64)>> {
    let state = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    paths.iter().map(state).collect()
}

impl Hooks for OwnHooks {
    fn hear<'a>(&'a self, session: &'a SessionId, moment: Moment<'a>) -> BoxFuture<'a, Hooked> {
        Box::pin(self.ask_all(session, moment))
    }
}

/// The input of a hook.
#[derive(Serialize)]
pub(crate) struct HookInput<'a> {
    event: HookEvent,
    session: &'a SessionId,
    workspace: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a Value>,
    /// Files that the call declares it will write.
    #[serde(skip_serializing_if = "<[PathBuf]>::is_empty")]
    writes: &'a [PathBuf],
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
        let bare = Self { event, session, workspace, tool, arguments, writes: &[], result, prompt, outcome };
        match *moment {
            Moment::BeforeCall { call, writes } => {
                Self { tool: Some(&call.name), arguments: Some(&call.arguments), writes, ..bare }
            }
            Moment::AfterCall { call, writes, result } => Self {
                tool: Some(&call.name),
                arguments: Some(&call.arguments),
                writes,
                result: Some(result),
                ..bare
            },
            Moment::TurnStarts { prompt } => Self { prompt: Some(prompt), ..bare },
            Moment::TurnEnds { outcome } => Self { outcome: Some(outcome), ..bare },
        }
    }
}
