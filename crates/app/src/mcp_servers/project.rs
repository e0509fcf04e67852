//! [`importable`], [`offer`] and [`take`]: MCP servers that files of a project, or of the user for other systems, name.
//! A server starts only after the user has added it.
use super::{entries, is_allowed, own_files};
use crate::{
    App, Failure,
    config::{Config, McpFile},
    untrusted_file,
};
use haft_core::Hash;
use serde_json::{Map, Value};
use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The files in which other systems declare a project's servers, and the key of the servers in each.
const FILES: [(&str, &str); 3] =
    [(".mcp.json", "mcpServers"), (".cursor/mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")];

/// The file of offers that were shown, one hash per line, in the folder of sessions.
const SHOWN: &str = "mcp-offers";

/// A server that a file of another system names.
#[derive(Clone, PartialEq)]
pub struct DeclaredServer {
    /// Name of the server in the file.
    pub name: String,
    /// The file: relative to the workspace, if it is one of the project.
    pub source: PathBuf,
    /// Whether the file is one of the user, outside of the project. Its values may be secret.
    pub is_own: bool,
    /// The table that [`take`] writes to the user's configuration.
    pub file: McpFile,
    written: Value,
}

/// The servers that files of `workspace`, or files of the user for other systems, name and `config` does not have. If
/// several files name one, the first applies. Entries that cannot be a server, and those that the project's own
/// configuration excludes, are left out. Warns of the former, with the reason.
#[must_use]
pub fn importable(app: &App, config: &Config, workspace: &Path) -> Vec<DeclaredServer> {
    let (usable, faulty): (Vec<_>, Vec<_>) =
        all(app, workspace).into_iter().partition(|server| fault(server).is_none());
    for server in faulty {
        let (name, source) = (server.name.escape_debug(), server.source.display());
        let fault = fault(&server).unwrap_or_default();
        app.warn(format!("`{name}` in `{source}` was ignored: {fault}"));
    }
    self::usable(usable.into_iter(), config)
}

/// The servers in files of a project, and in files of the user for other systems.
fn all(app: &App, workspace: &Path) -> Vec<DeclaredServer> {
    declared(app, workspace).chain(own(app, workspace)).collect()
}

fn usable(all: impl Iterator<Item = DeclaredServer>, config: &Config) -> Vec<DeclaredServer> {
    let mut names: HashSet<String> = config.user.mcp.keys().cloned().collect();
    all.filter(|server| fault(server).is_none() && is_allowed(config, &server.name))
        .filter(|server| names.insert(server.name.clone()))
        .collect()
}

/// The servers in files of a project.
fn declared(app: &App, workspace: &Path) -> impl Iterator<Item = DeclaredServer> {
    let servers = FILES.into_iter().flat_map(move |(source, key)| {
        servers_in(app, workspace, source, key)
            .into_iter()
            .map(move |(name, written)| (name, written, source))
    });
    servers.map(|(name, written, source)| {
        let file = McpFile::of_plugin(&written, &workspace.display().to_string());
        DeclaredServer { name, source: source.into(), is_own: false, file, written }
    })
}

/// The servers in files of the user for other systems.
fn own(app: &App, workspace: &Path) -> impl Iterator<Item = DeclaredServer> {
    own_files::servers(app, workspace).into_iter().map(|own_files::OwnServer { name, source, written }| {
        DeclaredServer { name, source, is_own: true, file: McpFile::of_plugin(&written, ""), written }
    })
}

/// Placeholders of Visual Studio Code that are not environment variables.
const UNFILLED: [&str; 2] = ["${input:", "${workspaceFolder"];

/// Why an entry cannot be a server; `None` if it can.
fn fault(DeclaredServer { name, file, written, .. }: &DeclaredServer) -> Option<&'static str> {
    let starts = file.command.iter().chain(&file.url).chain(&file.arguments);
    let values = file.environment.values().chain(file.headers.values());
    match (entries::is_name(name), file.command.is_some() != file.url.is_some()) {
        (false, _) => Some("its name has other characters than ASCII letters, digits, `-` and `_`"),
        (true, false) => Some("it needs a text that is either `command` or `url`"),
        (true, true) if written["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("sse")) => {
            Some("it speaks SSE, the transport before Streamable HTTP, which Haft does not")
        }
        (true, true)
            if starts.clone().chain(values).any(|text| UNFILLED.iter().any(|one| text.contains(one))) =>
        {
            Some(
                "it has `${input:…}` or `${workspaceFolder}`, which Haft does not fill in; `haft mcp add` adds it with the value",
            )
        }
        (true, true) if starts.clone().any(|text| text.contains("${")) => Some(
            "it has a variable outside of `env` and `headers`, where Haft fills in none; `haft mcp add` adds it with the value",
        ),
        (true, true) => None,
    }
}

