//! [`of`]: the language servers of a session: those that Haft knows, and those that the user sets up in `[lsp.NAME]`.
//!
//! A server is a program that Haft starts, so only the user's own file can name one. A server runs as confined as a
//! command, or not at all.
use crate::{
    App,
    config::{Config, ConfigError, LspFile, LspServerFile},
};
use haft_core::Registry;
use haft_engine::{Profile, Stages};
use haft_lsp::{BUILT_IN, LanguageServer, LanguageServers, LspSettings};
use haft_tools::{Settings, language_tools};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

/// The servers that may start in `workspace`, with the environment of commands; `None` if no server may start. Starts
/// nothing.
///
/// # Errors
///
/// If a server of the user has no command or no files.
pub(crate) fn of(
    app: &App,
    config: &Config,
    workspace: &Path,
    environment: Arc<[(String, String)]>,
    stages: &Stages,
) -> Result<Option<Arc<LanguageServers>>, ConfigError> {
    let LspFile::On(named) = &config.user.lsp else { return Ok(None) };
    if config.project.lsp == Some(false) {
        return Ok(None);
    }
    let home = app.places.home.join("lsp");
    Ok(Some(Arc::new(LanguageServers::new(LspSettings {
        servers: servers(named)?,
        workspace: workspace.to_owned(),
        environment,
        stage: stages(&home.join("blobs")),
        folder: home.join("servers"),
        on_note: app.warnings(),
    }))))
}

/// The names of language servers.
#[derive(Debug, Default)]
pub(crate) struct ServerNames {
    /// Servers that are installed.
    pub(crate) installed: Vec<String>,
    /// Servers that the user configured but whose program is missing.
    pub(crate) missing: Vec<String>,
}

/// Finds out which servers are installed here; `None` if none may start in `workspace`.
///
/// # Errors
///
/// If a server of the user has no command or no files.
pub(crate) fn installed(
    app: &App,
    config: &Config,
    workspace: &Path,
) -> Result<Option<ServerNames>, ConfigError> {
    let LspFile::On(named) = &config.user.lsp else { return Ok(None) };
    if config.project.lsp == Some(false) {
        return Ok(None);
    }
    let environment = app.environment.access(config).environment;
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let is_there = |server: &LanguageServer| server.program(&environment, &workspace).is_some();
    let (found, rest): (Vec<_>, Vec<_>) = servers(named)?.into_iter().partition(is_there);
    let missing = rest.into_iter().filter(|server| server.is_own).map(|server| server.name).collect();
    let installed = found.into_iter().map(|server| server.name).collect();
    Ok(Some(ServerNames { installed, missing }))
}

/// Adds the tools that ask `servers` to `tools`. If the profile lists its tools, the model is shown those in the list.
/// Otherwise, it is shown all of them if a server is installed for a file of the workspace. If the profile has only the
/// tools that it lists, none are added. `settings` are those of the profile.
pub(crate) fn with_tools(
    tools: Registry,
    servers: Option<&Arc<LanguageServers>>,
    profile: &Profile,
    settings: &Settings,
) -> Registry {
    let Some(servers) = servers.filter(|_| !settings.only_offered) else { return tools };
    let own = language_tools(servers, &settings.find);
    let is_told = !profile.tools.contains_key("offer") && servers.are_of_use();
    tools.joined(&if is_told { own } else { own.offering(&settings.offer) })
}

/// All servers. The user's come first, so they are tried first.
fn servers(named: &BTreeMap<String, LspServerFile>) -> Result<Vec<LanguageServer>, ConfigError> {
    let known: Vec<LanguageServer> = BUILT_IN.iter().map(|row| row.server()).collect();
    let own = named.iter().filter(|(_, file)| !file.off).map(|(name, file)| {
        let known = known.iter().find(|server| server.name == *name);
        server(name, file, known)
    });
    let own = own.collect::<Result<Vec<_>, _>>()?;
    let rest = known.iter().filter(|server| !named.contains_key(&server.name)).cloned();
    Ok(own.into_iter().chain(rest).collect())
}

