//! [`source`]: the MCP servers that the user sets up in `[mcp.NAME]`, as a source of tools.
//!
//! A server is a program that Haft starts, or an address that receives data of the agent. So only the user's own file
//! can name servers.
pub mod entries;
mod own_files;
pub mod project;

use crate::{
    App, Warn,
    config::{Config, ConfigError, Environment, McpFile, McpOAuthFile, McpRootsFile},
    plugin::installed,
};
use haft_core::{SessionId, ToolSource, secret};
use haft_mcp::client::{Mcp, McpServer, McpSettings, OAuth, ServerRoots, Transport};
use haft_present::host::{ServerOffer, TriedServer};
use parking_lot::Mutex;
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

/// Seconds: long enough for a package runner to fetch a server first.
const START_TIMEOUT: u64 = 60;
/// Seconds.
const CALL_TIMEOUT: u64 = 300;

/// A server that the configuration does not name, with the default timeouts of the configuration.
#[must_use]
pub fn unnamed(name: String, transport: Transport) -> McpServer {
    let (start_timeout, call_timeout) =
        (Duration::from_secs(START_TIMEOUT), Duration::from_secs(CALL_TIMEOUT));
    let (oauth, tools, trust_hints, roots, sampling) = Default::default();
    McpServer { name, transport, oauth, tools, trust_hints, roots, sampling, start_timeout, call_timeout }
}

/// Used if the window of the model is unknown.
const WINDOW: u64 = 128_000;

/// The servers that may be used: those of the configuration, and `more`. A server of `more` whose name is taken gets
/// another name, because rules and answers about the first one must not apply to it.
pub(crate) fn of(app: &App, config: &Config, more: &[McpServer]) -> Result<Vec<McpServer>, ConfigError> {
    let mut servers = servers(app, config)?;
    servers.extend(of_plugins(app, config));
    // Includes servers that the project leaves out: rules may be about them.
    let mut taken: Vec<String> = config.user.mcp.keys().cloned().collect();
    taken.extend(servers.iter().map(|server| server.name.clone()));
    for server in more {
        let name = free_name(&server.name, &taken);
        taken.push(name.clone());
        if name != server.name {
            app.warn(format!(
                "the MCP server `{}` is called `{name}` here: there is another one",
                server.name
            ));
        }
        servers.push(McpServer { name, ..server.clone() });
    }
    Ok(servers)
}

