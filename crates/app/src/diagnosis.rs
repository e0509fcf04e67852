//! [`App::diagnose`]: reports what this machine supports, and what is missing.
use crate::{
    App, Failure,
    config::{Config, ConfigError, KeySource, Places, Settings},
    lsp, mcp_servers,
    model::{self, Offer},
    session,
};
use haft_core::Outside;
use haft_providers::{Vendor, vendors};
use haft_sandbox as sandbox;
use haft_stage::ViewKind;
use std::path::Path;

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The state of what was checked.
    pub state: State,
    /// What was checked.
    pub what: String,
    /// What was found, in a few words.
    pub finding: String,
    /// The reason and what to do, a line each; empty if there is nothing to do.
    pub advice: Vec<String>,
}

/// The state of something that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It exists and works.
    Ok,
    /// It is missing, but most users do not need it.
    Optional,
    /// It is missing or broken.
    Missing,
}

impl App {
    /// Checks the configuration, the models, the sessions' folder, and what commands need; calls `found` as soon as
    /// each finding is known. Starts the MCP servers.
    ///
    /// # Errors
    ///
    /// If an MCP server is configured wrongly.
    pub async fn diagnose(
        &self,
        workspace: &Path,
        found: &mut (dyn FnMut(Finding) + Send),
    ) -> Result<(), Failure> {
        let (mut report, places) = (Report(found), &self.places);
        match self.config(workspace, &Settings::default()) {
            Ok(config) => {
                let file = places.user_file.display();
                match places.user_file.exists() {
                    true => report.good("configuration", &file.to_string()),
                    false => report.good("configuration", &format!("none in {file} (optional)")),
                }
                models(self, &config, &mut report).await;
                servers(self, &config, workspace, &mut report).await?;
                language_servers(self, &config, workspace, &mut report)?;
            }
            Err(error) => {
                let advice = "`haft config path` prints the files, `haft help configuration` the settings";
                report.bad("configuration", &error.to_string(), &[advice]);
            }
        }
        let home = places.home.display();
        match writable(&places.home) {
            Ok(()) => report.good("sessions", &format!("{} in {home}", self.home().list().len())),
            Err(error) => report.bad(
                "sessions",
                &format!("cannot write `{home}`: {error}"),
                &["set HAFT_HOME to a folder that you can write"],
            ),
        }
        commands(self, workspace, &mut report);
        match ["bash", "sh"].into_iter().find(|shell| on_path(self, shell)) {
            Some(shell) => report.good("shell", shell),
            None => {
                let advice = "install `bash` or add its folder to PATH: the tool `bash` needs it";
                report.bad("shell", "neither `bash` nor `sh` is on the PATH", &[advice]);
            }
        }
        publishing(self, &mut report);
        Ok(())
    }
}

/// Checks whether commands can be confined, which is also needed to undo them.
fn commands(app: &App, workspace: &Path, report: &mut Report<'_>) {
    let places = &app.places;
    let config = app.config(workspace, &Settings::default()).unwrap_or_default();
    match session::command_views(places, &config, workspace) {
        Ok(found) => {
            let place = match &found.kind {
                ViewKind::Overlay => "in an overlay of the workspace",
                ViewKind::Copy(_) => "on a copy of the workspace",
            };
            let why = match &found.kind {
                ViewKind::Overlay => None,
                ViewKind::Copy(why) => {
                    Some(format!("made for each command, since no overlay can be mounted ({why})"))
                }
            };
            let finding = format!("can be confined here, {place}");
            report.add(State::Ok, "commands", &finding, why.into_iter().collect());
            match found.outside {
                Outside::Overlays => report.good("Unix sockets", "of other programs cannot be reached"),
                Outside::Bound => report.optional(
                    "Unix sockets",
                    "cannot be used by commands, not even their own",
                    &["the system refuses overlays that keep those of other programs out of reach"],
                ),
            }
            layers(&config, places, report)
        }
        Err(why) => report.optional(
            "commands",
            "run unconfined, without a question under `full`",
            &[
                &format!("they cannot be undone: {why}"),
                "`--sandbox require` refuses to start then (`haft help sandbox`)",
            ],
        ),
    }
}

/// Reports which other protections a confined command has, and which are missing.
fn layers(config: &Config, places: &Places, report: &mut Report<'_>) {
    let limits = config.command_access(places).limits;
    match sandbox::limits_processes() {
        true => report.good("processes", &format!("{} at a time for one command", limits.processes)),
        false => report.optional("processes", "not limited for root before Linux 6.14", &[]),
    }
    match limits.memory_bytes {
        Some(bytes) => report.good("memory", &format!("{} MB for each process of a command", bytes >> 20)),
        None => report.optional(
            "memory",
            "not limited",
            &["`haft config set commands.memory 4000` sets a limit in MB"],
        ),
    }
    match sandbox::scopes_sockets() {
        true => report.good("sockets", "those without a file are a command's own (Landlock)"),
        false => report.optional(
            "sockets",
            "those without a file are reached with all of the network",
            &["Landlock keeps them apart on Linux 6.12 and newer"],
        ),
    }
}

/// Checks what jobs need, and what opens pull requests.
fn publishing(app: &App, report: &mut Report<'_>) {
    match on_path(app, "git") {
        true => report.good("git", "on the PATH"),
        false => report.bad(
            "git",
            "not on the PATH",
            &["install Git: jobs that change files and the tool `git` need it"],
        ),
    }
    let token = ["GITHUB_TOKEN", "GH_TOKEN"].into_iter().find(|name| app.environment.get(name).is_some());
    match token {
        Some(name) => report.good("pull requests", &format!("{name} is set")),
        None if on_path(app, "gh") => report.good("pull requests", "`gh` is on the PATH"),
        None => report.optional(
            "pull requests",
            "neither GITHUB_TOKEN nor `gh`, so `publish` opens none",
            &["set GITHUB_TOKEN, or install `gh` and run `gh auth login`"],
        ),
    }
}

