//! [`carry_out`] (`haft serve users` and others): manages the users of the server, and shows the log of what they did.
use crate::{CliContext, args::ServeCommand};
use haft_app::{Failure, config::Settings, session, users};
use haft_engine::local_time;
use haft_present::safe;
use haft_serve::audit;
use haft_terminal::{Exit, table::List};
use serde_json::json;
use std::io::{Write, stdout};

/// Carries out a subcommand.
pub(crate) fn carry_out(cli: &CliContext, command: &ServeCommand) -> Result<Exit, Failure> {
    let home = &cli.places.home;
    match command {
        ServeCommand::Users { json } => list(cli, *json),
        ServeCommand::AddUser { name, role } => {
            let config = cli.config(&session::workspace(None)?, &Settings::default())?;
            let token = users::add(home, &users::roles(&config.user.serve), name, role)?;
            if cli.environment.get("HAFT_FLEET").is_some() {
                cli.warn(
                    "servers of a fleet do not know this user: `haft fleet owner NAME` adds an owner"
                        .to_owned(),
                );
            }
            cli.warn(format!("`{name}` has the role `{role}`; the token is not shown again"));
            writeln!(stdout(), "{token}")?;
            Ok(Exit::Success)
        }
        ServeCommand::RemoveUser { name } => {
            users::remove(home, name)?;
            writeln!(stdout(), "removed {name}")?;
            Ok(Exit::Success)
        }
        ServeCommand::Audit { user, json } => log(cli, user.as_deref(), *json),
    }
}

fn list(cli: &CliContext, is_json: bool) -> Result<Exit, Failure> {
    let config = cli.config(&session::workspace(None)?, &Settings::default())?;
    let roles = users::roles(&config.user.serve);
    let mut list = List::new(["NAME", "ROLE", "ADDED"], is_json);
    let mut without_role = Vec::new();
    for user in users::list(&cli.places.home)? {
        let added = local_time(user.added_at);
        let is_configured = roles.contains_key(&user.role);
        let row = json!({"name": user.name, "role": user.role, "role_is_configured": is_configured, "added_at": user.added_at});
        list.row([&user.name, &user.role, &added], || row);
        if !is_configured {
            without_role.push(user);
        }
    }
    let exit = list.print("There are no users; `haft serve add-user NAME` adds one.")?;
    for user in without_role {
        let (name, role) = (safe::name(&user.name), safe::name(&user.role));
        cli.warn(format!("`{name}` is not let in: role `{role}` is not configured"));
    }
    Ok(exit)
}

fn log(cli: &CliContext, user: Option<&str>, is_json: bool) -> Result<Exit, Failure> {
    let path = cli.places.home.join(audit::FILE);
    let read = audit::read(&cli.places.home)
        .map_err(|error| Failure::failed(format!("cannot read `{}`: {error}", path.display())))?;
    print(cli, &read, user, is_json, &format!("`{}`", path.display()))
}

/// Prints the lines of `user`, or all lines, and then what is wrong with the log `name`.
pub(crate) fn print(
    cli: &CliContext,
    read: &audit::AuditLog,
    user: Option<&str>,
    is_json: bool,
    name: &str,
) -> Result<Exit, Failure> {
    let mut list = List::new(["TIME", "USER", "ROLE", "REQUEST", "STATUS"], is_json);
    for asked in read.asked.iter().filter(|asked| user.is_none() || asked.user.as_deref() == user) {
        let request = format!("{} {}", asked.method, asked.path);
        let status = asked.status.map_or_else(|| "begins".to_owned(), |status| status.to_string());
        let by = asked.user.as_deref().unwrap_or("(server token)");
        let row = [&local_time(asked.at), by, asked.role.as_deref().unwrap_or_default(), &request, &status];
        list.row(row, || json!(asked));
    }
    let nothing = user.map(|user| format!("`{}` has changed nothing.", safe::name(user)));
    list.print(nothing.as_deref().unwrap_or("The audit log has no changes yet."))?;
    match &read.fault {
        None => Ok(Exit::Success),
        Some(fault) => {
            cli.warn(format!("{name} is not as it was written: {fault}"));
            Ok(Exit::Unproven)
        }
    }
}
