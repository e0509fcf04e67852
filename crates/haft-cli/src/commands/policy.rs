//! [`policy`] (`haft policy check`): shows which rule decides about an effect, and how.
use crate::{
    CliContext,
    args::{Policy as Verb, PolicyCheck},
};
use haft_app::{Failure, config::Settings, session};
use haft_terminal::Exit;
use std::io::{Write, stdout};

/// `haft policy …`
pub(crate) fn policy(cli: &CliContext, command: Verb) -> Result<Exit, Failure> {
    let Verb::Check(PolicyCheck { words, permission, profile, cwd, json }) = command;
    let workspace = session::workspace(cwd.as_deref())?;
    let settings = Settings { permission, profile, ..Settings::default() };
    let check = cli.check_policy(&workspace, &settings, &words.join(" "))?;
    if json {
        writeln!(stdout(), "{}", serde_json::to_string(&check).map_err(anyhow::Error::from)?)?;
        return Ok(Exit::Success);
    }
    writeln!(stdout(), "{:<6} {}\nby     {}", check.verdict, check.reason, check.decided_by)?;
    if let Some(hint) = check.hint {
        writeln!(stdout(), "hint   {hint}")?;
    }
    Ok(Exit::Success)
}
