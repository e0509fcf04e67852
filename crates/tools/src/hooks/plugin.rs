//! [`PluginHook`]: a hook of a plugin, which speaks the protocol of Claude Code (code.claude.com/docs/en/hooks, 2026-11). It runs
//! in a view of its own, as confined as a command of the model, and what it changes there is dropped.
use super::{
    HookEvent,
    ask::{Answer, MAX_ANSWER, Silence, complaint_of},
};
use globset::GlobBuilder;
use haft_core::{Effect, Moment, SessionId, Stage, View};
use haft_process::{Exit, Finished, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{path::Path, path::PathBuf, sync::Arc, time::Duration};

/// A command of a plugin that is told of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginHook {
    /// Event that it is told of.
    pub event: HookEvent,
    /// Tools that it is told of, as names of Claude Code with `|` between them; all if empty or `*`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matcher: String,
    /// Command line for `sh`.
    pub command: String,
    /// Seconds until it must have answered; 60 if left out.
    #[serde(default = "a_minute")]
    pub timeout: u64,
}

/// As long as Claude Code waits.
fn a_minute() -> u64 {
    60
}

/// A plugin's hooks, and where its files lie.
#[derive(Clone, Debug)]
pub struct PluginHooks {
    /// The plugin, for people.
    pub plugin: String,
    /// Its files, which its commands find as `CLAUDE_PLUGIN_ROOT`.
    pub files: PathBuf,
    /// In the order in which they are asked.
    pub hooks: Vec<PluginHook>,
}