/// `name`; with a number if the names of its tools would equal those of a server in `taken`.
fn free_name(name: &str, taken: &[String]) -> String {
    let in_tools = |name: &str| name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
    let is_free = |name: &String| taken.iter().all(|known| in_tools(known) != in_tools(name));
    let numbered = (2..).map(|number: usize| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(is_free).expect("the numbers do not end")
}

/// The servers of plugins that the user lets start and the project does not exclude, as `PLUGIN-NAME`. Warns of a
/// server that cannot be started as its author wrote it.
#[must_use]
pub fn of_plugins(app: &App, config: &Config) -> Vec<McpServer> {
    let plugins = installed(&app.places).into_iter().filter(|plugin| plugin.starts_servers);
    let all = plugins.flat_map(|plugin| {
        let files = plugin.files().display().to_string();
        let named = plugin.servers.into_iter();
        let named = named.map(move |(name, file)| (format!("{}-{name}", plugin.name), file, files.clone()));
        named.collect::<Vec<_>>()
    });
    let all = all.filter(|(name, _, _)| is_allowed(config, name));
    let made = all.filter_map(|(name, file, files)| {
        let file = McpFile::of_plugin(&file, &files);
        server(app, &name, &file).map_err(|error| app.warn(error.to_string())).ok()
    });
    made.collect()
}

/// `servers` as a source of tools; `None` if there are none. Starts nothing. If the tools would take more than a quarter of
/// the model's `window`, they are found by search.
pub(crate) fn source(
    app: &App,
    servers: Vec<McpServer>,
    workspace: &Path,
    environment: Arc<[(String, String)]>,
    window: Option<u64>,
) -> Option<Arc<dyn ToolSource>> {
    if servers.is_empty() {
        return None;
    }
    let budget = window.unwrap_or(WINDOW) / 4;
    Some(Arc::new(mcp(servers, workspace, environment, budget, app.warnings())))
}

/// Starts each server that may be used, and reports how that went.
///
/// # Errors
///
/// If the configuration of a server is invalid.
pub async fn try_all(app: &App, config: &Config, workspace: &Path) -> Result<Vec<TriedServer>, ConfigError> {
    let environment = app.environment.access(config).environment;
    let mut found = Vec::new();
    for server in of(app, config, &[])? {
        let (name, warning) = (server.name.clone(), Arc::new(Mutex::new(None)));
        let heard = warning.clone();
        let note: Warn = Arc::new(move |warning| *heard.lock() = Some(warning));
        let mcp = mcp(vec![server], workspace, environment.clone(), WINDOW / 4, note);
        let tools = mcp.tools(&SessionId("doctor".into())).await;
        let tools = tools.all().map(|registered| registered.told().name.clone()).collect();
        let failed = warning.lock().take();
        found.push(match failed {
            Some(why) => (name, Err(why)),
            None => (name, Ok(ServerOffer { tools, mentions: mcp.mentions().await })),
        });
    }
    Ok(found)
}

fn mcp(
    servers: Vec<McpServer>,
    workspace: &Path,
    environment: Arc<[(String, String)]>,
    budget: u64,
    on_note: Warn,
) -> Mcp {
    let (workspace, budget) = (workspace.to_owned(), usize::try_from(budget).unwrap_or(usize::MAX));
    Mcp::new(McpSettings { servers, workspace, environment, budget, on_note })
}

/// The user's servers, without those that the project excludes and those that need a variable which is not set. Warns
/// of the latter.
fn servers(app: &App, config: &Config) -> Result<Vec<McpServer>, ConfigError> {
    let servers = config.user.mcp.iter().filter(|(name, _)| is_allowed(config, name));
    let usable = servers.filter(|(name, file)| match unset(file, &app.environment) {
        Some((key, variable)) => {
            app.warn(format!("the MCP server `{name}` is left out: {}", needs(&key, &variable)));
            false
        }
        None => true,
    });
    usable.map(|(name, file)| server(app, name, file)).collect()
}

/// The first key whose value needs a variable that is not set, and the variable.
fn unset(file: &McpFile, environment: &Environment) -> Option<(String, String)> {
    let secret = file.oauth.client_secret.iter().map(|secret| ("oauth.client_secret", secret));
    let values = file.environment.iter().chain(&file.headers).map(|(key, value)| (key.as_str(), value));
    values.chain(secret).find_map(|(key, value)| Some((key.to_owned(), fill_in(value, environment).err()?)))
}

fn needs(key: &str, variable: &str) -> String {
    format!("`{key}` needs the environment variable {variable}, which is not set")
}

/// Whether the project does not exclude the server.
fn is_allowed(config: &Config, name: &String) -> bool {
    config.project.mcp.as_ref().is_none_or(|names| names.contains(name))
}

fn server(app: &App, name: &str, file: &McpFile) -> Result<McpServer, ConfigError> {
    let environment = &*app.environment;
    let wrong = |message: &str| ConfigError::Value { what: format!("[mcp.{name}]"), message: message.into() };
    let whole = |key: &str, value: &str| {
        fill_in(value, environment).map_err(|variable| wrong(&needs(key, &variable)))
    };
    let filled = |values: &BTreeMap<String, String>| -> Result<Vec<_>, ConfigError> {
        let filled = values.iter().map(|(key, value)| Ok((key.clone(), whole(key, value)?)));
        let filled = filled.collect::<Result<Vec<_>, ConfigError>>()?;
        filled.iter().for_each(|(key, value)| register_secret(key, value));
        Ok(filled)
    };
    let transport = match (&file.command, &file.url) {
        (Some(command), None) => Transport::Program {
            program: command.clone(),
            arguments: file.arguments.clone(),
            environment: filled(&file.environment)?,
        },
        (None, Some(url)) => Transport::Url { url: url.clone(), headers: filled(&file.headers)? },
        (Some(_), Some(_)) => {
            return Err(wrong("both `command` and `url` are set; a server needs exactly one"));
        }
        (None, None) => return Err(wrong("neither `command` nor `url` is set")),
    };
    let McpOAuthFile { client_id, client_secret, scopes, callback_port } = file.oauth.clone();
    let client_secret = client_secret.map(|secret| whole("oauth.client_secret", &secret)).transpose()?;
    let logins = app.places.mcp_logins_file.clone();
    let oauth = OAuth { file: logins, client_id, client_secret, scopes, callback_port };
    Ok(McpServer {
        name: name.to_owned(),
        transport,
        oauth: Some(oauth),
        tools: file.tools.clone(),
        trust_hints: file.trust_hints,
        sampling: file.sampling,
        roots: roots(app, file).map_err(|message| wrong(&message))?,
        start_timeout: Duration::from_secs(file.start_timeout.unwrap_or(START_TIMEOUT)),
        call_timeout: Duration::from_secs(file.call_timeout.unwrap_or(CALL_TIMEOUT)),
    })
}

/// The folders that are reported to the server. The error says what is wrong with `roots`.
fn roots(app: &App, file: &McpFile) -> Result<ServerRoots, String> {
    let folders = match &file.roots {
        None => return Ok(ServerRoots::Automatic),
        Some(McpRootsFile::Workspace(true)) => return Ok(ServerRoots::Workspace),
        Some(McpRootsFile::Workspace(false)) => return Ok(ServerRoots::Nothing),
        Some(McpRootsFile::Folders(folders)) => folders.iter().map(|folder| app.places.named(folder)),
    };
    let absolute = folders.map(|folder| match folder.is_absolute() {
        true => Ok(folder),
        false => Err(format!(
            "`roots` names `{}`, which is not an absolute path; write `/…` or `~/…`",
            folder.display()
        )),
    });
    absolute.collect::<Result<_, _>>().map(ServerRoots::Folders)
}

/// Hides the secret in the value of a variable or a header from now on, wherever it is written. In a header, the secret
/// follows the scheme, as in `Bearer KEY`.
pub(crate) fn register_secret(name: &str, value: &str) {
    if name.to_ascii_lowercase().ends_with("authorization") {
        // A word such as `development` also occurs in many texts that are not secret.
        let key = value.rsplit(' ').next().unwrap_or(value);
        let is_word = key.len() < 16 && key.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !is_word {
            secret::register(key);
        }
    } else if secret::is_secret(name, value) {
        secret::register_guessed(value);
    }
}

/// Replaces each `${NAME}` by the variable; the error is the name of a variable that is not set. `${NAME:-TEXT}` is
/// replaced by TEXT if the variable is not set or empty.
pub fn fill_in(text: &str, environment: &Environment) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        filled += before;
        filled += match name.split_once(":-") {
            // With a nested `${`, it is unclear which of the two braces ends it.
            Some((_, text)) if text.contains("${") => return Err(name.to_owned()),
            Some((name, text)) => environment.get(name).filter(|value| !value.is_empty()).unwrap_or(text),
            None => environment.get(name).ok_or_else(|| name.to_owned())?,
        };
        rest = after;
    }
    Ok(filled + rest)
}

