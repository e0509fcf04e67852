//! [`add`], [`import`], [`list`], [`test`] and [`remove`] (`haft mcp add` …): the MCP servers of the user's configuration.
use super::{config, login, say_state};
use crate::{CliContext, args::McpAddArgs, commands::interruptible::interruptible};
use haft_app::{
    Failure,
    config::{McpFile, McpOAuthFile, McpRootsFile},
    mcp_servers::{entries, of_plugins, project},
    session,
};
use haft_mcp::client::{McpServer, Probe, ProbeError, Transport, is_logged_in, probe};
use haft_present::safe;
use haft_terminal::{Exit, table::List};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{Write, stderr, stdout},
    path::{Path, PathBuf},
    slice,
    time::{Duration, Instant},
};

/// `haft mcp add`
pub(super) fn add(cli: &CliContext, args: McpAddArgs) -> Result<Exit, Failure> {
    let McpAddArgs {
        env,
        header,
        client_id,
        callback_port,
        tools,
        roots,
        no_roots,
        sampling,
        trust_hints,
        json,
        name,
        target,
        arguments,
    } = args;
    let is_url = ["http://", "https://"].iter().any(|scheme| target.starts_with(scheme));
    let is_without_host = target.split_once("://").is_some_and(|(_, rest)| rest.trim_matches('/').is_empty());
    let wrong = match is_url {
        _ if is_without_host || (!is_url && target.contains("://")) => {
            Some("the address of a server is `http://HOST…` or `https://HOST…`")
        }
        true if !arguments.is_empty() => Some("a server at an address takes no arguments"),
        true if !env.is_empty() => Some("`--env` is for a server that is a program"),
        false if !header.is_empty() => Some("`--header` is for a server at an address"),
        false if client_id.is_some() || callback_port.is_some() => {
            Some("`--client-id` and `--callback-port` are for a server at an address")
        }
        _ => None,
    };
    if let Some(wrong) = wrong {
        return Err(Failure::usage(wrong).hint("`haft help mcp add` shows both forms"));
    }
    let file = McpFile {
        command: (!is_url).then(|| target.clone()),
        arguments,
        environment: env.into_iter().collect(),
        url: is_url.then_some(target),
        headers: header.into_iter().collect(),
        oauth: McpOAuthFile { client_id, callback_port, ..McpOAuthFile::default() },
        tools: (!tools.is_empty()).then_some(tools),
        trust_hints,
        roots: written_roots(&roots, no_roots)?,
        sampling,
        ..McpFile::default()
    };
    entries::add(cli, &name, &file)?;
    if json {
        writeln!(stdout(), "{}", object(&name, &file, "ready"))?;
    }
    writeln!(stderr(), "Added `{name}` to `{}`.", cli.places.user_file.display())?;
    writeln!(stderr(), "hint: `haft mcp test {name}` starts it and shows what it offers")?;
    Ok(Exit::Success)
}

/// The configuration value for the roots, if any. Folders are relative to the current directory.
fn written_roots(folders: &[PathBuf], is_none: bool) -> Result<Option<McpRootsFile>, Failure> {
    if is_none {
        return Ok(Some(McpRootsFile::Workspace(false)));
    }
    let folders = folders.iter().map(|folder| Ok(std::path::absolute(folder)?.display().to_string()));
    let folders = folders.collect::<Result<Vec<_>, Failure>>()?;
    Ok((!folders.is_empty()).then_some(McpRootsFile::Folders(folders)))
}

/// `haft mcp list`
pub(super) fn list(cli: &CliContext, json: bool) -> Result<Exit, Failure> {
    let config = config(cli, None)?;
    let mut list = List::new(["SERVER", "COMMAND OR ADDRESS", "STATE"], json);
    for entries::ConfiguredServer { name, file, problem } in entries::all(cli, &config) {
        let target = file.url.clone().unwrap_or_else(|| command_line(file));
        let is_logged_in = entries::named(cli, &config, name).is_ok_and(|server| is_logged_in(&server));
        let state = if is_logged_in { "logged in" } else { "ready" };
        let state = problem.unwrap_or_else(|| state.to_owned());
        list.row([name, &target, &state], || object(name, file, &state));
    }
    for server in of_plugins(cli, &config) {
        let (transport, target) = match &server.transport {
            Transport::Program { program, arguments, .. } => {
                ("stdio", [slice::from_ref(program), arguments].concat().join(" "))
            }
            Transport::Url { url, .. } => ("http", url.to_string()),
        };
        let state = if is_logged_in(&server) { "logged in, of a plugin" } else { "of a plugin" };
        list.row([&server.name, &target, state], || {
            json!({"name": server.name, "transport": transport, "target": target, "tools": server.tools, "state": state})
        });
    }
    Ok(list.print(
        "There are no MCP servers: `haft mcp add NAME COMMAND` or `haft mcp add NAME URL` adds one.",
    )?)
}

/// A configured server as JSON.
fn object(name: &str, file: &McpFile, state: &str) -> Value {
    let transport = if file.url.is_some() { "http" } else { "stdio" };
    let target = file.url.clone().unwrap_or_else(|| command_line(file));
    json!({"name": name, "transport": transport, "target": target, "tools": file.tools, "state": state})
}

