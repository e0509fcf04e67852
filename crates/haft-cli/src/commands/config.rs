//! [`config`] (`haft config`): shows which settings apply, and where they come from.
use super::{screen_setup, skills::source, themes};
use crate::{CliContext, args::Config as Verb};
use haft_app::{
    Failure,
    config::{Config, ConfigError, SETTINGS, Setting, Settings, edit, project_file},
    model, session,
};
use haft_present::safe;
use haft_terminal::Exit;
use serde::Serialize;
use std::{
    fs,
    io::{Write, stderr, stdout},
    path::Path,
};

/// `haft config …`
pub(crate) fn config(cli: &CliContext, command: Verb) -> Result<Exit, Failure> {
    match command {
        Verb::Path => path(cli),
        Verb::Get { key, cwd } => {
            get(&cli.config(&session::workspace(cwd.as_deref())?, &Settings::default())?, &key)
        }
        Verb::Set { key, value } => set(cli, &key, &value),
        Verb::Unset { key } => unset(cli, &key),
        Verb::Check { cwd } => check(cli, &session::workspace(cwd.as_deref())?),
        Verb::Show { cwd } => {
            let workspace = session::workspace(cwd.as_deref())?;
            show(&cli.config(&workspace, &Settings::default())?)?;
            files(cli, &workspace)?;
            Ok(Exit::Success)
        }
    }
}

/// Reads all configuration, as a session does; the first error is returned.
fn read_all(cli: &CliContext, workspace: &Path) -> Result<(), Failure> {
    let config = cli.config(workspace, &Settings::default())?;
    model::check_names(&config)?;
    session::tools(&cli.environment, &config.profile()?, &[], None)?;
    screen_setup::check(cli, &config)?;
    themes::check(cli)?;
    cli.attached_engine(|_| {}).map(|_| ())
}

fn check(cli: &CliContext, workspace: &Path) -> Result<Exit, Failure> {
    read_all(cli, workspace)?;
    for file in [&cli.places.user_file, &project_file(workspace)] {
        let found = if file.exists() { "ok" } else { "missing" };
        writeln!(stdout(), "{found:<8} {}", file.display())?;
    }
    Ok(Exit::Success)
}

/// Prints the value of a setting that is in effect; a text without quotes.
fn get(config: &Config, key: &str) -> Result<Exit, Failure> {
    let (value, otherwise) = match SETTINGS.iter().find(|setting| setting.key == key) {
        Some(setting) => (config.in_force(setting, &config.profile()?).0, setting.otherwise),
        None => (edit::get(&config.user, key)?.and_then(|value| said(value, None)), ""),
    };
    match (value, otherwise) {
        (Some(toml::Value::String(text)), _) => writeln!(stdout(), "{text}")?,
        (Some(toml::Value::Table(table)), _) => write!(stdout(), "{table}")?,
        (Some(value), _) => writeln!(stdout(), "{value}")?,
        (None, "") => {
            return Err(Failure::failed(format!("`{key}` is not set"))
                .hint("`haft config show` lists settings and their values"));
        }
        (None, otherwise) => return Err(Failure::failed(format!("`{key}` is not set: {otherwise}"))),
    }
    Ok(Exit::Success)
}

/// Sets a value, and prints a note if a variable overrides it.
fn set(cli: &CliContext, key: &str, value: &str) -> Result<Exit, Failure> {
    let file = &cli.places.user_file;
    change(cli, || edit::set(file, key, value))?;
    writeln!(stderr(), "`{key}` is set in `{}`.", file.display())?;
    let variable = SETTINGS.iter().find(|setting| setting.key == key).map(Setting::variable);
    if let Some(variable) = variable.filter(|name| cli.environment.get(name).is_some()) {
        writeln!(stderr(), "note: {variable} overrides this")?;
    }
    Ok(Exit::Success)
}

fn unset(cli: &CliContext, key: &str) -> Result<Exit, Failure> {
    let file = &cli.places.user_file;
    let said = match change(cli, || edit::unset(file, key))? {
        true => "is removed from",
        false => "is not set in",
    };
    writeln!(stderr(), "`{key}` {said} `{}`.", file.display())?;
    Ok(Exit::Success)
}

/// Edits the user's file. If no session can begin with the result, the edit is taken back.
fn change<T>(cli: &CliContext, edit: impl FnOnce() -> Result<T, ConfigError>) -> Result<T, Failure> {
    let (file, workspace) = (&cli.places.user_file, session::workspace(None)?);
    let before = fs::read_to_string(file).ok();
    let was_valid = read_all(cli, &workspace).is_ok();
    let done = edit().map_err(|error| {
        Failure::usage(error.to_string())
            .hint("`haft config show` lists settings, and `haft help configuration` explains them")
    })?;
    if let (true, Err(failure)) = (was_valid, read_all(cli, &workspace)) {
        match before {
            Some(before) => edit::write(file, &before)?,
            None => fs::remove_file(file)?,
        }
        return Err(failure);
    }
    Ok(done)
}