fn servers_in(app: &App, workspace: &Path, source: &str, key: &str) -> Vec<(String, Value)> {
    let file = workspace.join(source);
    let Some(text) = untrusted_file::text(&file, Some(workspace), &|note| app.warn(note)) else {
        return Vec::new();
    };
    match serde_json::from_str::<Map<String, Value>>(&text) {
        Ok(mut found) => match found.remove(key) {
            Some(Value::Object(servers)) => servers.into_iter().collect(),
            None => Vec::new(),
            Some(_) => {
                app.warn(format!("`{key}` in `{}` was ignored: it is no object", file.display()));
                Vec::new()
            }
        },
        Err(error) => {
            app.warn(format!("`{}` was ignored: {error}", file.display()));
            Vec::new()
        }
    }
}

/// A line that offers these servers; `None` if the user has seen the offer for this folder and the entries are
/// unchanged.
#[must_use]
pub fn offer(app: &App, config: &Config, workspace: &Path) -> Option<String> {
    let servers = usable(declared(app, workspace), config);
    let mark = mark(workspace, &servers)?;
    match remember(&app.places.home.join(SHOWN), &mark) {
        Ok(is_new) => is_new.then(|| line(&servers)),
        Err(error) => {
            app.warn(format!("cannot note in `{}` what was offered: {error}", app.places.home.display()));
            Some(line(&servers))
        }
    }
}

fn line(servers: &[DeclaredServer]) -> String {
    let names = servers.iter().map(|server| format!("`{}`", server.name)).collect::<Vec<_>>().join(", ");
    let s = if servers.len() == 1 { "" } else { "s" };
    let mut sources: Vec<&Path> = servers.iter().map(|server| server.source.as_path()).collect();
    sources.dedup();
    let sources =
        sources.iter().map(|source| format!("`{}`", source.display())).collect::<Vec<_>>().join(" and ");
    format!(
        "{sources} of this project: MCP server{s} {names}, not started; `haft mcp import` shows what would run, \
         `haft mcp import NAME` adds one"
    )
}

/// A hash of a folder and all servers that are offered there; `None` if there are none.
fn mark(workspace: &Path, servers: &[DeclaredServer]) -> Option<String> {
    if servers.is_empty() {
        return None;
    }
    let said = servers.iter().map(|server| format!("{}\0{}\0", server.name, server.written));
    let all: String = [format!("{}\0", workspace.display())].into_iter().chain(said).collect();
    Hash::of(all.as_bytes()).ok().map(|hash| hash.to_string())
}

/// Adds `mark` to a file of marks; returns whether it was new.
fn remember(file: &Path, mark: &str) -> io::Result<bool> {
    let known = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        known => known?,
    };
    if known.lines().any(|line| line == mark) {
        return Ok(false);
    }
    writeln!(OpenOptions::new().append(true).create(true).open(file)?, "{mark}")?;
    Ok(true)
}

/// Adds the server `name` of one of these files to the user's configuration; returns the file that names it.
///
/// # Errors
///
/// If no file names it, the user has a server of this name, or the user's file cannot be written.
pub fn take(app: &App, config: &Config, workspace: &Path, name: &str) -> Result<PathBuf, Failure> {
    if config.user.mcp.contains_key(name) {
        return Err(Failure::usage(format!("your configuration has an MCP server `{name}` already"))
            .hint(format!("`haft mcp remove {name}` removes it")));
    }
    let declared = all(app, workspace);
    let all = usable(declared.iter().cloned(), config);
    let Some(server) = all.iter().find(|server| server.name == name) else {
        let named = declared.iter().find(|server| server.name == name);
        if let Some((server, fault)) = named.and_then(|server| Some((server, fault(server)?))) {
            let source = server.source.display();
            return Err(Failure::usage(format!("cannot add `{name}` of `{source}`: {fault}")));
        }
        let names: Vec<&str> = all.iter().map(|server| server.name.as_str()).collect();
        let failure = Failure::usage(format!(
            "no file of `{}` or of yours names an MCP server `{name}`",
            workspace.display()
        ));
        return Err(match names.is_empty() {
            true => failure.hint("`haft mcp add NAME COMMAND` or `haft mcp add NAME URL` adds one"),
            false => failure.hint(format!("they name {}", names.join(", "))),
        });
    };
    entries::add(app, name, &server.file)?;
    Ok(workspace.join(&server.source))
}
