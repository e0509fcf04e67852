//! `haft config`: what is in force, and where it lies.
use crate::{
    Surroundings,
    args::Config as Verb,
    assemble,
    config::{Config, project_file},
    failure::Failure,
};
use haft::frontends::Exit;
use std::io::{Write, stdout};

/// `haft config …`
pub(crate) fn config(surroundings: &Surroundings, command: Verb) -> Result<Exit, Failure> {
    match command {
        Verb::Path => path(surroundings),
        Verb::Show { cwd } => {
            let workspace = assemble::workspace(cwd.as_deref())?;
            let config = Config::load(&surroundings.places, &surroundings.environment, &workspace)?;
            show(&config)
        }
    }
}

fn path(surroundings: &Surroundings) -> Result<Exit, Failure> {
    let workspace = assemble::workspace(None)?;
    for file in [&surroundings.places.user_file, &project_file(&workspace)] {
        let there = if file.exists() { "" } else { "  (not there)" };
        writeln!(stdout(), "{}{there}", file.display())?;
    }
    Ok(Exit::Success)
}

/// As TOML, keys left out.
fn show(config: &Config) -> Result<Exit, Failure> {
    let text =
        |value: Result<String, toml::ser::Error>| value.map_err(|error| Failure::failed(error.to_string()));
    let mode = serde_json::to_value(config.mode(None)).unwrap_or_default();
    writeln!(stdout(), "# in force: permission = {mode}")?;
    writeln!(stdout(), "# the person's file and HAFT_* variables\n{}", text(toml::to_string(&config.user))?)?;
    writeln!(stdout(), "# the project's file\n{}", text(toml::to_string(&config.project))?)?;
    Ok(Exit::Success)
}