fn server(
    name: &str,
    file: &LspServerFile,
    known: Option<&LanguageServer>,
) -> Result<LanguageServer, ConfigError> {
    let lacks = |key: &str| ConfigError::Value {
        what: format!("[lsp.{name}]"),
        message: format!("`{key}` is not set, and Haft knows no server of this name"),
    };
    let LspServerFile { command, arguments, files, markers, environment, options, timeout, off: _ } =
        file.clone();
    let known = known.cloned();
    let options = options.map(|options| serde_json::to_value(options).unwrap_or_default());
    let of_known = |part: fn(&LanguageServer) -> Vec<String>| known.as_ref().map(part).unwrap_or_default();
    let mut variables = known.as_ref().map(|known| known.environment.clone()).unwrap_or_default();
    variables.extend(environment);
    Ok(LanguageServer {
        name: name.to_owned(),
        files: match (files, &known) {
            (Some(files), _) => files.into_iter().collect(),
            (None, Some(known)) => known.files.clone(),
            (None, None) => return Err(lacks("files")),
        },
        // Default arguments apply only to the program that they are for.
        arguments: match (&command, arguments) {
            (_, Some(arguments)) => arguments,
            (Some(_), None) => Vec::new(),
            (None, None) => of_known(|known| known.arguments.clone()),
        },
        command: match (command, &known) {
            (Some(command), _) => command,
            (None, Some(known)) => known.command.clone(),
            (None, None) => return Err(lacks("command")),
        },
        markers: markers.unwrap_or_else(|| of_known(|known| known.markers.clone())),
        environment: variables,
        options: match (options, &known) {
            (Some(options), known) => {
                merged(known.as_ref().map_or(json!({}), |known| known.options.clone()), options)
            }
            (None, known) => known.as_ref().map_or(json!({}), |known| known.options.clone()),
        },
        says_when_ready: known.is_some_and(|known| known.says_when_ready),
        timeout: timeout.map(|seconds| Duration::from_secs(seconds.get().into())),
        is_own: true,
    })
}

/// `options` with the values of `over` in their place, in nested tables as well.
fn merged(options: Value, over: Value) -> Value {
    match (options, over) {
        (Value::Object(mut options), Value::Object(over)) => {
            for (key, value) in over {
                let old = options.remove(&key).unwrap_or_default();
                options.insert(key, merged(old, value));
            }
            Value::Object(options)
        }
        (_, over) => over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ProjectFile, UserFile};

    fn read(text: &str) -> Result<Vec<LanguageServer>, String> {
        let file: UserFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        match &file.lsp {
            LspFile::Off => Ok(Vec::new()),
            LspFile::On(named) => servers(named).map_err(|error| error.to_string()),
        }
    }

    #[test]
    fn a_table_adds_a_server_or_replaces_one() {
        let all = BUILT_IN.len();
        let table = [
            ("", Ok((all, "rust-analyzer: rust-analyzer []"))),
            ("lsp = false", Ok((0, ""))),
            ("lsp = true", Ok((all, "rust-analyzer: rust-analyzer []"))),
            ("[lsp.pyright]\noff = true", Ok((all - 1, "rust-analyzer: rust-analyzer []"))),
            ("[lsp.clangd]\nargs = [\"-x\"]", Ok((all, "clangd: clangd [\"-x\"]"))),
            ("[lsp.clangd]\ncommand = \"/c\"", Ok((all, "clangd: /c []"))),
            (
                "[lsp.solargraph]\ncommand = \"solargraph\"\nargs = [\"stdio\"]\nfiles = {rb = \"ruby\"}",
                Ok((all + 1, "solargraph: solargraph [\"stdio\"]")),
            ),
            (
                "[lsp.x]\ncommand = \"x\"",
                Err("[lsp.x]: `files` is not set, and Haft knows no server of this name"),
            ),
            (
                "[lsp.x]\nfiles = {x = \"x\"}",
                Err("[lsp.x]: `command` is not set, and Haft knows no server of this name"),
            ),
            ("[lsp.x]\ncomand = \"x\"", Err("unknown field `comand`")),
            (
                "lsp = 1",
                Err("invalid type: integer `1`, expected `false`, or a table for each language server"),
            ),
        ];
        for (text, expected) in table {
            let found = read(text).map(|servers| {
                let first = servers.first();
                let first =
                    first.map(|first| format!("{}: {} {:?}", first.name, first.command, first.arguments));
                (servers.len(), first.unwrap_or_default())
            });
            match (found, expected) {
                (Ok(found), Ok((count, first))) => assert_eq!(found, (count, first.to_owned()), "{text}"),
                (Err(error), Err(expected)) => assert!(error.starts_with(expected), "{text}: {error}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn options_are_merged() {
        let text = "[lsp.rust-analyzer.options.cargo]\nfeatures = \"all\"";
        let servers = read(text).unwrap();
        let cargo = &servers[0].options["cargo"];
        assert_eq!(cargo, &json!({"buildScripts": {"enable": false}, "features": "all"}));
    }

    #[test]
    fn a_project_names_no_server() {
        for (text, is_valid) in [("lsp = false", true), ("[lsp.x]\ncommand = \"x\"", false)] {
            assert_eq!(toml::from_str::<ProjectFile>(text).is_ok(), is_valid, "{text}");
        }
    }
}
