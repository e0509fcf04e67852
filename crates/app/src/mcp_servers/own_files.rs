//! [`servers`]: reads the MCP servers that the user's own files of other systems name.
use crate::{App, system::System};
use haft_process::read_regular;
use serde_json::{Map, Value, json};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// Maximum size of a file in bytes: that of Claude Code also holds the prompts of all projects.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// A server as the file of a system names it, rewritten as Claude Code writes it.
pub(super) struct OwnServer {
    pub(super) name: String,
    pub(super) source: PathBuf,
    pub(super) written: Value,
}

/// Rewrites a server of a file as Claude Code would write it.
type Rewrite = fn(&Value) -> Value;

/// The servers of all systems. Those that are turned off there are left out. Sources of the formats, read 2026-11:
/// code.claude.com/docs/en/mcp, developers.openai.com/codex/mcp, geminicli.com/docs/tools/mcp-server,
/// opencode.ai/docs/mcp-servers, cursor.com/docs/context/mcp.
pub(super) fn servers(app: &App, workspace: &Path) -> Vec<OwnServer> {
    let places = &app.places;
    let below_home = |name: &str| places.person.as_ref().map(|home| home.join(name));
    // Claude Code has this file beside its folder, but in the folder that `CLAUDE_CONFIG_DIR` names.
    let claude = match (places.folder_of(System::Claude), below_home(".claude")) {
        (Some(folder), Some(usual)) if folder == usual => below_home(".claude.json"),
        (folder, _) => folder.map(|folder| folder.join(".claude.json")),
    };
    let file = |system, name: &str| places.folder_of(system).map(|folder| folder.join(name));
    let project = workspace.display().to_string();
    let table: [(Option<PathBuf>, &str, Rewrite); 5] = [
        (claude, "mcpServers", Value::clone),
        (file(System::Codex, "config.toml"), "mcp_servers", of_codex),
        (file(System::Gemini, "settings.json"), "mcpServers", of_gemini),
        (file(System::OpenCode, "opencode.json"), "mcp", of_opencode),
        (below_home(".cursor/mcp.json"), "mcpServers", Value::clone),
    ];
    let found = table.into_iter().filter_map(|(source, key, rewrite)| {
        let source = source?;
        let content = content(app, &source)?;
        // Only Claude Code has servers of single projects. They come first.
        let of_project = content.get("projects").and_then(|all| all.get(&project));
        let tables = of_project.into_iter().chain([&content]);
        let servers = tables.filter_map(|table| table.get(key)?.as_object()).flatten();
        let servers =
            servers.filter(|(_, written)| written["enabled"] != false && written["disabled"] != true);
        let own = servers.map(|(name, written)| OwnServer {
            name: name.clone(),
            source: source.clone(),
            written: rewrite(written),
        });
        Some(own.collect::<Vec<_>>())
    });
    found.flatten().collect()
}

/// The content of a JSON or TOML file; `None` if the file does not exist. Warns of a file that cannot be read.
fn content(app: &App, file: &Path) -> Option<Value> {
    let ignored = |why: String| app.warn(format!("`{}` was ignored: {why}", file.display()));
    let bytes = match read_regular(file, MAX_FILE_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        read => read.map_err(|error| ignored(error.to_string())).ok()?,
    };
    let is_toml = file.extension().is_some_and(|ending| ending == "toml");
    let read = match is_toml {
        true => toml::from_slice(&bytes).map_err(|error| error.message().to_owned()),
        false => serde_json::from_slice(&bytes).map_err(|error| error.to_string()),
    };
    read.map_err(ignored).ok()
}

/// Codex names headers otherwise, and the variable of a bearer token.
fn of_codex(written: &Value) -> Value {
    let mut headers = written["http_headers"].as_object().cloned().unwrap_or_default();
    let from_variables = written["env_http_headers"].as_object().into_iter().flatten();
    let from_variables = from_variables.filter_map(|(name, variable)| Some((name, variable.as_str()?)));
    headers.extend(from_variables.map(|(name, variable)| (name.clone(), json!(format!("${{{variable}}}")))));
    if let Some(variable) = written["bearer_token_env_var"].as_str() {
        headers.insert("Authorization".to_owned(), json!(format!("Bearer ${{{variable}}}")));
    }
    with(written, "headers", Value::Object(headers))
}

/// Gemini CLI has `httpUrl` for Streamable HTTP, and `url` for SSE.
fn of_gemini(written: &Value) -> Value {
    match (written.get("httpUrl"), written.get("url")) {
        (Some(url), _) => with(written, "url", url.clone()),
        (None, Some(_)) => with(written, "type", json!("sse")),
        (None, None) => written.clone(),
    }
}

/// OpenCode has one list for the command and its arguments, and another name for its variables.
fn of_opencode(written: &Value) -> Value {
    let mut words = written["command"].as_array().into_iter().flatten();
    match words.next() {
        Some(command) => json!({
            "command": command,
            "args": words.collect::<Vec<_>>(),
            "env": written.get("environment").cloned().unwrap_or_else(|| json!({})),
        }),
        None => with(written, "type", json!("http")),
    }
}

fn with(written: &Value, key: &str, value: Value) -> Value {
    let mut all: Map<String, Value> = written.as_object().cloned().unwrap_or_default();
    all.insert(key.to_owned(), value);
    Value::Object(all)
}
