//! [`inputs`]: what a hook in the protocol of Claude Code receives (code.claude.com/docs/en/hooks, 2026-11).
use super::{HookEvent, PluginHook};
use haft_core::{Moment, ToolCall, policy::normal};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// A tool of Haft in the terms of Claude Code: its name, and its parameters.
struct ClaudeTool {
    own: &'static str,
    name: &'static str,
    parameters: &'static [(&'static str, &'static str)],
}

const TOOLS: [ClaudeTool; 12] = [
    ClaudeTool::new("bash", "Bash", &[("background", "run_in_background")]),
    ClaudeTool::new("delegate", "Task", &[("task", "prompt"), ("agent", "subagent_type")]),
    ClaudeTool::new("edit", "Edit", EDIT),
    ClaudeTool::new("fetch", "WebFetch", &[]),
    ClaudeTool::new("glob", "Glob", &[]),
    ClaudeTool::new("grep", "Grep", &[]),
    ClaudeTool::new("list", "LS", &[]),
    ClaudeTool::new("multi_edit", "MultiEdit", EDIT),
    ClaudeTool::new("read", "Read", FILE),
    ClaudeTool::new("skill", "Skill", &[]),
    ClaudeTool::new("todo", "TodoWrite", &[("items", "todos"), ("text", "content")]),
    ClaudeTool::new("write", "Write", FILE),
];
const FILE: &[(&str, &str)] = &[("path", "file_path")];
const EDIT: &[(&str, &str)] =
    &[("path", "file_path"), ("old_text", "old_string"), ("new_text", "new_string")];

impl ClaudeTool {
    const fn new(
        own: &'static str,
        name: &'static str,
        parameters: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { own, name, parameters }
    }

    /// `value` with the keys of its objects renamed to those of Claude Code.
    fn named(&self, value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let named = object.iter().map(|(own, value)| {
                    let known = self.parameters.iter().find(|(name, _)| name == own);
                    (known.map_or(own.as_str(), |(_, name)| name).to_owned(), self.named(value))
                });
                Value::Object(named.collect::<Map<_, _>>())
            }
            Value::Array(items) => items.iter().map(|item| self.named(item)).collect(),
            other => other.clone(),
        }
    }
}

/// The inputs of `hook` at `moment`, one object for each time that it is asked. They consist of `about` the session and
/// the fields of the moment. Empty if the hook does not handle the moment. For a tool that Claude Code does not have,
/// the hook is asked about each file that the call writes, as if it were an edit.
pub(super) fn inputs(hook: &PluginHook, about: &Value, workspace: &Path, moment: &Moment<'_>) -> Vec<Value> {
    if HookEvent::of(moment) != hook.event {
        return Vec::new();
    }
    let event = match hook.event {
        HookEvent::BeforeTool => "PreToolUse",
        HookEvent::AfterTool => "PostToolUse",
        HookEvent::TurnStart => "UserPromptSubmit",
        HookEvent::TurnEnd => "Stop",
    };
    let told_of = |fields: Value| {
        let mut told = about.clone();
        told["hook_event_name"] = event.into();
        if let (Some(told), Value::Object(fields)) = (told.as_object_mut(), fields) {
            told.extend(fields);
        }
        told
    };
    let (call, writes, result) = match moment {
        Moment::BeforeCall { call, writes } => (call, writes, None),
        Moment::AfterCall { call, writes, result } => (call, writes, Some(result)),
        Moment::TurnStarts { prompt } => return vec![told_of(json!({"prompt": prompt}))],
        Moment::TurnEnds { .. } => return vec![told_of(json!({"stop_hook_active": false}))],
    };
    let calls = calls(hook, call, writes, workspace).into_iter().map(|(name, input)| {
        let mut fields = json!({"tool_name": name, "tool_input": input, "tool_use_id": call.id});
        if let Some(result) = result {
            fields["tool_response"] = json!(result);
        }
        told_of(fields)
    });
    calls.collect()
}

/// `call` in the terms of Claude Code, if the matcher of `hook` matches: the tool's name and the arguments.
fn calls(hook: &PluginHook, call: &ToolCall, writes: &[PathBuf], workspace: &Path) -> Vec<(String, Value)> {
    let known = TOOLS.iter().find(|tool| tool.own == call.name);
    if let Some(tool) = known.filter(|tool| hook.fits(tool.own) || hook.fits(tool.name)) {
        let mut arguments = call.arguments.clone();
        if let Some(path) = arguments.get_mut("path") {
            *path = match writes {
                // The effect has the target of a link.
                [written] => json!(written),
                _ => absolute(path, workspace),
            };
        }
        return vec![(tool.name.to_owned(), tool.named(&arguments))];
    }
    // Claude Code has both of these tools, so a hook for one of them is not asked about the other.
    if matches!(call.name.as_str(), "edit" | "write") {
        return Vec::new();
    }
    let text = || texts(&call.arguments).join("\n");
    let fits = |names: [&str; 2]| names.iter().any(|name| hook.fits(name));
    let of_file = |path: &PathBuf| match (fits(["Edit", "edit"]), fits(["Write", "write"])) {
        (true, _) => {
            let input = json!({"file_path": path, "old_string": "", "new_string": text()});
            Some(("Edit".to_owned(), input))
        }
        (false, true) => Some(("Write".to_owned(), json!({"file_path": path, "content": text()}))),
        (false, false) => None,
    };
    let of_files: Vec<_> = writes.iter().filter_map(of_file).collect();
    match of_files.is_empty() && hook.fits(&call.name) {
        true => vec![(call.name.clone(), call.arguments.clone())],
        false => of_files,
    }
}

