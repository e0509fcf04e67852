//! [`Looks`]: how the editor shows a call before it runs: its kind, its title, the files that it touches.
use super::{
    folder::Folder,
    sdk::{ToolCallLocation, ToolKind},
};
use haft_core::{Effect, Registry, ToolCall, Validation};
use haft_present::safe;
use serde_json::Value;
use std::path::Path;

/// The appearance of a call.
#[derive(Clone)]
pub(super) struct Looks {
    pub(super) kind: ToolKind,
    pub(super) title: String,
    pub(super) locations: Vec<ToolCallLocation>,
}

/// Tools whose effects do not determine their kind. Other tools are shown by their strongest effect.
const BY_NAME: [(&str, ToolKind); 8] = [
    ("grep", ToolKind::Search),
    ("glob", ToolKind::Search),
    ("search", ToolKind::Search),
    ("navigate", ToolKind::Search),
    ("tool_search", ToolKind::Search),
    ("todo", ToolKind::Think),
    ("delegate", ToolKind::Think),
    ("skill", ToolKind::Read),
];

/// The appearance of a call with unknown arguments.
pub(super) fn unfinished(name: &str, tools: &Registry) -> Looks {
    Looks {
        kind: kind(name, &Value::Null, &[], tools),
        title: title(name, &Value::Null),
        locations: Vec::new(),
    }
}

/// The appearance of `call`.
pub(super) fn of(call: &ToolCall, tools: &Registry, validation: Validation, folder: &Folder) -> Looks {
    let effects = effects(call, tools, validation, &folder.real);
    let line = call.arguments["offset"].as_u64().and_then(|line| u32::try_from(line).ok());
    let locations = effects.iter().filter_map(|effect| match effect {
        Effect::Read(path) | Effect::Write(path) => Some(ToolCallLocation::new(folder.told(path)).line(line)),
        Effect::Execute(_) | Effect::Network(_) => None,
    });
    let mut locations: Vec<ToolCallLocation> = locations.collect();
    locations.dedup();
    let kind = kind(&call.name, &call.arguments, &effects, tools);
    Looks { kind, title: title(&call.name, &call.arguments), locations }
}

fn effects(call: &ToolCall, tools: &Registry, validation: Validation, workspace: &Path) -> Vec<Effect> {
    let Some(registered) = tools.get(&call.name) else { return Vec::new() };
    let checked = registered.check(&call.arguments, validation).ok();
    checked.and_then(|checked| registered.tool.effects(&checked, workspace).ok()).unwrap_or_default()
}

fn kind(name: &str, arguments: &Value, effects: &[Effect], tools: &Registry) -> ToolKind {
    let own = tools.get(name).map_or(name, |registered| registered.tool.spec().name.as_str());
    if let Some((_, kind)) = BY_NAME.iter().find(|(known, _)| *known == own) {
        return *kind;
    }
    let is = |wanted: fn(&Effect) -> bool| effects.iter().any(wanted);
    match arguments["action"].as_str() {
        Some("delete") if is(|effect| matches!(effect, Effect::Write(_))) => ToolKind::Delete,
        _ if is(|effect| matches!(effect, Effect::Execute(_))) => ToolKind::Execute,
        _ if is(|effect| matches!(effect, Effect::Network(_))) => ToolKind::Fetch,
        _ if is(|effect| matches!(effect, Effect::Write(_))) => ToolKind::Edit,
        _ if is(|effect| matches!(effect, Effect::Read(_))) => ToolKind::Read,
        _ => ToolKind::Other,
    }
}

/// Maximum characters of a title.
const MAX_TITLE_LENGTH: usize = 120;

/// The title, such as `read src/a.rs`, or the command.
fn title(name: &str, arguments: &Value) -> String {
    let named = ["command", "path", "pattern", "url", "query"].iter().find_map(|key| arguments[key].as_str());
    let first = || arguments.as_object().and_then(|all| all.values().find_map(Value::as_str));
    let Some(about) = named.or_else(first) else { return safe::name(name).into_owned() };
    let line = safe::visible_line(about.trim());
    let text = match arguments["command"].is_string() {
        true => format!("`{line}`"),
        false => format!("{} {line}", safe::visible_line(name)),
    };
    let more = if text.chars().count() > MAX_TITLE_LENGTH { "…" } else { "" };
    let text: String = text.chars().take(MAX_TITLE_LENGTH).collect();
    format!("{text}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // D15
    #[test]
    fn a_title_is_one_harmless_line() {
        let table = [
            ("bash", json!({"timeout": 3, "command": "ls\nrm"}), "`ls\\nrm`"),
            ("read", json!({"path": "a.rs"}), "read a.rs"),
            ("mcp__x__y", json!({"n": 3, "to": "Ada"}), "mcp__x__y Ada"),
            ("todo", json!({"items": []}), "todo"),
            ("read", json!({"path": "\u{1b}[2Ja"}), "read \\u{1b}[2Ja"),
        ];
        for (name, arguments, expected) in table {
            assert_eq!(title(name, &arguments), expected, "{name} {arguments}");
        }
    }

    #[test]
    fn effects_and_names_tell_the_kind() {
        let tools = haft_tools::builtin(&haft_tools::Settings::default());
        let table = [
            ("read", json!({"path": "a"}), ToolKind::Read),
            ("read_file", json!({"file_path": "a"}), ToolKind::Read),
            ("write", json!({"path": "a", "content": ""}), ToolKind::Edit),
            ("edit", json!({"path": "a", "old_text": "b", "new_text": "c"}), ToolKind::Edit),
            ("bash", json!({"command": "ls"}), ToolKind::Execute),
            ("fetch", json!({"url": "http://127.0.0.1/"}), ToolKind::Fetch),
            ("grep", json!({"pattern": "a"}), ToolKind::Search),
            ("file", json!({"path": "a", "action": "delete"}), ToolKind::Delete),
            ("todo", json!({"items": []}), ToolKind::Think),
            ("mcp__x__y", json!({}), ToolKind::Other),
        ];
        let folder = Folder::of(Path::new("/")).unwrap();
        for (name, arguments, expected) in table {
            let call = ToolCall::new("1", name, arguments);
            let looks = of(&call, &tools, Validation::default(), &folder);
            assert_eq!(looks.kind, expected, "{name}");
        }
    }
}