/// `haft mcp import`
pub(super) fn import(
    cli: &CliContext,
    names: &[String],
    json: bool,
    cwd: Option<&Path>,
) -> Result<Exit, Failure> {
    let workspace = session::workspace(cwd)?;
    let config = config(cli, Some(&workspace))?;
    for name in names {
        let source = project::take(cli, &config, &workspace, name)?;
        let (source, user) = (source.display(), cli.places.user_file.display());
        writeln!(stderr(), "Added `{name}` of `{source}` to `{user}`.")?;
        writeln!(stderr(), "hint: `haft mcp test {name}` starts it and shows what it offers")?;
    }
    if !names.is_empty() {
        return Ok(Exit::Success);
    }
    let mut list = List::new(["SERVER", "COMMAND OR ADDRESS", "WITH", "FILE"], json);
    for project::DeclaredServer { name, source, is_own, file, .. } in
        project::importable(cli, &config, &workspace)
    {
        let target = file.url.clone().unwrap_or_else(|| command_line(&file));
        let with = file.environment.iter().chain(&file.headers);
        // Values of the user's own files are often keys.
        let shown = |value: &str| if is_own { "…".to_owned() } else { value.to_owned() };
        let with = with.map(|(name, value)| format!("{name}={}", shown(value))).collect::<Vec<_>>().join(" ");
        let source = source.display().to_string();
        list.row([&name, &target, &with, &source], || {
            let values = |all: &BTreeMap<String, String>| -> BTreeMap<String, String> {
                all.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
            };
            json!({
                "name": name, "target": target, "environment": values(&file.environment),
                "headers": values(&file.headers), "file": source,
            })
        });
    }
    Ok(list.print("This project and your files of other systems name no MCP servers that your configuration does not have.")?)
}

fn command_line(file: &McpFile) -> String {
    let words = file.command.iter().chain(&file.arguments).map(String::as_str);
    words.collect::<Vec<_>>().join(" ")
}

/// `haft mcp test`
pub(super) async fn test(
    cli: &CliContext,
    name: &str,
    json: bool,
    cwd: Option<&Path>,
) -> Result<Exit, Failure> {
    let workspace = session::workspace(cwd)?;
    let config = config(cli, Some(&workspace))?;
    let server = entries::named(cli, &config, name)?;
    let environment = cli.environment.access(&config).environment;
    let begun = Instant::now();
    let found = interruptible(probe(server.clone(), workspace, environment)).await?;
    let took = begun.elapsed();
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let failure = unusable(&server, &error);
            if json {
                let state = json!({"name": name, "transport": transport(&server), "state": "failed", "tools": [], "error": failure.message});
                writeln!(stdout(), "{}", safe::json(&state.to_string()))?;
            }
            return Err(failure);
        }
    };
    match json {
        true => writeln!(
            stdout(),
            "{}",
            json!({
                "name": name, "transport": transport(&server),
                "state": if found.failures.is_empty() { "ready" } else { "incomplete" }, "server": found.name, "version": found.version, "protocol": found.protocol,
                "tools": found.tools, "prompts": found.prompts, "resources": found.resources,
                "failures": found.failures.iter().map(|(what, why)| (*what, why)).collect::<BTreeMap<_, _>>(),
                "milliseconds": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            })
        )?,
        false => write!(stdout(), "{}", safe::text(&told(name, &found, took)))?,
    }
    match found.failures.first() {
        None => Ok(Exit::Success),
        Some((what, why)) => {
            Err(Failure::failed(format!("the MCP server `{name}` does not list its {what}: {why}"))
                .hint("ask the server's authors; what it lists can be used"))
        }
    }
}

fn transport(server: &McpServer) -> &'static str {
    match server.transport {
        Transport::Program { .. } => "stdio",
        Transport::Url { .. } => "http",
    }
}

fn told(name: &str, found: &Probe, took: Duration) -> String {
    let Probe { name: own, version, protocol, .. } = found;
    let is = if own.is_empty() { String::new() } else { format!(" is {own} {version}") };
    let seconds = took.as_secs_f64();
    let mut told =
        format!("`{name}`{}, speaks MCP {protocol} and answered in {seconds:.1} s\n", is.trim_end());
    for (what, names) in
        [("tools", &found.tools), ("prompts", &found.prompts), ("resources", &found.resources)]
    {
        told += &match names.is_empty() {
            true if found.failures.iter().any(|(failed, _)| *failed == what) => continue,
            true => format!("no {what}\n"),
            false => {
                let names: Vec<_> = names.iter().map(|name| safe::visible_line(name)).collect();
                format!("{what} ({}): {}\n", names.len(), names.join(", "))
            }
        };
    }
    told
}

fn unusable(server: &McpServer, error: &ProbeError) -> Failure {
    let name = &server.name;
    let failure = Failure::failed(format!("cannot use the MCP server `{name}`: {error}"));
    match (error, &server.transport) {
        (ProbeError::Login(_), _) => failure.hint(format!(
            "`haft mcp login {name}` logs in; `headers` of `[mcp.{name}]` take a token as well"
        )),
        (ProbeError::Start(_), Transport::Program { .. }) => failure
            .hint(format!("check `command` and `arguments` of `[mcp.{name}]`, and run the command by hand")),
        (ProbeError::Start(_), Transport::Url { .. }) => {
            failure.hint(format!("check `url` of `[mcp.{name}]`; many servers end in `/mcp`"))
        }
    }
}

/// `haft mcp remove`
pub(super) async fn remove(cli: &CliContext, name: &str, json: bool) -> Result<Exit, Failure> {
    let config = config(cli, None)?;
    let server = entries::named(cli, &config, name).ok();
    entries::remove(cli, &config, name)?;
    if let Some(server) = server.filter(is_logged_in) {
        login::forget(&server).await?;
    }
    say_state(json, name, "removed")?;
    writeln!(stderr(), "Removed `{name}` from `{}`.", cli.places.user_file.display())?;
    Ok(Exit::Success)
}
