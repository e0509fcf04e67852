//! [`policy`] (`haft policy check`): shows the verdict on an effect, and which rule decides.
use crate::{
    CliContext,
    args::{Policy as Verb, PolicyCheck},
};
use haft_app::{Failure, config::Settings, session};
use haft_present::safe;
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
    let (reason, by) = (safe::visible_line(&check.reason), safe::visible_line(&check.decided_by));
    writeln!(stdout(), "{:<6} {reason}\nby     {by}", check.verdict)?;
    if let Some(hint) = check.hint {
        writeln!(stdout(), "hint   {}", safe::visible_line(&hint))?;
    }
    Ok(Exit::Success)
}