/// What Claude Code calls Haft's tools.
const NAMES: [(&str, &str); 12] = [
    ("bash", "Bash"),
    ("delegate", "Task"),
    ("edit", "Edit"),
    ("fetch", "WebFetch"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("list", "LS"),
    ("multi_edit", "MultiEdit"),
    ("read", "Read"),
    ("skill", "Skill"),
    ("todo", "TodoWrite"),
    ("write", "Write"),
];

/// What Claude Code calls parameters of tools that touch files.
const PARAMETERS: [(&str, &str); 3] = [("path", "file_path"), ("old", "old_string"), ("new", "new_string")];

impl PluginHook {
    /// Whether it is told of this. A pattern that is more than names, `*` and `.*` fits every tool: a guard is rather asked too
    /// often.
    pub(super) fn hears(&self, moment: &Moment<'_>) -> bool {
        let (Moment::BeforeCall { call } | Moment::AfterCall { call, .. }) = moment else {
            return HookEvent::of(moment) == self.event;
        };
        let names = [call.name.as_str(), name_of(&call.name)];
        let fits = |pattern: &str| {
            let glob = GlobBuilder::new(&pattern.trim().replace(".*", "*")).build();
            glob.map_or(true, |glob| names.iter().any(|name| glob.compile_matcher().is_match(name)))
        };
        let is_plain = self.matcher.chars().all(|c| c.is_alphanumeric() || "_-|*. ".contains(c));
        let fits_all = self.matcher.is_empty() || !is_plain;
        HookEvent::of(moment) == self.event && (fits_all || self.matcher.split('|').any(fits))
    }
}

fn name_of(tool: &str) -> &str {
    NAMES.iter().find(|(own, _)| *own == tool).map_or(tool, |(_, name)| name)
}

/// Whether commands in `workspace` can be confined, as the hooks of a plugin must be.
pub fn can_confine(stage: &dyn Stage, workspace: &Path) -> bool {
    open(stage, workspace).is_ok_and(|view| view.confinement().is_some())
}

fn open(stage: &dyn Stage, workspace: &Path) -> std::io::Result<Box<dyn View>> {
    stage.open(workspace, &[Effect::execute("a hook of a plugin").confined()])
}

/// Asks a hook of `plugin` once.
pub(super) async fn ask(
    (plugin, hook): (&PluginHooks, &PluginHook),
    (session, moment): (&SessionId, &Moment<'_>),
    workspace: &Path,
    environment: &[(String, String)],
    stage: &Arc<dyn Stage>,
) -> Result<Answer, Silence> {
    let (stage, place) = (stage.clone(), workspace.to_owned());
    let opened = tokio::task::spawn_blocking(move || open(&*stage, &place)).await;
    let view =
        opened.map_err(std::io::Error::other).flatten().map_err(|error| Silence::View(error.to_string()))?;
    let confinement = view.confinement().ok_or_else(|| Silence::View("it cannot be confined".to_owned()))?;
    let files = plugin.files.display().to_string();
    let own =
        [("CLAUDE_PLUGIN_ROOT", files.clone()), ("CLAUDE_PROJECT_DIR", workspace.display().to_string())];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let limit = Duration::from_secs(hook.timeout);
    let program = Program {
        program: "sh".into(),
        arguments: vec!["-c".into(), hook.command.replace("${CLAUDE_PLUGIN_ROOT}", &files).into()],
        folder: view.root().to_owned(),
        environment: environment.iter().cloned().chain(own).collect::<Vec<_>>().into(),
        timeout: Some(limit),
        capture: MAX_ANSWER,
        confinement: Some(confinement),
    };
    let input = input(session, workspace, moment).to_string();
    ended(hook.event, program.run_with(input.as_bytes(), |_| ()).await?, limit)
}

fn input(session: &SessionId, workspace: &Path, moment: &Moment<'_>) -> Value {
    let event = match HookEvent::of(moment) {
        HookEvent::BeforeTool => "PreToolUse",
        HookEvent::AfterTool => "PostToolUse",
        HookEvent::TurnStart => "UserPromptSubmit",
        HookEvent::TurnEnd => "Stop",
    };
    let mut told = json!({"session_id": session, "cwd": workspace, "hook_event_name": event});
    match moment {
        Moment::BeforeCall { call } | Moment::AfterCall { call, .. } => {
            told["tool_name"] = name_of(&call.name).into();
            told["tool_input"] = arguments(&call.arguments);
        }
        Moment::TurnStarts { prompt } => told["prompt"] = (*prompt).into(),
        Moment::TurnEnds { .. } => told["stop_hook_active"] = false.into(),
    }
    if let Moment::AfterCall { result, .. } = moment {
        told["tool_response"] = json!(result);
    }
    told
}

/// The arguments by the names that Claude Code has for them.
fn arguments(own: &Value) -> Value {
    let Some(own) = own.as_object() else { return own.clone() };
    let named = own.iter().map(|(name, value)| {
        let known = PARAMETERS.iter().find(|(own, _)| own == name);
        (known.map_or(name.as_str(), |(_, name)| name).to_owned(), value.clone())
    });
    Value::Object(named.collect::<Map<_, _>>())
}

fn ended(event: HookEvent, finished: Finished, limit: Duration) -> Result<Answer, Silence> {
    let complaint = complaint_of(&finished);
    match finished.exit {
        Exit::Code(0) => Ok(answer(event, &finished.stdout.text)),
        Exit::Code(2) => Ok(refused(event, &complaint)),
        Exit::Code(code) => Err(Silence::Code(code, complaint)),
        Exit::Signal(signal) => Err(Silence::Signal(signal)),
        Exit::TimedOut => Err(Silence::TimedOut(limit)),
    }
}

/// A refusal; after a call, it is a word to the model.
fn refused(event: HookEvent, reason: &str) -> Answer {
    let reason = if reason.is_empty() { "it gives no reason" } else { reason }.to_owned();
    match event {
        HookEvent::BeforeTool | HookEvent::TurnStart => Answer { deny: Some(reason), context: None },
        HookEvent::AfterTool | HookEvent::TurnEnd => Answer { deny: None, context: Some(reason) },
    }
}

/// Plain text is context for a prompt, and nothing otherwise. An approval is nothing: a hook grants none.
fn answer(event: HookEvent, text: &str) -> Answer {
    let said: Value = match serde_json::from_str(text.trim()) {
        Ok(said @ Value::Object(_)) => said,
        Ok(_) | Err(_) if event == HookEvent::TurnStart && !text.trim().is_empty() => {
            return Answer { deny: None, context: Some(text.trim().to_owned()) };
        }
        Ok(_) | Err(_) => return Answer::default(),
    };
    let specific = &said["hookSpecificOutput"];
    let reason = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if specific["permissionDecision"] == "deny" {
        return refused(event, &reason(&specific["permissionDecisionReason"]));
    }
    if said["decision"] == "block" || said["continue"] == false {
        let given = if said["decision"] == "block" { &said["reason"] } else { &said["stopReason"] };
        return refused(event, &reason(given));
    }
    Answer { deny: None, context: specific["additionalContext"].as_str().map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::ToolCall;

    #[test]
    fn an_answer_in_the_protocol_of_claude_code_denies_or_adds() {
        let denies = |reason: &str| Answer { deny: Some(reason.into()), context: None };
        let adds = |context: &str| Answer { deny: None, context: Some(context.into()) };
        let (before, after, start) = (HookEvent::BeforeTool, HookEvent::AfterTool, HookEvent::TurnStart);
        let table = [
            (before, "", Answer::default()),
            (before, "looks good", Answer::default()),
            (start, "It is Monday.", adds("It is Monday.")),
            (before, r#"{"decision":"approve"}"#, Answer::default()),
            (before, r#"{"decision":"block","reason":"no"}"#, denies("no")),
            (after, r#"{"decision":"block","reason":"no"}"#, adds("no")),
            (before, r#"{"continue":false}"#, denies("it gives no reason")),
            (before, r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#, Answer::default()),
            (
                before,
                r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
                denies("no"),
            ),
            (start, r#"{"hookSpecificOutput":{"additionalContext":"by the way"}}"#, adds("by the way")),
        ];
        for (event, text, expected) in table {
            assert_eq!(answer(event, text), expected, "{text}");
        }
    }

    #[test]
    fn a_hook_is_told_of_the_tools_that_it_names() {
        let table = [
            ("", "grep", true),
            ("*", "grep", true),
            ("Bash", "bash", true),
            ("Bash", "grep", false),
            ("Edit|Write", "write", true),
            ("mcp__a__.*", "mcp__a__b", true),
            ("mcp__a__.*", "mcp__b__b", false),
            ("^(Ba|So)sh$", "grep", true),
        ];
        for (matcher, tool, expected) in table {
            let (event, command) = (HookEvent::BeforeTool, String::new());
            let hook = PluginHook { event, matcher: matcher.into(), command, timeout: 1 };
            let call = ToolCall::new("c", tool, json!({}));
            assert_eq!(hook.hears(&Moment::BeforeCall { call: &call }), expected, "{matcher} {tool}");
            assert!(!hook.hears(&Moment::TurnStarts { prompt: "x" }));
        }
    }
}