/// A path, or a list of paths, as absolute paths without `..`.
fn absolute(path: &Value, workspace: &Path) -> Value {
    match path {
        Value::String(path) => json!(normal(&workspace.join(path))),
        Value::Array(paths) => paths.iter().map(|path| absolute(path, workspace)).collect(),
        other => other.clone(),
    }
}

/// All texts in `value`, in order.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(object) => object.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(matcher: &str, tool: &str, arguments: Value, writes: &[PathBuf]) -> Vec<Value> {
        let (event, command) = (HookEvent::BeforeTool, String::new());
        let hook = PluginHook { event, matcher: matcher.into(), command, timeout: 1 };
        let call = ToolCall::new("c", tool, arguments);
        let (about, workspace) = (json!({"session_id": "s"}), Path::new("/w"));
        assert!(inputs(&hook, &about, workspace, &Moment::TurnStarts { prompt: "x" }).is_empty());
        inputs(&hook, &about, workspace, &Moment::BeforeCall { call: &call, writes })
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
            ("^(Ba|So)sh$", "grep", false),
        ];
        for (matcher, tool, expected) in table {
            assert_eq!(!told(matcher, tool, json!({}), &[]).is_empty(), expected, "{matcher} {tool}");
        }
    }

    #[test]
    fn a_call_is_told_in_the_words_of_claude_code() {
        let table = [
            (
                "edit",
                json!({"path": "a/b", "old_text": "x", "new_text": "y"}),
                json!(["Edit", {"file_path": "/w/a/b", "old_string": "x", "new_string": "y"}]),
            ),
            (
                "multi_edit",
                json!({"path": "/x/b", "edits": [{"old_text": "x", "new_text": "y"}]}),
                json!(["MultiEdit", {"file_path": "/x/b", "edits": [{"old_string": "x", "new_string": "y"}]}]),
            ),
            (
                "todo",
                json!({"items": [{"text": "a", "status": "pending"}]}),
                json!(["TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}]),
            ),
            ("delegate", json!({"task": "a"}), json!(["Task", {"prompt": "a"}])),
            ("list", json!({"path": "a"}), json!(["LS", {"path": "/w/a"}])),
            ("mcp__a__b", json!({"path": "a"}), json!(["mcp__a__b", {"path": "a"}])),
        ];
        for (tool, arguments, expected) in table {
            let told = told("", tool, arguments, &[]);
            assert_eq!(json!([told[0]["tool_name"], told[0]["tool_input"]]), expected, "{tool}");
            assert_eq!((told.len(), &told[0]["tool_use_id"]), (1, &json!("c")), "{tool}");
        }
    }

    #[test]
    fn a_guard_of_edits_is_asked_for_each_file_that_another_tool_writes() {
        let writes = [PathBuf::from("/w/a"), PathBuf::from("/w/b")];
        let patch = json!({"patch": "+ a key"});
        let asked = |matcher| {
            let told = told(matcher, "apply_patch", patch.clone(), &writes);
            told.iter().map(|told| json!([told["tool_name"], told["tool_input"]])).collect::<Vec<_>>()
        };
        let edit =
            |path: &str| json!(["Edit", {"file_path": path, "old_string": "", "new_string": "+ a key"}]);
        let write = |path: &str| json!(["Write", {"file_path": path, "content": "+ a key"}]);
        assert_eq!(asked("Edit|Write|MultiEdit"), [edit("/w/a"), edit("/w/b")]);
        assert_eq!(asked(""), [edit("/w/a"), edit("/w/b")]);
        assert_eq!(asked("Write"), [write("/w/a"), write("/w/b")]);
        assert_eq!(asked("write"), [write("/w/a"), write("/w/b")]);
        assert_eq!(asked("apply_patch"), [json!(["apply_patch", {"patch": "+ a key"}])]);
        assert_eq!(asked("Bash"), Vec::<Value>::new());
        // Claude Code has removed this tool, so guards do not name it.
        let edits = json!({"path": "l", "edits": [{"old_text": "x", "new_text": "+ a key"}]});
        let multi = |matcher| told(matcher, "multi_edit", edits.clone(), &writes[..1]);
        assert_eq!(multi("Edit|Write")[0]["tool_input"]["file_path"], "/w/a", "where the link leads");
        assert_eq!(multi("Edit|MultiEdit")[0]["tool_name"], "MultiEdit");
        assert_eq!(told("Write", "edit", json!({"path": "a"}), &writes[..1]), Vec::<Value>::new());
    }
}
