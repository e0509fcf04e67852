//! [`print`]: prints a table of the tokens and costs of a session.
use crate::CliContext;
use haft_app::{Failure, config::Settings, model, session};
use haft_core::{Entry, SessionOpened, tokens};
use haft_engine::{Account, Row, account};
use haft_present::safe;
use haft_terminal::Exit;
use std::{
    io::{Write, stdout},
    sync::Arc,
};

/// Prints the usage after a conversation, unless the server reported no tokens.
pub(crate) fn print(cli: &CliContext, entries: &[Arc<Entry>]) -> Result<Exit, Failure> {
    let Some(SessionOpened { model, workspace, profile, .. }) = SessionOpened::of(entries) else {
        return Ok(Exit::Success);
    };
    let settings = Settings { profile: Some(profile.clone()), ..Settings::default() };
    let config = cli.config(workspace, &settings)?;
    let profile = config.profile().ok();
    let system = profile.as_ref().map(|profile| tokens::of_text(&profile.system)).unwrap_or_default();
    let tools =
        profile.as_ref().and_then(|profile| session::tools(&cli.environment, profile, &[], None).ok());
    let tools = tools.map(|tools| tokens::of_tools(&tools.specs())).unwrap_or_default();
    let Account { rows, usage, usd } = account(entries, system, tools, model::card_of(&config, model).price);
    if usage.total() == 0 {
        return Ok(Exit::Success);
    }
    let mut stdout = stdout();
    writeln!(stdout, "\n{:>12} {:>10}  tokens went to, by estimate", usage.total(), dollars(usd))?;
    for Row { what, tokens, usd } in rows {
        writeln!(stdout, "{tokens:>12} {:>10}  {}", dollars(usd), safe::name(&what))?;
    }
    Ok(Exit::Success)
}

/// The cost; `?` if the price is unknown.
fn dollars(usd: Option<f64>) -> String {
    usd.map_or("$?".into(), |usd| format!("${usd:.4}"))
}
