//! [`App::settings_of_others`]: which settings of other systems apply in Haft, and how to allow the rest.
use crate::{
    App,
    config::{
        Config, Rules,
        claude::{self, ClaudeRules},
    },
    plugins::claude_hooks,
    untrusted_file,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Settings of Claude Code that Haft does not translate, and where Haft has the same setting.
const SETTINGS: [(&str, &str); 2] = [("mcpServers", "`[mcp.NAME]`"), ("env", "the environment")];

/// Modes of Claude Code, and the corresponding modes of Haft.
const MODES: [(&str, &str); 4] =
    [("default", "ask"), ("plan", "plan"), ("acceptEdits", "accept-edits"), ("bypassPermissions", "full")];

impl App {
    /// Describes, in lines for users, the settings of Claude Code (the user's and the project's) and the MCP servers of
    /// the project's `.mcp.json`: which of them apply in Haft, and what to write to the user's own configuration for
    /// the rest.
    #[must_use]
    pub fn settings_of_others(&self, workspace: &Path) -> Vec<String> {
        let config = self.config(workspace, &crate::config::Settings::default()).unwrap_or_default();
        let files = claude::files(&self.places, workspace).into_iter();
        let settings = files.flat_map(|(file, within)| self.settings_in(&config, &file, within));
        let servers = self.servers_of_project(&config, workspace);
        settings.chain(servers).collect()
    }

    fn settings_in(&self, config: &Config, file: &Path, within: Option<&Path>) -> Vec<String> {
        let Some(found) = self.json(file, within) else { return Vec::new() };
        let (shown, user) = (file.display(), self.places.user_file.display());
        let mut lines = Vec::new();
        if let Some(claude) = config.claude.iter().find(|claude| claude.file == file) {
            lines.extend(self.rules_in(claude));
        }
        let mode = found["permissions"]["defaultMode"].as_str();
        if let Some((name, own)) = MODES.iter().find(|(name, _)| mode == Some(name)) {
            lines.push(format!("`defaultMode: {name}` of `{shown}` has no effect: `permission = \"{own}\"` in `{user}` takes its place"));
        }
        let mut notes = Vec::new();
        let hooks: Vec<_> = claude_hooks(&found["hooks"], &mut notes);
        let hooks: Vec<_> =
            hooks.into_iter().filter(|hook| !config.user.claude_hooks.contains(hook)).collect();
        if !hooks.is_empty() {
            lines.push(format!("hooks of `{shown}` do not run; this in `{user}` lets them, confined:"));
            lines.extend(indented(&BTreeMap::from([("claude_hooks", hooks)])));
        }
        lines.extend(notes.into_iter().map(|note| format!("`{shown}`: {note}")));
        let told = SETTINGS.iter().filter(|(name, _)| found.get(name).is_some_and(|value| !value.is_null()));
        lines.extend(told.map(|(name, own)| {
            format!("`{name}` of `{shown}` has no effect: {own} in `{user}` takes its place")
        }));
        lines
    }

    /// Lines on the rules that apply, those that only the user can allow, and those that Haft cannot express.
    fn rules_in(&self, claude: &ClaudeRules) -> Vec<String> {
        let (shown, user) = (claude.file.display(), self.places.user_file.display());
        let Rules { deny, ask, allow, .. } = &claude.rules;
        let mut lines = Vec::new();
        if !deny.is_empty() || !ask.is_empty() {
            lines.push(format!("`permissions` of `{shown}`: this holds:"));
            let lists = [("deny", deny), ("ask", ask)].into_iter().filter(|(_, list)| !list.is_empty());
            lines.extend(indented(&BTreeMap::from_iter(lists)));
        }
        if !allow.is_empty() {
            lines.push(format!(
                "`permissions` of `{shown}`: what they allow has no effect; this in `{user}` allows it:"
            ));
            lines.extend(indented(&BTreeMap::from([("rules", BTreeMap::from([("allow", allow)]))])));
        }
        let untranslated = claude.untranslated.iter();
        lines.extend(
            untranslated.map(|rule| format!("`{rule}` of `{shown}` has no effect: Haft has no such rule")),
        );
        lines
    }

    fn servers_of_project(&self, config: &Config, workspace: &Path) -> Vec<String> {
        let file: PathBuf = workspace.join(".mcp.json");
        let found = self.json(&file, Some(workspace)).unwrap_or_default();
        let servers = found["mcpServers"].as_object().into_iter().flatten();
        let servers = servers.filter(|(name, _)| !config.user.mcp.contains_key(*name));
        servers
            .flat_map(|(name, server)| {
                let head = format!(
                    "the MCP server `{name}` of `{}` does not start; this in `{}` allows it:",
                    file.display(),
                    self.places.user_file.display()
                );
                [head].into_iter().chain(indented(&server_table(name, server)))
            })
            .collect()
    }

    /// Reads a file. If it cannot be read, warns of it, and returns `None`.
    fn json(&self, file: &Path, within: Option<&Path>) -> Option<Value> {
        let text = untrusted_file::text(file, within, &*self.warn)?;
        let read = serde_json::from_str(&text);
        read.map_err(|error| self.warn(format!("`{}` was ignored: {error}", file.display()))).ok()
    }
}

/// The table of a server. Variables stay names: their values come from the user's environment.
fn server_table(name: &str, server: &Value) -> toml::Table {
    let text = |key: &str| server[key].as_str().map(toml::Value::from);
    let variables = |key: &str| {
        let names = server[key].as_object().into_iter().flatten();
        let table: toml::Table =
            names.map(|(name, _)| (name.clone(), format!("${{{name}}}").into())).collect();
        (!table.is_empty()).then_some(toml::Value::Table(table))
    };
    let words = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: toml::value::Array = words.map(toml::Value::from).collect();
    let words = (!words.is_empty()).then_some(toml::Value::Array(words));
    let rows = [
        ("command", text("command")),
        ("arguments", words),
        ("url", text("url")),
        ("environment", variables("env")),
    ];
    let rows = rows.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let table = toml::Table::from_iter([(name.to_owned(), toml::Value::Table(rows.collect()))]);
    toml::Table::from_iter([("mcp".to_owned(), toml::Value::Table(table))])
}

/// The lines of `table` as TOML.
fn indented(table: &impl Serialize) -> Vec<String> {
    let text = toml::to_string(table).unwrap_or_default();
    text.trim().lines().map(|line| format!("  {line}")).collect()
}