/// The variables that [`fill_in`] looks up in `text`. In files of editors, `${env:NAME}` means `${NAME}`.
pub(crate) fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    names
        .map(|name| name.strip_prefix("env:").unwrap_or(name))
        .map(|name| name.split(":-").next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ProjectFile, UserFile};

    fn read(text: &str) -> Result<McpServer, String> {
        let file: McpFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        server(&app(&[("TOKEN", "s3cret")]), "x", &file).map_err(|error| error.to_string())
    }

    fn app(variables: &[(&str, &str)]) -> App {
        let variables = [("HOME", "/nowhere")].iter().chain(variables);
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        App::new(Environment { variables }).unwrap()
    }

    #[test]
    fn a_server_is_a_command_or_a_url() {
        let table = [
            ("", Err("[mcp.x]: neither `command` nor `url` is set")),
            (
                "command = \"a\"\nurl = \"b\"",
                Err("[mcp.x]: both `command` and `url` are set; a server needs exactly one"),
            ),
            (
                "command = \"a\"\nargs = [\"b\"]\nenv = {K = \"${TOKEN}!\"}",
                Ok("a [\"b\"] [(\"K\", \"s3cret!\")]"),
            ),
            ("url = \"u\"\nheaders = {A = \"Bearer ${TOKEN}\"}", Ok("u [(\"A\", \"Bearer s3cret\")]")),
            ("url = \"u\"\nheaders = {A = \"${TOKEN:-x}${GONE:-y z}\"}", Ok("u [(\"A\", \"s3crety z\")]")),
            (
                "url = \"u\"\nheaders = {A = \"${TOKEN:-${GONE}}\"}",
                Err("[mcp.x]: `A` needs the environment variable TOKEN:-${GONE, which is not set"),
            ),
            (
                "url = \"u\"\nheaders = {A = \"${GONE}\"}",
                Err("[mcp.x]: `A` needs the environment variable GONE, which is not set"),
            ),
        ];
        for (text, expected) in table {
            let transport = read(text).map(|server| match server.transport {
                Transport::Program { program, arguments, environment } => {
                    format!("{program} {arguments:?} {environment:?}")
                }
                Transport::Url { url, headers } => format!("{url} {headers:?}"),
            });
            assert_eq!(transport, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        let relative = read("command = \"a\"\nroots = [\"/srv\", \"notes\"]").unwrap_err();
        assert_eq!(
            relative,
            "[mcp.x]: `roots` names `notes`, which is not an absolute path; write `/…` or `~/…`"
        );
        assert!(read("comand = \"a\"").is_err_and(|error| error.starts_with("unknown field `comand`")));
    }

    // D14
    #[test]
    fn a_project_leaves_servers_out_and_adds_none() {
        let user = toml::from_str("[mcp.a]\nurl = \"u\"\n[mcp.b]\ncommand = \"c\"").unwrap();
        let table = [("", vec!["a", "b"]), ("mcp = []", vec![]), ("mcp = [\"b\", \"c\"]", vec!["b"])];
        for (project, expected) in table {
            let user: UserFile = Clone::clone(&user);
            let config = Config::of(user, toml::from_str(project).unwrap());
            let servers = servers(&app(&[]), &config).unwrap();
            let names: Vec<String> = servers.into_iter().map(|server| server.name).collect();
            assert_eq!(names, expected, "{project}");
        }
        let added: Result<ProjectFile, _> = toml::from_str("[mcp.a]\ncommand = \"c\"");
        assert!(added.is_err());
    }

    #[test]
    fn a_server_of_an_editor_shares_no_name_with_another() {
        let user = toml::from_str("[mcp.fake]\nurl = \"u\"\n[mcp.own]\nurl = \"u\"").unwrap();
        // Excluded by the project; no other server gets its name.
        let config = Config::of(user, toml::from_str("mcp = [\"fake\"]").unwrap());
        let more = ["fake", "a b", "a.b", "own"].map(|name| {
            let url = Transport::Url { url: "http://127.0.0.1:1".to_owned(), headers: Vec::new() };
            unnamed(name.to_owned(), url)
        });
        let names = of(&app(&[]), &config, &more).unwrap().into_iter().map(|server| server.name);
        assert_eq!(names.collect::<Vec<_>>(), ["fake", "fake_2", "a b", "a.b_2", "own_2"]);
    }

    #[test]
    fn keys_are_not_shown() {
        let file: McpFile = toml::from_str("url = \"u\"\nheaders = {A = \"s3cret\"}").unwrap();
        assert!(!format!("{file:?}{}", toml::to_string(&file).unwrap()).contains("s3cret"));
    }
}
