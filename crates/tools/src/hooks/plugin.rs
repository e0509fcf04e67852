//! [`PluginHook`]: a hook of a plugin, which speaks the protocol of Claude Code (code.claude.com/docs/en/hooks, 2026-11). It runs
//! in a view of its own, as confined as a command of the model, and what it changes there is dropped.
use super::{
    HookEvent,
    ask::{Answer, MAX_ANSWER, Silence, complaint_of, given_or_none},
};
use globset::GlobBuilder;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use haft_core::{Effect, Stage, View};
use haft_process::{Exit, Finished, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{path::Path, path::PathBuf, sync::Arc, time::Duration};

/// A command of a plugin that is told of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginHook {
    /// Event that it is told of.
    pub event: HookEvent,
    /// Tools that it is told of, as names of Claude Code with `|` between them, or a regular expression; all if empty or `*`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matcher: String,
    /// Command line for `sh`.
    pub command: String,
    /// Seconds until it must have answered; 60 if left out.
    #[serde(default = "a_minute")]
    pub timeout: u64,
}

/// The default timeout of Claude Code.
fn a_minute() -> u64 {
    60
}

/// A plugin's hooks, and where its files lie.
#[derive(Clone, Debug)]
pub struct PluginHooks {
    /// What they are hooks of, for people: ``the plugin `NAME` ``.
    pub plugin: String,
    /// Folder of the plugin's files, which its commands find as `CLAUDE_PLUGIN_ROOT`.
    pub files: PathBuf,
    /// In the order in which they are asked.
    pub hooks: Vec<PluginHook>,
}

impl PluginHook {
    /// Whether its matcher fits a tool of this name: one of several names with `*`, or else a regular expression that fits a
    /// part of it. One that cannot be read fits every tool: a guard is rather asked too often.
    pub(super) fn fits(&self, name: &str) -> bool {
        let fits = |pattern: &str| {
            let glob = GlobBuilder::new(&pattern.trim().replace(".*", "*")).build();
            glob.map_or(true, |glob| glob.compile_matcher().is_match(name))
        };
        let names = self.matcher.replace(".*", "*");
        match names.chars().all(|c| c.is_alphanumeric() || "_-|* ".contains(c)) {
            true => names.is_empty() || self.matcher.split('|').any(fits),
            false => RegexMatcher::new(&self.matcher)
                .map_or(true, |regex| regex.is_match(name.as_bytes()).unwrap_or(true)),
        }
    }

    /// For notes.
    pub(super) fn named(&self, plugin: &PluginHooks) -> String {
        format!("the hook `{}` of {}", self.command, plugin.plugin)
    }
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
    input: &Value,
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
    let input = input.to_string();
    ended(hook.event, program.run_with(input.as_bytes(), |_| ()).await?, limit)
}

fn ended(event: HookEvent, finished: Finished, limit: Duration) -> Result<Answer, Silence> {
    let complaint = complaint_of(&finished);
    match finished.exit {
        Exit::Code(0) => answer(event, &finished.stdout.text),
        Exit::Code(2) => Ok(refused(event, &complaint)),
        Exit::Code(code) => Err(Silence::code(code, &complaint)),
        Exit::Signal(signal) => Err(Silence::Signal(signal)),
        Exit::TimedOut => Err(Silence::TimedOut(limit)),
    }
}

/// A refusal; after a call, it is a word to the model.
fn refused(event: HookEvent, reason: &str) -> Answer {
    let reason = given_or_none(reason);
    match event {
        HookEvent::BeforeTool | HookEvent::TurnStart => Answer { deny: Some(reason), ..Answer::default() },
        HookEvent::AfterTool | HookEvent::TurnEnd => Answer { context: Some(reason), ..Answer::default() },
    }
}

/// Plain text is context for a prompt, and nothing otherwise. An approval is nothing: a hook grants none. Text that
/// begins like an answer and is none is an error: it may have been a refusal.
fn answer(event: HookEvent, text: &str) -> Result<Answer, Silence> {
    let said: Value = match serde_json::from_str(text.trim()) {
        Ok(said @ Value::Object(_)) => said,
        Err(error) if text.trim().starts_with('{') => return Err(Silence::Unreadable(error.to_string())),
        Ok(_) | Err(_) if event == HookEvent::TurnStart && !text.trim().is_empty() => {
            return Ok(Answer { context: Some(text.trim().to_owned()), ..Answer::default() });
        }
        Ok(_) | Err(_) => return Ok(Answer::default()),
    };
    let specific = &said["hookSpecificOutput"];
    let reason = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if specific["permissionDecision"] == "deny" {
        return Ok(refused(event, &reason(&specific["permissionDecisionReason"])));
    }
    if event == HookEvent::BeforeTool && specific["updatedInput"].is_object() {
        let wanted = format!("it wants the call with other arguments: {}", specific["updatedInput"]);
        return Ok(refused(event, &wanted));
    }
    let asks = specific["permissionDecision"] == "ask";
    let ask = asks.then(|| given_or_none(&reason(&specific["permissionDecisionReason"])));
    if said["decision"] == "block" || said["continue"] == false {
        let given = if said["decision"] == "block" { &said["reason"] } else { &said["stopReason"] };
        return Ok(refused(event, &reason(given)));
    }
    Ok(Answer { deny: None, ask, context: specific["additionalContext"].as_str().map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_is_names_or_a_regular_expression() {
        let table = [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "NotebookEdit", false),
            ("Notebook.*", "NotebookEdit", true),
            ("mcp__.*__write*", "mcp__files__write_file", true),
            ("^(Edit|Write)$", "Write", true),
            ("^(Edit|Write)$", "Read", false),
            ("Ba.h", "Bash", true),
            ("Ba[st]h?", "Bash", true),
            ("(", "Bash", true),
        ];
        for (matcher, name, expected) in table {
            let hook = PluginHook {
                event: HookEvent::BeforeTool,
                matcher: matcher.into(),
                command: String::new(),
                timeout: 1,
            };
            assert_eq!(hook.fits(name), expected, "{matcher} {name}");
        }
    }

    #[test]
    fn an_answer_in_the_protocol_of_claude_code_denies_or_adds() {
        let denies = |reason: &str| Answer { deny: Some(reason.into()), ..Answer::default() };
        let asks = |reason: &str| Answer { ask: Some(reason.into()), ..Answer::default() };
        let adds = |context: &str| Answer { context: Some(context.into()), ..Answer::default() };
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
            (
                before,
                r#"{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"odd"}}"#,
                asks("odd"),
            ),
            (
                before,
                r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"ls"}}}"#,
                denies(r#"it wants the call with other arguments: {"command":"ls"}"#),
            ),
            (start, r#"{"hookSpecificOutput":{"additionalContext":"by the way"}}"#, adds("by the way")),
        ];
        for (event, text, expected) in table {
            assert_eq!(answer(event, text).unwrap(), expected, "{text}");
        }
        // It may have been a refusal.
        let cut = answer(before, r#"{"decision":"block","reason":"no""#);
        assert!(matches!(cut, Err(Silence::Unreadable(_))), "{cut:?}");
    }
}