async fn models(app: &App, config: &Config, report: &mut Report<'_>) {
    for vendor in vendors() {
        match config.key(&app.environment, vendor) {
            None => cloud(app, config, vendor, report),
            Some((_, KeySource::Variable(name))) => report.good(vendor.title, &format!("{name} is set")),
            Some((_, KeySource::File)) => report.good(vendor.title, "a key in the configuration"),
            Some((_, KeySource::Login)) => report.good(vendor.title, "logged in"),
        }
    }
    for offer in model::servers(app, config).await {
        if let Offer::Server { vendor, address, .. } = offer {
            report.good(vendor.title, &format!("answers at {address}"));
        }
    }
    for tried in model::try_fallbacks(app, config).await {
        let what = format!("`{}` for `{}`", tried.name, tried.of);
        match tried.outcome {
            Ok(()) => report.good("fallback", &format!("{what} could take over")),
            Err(why) => {
                let advice: Vec<&str> = why.hint.as_deref().into_iter().collect();
                report.bad("fallback", &format!("{what} could not take over: {}", why.message), &advice);
            }
        }
    }
    match chosen(app, config).await {
        Ok(spec) => report.good("model", &spec),
        Err(failure) => {
            let hint = failure.hint.unwrap_or_default();
            // A list follows a line that introduces it.
            let is_list = hint.lines().nth(1).is_some();
            let advice: Vec<&str> = hint.lines().skip(usize::from(is_list)).map(str::trim).collect();
            report.bad("model", &failure.message, &advice);
        }
    }
}

/// The model with which a session begins. A server on this machine is asked whether it has the model.
async fn chosen(app: &App, config: &Config) -> Result<String, Failure> {
    let spec = model::chosen(app, config, None, model::ToolCallFormat::default()).await?.model.spec;
    let kind = spec.split_once('/').map_or("", |(kind, _)| kind);
    if model::vendor_of(kind).is_some_and(|vendor| vendor.local) {
        model::try_one(app, config, &spec).await?;
    }
    Ok(spec)
}

/// Reports how Haft signs in to a cloud without a key, if the cloud is set up.
fn cloud(app: &App, config: &Config, vendor: &Vendor, report: &mut Report<'_>) {
    match model::signed_in(app, config, vendor) {
        None => {}
        Some(Ok(how)) => report.good(vendor.title, &format!("signed in with {how}")),
        Some(Err(missing)) => report.optional(vendor.title, &missing.message, &[&missing.hint]),
    }
}

/// Reports on the MCP servers, and starts them.
async fn servers(
    app: &App,
    config: &Config,
    workspace: &Path,
    report: &mut Report<'_>,
) -> Result<(), ConfigError> {
    for (name, found) in mcp_servers::try_all(app, config, workspace).await? {
        match found {
            Ok(offer) => report.good(&format!("mcp.{name}"), &format!("{} tools", offer.tools.len())),
            Err(why) => report.bad("mcp", &why, &["`haft help mcp` explains how servers are set up"]),
        }
    }
    Ok(())
}

/// Reports on the language servers. Starts none.
fn language_servers(
    app: &App,
    config: &Config,
    workspace: &Path,
    report: &mut Report<'_>,
) -> Result<(), ConfigError> {
    const WHAT: &str = "language servers";
    let Some(lsp::ServerNames { installed: found, missing }) = lsp::installed(app, config, workspace)? else {
        report.optional(WHAT, "off, as your configuration or the project's says", &[]);
        return Ok(());
    };
    for name in &missing {
        let advice = format!("set `command` of `[lsp.{name}]` to a program outside of the workspace");
        report.bad(WHAT, &format!("the program of `{name}` is not installed"), &[&advice]);
    }
    match found.is_empty() {
        false => report.good(WHAT, &found.join(", ")),
        true if missing.is_empty() => {
            let advice = "install one, and a question shows what a change breaks (`haft help lsp`)";
            report.optional(WHAT, "none is installed", &[advice]);
        }
        true => {}
    }
    Ok(())
}

fn writable(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let probe = folder.join(".probe");
    std::fs::write(&probe, "")?;
    std::fs::remove_file(probe)
}

fn on_path(app: &App, program: &str) -> bool {
    is_on_path(program, app.environment.get("PATH").unwrap_or_default())
}

/// Whether `program` is in one of the folders of a variable such as `PATH`.
pub(crate) fn is_on_path(program: &str, path: &str) -> bool {
    std::env::split_paths(path).any(|folder| folder.join(program).is_file())
}

struct Report<'a>(&'a mut (dyn FnMut(Finding) + Send));

impl Report<'_> {
    fn good(&mut self, what: &str, finding: &str) {
        self.add(State::Ok, what, finding, Vec::new());
    }

    fn optional(&mut self, what: &str, finding: &str, advice: &[&str]) {
        self.add(State::Optional, what, finding, owned(advice));
    }

    fn bad(&mut self, what: &str, finding: &str, advice: &[&str]) {
        self.add(State::Missing, what, finding, owned(advice));
    }

    fn add(&mut self, state: State, what: &str, finding: &str, advice: Vec<String>) {
        (self.0)(Finding { state, what: what.to_owned(), finding: finding.to_owned(), advice });
    }
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
