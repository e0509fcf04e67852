//! [`App::settings_of_others`]: what settings of other systems say that has no effect in Haft, and how to allow it.
use crate::{App, system::System, untrusted_file};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Settings of Claude Code that start, allow or refuse something, and where Haft has them.
const SETTINGS: [(&str, &str); 4] = [
    ("hooks", "`[[hooks]]`"),
    ("permissions", "`[rules]`"),
    ("mcpServers", "`[mcp.NAME]`"),
    ("env", "the environment"),
];

impl App {
    /// Lines for people: settings of Claude Code, the user's and the project's, and MCP servers of the project's `.mcp.json`,
    /// each with what to write into the user's own configuration in its place.
    #[must_use]
    pub fn settings_of_others(&self, workspace: &Path) -> Vec<String> {
        let person = self.places.folder_of(System::Claude).map(|folder| (folder.join("settings.json"), None));
        let names = [".claude/settings.json", ".claude/settings.local.json"];
        let project = names.map(|name| (workspace.join(name), Some(workspace)));
        let settings =
            person.into_iter().chain(project).flat_map(|(file, within)| self.settings_in(&file, within));
        let servers = self.servers_of_project(workspace);
        settings.chain(servers).collect()
    }

    fn settings_in(&self, file: &Path, within: Option<&Path>) -> Vec<String> {
        let Some(found) = self.json(file, within) else { return Vec::new() };
        let told = SETTINGS.iter().filter(|(name, _)| found.get(name).is_some_and(|value| !value.is_null()));
        let told = told.map(|(name, own)| {
            format!(
                "`{name}` of `{}` has no effect: {own} in `{}` takes its place",
                file.display(),
                self.places.user_file.display()
            )
        });
        told.collect()
    }

    fn servers_of_project(&self, workspace: &Path) -> Vec<String> {
        let file: PathBuf = workspace.join(".mcp.json");
        let found = self.json(&file, Some(workspace)).unwrap_or_default();
        let servers = found["mcpServers"].as_object().into_iter().flatten();
        let own = self.config(workspace, &crate::config::Settings::default()).unwrap_or_default().user.mcp;
        let servers = servers.filter(|(name, _)| !own.contains_key(*name));
        servers
            .flat_map(|(name, server)| {
                let head = format!(
                    "the MCP server `{name}` of `{}` does not start; this in `{}` allows it:",
                    file.display(),
                    self.places.user_file.display()
                );
                let lines = as_toml(name, server).lines().map(|line| format!("  {line}")).collect::<Vec<_>>();
                [head].into_iter().chain(lines)
            })
            .collect()
    }

    /// A file that cannot be read says nothing, and is named.
    fn json(&self, file: &Path, within: Option<&Path>) -> Option<Value> {
        let text = untrusted_file::text(file, within, &*self.warn)?;
        let read = serde_json::from_str(&text);
        read.map_err(|error| self.warn(format!("`{}` was ignored: {error}", file.display()))).ok()
    }
}

/// The table of a server. Variables are named, their values come from the user's environment.
fn as_toml(name: &str, server: &Value) -> String {
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
    let table = toml::Table::from_iter([("mcp".to_owned(), toml::Value::Table(table))]);
    toml::to_string(&table).unwrap_or_default().trim().to_owned()
}
