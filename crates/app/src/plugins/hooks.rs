//! [`of`]: reads the hooks of a plugin, in the format of Claude Code.
use super::files::{inside, json};
use crate::Failure;
use haft_tools::{HookEvent, PluginHook};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Events of Claude Code, and the corresponding events of Haft.
const EVENTS: [(&str, HookEvent); 4] = [
    ("PreToolUse", HookEvent::BeforeTool),
    ("PostToolUse", HookEvent::AfterTool),
    ("UserPromptSubmit", HookEvent::TurnStart),
    ("Stop", HookEvent::TurnEnd),
];

/// Default timeout of a hook in seconds, as in Claude Code.
const TIMEOUT: u64 = 60;

/// The hooks in manifests, in the files that manifests name, and in `hooks/hooks.json`. Entries without an effect in
/// Haft are added to `notes`.
pub(super) fn of(
    folder: &Path,
    named: &[&Value],
    notes: &mut Vec<String>,
) -> Result<Vec<PluginHook>, Failure> {
    let mut files = vec![PathBuf::from("hooks/hooks.json")];
    let mut all = Vec::new();
    for named in named {
        match named {
            Value::String(path) => files.push(inside(folder, path)?),
            Value::Object(_) => all.push((*named).clone()),
            _ => {
                return Err(Failure::failed(
                    "cannot read the plugin: `hooks` is neither a path nor an object",
                ));
            }
        }
    }
    files.dedup();
    for file in files {
        all.extend(json::<Value>(folder, &file)?);
    }
    Ok(all.iter().flat_map(|written| claude_hooks(written, notes)).collect())
}

/// The value `hooks` of a file of Claude Code as hooks. Entries without an effect in Haft are added to `notes`.
pub(crate) fn claude_hooks(written: &Value, notes: &mut Vec<String>) -> Vec<PluginHook> {
    let written = written.get("hooks").unwrap_or(written);
    let mut found = Vec::new();
    if !written.is_object() && !written.is_null() {
        notes.push("`hooks` have no effect: they are no object of events".to_owned());
    }
    for (name, groups) in written.as_object().into_iter().flatten() {
        let Some((_, event)) = EVENTS.iter().find(|(known, _)| known == name) else {
            notes.push(format!("hooks of `{name}` have no effect: Haft has no such event"));
            continue;
        };
        let is_group = |group: &Value| group["hooks"].is_array();
        if !groups.as_array().is_some_and(|groups| groups.iter().all(is_group)) {
            notes.push(format!(
                "hooks of `{name}` have no effect where they are no list of objects with `hooks`"
            ));
        }
        for group in groups.as_array().into_iter().flatten() {
            let matcher = group["matcher"].as_str().unwrap_or_default();
            for hook in group["hooks"].as_array().into_iter().flatten() {
                let (kind, command) = (hook["type"].as_str().unwrap_or("command"), hook["command"].as_str());
                let Some(command) = command.filter(|_| kind == "command") else {
                    notes.push(format!("a hook of the type `{kind}` has no effect: only commands are run"));
                    continue;
                };
                let timeout = hook["timeout"].as_u64().unwrap_or(TIMEOUT).clamp(1, 600);
                let (matcher, command) = (matcher.to_owned(), command.to_owned());
                found.push(PluginHook { event: *event, matcher, command, timeout });
            }
        }
    }
    found
}

/// The event of a hook, in the terms of Claude Code.
pub(super) fn event_of(hook: &PluginHook) -> String {
    let name = EVENTS.iter().find(|(_, event)| *event == hook.event).map_or("", |(name, _)| name);
    if hook.matcher.is_empty() { name.to_owned() } else { format!("{name} {}", hook.matcher) }
}