fn path(cli: &CliContext) -> Result<Exit, Failure> {
    let workspace = session::workspace(None)?;
    for file in [&cli.places.user_file, &project_file(&workspace)] {
        let there = if file.exists() { "" } else { "  (missing)" };
        writeln!(stdout(), "{}{there}", file.display())?;
    }
    Ok(Exit::Success)
}

/// Prints the configuration as TOML, without keys of providers.
fn show(config: &Config) -> Result<(), Failure> {
    let profile = config.profile()?;
    for setting in SETTINGS {
        match (config.in_force(setting, &profile), setting.otherwise) {
            ((Some(value), origin), _) => writeln!(stdout(), "{} = {value}  # {origin}", setting.key)?,
            ((None, _), "") => writeln!(stdout(), "# {} is not set", setting.key)?,
            ((None, _), otherwise) => writeln!(stdout(), "# {} is not set: {otherwise}", setting.key)?,
        }
    }
    if let Some(theirs) = config.refused_mode() {
        let (theirs, file) = (theirs.name(), config.project_file().display());
        writeln!(
            stdout(),
            "# `permission = \"{theirs}\"` of `{file}` is ignored: the project may not grant more than your own setting"
        )?;
    }
    tables(config.user_file(), &config.user)?;
    tables(config.project_file(), &config.project)
}

/// Prints the remaining content of a file, without default values.
fn tables<Content: Serialize + Default>(file: &Path, content: &Content) -> Result<(), Failure> {
    let failed = |error: toml::ser::Error| Failure::failed(error.to_string());
    let default = toml::Value::try_from(Content::default()).map_err(failed)?;
    let content = toml::Value::try_from(content).map_err(failed)?;
    let Some(said) = said(content, Some(&default)) else { return Ok(()) };
    writeln!(stdout(), "\n# {}\n{}", file.display(), toml::to_string(&said).map_err(failed)?)?;
    Ok(())
}

/// Prints the files of skills, commands and agents as comments, including unused files, and notes on parts that have no
/// effect.
fn files(cli: &CliContext, workspace: &Path) -> Result<(), Failure> {
    let place = |file: &Path| source(cli, workspace, file);
    let skills = cli.skills(workspace);
    let is_skill = |file: &Path| skills.iter().any(|found| found.file == file);
    // A skill is also a command.
    let prompts: Vec<_> = cli.prompts(workspace).into_iter().filter(|found| !is_skill(&found.file)).collect();
    let skills = skills
        .into_iter()
        .map(|found| ("skill", found.skill.name, Some(found.file), found.shadows, found.notes));
    let prompts = prompts
        .into_iter()
        .map(|found| ("command", found.name, Some(found.file), found.shadows, found.notes));
    let agents = cli.agents(workspace).unwrap_or_else(|failure| {
        cli.warn(failure.message);
        Vec::new()
    });
    let agents = agents.into_iter();
    let agents = agents.map(|found| ("agent", found.agent.name, found.file, found.shadows, found.notes));
    let all: Vec<_> = skills.chain(prompts).chain(agents).collect();
    let mut told =
        all.iter().filter(|(_, _, file, shadows, _)| file.is_some() || !shadows.is_empty()).peekable();
    if told.peek().is_some() {
        writeln!(stdout(), "\n# Skills, commands and agents")?;
    }
    for (kind, name, file, shadows, notes) in told {
        let file = file.as_deref().map_or_else(|| "built in".to_owned(), |file| format!("`{}`", place(file)));
        writeln!(stdout(), "# {kind} `{}`: {}", safe::name(name), safe::name(&file))?;
        for shadowed in shadows {
            writeln!(
                stdout(),
                "#   not used, because the name is taken: `{}`",
                safe::name(&place(shadowed))
            )?;
        }
        notes.iter().try_for_each(|note| writeln!(stdout(), "#   {}", safe::name(note)))?;
    }
    let others = cli.settings_of_others(workspace);
    if !others.is_empty() {
        writeln!(stdout(), "\n# Settings of other systems")?;
    }
    others.iter().try_for_each(|line| writeln!(stdout(), "# {}", safe::name(line)))?;
    Ok(())
}

/// `value` without defaults, and without empty tables and lists.
fn said(value: toml::Value, default: Option<&toml::Value>) -> Option<toml::Value> {
    match value {
        toml::Value::Table(table) => {
            let default = |key: &str| default.and_then(|default| default.get(key));
            let table = table.into_iter().filter_map(|(key, value)| {
                let value = said(value, default(&key))?;
                Some((key, value))
            });
            let table: toml::Table = table.collect();
            (!table.is_empty()).then_some(toml::Value::Table(table))
        }
        toml::Value::Array(list) if list.is_empty() => None,
        other => (Some(&other) != default).then_some(other),
    }
}
