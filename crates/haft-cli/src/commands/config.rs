//! `haft config`: what is in force, and where it lies.
use crate::{
    CliContext,
    args::Config as Verb,
    assemble,
    config::{Config, project_file},
    failure::Failure,
};
use haft::terminal::Exit;
use std::{
    io::{Write, stdout},
    path::Path,
};

/// `haft config …`
pub(crate) fn config(context: &CliContext, command: Verb) -> Result<Exit, Failure> {
    match command {
        Verb::Path => path(context),
        Verb::Show { cwd } => {
            let workspace = assemble::workspace(cwd.as_deref())?;
            let config = Config::load(&context.places, &context.environment, &workspace)?;
            show(&config, &workspace)
        }
    }
}

/// What holds where no flag says otherwise, and who says it.
fn in_force(config: &Config, workspace: &Path) -> Result<[(&'static str, String, String); 4], Failure> {
    let profile = config.profile(None)?;
    let project = project_file(workspace).display().to_string();
    let said =
        |variable: &str, key: &str, otherwise: String| config.origin.of(variable, key).unwrap_or(otherwise);
    let mode = config.mode(None);
    let own_mode = said("HAFT_PERMISSION", "permission", "nobody says".into());
    let is_narrowed = mode < config.user.permission.unwrap_or_default();
    let rounds = config.max_rounds(None, profile.limits.max_rounds);
    let own_rounds = said("HAFT_MAX_ROUNDS", "max_rounds", format!("the profile `{}`", profile.name));
    let is_fewer = rounds.is_some() && rounds == config.project.max_rounds;
    let model = config.user.model.as_ref().map_or("whatever is found".into(), |model| format!("\"{model}\""));
    Ok([
        ("model", model, said("HAFT_MODEL", "model", "nobody says; `haft doctor` tells".into())),
        ("profile", format!("\"{}\"", profile.name), said("HAFT_PROFILE", "profile", "nobody says".into())),
        ("permission", format!("\"{}\"", mode.name()), if is_narrowed { project.clone() } else { own_mode }),
        (
            "max_rounds",
            rounds.map_or("0".into(), |rounds| rounds.to_string()),
            if is_fewer { project } else { own_rounds },
        ),
    ])
}

fn path(context: &CliContext) -> Result<Exit, Failure> {
    let workspace = assemble::workspace(None)?;
    for file in [&context.places.user_file, &project_file(&workspace)] {
        let there = if file.exists() { "" } else { "  (not there)" };
        writeln!(stdout(), "{}{there}", file.display())?;
    }
    Ok(Exit::Success)
}

/// As TOML, keys left out.
fn show(config: &Config, workspace: &Path) -> Result<Exit, Failure> {
    let text =
        |value: Result<String, toml::ser::Error>| value.map_err(|error| Failure::failed(error.to_string()));
    for (key, value, source) in in_force(config, workspace)? {
        writeln!(stdout(), "# in force: {key} = {value}  ({source})")?;
    }
    if let Some(theirs) = config.project.permission.filter(|theirs| *theirs > config.mode(None)) {
        let file = project_file(workspace);
        let theirs = theirs.name();
        writeln!(
            stdout(),
            "# `permission = \"{theirs}\"` of {} does not hold: it would widen yours",
            file.display()
        )?;
    }
    writeln!(stdout(), "# the person's file and HAFT_* variables\n{}", text(toml::to_string(&config.user))?)?;
    writeln!(stdout(), "# the project's file\n{}", text(toml::to_string(&config.project))?)?;
    Ok(Exit::Success)
}
