//! [`add`], [`all`] and [`remove`]: the tables `[mcp.NAME]` of the user's own configuration.
use crate::{
    App, Failure,
    config::{Config, ConfigError, McpFile, McpOAuthFile, McpRootsFile, edit},
    diagnosis::is_on_path,
};
use haft_core::schema::nearest;
use haft_mcp::client::{McpServer, Transport};
use std::{collections::BTreeMap, path::Path};
use toml_edit::{Array, InlineTable, Item, Table, Value};

/// A server of the configuration, with a reason if it cannot be used.
#[derive(Debug)]
pub struct ConfiguredServer<'a> {
    /// Its name in the configuration.
    pub name: &'a str,
    /// Its table in the configuration.
    pub file: &'a McpFile,
    /// Why it cannot be started as configured, if that is known.
    pub problem: Option<String>,
}

/// The configured servers by name. Starts none.
pub fn all<'a>(app: &'a App, config: &'a Config) -> impl Iterator<Item = ConfiguredServer<'a>> {
    config.user.mcp.iter().map(|(name, file)| {
        let problem = match super::is_allowed(config, name) {
            false => Some(format!("left out by `{}`", config.project_file().display())),
            true => match super::server(app, name, file) {
                Ok(server) => missing_program(app, &server),
                Err(ConfigError::Value { message, .. }) => Some(message),
                Err(error) => Some(error.to_string()),
            },
        };
        ConfiguredServer { name, file, problem }
    })
}

/// The error if the program of a server does not exist. A program with a relative path is not checked: it depends on
/// the workspace.
fn missing_program(app: &App, server: &McpServer) -> Option<String> {
    let Transport::Program { program, environment, .. } = &server.transport else { return None };
    if program.contains('/') {
        let path = Path::new(program);
        return (path.is_absolute() && !path.is_file()).then(|| format!("there is no program `{program}`"));
    }
    let own_path = environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let path = own_path.or_else(|| app.environment.get("PATH")).unwrap_or_default();
    (!is_on_path(program, path)).then(|| format!("there is no program `{program}` on the PATH"))
}

/// The server `name` of the configuration, even if the project excludes it, or of a plugin whose servers may start.
///
/// # Errors
///
/// If the configuration has no such server, or its table is invalid.
pub fn named(app: &App, config: &Config, name: &str) -> Result<McpServer, Failure> {
    match config.user.mcp.get(name) {
        Some(file) => Ok(super::server(app, name, file)?),
        None => {
            let mut of_plugins = super::of_plugins(app, config).into_iter();
            of_plugins.find(|server| server.name == name).ok_or_else(|| missing(config, name))
        }
    }
}

/// The failure if there is no server `name`.
#[must_use]
pub fn missing(config: &Config, name: &str) -> Failure {
    let names: Vec<&str> = config.user.mcp.keys().map(String::as_str).collect();
    let failure = Failure::usage(format!("there is no MCP server `{name}`"));
    match nearest(name, &names) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => {
            failure.hint("`haft mcp add NAME COMMAND` or `haft mcp add NAME URL` adds one")
        }
        None => failure.hint(format!("there are {}", names.join(", "))),
    }
}

/// Writes `[mcp.NAME]` into the user's file. `${NAME}` in values stays as it is.
///
/// # Errors
///
/// If there is a server of this name, `file` is invalid, or the user's file cannot be written.
pub fn add(app: &App, name: &str, file: &McpFile) -> Result<(), Failure> {
    if !is_name(name) {
        return Err(Failure::usage(format!("`{name}` cannot be the name of an MCP server"))
            .hint("use letters, digits, `-` and `_`: the names of its tools begin with it"));
    }
    let added = edit::add_table(&app.places.user_file, ["mcp", name], table(file));
    added.map_err(|error| {
        let failure = Failure::usage(error.to_string());
        match error {
            ConfigError::Value { .. } => {
                failure.hint(format!("`haft mcp remove {name}` removes the one that is there"))
            }
            _ => failure,
        }
    })
}

/// Whether `name` is a valid name of a server.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// Removes `[mcp.NAME]` from the user's file.
///
/// # Errors
///
/// If there is no such server, or the file cannot be written.
pub fn remove(app: &App, config: &Config, name: &str) -> Result<(), Failure> {
    match edit::remove_table(&app.places.user_file, ["mcp", name])? {
        true => Ok(()),
        false => Err(missing(config, name)),
    }
}

/// The table of an entry, with only the keys that are set.
fn table(file: &McpFile) -> Table {
    let McpFile {
        command,
        arguments,
        environment,
        url,
        headers,
        oauth,
        tools,
        trust_hints,
        roots,
        sampling,
        ..
    } = file;
    let mut table = Table::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            table.insert(key, Item::Value(value));
        }
    };
    let list = |texts: &[String]| (!texts.is_empty()).then(|| Value::Array(texts.iter().collect::<Array>()));
    let pairs = |pairs: &BTreeMap<String, String>| {
        (!pairs.is_empty()).then(|| Value::InlineTable(pairs.iter().collect::<InlineTable>()))
    };
    put("command", command.as_ref().map(Value::from));
    put("arguments", list(arguments));
    put("environment", pairs(environment));
    put("url", url.as_ref().map(Value::from));
    put("headers", pairs(headers));
    put("oauth", oauth_table(oauth).map(Value::InlineTable));
    put("tools", tools.as_deref().and_then(list));
    put("trust_hints", trust_hints.then(|| Value::from(true)));
    put(
        "roots",
        roots.as_ref().map(|roots| match roots {
            McpRootsFile::Workspace(is_told) => Value::from(*is_told),
            McpRootsFile::Folders(folders) => Value::Array(folders.iter().collect()),
        }),
    );
    put("sampling", sampling.then(|| Value::from(true)));
    table
}

fn oauth_table(McpOAuthFile { client_id, scopes, callback_port, .. }: &McpOAuthFile) -> Option<InlineTable> {
    let mut table = InlineTable::new();
    if let Some(id) = client_id {
        table.insert("client_id", id.into());
    }
    if let Some(port) = callback_port {
        table.insert("callback_port", i64::from(*port).into());
    }
    if !scopes.is_empty() {
        table.insert("scopes", Value::Array(scopes.iter().collect()));
    }
    (!table.is_empty()).then_some(table)
}
